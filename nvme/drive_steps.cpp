// The clean steps of a claimed drive that stand before its erase: each looks at some surfaces of
// the controller, resets what the specification lets it reset, and quarantines what it cannot.
#include <fmt/core.h>

#include "nvme/drive.h"

namespace reclaim::nvme {

Result<StepReport> Drive::run_step(const StepRequest& request,
                                   const std::function<void(EraseProgress)>& on_progress,
                                   StopFlag& stop) {
  if (request.step == "check_health") return check_health(request);
  if (request.step == "recover_sanitize") return recover_sanitize(request, on_progress, stop);
  if (request.step == "reset_controller_state") return reset_controller_state(request, stop);
  if (request.step == "reset_namespaces") return reset_namespaces(request, stop);
  return Error{Errc::invalid, fmt::format("there is no clean step nvme.{}", request.step)};
}

}  // namespace reclaim::nvme
