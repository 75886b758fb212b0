// Reads what is in Redis for all hosts, as the API shows it: host by host, kept for a moment, and
// asked for once however many requests want it at the same time.
//
// Thread: the loop's. Owns its copies; the store's callbacks may come after it is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state/base/clock.h"
#include "state/device/machine.h"
#include "state/device/metrics_texts.h"
#include "state/device/store.h"

namespace reclaim::api {

// The part of a record that a list shows. Small: a large fleet has tens of thousands.
struct Device {
  std::string uuid;
  std::string host;
  std::string address;
  std::string provider;
  std::string type;
  std::string vendor_id;
  std::string product_id;
  std::string status;  // enabled, maintaining
  DeviceState state = DeviceState::error;
  WallMs created_at;
  WallMs updated_at;
  bool managed = true;
  Flow flow = Flow::nova;
  WallMs state_since;
  bool held = false;
  bool waits = false;  // waiting_for says for what
  bool maintenance = false;
  bool certificate_pending = false;
  std::string cyborg_uuid;     // of Cyborg's device of it; empty: not known
  std::string certificate_id;  // of its last release; empty: none
  // The parts of its JSON that stand fast, written when it is read: a list of a large fleet is then
  // put together in the few milliseconds that the loop can spare.
  std::string json_head;      // "uuid": … "hostname": …
  std::string json_cleaning;  // "held": … "tags": …
  std::string json_wear;      // "percentage_used": …, "available_spare": …
  std::string json_reasons;   // "waiting_for": …, "last_error": …
  std::string json_times;     // "created_at": …, "updated_at": …
};

[[nodiscard]] Device device_of(const Record& record);

// The devices of one host, by address.
using HostDevices = std::shared_ptr<const std::vector<Device>>;
// Something that a host's login left where its worker's word should be, and that nobody can read.
struct Damaged {
  std::string host;
  std::string address;  // empty: of the host itself
  std::string why;      // names the key, with the remedy
};

// The devices by host, for nothing should have to pass over a large fleet in one go, not even to
// forget it.
struct Devices {
  std::vector<HostDevices> hosts;
  std::vector<Damaged> damaged;  // hosts that are not among these
};

struct ArqRow {
  std::string host;  // whose book it is in
  Arq arq;
  bool managed = true;      // by its own marker, else by the record of the device that it binds
  bool is_of_host = false;  // it names a device of that host, or its provider
};
// The ARQs by UUID, which is the row's own text, and one row for each host that has it in its book:
// none counts in place of another's.
using Arqs = std::multimap<std::string_view, std::shared_ptr<const ArqRow>>;

// The workers' texts by host; empty: there is none, or it has expired.
using WorkerTexts = std::map<std::string, std::string>;

struct FleetOptions {
  std::int64_t view_ms = 1'000;  // a view is kept so long, or as long as it took to make it
  std::size_t loads_max = 32;    // hosts read at the same time
};

class Fleet final {
 public:
  template <typename T>
  using OnView = Callback<std::shared_ptr<const T>>;

  Fleet(Store& store, MetricsTexts& worker_metrics, const Clock& clock, FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Each answers the store's error when any host could not be asked for. Half a fleet would be
  // taken for the whole one. A host whose keys hold what no worker wrote costs only what is its
  // own: it is named among the damaged, and the others are answered. Devices are ordered by host
  // and address, ARQs by UUID.
  void hosts(OnView<std::vector<HostInfo>> done);
  void devices(OnView<Devices> done);
  // Reads the devices of one host, now and alone; none when nobody by that name has ever worked.
  // Where no host is named: of all.
  void devices_of(const std::optional<std::string>& host, OnView<Devices> done);
  void arqs(OnView<Arqs> done);
  // The texts of what each host's worker measures of itself.
  void worker_texts(OnView<WorkerTexts> done);

  struct Found {
    HostInfo host;
    Record record;
  };
  // One device as it stands now, with its host, by its own UUID or by Cyborg's; an empty pointer:
  // there is none. Errc::conflict: several say that this UUID of Cyborg's is theirs; it names two.
  void find(const std::string& uuid, OnView<Found> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reclaim::api
