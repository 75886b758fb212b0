// The clean step that makes one namespace over the whole drive, unless that is what there is.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "nvme/clean_steps.h"
#include "nvme/controller/admin_change.h"
#include "nvme/controller/namespace_layout.h"
#include "nvme/controller/size_search.h"
#include "nvme/controller/status.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kManagementTimeoutMs = 120'000;  // deleting may trim the whole media
constexpr std::uint32_t kFormatTimeoutMs = 600'000;
constexpr std::int64_t kNodesTimeoutMs = 30'000;  // the kernel looks again in its own time
// The statuses by which drives refuse a namespace that is too large: the specification's, an
// invalid format (Samsung's PM9A3), an invalid field (others).
constexpr std::uint16_t kTooLarge[] = {0x115, 0x10a, 0x002};
constexpr std::uint64_t kSearchedToBytes = 1'048'576;
constexpr std::string_view kSurface = "namespaces";

Error failed(const Error& error) {
  if (error.code == Errc::cancelled) return error;
  const Errc code = error.code == Errc::unknown ? Errc::unknown : Errc::failed;
  return Error{code, fmt::format("{}: {}", kSurface, error.what), error.raw};
}

// Judges what the drive says of its namespaces after they were changed, by the plan that a sanitize
// would have: that has nothing to do only where the layout is as it should be. For all other
// methods nothing may be left beside them, either.
Result<std::vector<StepFinding>> judge_change(const ControllerState& layout,
                                              const ControllerState* yardstick, EraseMethod method,
                                              bool can_manage) {
  const bool managed = can_manage && layout.namespace_management();
  const EraseMethod as_if = managed ? EraseMethod::sanitize_block : method;
  auto after = plan_namespaces(layout, yardstick, as_if, can_manage);
  if (!after) return std::move(after).error();
  if (auto covered = check_covered(layout, method); !covered) return std::move(covered).error();
  if (after->nothing_to_do()) return std::move(after->findings);
  return Error{Errc::failed,
               fmt::format("namespaces: after the reset they are still not as they should be: {}; "
                           "look for a firmware update or replace the drive",
                           after->findings.front().found)};
}

// True if the claim has the whole node of every attached namespace, and no other.
bool holds_all(const DriveContext& drive, const ControllerState& layout) {
  return std::all_of(layout.namespaces.begin(), layout.namespaces.end(),
                     [&](const NamespaceState& ns) {
                       const ClaimedNamespace* held = drive.claim.find(ns.nsid);
                       if (!ns.active) return held == nullptr;
                       return held != nullptr && held->whole() &&
                              held->facts.capacity_bytes == ns.bytes();
                     }) &&
         std::all_of(drive.claim.namespaces().begin(), drive.claim.namespaces().end(),
                     [&](const ClaimedNamespace& held) {
                       return std::any_of(
                           layout.namespaces.begin(), layout.namespaces.end(),
                           [&](const NamespaceState& ns) { return ns.nsid == held.facts.nsid; });
                     });
}

Status remove_namespaces(DriveContext& drive, const LayoutPlan& plan, const ControllerState& layout,
                         const Patience& patience) {
  const int controller = drive.claim.controller_fd();
  const std::uint32_t timeout_ms = std::max(drive.options.admin_timeout_ms, kManagementTimeoutMs);
  bool changed = false;
  for (const std::uint32_t nsid : plan.remove) {
    // Each of those before was seen to end; the next run of the step deletes the rest.
    if (auto going = patience.check(); !going) return going;
    auto removed = delete_namespace(controller, nsid, timeout_ms);
    if (!removed && removed.error().code == Errc::failed) {
      // Deleting detaches, by the specification; some drives want that done before.
      static_cast<void>(
          attach_namespace(controller, nsid, layout.controller_id, false, timeout_ms).ok());
      removed = delete_namespace(controller, nsid, timeout_ms);
    }
    if (!removed && changed && removed.error().code == Errc::not_found) {
      return Error{Errc::failed, removed.error().what, removed.error().raw};
    }
    if (!removed) return removed;
    changed = true;
    drive.log.debug(log_name::kNvme, fmt::format("{}: namespace {} deleted",
                                                 to_string(drive.claim.sys().address), nsid));
  }
  // The kernel keeps a deleted node for as long as it is open.
  drive.claim.close_namespaces();
  return Ok{};
}

bool is_too_large(const Error& error) {
  return std::find(std::begin(kTooLarge), std::end(kTooLarge), status_code(error.raw)) !=
         std::end(kTooLarge);
}

// The largest that the drive takes of `bytes`. A sanitize reaches what drives round away, so that
// the size that it had is good enough for one; all else needs the last block.
Result<std::uint32_t> create_largest(const DriveContext& drive, const NamespaceToMake& make,
                                     std::uint64_t bytes, EraseMethod method,
                                     const Patience& patience) {
  const int controller = drive.claim.controller_fd();
  const std::uint32_t timeout_ms = std::max(drive.options.admin_timeout_ms, kManagementTimeoutMs);
  const bool whole = !is_sanitize(method);
  const std::uint64_t block = std::max<std::uint64_t>(make.block_bytes, 1);
  const std::uint64_t former = about_equal(make.former_bytes, bytes) ? make.former_bytes : 0;
  SizeSearch search(bytes / block, former / block,
                    whole ? 1 : std::min(kSearchedToBytes, bytes / 1024) / block);
  Result<std::uint32_t> nsid = Error{Errc::failed, "the drive does not say how large it is"};
  while (const auto blocks = search.next()) {
    if (auto going = patience.check(); !going) return going.error();
    if (nsid) {
      if (auto gone = delete_namespace(controller, *nsid, timeout_ms); !gone) return gone.error();
    }
    nsid = create_namespace(controller, make, *blocks, timeout_ms);
    if (!nsid && !is_too_large(nsid.error())) return nsid;
    if (!nsid) {
      search.refused();
      continue;
    }
    search.taken();
    if (!whole && *blocks == former / block) break;
  }
  if (!nsid && search.largest() != 0) {
    nsid = create_namespace(controller, make, search.largest(), timeout_ms);
  }
  if (nsid) {
    drive.log.debug(log_name::kNvme,
                    fmt::format("{}: namespace {} of {} blocks made",
                                to_string(drive.claim.sys().address), *nsid, search.largest()));
  }
  return nsid;
}

// Over all that is unallocated. What it rounds away is for check_covered() to judge.
Status make_namespace(const DriveContext& drive, const NamespaceToMake& make, EraseMethod method,
                      const Patience& patience) {
  const int controller = drive.claim.controller_fd();
  const auto empty = read_namespace_layout(controller, drive.options.admin_timeout_ms, patience);
  if (!empty) return empty.error();
  if (!empty->namespaces.empty()) {
    return Error{Errc::failed, fmt::format("namespace {} is still there after it was deleted",
                                           empty->namespaces.front().nsid)};
  }
  std::uint64_t bytes = empty->unallocated_bytes;
  if (bytes == 0) bytes = empty->capacity_bytes;
  // The namespaces that the last tenant left may be a part of what he had, and a sanitize alone
  // reaches all.
  if (bytes == 0 && is_sanitize(method)) bytes = make.former_bytes;
  const auto nsid = create_largest(drive, make, bytes, method, patience);
  if (!nsid && nsid.error().code == Errc::cancelled) return nsid.error();
  if (!nsid && nsid.error().code == Errc::unknown) {
    return Error{Errc::unknown,
                 nsid.error().what +
                     "; the drive may have no namespace now, the next cleaning "
                     "makes one",
                 nsid.error().raw};
  }
  if (!nsid) {
    return Error{Errc::failed,
                 nsid.error().what +
                     "; the drive has no namespace now: make one over all of it by "
                     "`nvme create-ns`, then clean the device again",
                 nsid.error().raw};
  }
  return attach_namespace(controller, *nsid, empty->controller_id, true,
                          std::max(drive.options.admin_timeout_ms, kManagementTimeoutMs));
}

// Errc::not_found: the drive knows no namespace management, and nothing was changed.
Status change_layout(DriveContext& drive, const LayoutPlan& plan, const ControllerState& layout,
                     EraseMethod method, const Patience& patience, StopFlag& stop) {
  const int controller = drive.claim.controller_fd();
  for (const NamespaceToFormat& format : plan.format) {
    if (auto going = patience.check(); !going) return going;
    auto done = change_lba_format(controller, format,
                                  std::max(drive.options.admin_timeout_ms, kFormatTimeoutMs));
    if (!done) return done;
  }
  if (plan.make) {
    if (auto removed = remove_namespaces(drive, plan, layout, patience); !removed) return removed;
    auto made = make_namespace(drive, *plan.make, method, patience);
    if (!made && made.error().code == Errc::not_found) {
      return Error{Errc::failed, made.error().what, made.error().raw};
    }
    if (!made) return made;
  }
  if (plan.nothing_to_do()) return Ok{};
  if (auto asked = rescan_namespaces(controller); !asked) return asked;
  return drive.claim.reopen_namespaces(kNodesTimeoutMs, stop);
}

}  // namespace

Result<StepReport> reset_namespaces(DriveContext& drive, const StepRequest& request,
                                    StopFlag& stop) {
  const auto baseline = enrolled(drive, request.enrolment);
  if (!baseline) return baseline.error();
  const ControllerState* const yardstick = *baseline ? &**baseline : nullptr;
  const int controller = drive.claim.controller_fd();
  const Patience patience = patience_of(drive, request, stop);
  auto layout = read_namespace_layout(controller, drive.options.admin_timeout_ms, patience);
  if (!layout) return failed(layout.error());
  bool can_manage = true;
  StepReport report;
  auto plan = plan_namespaces(*layout, yardstick, request.method, can_manage);
  if (!plan) return std::move(plan).error();
  if (!plan->nothing_to_do()) {
    if (stop.requested()) return Error{Errc::cancelled, "stopped before the namespaces were reset"};
    if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
    auto changed = change_layout(drive, *plan, *layout, request.method, patience, stop);
    if (!changed && changed.error().code == Errc::not_found) {
      // Some drives claim namespace management and know none of its commands.
      can_manage = false;
      report.findings.push_back(StepFinding{
          std::string(kSurface), "the drive claims to manage namespaces, but cannot", false});
      plan = plan_namespaces(*layout, yardstick, request.method, can_manage);
      if (!plan) return std::move(plan).error();
      if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
      changed = change_layout(drive, *plan, *layout, request.method, patience, stop);
    }
    if (!changed && changed.error().code == Errc::cancelled) return std::move(changed).error();
    if (!changed) return failed(changed.error());
    layout = read_namespace_layout(controller, drive.options.admin_timeout_ms, patience);
    if (!layout) return failed(layout.error());
    const auto now = judge_change(*layout, yardstick, request.method, can_manage);
    if (!now) return now.error();
    for (const StepFinding& each : plan->findings) report.findings.push_back(each);
    if (plan->make) {
      for (const StepFinding& each : *now) report.findings.push_back(each);
    }
  } else {
    report.findings = std::move(plan->findings);
  }
  if (holds_all(drive, *layout)) return report;
  // The kernel has not seen what the drive has; what is not held cannot be verified.
  if (auto asked = rescan_namespaces(controller); !asked) return failed(asked.error());
  auto held = drive.claim.reopen_namespaces(kNodesTimeoutMs, stop);
  if (!held && held.error().code == Errc::cancelled) return std::move(held).error();
  if (!held) return failed(held.error());
  return report;
}

}  // namespace reclaim::nvme
