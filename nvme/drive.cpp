#include "nvme/drive.h"

#include "nvme/baseline.h"
#include "nvme/clean_steps.h"
#include "nvme/command/run_command.h"
#include "nvme/controller/admin.h"
#include "nvme/erase/erase.h"
#include "nvme/verification.h"

namespace reclaim::nvme {

DriveFacts Drive::facts() const {
  DriveFacts facts = facts_of(context_.claim.sys());
  facts.identity = context_.claim.identity();
  facts.namespaces = context_.claim.namespace_facts();
  const auto counters =
      read_counters(context_.claim.controller_fd(), context_.options.admin_timeout_ms);
  if (counters) facts.counters = *counters;
  if (facts.identity->capabilities.sanitize()) {
    const auto log =
        read_sanitize_log(context_.claim.controller_fd(), context_.options.admin_timeout_ms);
    if (log) facts.sanitize = *log;
  }
  return facts;
}

Result<StepReport> Drive::run_step(const StepRequest& request, const ReportProgress& on_progress,
                                   StopFlag& stop) {
  switch (request.step) {
    case DriveStep::check_health:
      return nvme::check_health(context_, request);
    case DriveStep::restore_firmware:
      return nvme::restore_firmware(context_, request, on_progress, stop);
    case DriveStep::recover_sanitize:
      return nvme::recover_sanitize(context_, request, on_progress, stop);
    case DriveStep::reset_controller_state:
      return nvme::reset_controller_state(context_, request, stop);
    case DriveStep::reset_namespaces:
      break;
  }
  return nvme::reset_namespaces(context_, request, stop);
}

Result<CommandReport> Drive::run_command(const Command& command,
                                         const std::function<void(CommandProgress)>& on_progress,
                                         StopFlag& stop) {
  if (auto unchanged = context_.claim.recheck(); !unchanged) return std::move(unchanged).error();
  return nvme::run_command(command, context_.options.command, on_progress, stop, context_.clock,
                           context_.log);
}

Result<std::string> Drive::enrolment() const {
  return nvme::enrolment(context_);
}

Result<Baseline> Drive::take_baseline(StopFlag& stop) {
  return nvme::take_baseline(context_, stop);
}

Result<EraseEvidence> Drive::erase(const EraseRequest& request, const ReportProgress& on_progress,
                                   StopFlag& stop) {
  return erase_drive(context_, request, on_progress, stop);
}

Result<VerifyReport> Drive::verify(const Baseline& baseline, const EraseEvidence& evidence,
                                   const ReportProgress& on_progress, StopFlag& stop) {
  auto verified = verify_erasure(context_, baseline, evidence, on_progress, stop);
  if (!verified) return std::move(verified).error();
  relies_on_global_data_erased_ = verified->global_data_erased;
  return std::move(verified->report);
}

Status Drive::restore_driver(StopFlag& stop) {
  // Begun, it is not left in the middle.
  if (stop.requested()) return Error{Errc::cancelled, "stopped before the driver was put back"};
  return context_.claim.restore_driver();
}

Result<Counters> Drive::still_ours(const Counters& since) {
  return still_as_verified(context_, since, relies_on_global_data_erased_);
}

}  // namespace reclaim::nvme
