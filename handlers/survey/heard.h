// Remembers which instances lived on this host, and when, as notifications alone tell it, also
// those that waited in their queue while no worker ran. It names whoever may have had a device that
// no survey saw taken. It has no authority: nothing is reserved, erased or released by it, or kept
// from it.
//
// Thread: the loop's. Lost with the worker; what was found out for a device is in its record.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "state/base/clock.h"
#include "state/base/host_names.h"
#include "state/device/record.h"
#include "state/device/store.h"

namespace reclaim {

class HeardInstances final {
 public:
  // Takes what the notification tells of a life on the host of these names; of a deletion that
  // names no host, of one that was heard of here. One without a time counts as sent now. They may
  // come twice and in any order. True: a life begins that was not heard of before.
  bool hear(const Kick& kick, const HostNames& here, WallMs now);

  [[nodiscard]] bool knows(const std::string& instance) const { return lives_.contains(instance); }

  // `known`, and the instances whose last life began and ended here, and began within the gap:
  // whoever had the device was told of before it was free again. Sorted; kHeardMax at the most.
  [[nodiscard]] std::vector<std::string> within(const Gap& gap,
                                                std::vector<std::string> known) const;

 private:
  // The times as told last; 0: not told.
  struct Lived {
    WallMs began;
    WallMs ended;
  };
  void forget_the_oldest();

  std::map<std::string, Lived> lives_;  // by the instance's UUID
};

}  // namespace reclaim
