#include "nvme/erase/format_erase.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/controller/admin.h"
#include "nvme/controller/format.h"

namespace reclaim::nvme {
namespace {

Error never_sent(const Error& error) {
  return Error{error.code == Errc::unknown ? Errc::failed : error.code,
               error.what + "; nothing was sent to the drive", error.raw};
}

Result<std::vector<NamespaceFormat>> namespace_formats(const DriveContext& drive) {
  std::vector<NamespaceFormat> formats;
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    auto format = identify_namespace_format(drive.claim.controller_fd(), ns.facts.nsid,
                                            drive.options.admin_timeout_ms);
    if (!format) return std::move(format).error();
    formats.push_back(*format);
  }
  return formats;
}

// A format reaches the namespaces that are attached; what is allocated and not attached survives.
Status no_hidden_namespaces(const DriveContext& drive) {
  if (!drive.claim.identity().capabilities.namespace_management()) return Ok{};
  const auto allocated =
      allocated_namespaces(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!allocated) return never_sent(allocated.error());
  for (const std::uint32_t nsid : *allocated) {
    if (drive.claim.find(nsid) != nullptr) continue;
    return Error{Errc::failed,
                 fmt::format("namespace {} is allocated, but not attached to this controller, so "
                             "that Format NVM does not reach it; nothing was sent to the drive: "
                             "delete it with `nvme delete-ns /dev/{} -n {}`",
                             nsid, drive.claim.sys().controller, nsid)};
  }
  return Ok{};
}

Status format_one(const DriveContext& drive, const NamespaceFormat& command, EraseMethod method,
                  MonoMs deadline, bool first, StopFlag& stop) {
  while (true) {
    if (stop.requested()) {
      return first ? Error{Errc::cancelled, "stopped before the format was sent"}
                   : Error{Errc::unknown, "stopped with a part of the namespaces formatted"};
    }
    const std::uint32_t timeout_ms = format_command_timeout_ms(
        deadline.ms - drive.clock.now().mono.ms, drive.options.format_timeout_ms);
    Status done = format_namespace(drive.claim.controller_fd(), command, method, timeout_ms);
    if (done) return done;
    const Error& error = done.error();
    if (error.code == Errc::unknown) {
      return Error{Errc::unknown,
                   fmt::format("{}; whether the drive erased anything is not known", error.what),
                   error.raw};
    }
    if (error.code != Errc::busy || drive.clock.now().mono.ms >= deadline.ms) {
      return Error{Errc::failed, error.what, error.raw};
    }
    static_cast<void>(stop.wait(drive.options.poll_interval_ms));
  }
}

}  // namespace

Result<EraseEvidence> erase_by_format(DriveContext& drive, const EraseRequest& request,
                                      const ReportProgress& on_progress, StopFlag& stop) {
  const MonoMs begun = drive.clock.now().mono;
  const auto before = namespace_formats(drive);
  if (!before) return never_sent(before.error());
  const auto commands = plan_format(*before, drive.claim.identity().capabilities.fna);
  if (!commands) return commands.error();
  if (auto none = no_hidden_namespaces(drive); !none) return std::move(none).error();
  // The last look: whatever appeared since the claim stops us here.
  if (auto unchanged = drive.claim.recheck(); !unchanged) return never_sent(unchanged.error());

  EraseEvidence evidence;
  evidence.method = request.method;
  const MonoMs deadline{begun.ms + request.timeout_ms};
  for (const NamespaceFormat& command : *commands) {
    if (evidence.commands != 0 && drive.clock.now().mono.ms >= deadline.ms) {
      return Error{Errc::unknown,
                   fmt::format("the format did not end within {} s: {} of {} commands completed; "
                               "raise cleanup_timeout if the drive is only slow",
                               request.timeout_ms / 1000, evidence.commands, commands->size())};
    }
    on_progress(EraseProgress{100.0 * evidence.commands / static_cast<double>(commands->size())});
    auto done = format_one(drive, command, request.method, deadline, evidence.commands == 0, stop);
    if (!done) return std::move(done).error();
    ++evidence.commands;
  }
  // The drive said that all is done; it must still be the same drive with the same namespaces.
  if (auto same = drive.claim.still_same_drive(); !same) return std::move(same).error();
  const auto after = namespace_formats(drive);
  if (!after) return after.error().wrap("after the format");
  if (*after != *before) {
    return Error{Errc::failed,
                 "the drive changed the format of a namespace although it was told to keep it: "
                 "look at it with `nvme id-ns`"};
  }
  on_progress(EraseProgress{100, 0});
  evidence.duration_ms = drive.clock.now().mono.ms - begun.ms;
  return evidence;
}

}  // namespace reclaim::nvme
