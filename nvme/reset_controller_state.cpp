// The clean step that looks at the surfaces of the controller; and the enrolment baseline, read the
// same way.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nvme/clean_steps.h"
#include "nvme/controller/admin_change.h"
#include "nvme/controller/opal_revert.h"
#include "nvme/controller/psids.h"
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
    case ResidueReset::Kind::block_sid:
      return block_sid(controller, timeout_ms);
  }
  return Error{Errc::invalid, "no such reset"};
}

// The drive as it is now, and what that means.
struct Look {
  ControllerState state;
  ResidueJudgement judgement;
};

Result<Look> look_at(const DriveContext& drive, const StepRequest& request,
                     const ControllerState* yardstick, const Patience& patience) {
  auto found = controller_state(drive, patience);
  if (!found) return failed(found.error());
  ResidueJudgement judgement =
      judge_surfaces(*found, yardstick, drive.claim.rules(), request.method, request.accept_found);
  return Look{*std::move(found), std::move(judgement)};
}

// Says in words what was found of TCG Opal.
std::string opal_found(const ResidueJudgement& judgement) {
  std::vector<std::string> all;
  for (const StepFinding& each : judgement.findings) {
    if (each.surface == "opal") all.push_back(each.found);
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

// Reverts the drive once, where a lock or an owner of TCG Opal is all that quarantines it and there
// is a PSID of it. True: that was done, and what came of it is to be looked at.
Result<bool> revert_opal(const DriveContext& drive, const Look& look, const Patience& patience,
                         StopFlag& stop) {
  const std::string& path = drive.options.psid_file;
  if (!look.judgement.revertible || path.empty()) return false;
  const std::string why = opal_found(look.judgement);
  const auto psids = read_psids(path, drive.options.psid_owner);
  if (!psids) return Error{Errc::failed, fmt::format("opal: {}; {}", why, psids.error().what)};
  const auto psid = psids->find(drive.claim.identity().serial);
  if (psid == psids->end()) return false;
  if (auto going = patience.check(); !going) return std::move(going).error();
  if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
  drive.log.warning(log_name::kNvme,
                    fmt::format("{}: its TCG Opal is reverted by PSID, which destroys all its data",
                                to_string(drive.claim.sys().address)),
                    {{"why", why}});
  const auto done = revert_by_psid(drive.claim.controller_fd(), drive.options.admin_timeout_ms,
                                   patience, stop, look.state.opal.com_id, psid->second);
  if (done) return true;
  if (done.error().code == Errc::cancelled) return done.error();
  return Error{Errc::failed, fmt::format("opal: {}; {}", why, done.error().what)};
}

// Says what Reclaim itself could do, or has done, to a drive that only a lock or an owner of TCG
// Opal quarantines.
std::string by_psid(const DriveContext& drive, bool reverted) {
  if (reverted) {
    return "Reclaim's revert by PSID has not changed that: power-cycle the drive first; if that "
           "does not help, replace it";
  }
  const std::string& path = drive.options.psid_file;
  return fmt::format("or let Reclaim revert it: write its serial number and that PSID into {}",
                     path.empty() ? "a file, and name the file in [nvme] psid_file" : path);
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
  auto look = look_at(drive, request, yardstick, patience);
  if (!look) return std::move(look).error();
  const auto reverted = revert_opal(drive, *look, patience, stop);
  if (!reverted) return reverted.error();
  StepReport report;
  if (*reverted) {
    report.reverted = opal_found(look->judgement);
    report.findings.push_back({"opal", "reverted by PSID; it was: " + report.reverted, true});
    look = look_at(drive, request, yardstick, patience);
    if (!look) return std::move(look).error();
  }
  const ResidueJudgement& judgement = look->judgement;
  if (!judgement.quarantine.empty()) {
    Error error = quarantined(judgement.quarantine);
    if (judgement.revertible) error.what += "; " + by_psid(drive, *reverted);
    return *reverted ? error.wrap("after a revert of TCG Opal by PSID") : error;
  }
  report.findings.insert(report.findings.end(), judgement.findings.begin(),
                         judgement.findings.end());
  if (judgement.resets.empty()) return report;

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
  // The drive is asked again: what it says now counts.
  const auto left = look_at(drive, request, yardstick, patience);
  if (!left) return left.error();
  const ResidueJudgement& again = left->judgement;
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
  return report;
}

}  // namespace reclaim::nvme
