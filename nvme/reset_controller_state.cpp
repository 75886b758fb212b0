// The clean step that looks at the surfaces of the controller; and the enrolment baseline, read the
// same way.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nvme/clean_steps.h"
#include "nvme/controller/admin_change.h"
#include "nvme/controller/residue.h"
#include "nvme/host/device_memory.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kWriteProtect = 0x84;

Error quarantined(const std::vector<std::string>& reasons) {
  return Error{Errc::failed, fmt::format("{}", fmt::join(reasons, "; also "))};
}

// A stop is not a fault of the drive's.
Error failed(const Error& error) {
  return Error{error.code == Errc::cancelled ? Errc::cancelled : Errc::failed, error.what,
               error.raw};
}

Result<ControllerState> controller_state(const DriveContext& drive, const Patience& patience) {
  StateSource source;
  source.patience = patience;
  source.controller_fd = drive.claim.controller_fd();
  source.timeout_ms = drive.options.admin_timeout_ms;
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    source.nodes.push_back(StateSource::Node{ns.facts.nsid, ns.fd.get()});
  }
  auto state = read_controller_state(source);
  if (!state) return state;
  const DeviceMemory memory = read_device_memory(drive.options.sysfs_root, drive.claim.sys());
  state->memory_buffer = memory.buffer;
  state->memory_region = memory.persistent;
  return state;
}

Status reset_surface(const DriveContext& drive, const ResidueReset& reset) {
  const int controller = drive.claim.controller_fd();
  const std::uint32_t timeout_ms = drive.options.admin_timeout_ms;
  switch (reset.kind) {
    case ResidueReset::Kind::write_protect:
      return set_feature(controller, kWriteProtect, reset.nsid, 0, false, timeout_ms);
    case ResidueReset::Kind::reservation: {
      const ClaimedNamespace* ns = drive.claim.find(reset.nsid);
      if (ns == nullptr) return Error{Errc::failed, "the namespace has no block node on the host"};
      return clear_reservations(controller, ns->fd.get(), reset.nsid, timeout_ms);
    }
    case ResidueReset::Kind::feature:
      return set_feature(controller, reset.feature, reset.nsid, reset.value, reset.save,
                         timeout_ms);
    case ResidueReset::Kind::self_test:
      return abort_self_test(controller, timeout_ms);
  }
  return Error{Errc::invalid, "no such reset"};
}

}  // namespace

Result<std::string> enrolment(const DriveContext& drive) {
  const MonoMs deadline{drive.clock.now().mono.ms + StepRequest{}.timeout_ms};
  const auto state = controller_state(drive, Patience{&drive.clock, deadline, nullptr});
  if (!state) return Error{Errc::failed, state.error().what, state.error().raw};
  if (!state->unreadable.empty()) {
    const Unreadable& first = state->unreadable.front();
    return Error{Errc::failed, fmt::format("the drive's state cannot be recorded: {}: {}",
                                           first.surface, first.why)};
  }
  return encode_controller_state(*state);
}

Result<StepReport> reset_controller_state(DriveContext& drive, const StepRequest& request,
                                          StopFlag& stop) {
  const auto baseline = enrolled(drive, request.enrolment);
  if (!baseline) return baseline.error();
  const ControllerState* const yardstick = *baseline ? &**baseline : nullptr;
  const Patience patience = patience_of(drive, request, stop);
  const auto found = controller_state(drive, patience);
  if (!found) return failed(found.error());
  ResidueJudgement judgement =
      judge_surfaces(*found, yardstick, drive.claim.rules(), request.method, request.accept_found);
  if (!judgement.quarantine.empty()) return quarantined(judgement.quarantine);
  if (judgement.resets.empty()) return StepReport{std::move(judgement.findings)};

  if (stop.requested()) return Error{Errc::cancelled, "stopped before the controller was reset"};
  if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
  std::vector<std::string> refused;
  for (const ResidueReset& reset : judgement.resets) {
    if (auto going = patience.check(); !going) return std::move(going).error();
    const auto done = reset_surface(drive, reset);
    drive.log.debug(log_name::kNvme,
                    fmt::format("{}: reset of {}: {}", to_string(drive.claim.sys().address),
                                reset.surface, done ? "done" : done.error().what));
    if (!done) refused.push_back(fmt::format("{}: {}", reset.surface, done.error().what));
  }
  // What counts is what the drive says now.
  const auto left = controller_state(drive, patience);
  if (!left) return failed(left.error());
  const ResidueJudgement again =
      judge_surfaces(*left, yardstick, drive.claim.rules(), request.method, request.accept_found);
  if (!again.quarantine.empty()) return quarantined(again.quarantine);
  if (!again.resets.empty()) {
    for (const ResidueReset& reset : again.resets) {
      refused.push_back(
          fmt::format("{}{}: still as it was found", reset.surface,
                      reset.nsid != 0 ? fmt::format(" of namespace {}", reset.nsid) : ""));
    }
    return Error{Errc::failed,
                 fmt::format("{}; it cannot be reset: power-cycle the drive, then clean the device "
                             "again; if that fails too, replace it",
                             fmt::join(refused, "; "))};
  }
  return StepReport{std::move(judgement.findings)};
}

}  // namespace reclaim::nvme
