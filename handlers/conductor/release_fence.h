// The release fence. A release whose outcome nobody waited for may still be made: one of this
// worker, or of one before it. Until a write of ours has moved the provider's generation past it,
// nothing is done to the drive.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "handlers/conductor/context.h"

namespace reclaim {

// Thread: the loop's.
class ReleaseFence final {
 public:
  using Raised = std::function<void(const PciAddress& address, const placement::ProviderView&)>;

  // `raised`: what raise_first() did, with the provider as it is since.
  ReleaseFence(const ConductorContext& context, Raised raised)
      : context_(context), raised_(std::move(raised)) {}

  // A release may be on its way, which a write has to overtake.
  [[nodiscard]] bool is_needed(const PciAddress& address) { return devices_[address].needed; }
  void need(const PciAddress& address, bool needed) { devices_[address].needed = needed; }
  // An earlier worker may have sent one: the fence is raised before all else.
  [[nodiscard]] bool is_needed_first(const PciAddress& address) const {
    const auto fence = devices_.find(address);
    return fence != devices_.end() && fence->second.first;
  }
  void need_first(const PciAddress& address, bool first) { devices_[address].first = first; }

  // Writes reserved = total once more, over `view`. `done` is not called after the stop.
  void raise(const PciAddress& address, const placement::ProviderView& view,
             std::function<void(Result<placement::ProviderView>)> done);
  // Of a device at rest that is not known to be clean: the write of an earlier worker may come when
  // somebody has put another drive there, or while it waits for an operator.
  void raise_first(const PciAddress& address, const placement::ProviderView& view);

 private:
  struct Fence {
    bool needed = true;  // of a start nothing is known
    bool first = false;
    bool under_way = false;  // raise_first() waits for Placement
  };

  const ConductorContext& context_;
  Raised raised_;
  std::map<PciAddress, Fence> devices_;
};

}  // namespace reclaim
