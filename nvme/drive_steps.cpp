// The clean steps of a claimed drive that stand before its erase: each looks at some surfaces of
// the controller, resets what the specification lets it reset, and quarantines what it cannot.
#include <fmt/core.h>

#include "nvme/drive.h"

namespace reclaim::nvme {

Result<StepReport> Drive::run_step(const StepRequest& request,
                                   const std::function<void(EraseProgress)>& /*on_progress*/,
                                   StopFlag& /*stop*/) {
  return Error{Errc::invalid, fmt::format("there is no clean step nvme.{}", request.step)};
}

Status Drive::restore_driver(StopFlag& /*stop*/) {
  return Ok{};
}

}  // namespace reclaim::nvme
