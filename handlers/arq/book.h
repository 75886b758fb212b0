// The book of a host's ARQs: what was heard of each, by notification or from Cyborg's API, and
// whether it still binds a device. Cyborg wipes an ARQ's device on unbind, so that nobody could be
// asked afterwards; and an ARQ carries no authority: it can keep a drive from being cleaned and say
// whether libvirt rebinds it, and nothing else.
//
// An ARQ stops binding when its unbinding or deletion is heard, when Cyborg's API no longer lists
// what it once listed, when Placement's allocation on its device was seen and is gone, when Nova
// says that its instance is deleted, or when an operator says so. Never because time has passed.
// Anybody on the bus can say that one binds: it is kept where its device is one of Cyborg's on this
// host, a few for each. Where it is not yet, as when its provider was made a moment ago, it waits
// for a survey that would show it. And one that Cyborg's API never lists and whose allocation
// Placement never showed is forgotten once two readings half a minute apart have not listed it.
//
// Pure: no I/O, `now` is handed in. Thread: the loop's. Owns the entries; what is to be written to
// the store is taken out of it (take_unsaved) by whoever can write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/base/clock.h"
#include "state/base/host_names.h"
#include "state/base/pci_address.h"
#include "state/device/arq.h"

namespace reclaim {

// The most ARQs in the book, those that bind among them: more than any host binds. Beyond it the
// oldest that bind nothing go first.
inline constexpr std::size_t kArqsMax = 4096;
// The most ARQs that bind one device. One does; what else is said to holds nothing that is not held
// already.
inline constexpr std::size_t kArqsPerDeviceMax = 16;

// The most ARQs whose device no survey has shown yet. The oldest go first.
inline constexpr std::size_t kArqsWaitingMax = 256;

// A device of Cyborg's on this host.
struct ArqDevice {
  PciAddress address;
  std::string provider;  // UUID; empty: not known
};

// The device that is asked about, and what Placement said of it in the survey that asks.
struct ArqQuestion {
  PciAddress address;
  std::string provider;                     // UUID; empty: not known
  bool free = false;                        // Placement was read, and shows no allocation
  std::string instance;                     // the last consumer that Placement showed on it
  MonoMs surveyed_from;                     // when that reading began
  std::vector<std::string> consumers = {};  // who has it now, as Placement shows; empty: not told
};

// A tenancy that is over: the same ARQ may have another one by the time this is buried.
struct PastTenancy {
  std::string uuid;
  WallMs held_at;
};

struct DeviceArqs {
  std::optional<Arq> holder;      // it binds the device
  std::optional<Arq> ended;       // it did, and the drive was not released since
  std::vector<PastTenancy> over;  // all that did: to be buried with the release
};

class ArqBook final {
 public:
  explicit ArqBook(HostNames names) : names_(std::move(names)) {}

  // Tells which devices an ARQ that is heard of on the bus may bind from now on, as a survey that
  // began then has seen; what is in the book stays. Before this is said, it may bind any. True:
  // something that waited for one of these devices is in the book now.
  bool know_devices(std::vector<ArqDevice> devices, MonoMs surveyed_from);

  // Loads what an earlier worker kept, up to kArqsMax. What this one heard meanwhile is newer.
  void load(const std::vector<Arq>& stored);

  // Hears what a notification says ("accelerator_request.bind.end"). True: something changed. An
  // ARQ of another host is not kept, and one of a device that is not known waits.
  bool hear(std::string_view event_type, Arq told, const Now& now);
  // Nova says that the instance is gone.
  bool instance_deleted(const std::string& instance, const Now& now);
  // Cyborg's API was asked at `asked_at`, and listed these.
  bool reconcile(const std::vector<Arq>& listed, MonoMs asked_at, const Now& now);
  // Placement shows an allocation on the device.
  void allocation_seen(const ArqQuestion& question);
  // An operator says that nothing binds the device any more. True: something did.
  bool let_go(const PciAddress& address, const std::string& provider);
  // The drive was released: its tenancies of these are history.
  void bury(const PciAddress& address, const std::string& provider,
            const std::vector<PastTenancy>& over);

  [[nodiscard]] DeviceArqs about(const ArqQuestion& question) const;
  // True if it names the device, by its address or by its provider (empty: not known).
  [[nodiscard]] static bool concerns(const Arq& arq, const PciAddress& address,
                                     const std::string& provider);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // A write that is due: the ARQ, or nothing where it is to be removed. What could not be written
  // is handed back.
  struct Write {
    std::string uuid;
    std::optional<Arq> arq;
  };
  [[nodiscard]] std::vector<Write> take_unsaved();
  void not_saved(const std::string& uuid) { unsaved_.insert(uuid); }
  // Compares with the store: each ARQ that differs there is to be written again.
  void compare(const std::vector<Arq>& stored);

 private:
  struct Entry {
    Arq arq;
    MonoMs heard;                        // 0: by an earlier worker
    std::optional<MonoMs> contradicted;  // since this reading of the API all say otherwise
  };
  // Ended for good, or before it was known that it had begun.
  struct Ended {
    std::string updated_at;  // of its end; where that was not told, of what had been known before
    bool deleted = false;
    bool timed = false;                  // the time of its end was told
    std::uint64_t order = 0;             // the later, the greater
    std::optional<MonoMs> contradicted;  // since this reading of the API all say that it binds
  };

  [[nodiscard]] static bool binds(const Entry& entry, const ArqQuestion& question);
  [[nodiscard]] bool is_past(const Arq& told) const;
  [[nodiscard]] bool is_past_for_good(const Arq& told) const;
  [[nodiscard]] const ArqDevice* device_for(const Arq& told) const;
  [[nodiscard]] bool has_room_for(const Arq& told) const;
  void let_wait(std::string_view event_type, Arq told, const Now& now);
  bool forget_unlisted(Entry& entry, MonoMs asked_at);
  bool end(Entry& entry);
  void put(Entry entry);
  bool renew(Entry& entry, Arq told, const Now& now);
  void take_in(Entry& entry, Arq told, const Now& now);
  static bool believes(std::optional<MonoMs>& contradicted, MonoMs asked_at);
  bool listed_now(Arq told, MonoMs asked_at, const Now& now);
  bool renew_listed(Entry& entry, Arq told, const Now& now);
  void remember_end(const Arq& told, bool deleted, bool timed);
  void make_room();

  HostNames names_;
  std::optional<std::vector<ArqDevice>> devices_;  // nothing: not known yet
  std::map<std::string, Entry> entries_;
  std::map<std::string, Ended>
      ended_;  // in memory only: a late word of their binding means nothing
  std::uint64_t ends_ = 0;
  // Heard of before a survey has shown the device, in the order of their hearing.
  struct Waiting {
    std::string event_type;
    Arq told;
    Now heard;
  };
  std::vector<Waiting> waiting_;
  std::set<std::string> unsaved_;
};

}  // namespace reclaim
