// The clean steps of a claimed drive that stand before its erase: each looks at some surfaces of
// the controller, resets what the specification lets it reset, and quarantines what it cannot.
// Blocking; thread: the drive's. Errors: see Drives::run_step.
#pragma once

#include <optional>

#include "nvme/controller/admin_state.h"
#include "nvme/controller/controller_state.h"
#include "nvme/controller/health.h"
#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// Tells how well the drive is, and, as a finding, whether it is going to be given back: that is
// decided after its erase, which wears it (nvme/verification.h).
[[nodiscard]] Result<StepReport> check_health(const DriveContext& drive,
                                              const StepRequest& request);
// Writes the images of [nvme] firmware_images where a slot is not what it was, or another one is
// active or about to be. Where one of them has no image it writes nothing and says so.
[[nodiscard]] Result<StepReport> restore_firmware(DriveContext& drive, const StepRequest& request,
                                                  const ReportProgress& on_progress,
                                                  StopFlag& stop);
// Waits for a sanitize that is running. Leads a drive out of its media verification, which does not
// end by itself. A sanitize that failed bars reading and writing until one succeeds: this runs one
// where the plan erases by sanitize, and fails otherwise.
[[nodiscard]] Result<StepReport> recover_sanitize(DriveContext& drive, const StepRequest& request,
                                                  const ReportProgress& on_progress,
                                                  StopFlag& stop);
[[nodiscard]] Result<StepReport> reset_controller_state(DriveContext& drive,
                                                        const StepRequest& request, StopFlag& stop);
// Makes one namespace over the whole drive, unless that is what there is.
[[nodiscard]] Result<StepReport> reset_namespaces(DriveContext& drive, const StepRequest& request,
                                                  StopFlag& stop);

// The drive as it stands, as text (encode_controller_state); Errc::failed where it cannot be read
// in full. Does not write to it.
[[nodiscard]] Result<std::string> enrolment(const DriveContext& drive);

// Judges the drive's SMART log by the rules of its claim. `enrolment` as in StepRequest.
[[nodiscard]] Result<HealthJudgement> health_of(const DriveContext& drive,
                                                const std::string& enrolment);

// Decodes the enrolment baseline of a request, which has to be of this drive; nothing where the
// request has none. For the steps' own use.
[[nodiscard]] Result<std::optional<ControllerState>> enrolled(const DriveContext& drive,
                                                              const std::string& enrolment);
[[nodiscard]] Patience patience_of(const DriveContext& drive, const StepRequest& request,
                                   const StopFlag& stop);

}  // namespace reclaim::nvme
