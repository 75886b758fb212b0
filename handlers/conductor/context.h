// Holds what the objects of the conductor share: its ports and options, a look at the records, and
// the one place where an answer that comes too late is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "handlers/conductor/device_table.h"
#include "handlers/options.h"
#include "handlers/survey/admission.h"
#include "handlers/survey/survey.h"
#include "nvme/drives.h"
#include "placement/cyborg/accelerators.h"
#include "placement/providers.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/timers.h"
#include "state/device/store.h"
#include "state/ledger/ledger.h"

namespace reclaim {

struct ConductorPorts {
  Store& store;
  Ledger& ledger;
  placement::Providers& providers;
  nvme::Drives& drives;
  Timers& timers;
  const Clock& clock;
  Logger& log;
  placement::Accelerators* accelerators = nullptr;  // none: Cyborg's API is not asked
};

struct ConductorPolicies {
  DevicePolicyLookup device_policy;  // of drives
  MethodChoice choose_method;
  std::function<std::string()> make_id;  // a fresh UUID for a certificate
  Whitelist whitelist = nullptr;         // none: what is not a drive is nobody's business
  // True if an order for this host is authenticated (state/certificate/order_seal.h); none: no
  // order is.
  std::function<bool(const Order& order)> order_fits;
  // Every order has to be ([security] order_key_file is set); else those that accept something.
  bool orders_are_sealed = false;
  // SHA-256, of a baseline.
  std::function<std::string(const std::string& text)> digest;
  // The policy of PCI functions that are no drives; none: they are only shown.
  DevicePolicyLookup function_policy = nullptr;
  // Ok if nobody else claims a drive that is to be registered; none: not asked.
  std::function<Status(std::uint16_t vendor, std::uint16_t product, const PciAddress&)>
      one_claimant = nullptr;
};

// Set by the planned stop, and never cleared: from then on nothing is begun.
class Stopping final {
 public:
  explicit operator bool() const { return begun_; }
  void begin() { begun_ = true; }

  // The answer to something asked, dropped if it comes after the stop.
  template <typename Answer>
  [[nodiscard]] auto unless_begun(Answer answer) const {
    return [this, answer = std::move(answer)](auto&&... result) mutable {
      if (!begun_) answer(std::forward<decltype(result)>(result)...);
    };
  }

 private:
  bool begun_ = false;
};

// The host as a whole, as the survey going on, or the last one, shows it.
struct LastSurvey {
  HostView host;
  MonoMs began;
  WallMs began_at;
  std::vector<SeenDrive> seen_drives;
  std::set<std::string> shared_serial_numbers;
  std::set<std::string> deleted;  // instances, told of before it began and after the one before
  bool gone_through = false;      // one of this run
  bool not_ours = false;          // these are another machine's books: nothing is done
};

// The time after something moved until the survey that tells what.
inline constexpr std::int64_t kLookAgainMs = 1'000;

// The context of one conductor. It is alive as long as the conductor is.
struct ConductorContext {
  const ConductorPorts& ports;
  const ConductorPolicies& policies;
  const ConductorOptions& options;
  const Stopping& stopping;
  const DeviceTable& devices;
  const LastSurvey& survey;
  std::function<void(std::int64_t delay_ms)> want_survey;
  // Surveys the device at once, and reads its provider whatever is remembered of it.
  std::function<void(const PciAddress& address)> look_afresh;
  // Posts the event to the device's inbox.
  std::function<void(const PciAddress& address, Event event)> post;
  // Tells how long to wait before something is tried again for the device: doubled with each call,
  // until a record of it is saved.
  std::function<std::int64_t(const PciAddress& address)> backoff;

  // The record of a device that the conductor knows: it forgets none, so that an answer finds its
  // record.
  [[nodiscard]] const Record& record_of(const PciAddress& address) const {
    return devices.at(address).record;
  }
  // True if the device is ours by what was decided on: a record that lets it go counts though it is
  // not durable yet.
  [[nodiscard]] bool stays_ours(const PciAddress& address) const;
  // Posts what came of an effect that the record of `epoch` asked for. The reducer drops it when
  // the device went on without it.
  void answer(const PciAddress& address, std::uint64_t epoch, Trigger trigger,
              Facts facts = {}) const {
    post(address, Event{trigger, epoch, std::move(facts)});
  }
  void answer_later(const PciAddress& address, std::uint64_t epoch, Trigger trigger,
                    Facts facts) const {
    ports.timers.after(backoff(address), [this, address, epoch, trigger, facts] {
      answer(address, epoch, trigger, facts);
    });
  }

  // An answer to what was asked for the record of `epoch` comes too late: after the stop, or the
  // device went on without it.
  [[nodiscard]] bool is_stale(const PciAddress& address, std::uint64_t epoch) const {
    return stopping || record_of(address).epoch != epoch;
  }
  // Null: the ledger has no line of it.
  [[nodiscard]] const LedgerEntry* on_ledger(const PciAddress& address) const {
    const auto entry = ports.ledger.entries().find(address);
    return entry == ports.ledger.entries().end() ? nullptr : &entry->second;
  }
};

}  // namespace reclaim
