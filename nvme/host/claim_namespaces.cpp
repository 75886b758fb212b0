// A claim while its drive's namespaces are deleted and made: the old descriptors are let go, the
// new ones taken as soon as the kernel shows their nodes.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nvme/controller/admin_state.h"
#include "nvme/host/claim.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kPauseMs = 50;

std::vector<std::uint32_t> active_nsids(const ControllerState& layout) {
  std::vector<std::uint32_t> nsids;
  for (const NamespaceState& ns : layout.namespaces) {
    if (ns.active) nsids.push_back(ns.nsid);
  }
  return nsids;
}

}  // namespace

void Claim::close_namespaces() {
  namespaces_.clear();
}

Status Claim::reopen_namespaces(std::int64_t timeout_ms, StopFlag& stop) {
  for (std::int64_t waited_ms = 0;; waited_ms += kPauseMs) {
    auto done = try_to_reopen();
    if (done) return done;
    namespaces_.clear();
    if (waited_ms >= timeout_ms) {
      return Error{Errc::failed,
                   fmt::format("the namespaces could not be claimed again within {} s: {}",
                               timeout_ms / 1000, done.error().what),
                   done.error().raw};
    }
    if (stop.wait(kPauseMs)) {
      return Error{Errc::cancelled, "stopped while waiting for the namespaces' block nodes"};
    }
  }
}

Status Claim::try_to_reopen() {
  namespaces_.clear();
  const auto layout = read_namespace_layout(controller_.get(), options_.admin_timeout_ms);
  if (!layout) return layout.error();
  auto sys = read_drive(options_.sysfs_root, request_.address);
  if (!sys) return std::move(sys).error();
  if (sys->controller != sys_.controller || !(sys->controller_number == sys_.controller_number)) {
    return Error{Errc::refused, fmt::format("the drive is {} now and was {}; it was bound again",
                                            sys->controller, sys_.controller)};
  }
  std::vector<std::uint32_t> shown;
  for (const SysNamespace& ns : sys->namespaces) shown.push_back(ns.nsid);
  const std::vector<std::uint32_t> attached = active_nsids(*layout);
  if (shown != attached) {
    return Error{Errc::refused,
                 fmt::format("the drive has namespaces {} attached, the kernel shows {}",
                             fmt::join(attached, " "), fmt::join(shown, " "))};
  }
  sys_ = *std::move(sys);
  for (const SysNamespace& ns : sys_.namespaces) {
    auto opened = open_namespace(ns);
    if (!opened) return std::move(opened).error();
    namespaces_.push_back(*std::move(opened));
  }
  if (auto usable = whole(); !usable) return usable;
  return recheck();
}

}  // namespace reclaim::nvme
