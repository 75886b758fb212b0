// Close watch: as long as a device is not clean and no tenant has it, its provider is looked at
// every two seconds, for whoever un-reserves it (an operator, Nova or Cyborg's agent that makes its
// provider again) offers somebody's data until it is reserved again.
//
// Whoever writes a provider moves its generation: one request an interval lists those of the host,
// and only one that moved is read: whole, for whoever got the device may have reserved it again.
// That of a provider which may be made again with its UUID and its generation is read in each
// interval. The looks are spread over the interval, one at a time. A look is one request; where the
// provider moved it is two, one after the other: its inventories and its allocations. One more is
// made where a provider is gone, to look for another of that name. While Placement does not answer
// it is asked less and less often.
//
// Thread: the loop's. Owns its timer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "placement/providers.h"
#include "state/base/clock.h"
#include "state/base/pci_address.h"
#include "state/base/timers.h"

namespace reclaim {

struct Watched {
  PciAddress address;
  std::string provider;           // UUID
  std::string provider_name;      // empty: not looked for when it is gone
  bool generation_tells = false;  // no other provider ever gets its UUID
};

class CloseWatch final {
 public:
  struct Times {
    std::int64_t interval_ms = 2'000;
    std::int64_t retry_max_ms = 30'000;
  };

  // Told of a provider as it was read: the answer may be older than what happened since.
  struct Told {
    // It is not reserved.
    std::function<void(const PciAddress&, const std::string& provider)> on_offer;
    // It is reserved, and somebody wrote to it since the last look.
    std::function<void(const PciAddress&, const placement::ProviderView&)> moved;
  };

  // `targets` tells what there is to watch, asked once an interval.
  CloseWatch(placement::Providers& providers, Timers& timers, const Clock& clock, Times times,
             std::function<std::vector<Watched>()> targets, Told told);

  // There may be something to watch now. Without that nothing is asked.
  void attend();
  void stop();

 private:
  void arm();
  void turn();
  void begin_round();
  void go_round(std::vector<Watched> targets);
  void leave_out_the_steady(std::vector<Watched>& targets,
                            const std::vector<placement::ProviderRow>& rows);
  void look(const Watched& at, const std::string& provider);
  bool is_reserved(const Watched& at, const std::string& provider,
                   const Result<std::vector<placement::Inventory>>& read);
  void look_for(const Watched& at);
  void answered(const Error* error);

  placement::Providers& providers_;
  Timers& timers_;
  const Clock& clock_;
  const Times times_;
  std::function<std::vector<Watched>()> targets_;
  Told told_;
  std::deque<Watched> round_;  // that are still to be looked at in this interval
  // Generations by the provider's UUID: as they were listed in this round, and before an inventory
  // was read that was reserved.
  std::map<std::string, std::int64_t> listed_;
  std::map<std::string, std::int64_t> steady_;
  std::int64_t due_ms_ = 0;    // of the next look
  std::int64_t step_ms_ = 0;   // between two looks
  std::int64_t pause_ms_ = 0;  // while Placement does not answer
  std::uint64_t timer_ = 0;
  bool asking_ = false;
  bool stopped_ = false;
};

}  // namespace reclaim
