#include "nvme/pci/pci_claim.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "nvme/pci/function_files.h"

namespace reclaim::nvme {
namespace {

Status note(std::vector<GuardFinding>& findings, GuardResult result) {
  const bool passed = result.finding.passed;
  findings.push_back(result.finding);
  return passed ? Status(Ok{}) : Status(refusal(result));
}

Result<ConfigSpace> read_space(const Options& options, const PciAddress& address) {
  const auto config = read_config(options, address);
  if (!config) return config.error();
  return parse_config_space(*config);
}

// Compares what no reset and no driver changes.
bool same_identity(const ConfigSpace& a, const ConfigSpace& b) {
  return a.vendor_id == b.vendor_id && a.device_id == b.device_id &&
         a.subsystem_vendor_id == b.subsystem_vendor_id && a.subsystem_id == b.subsystem_id &&
         a.class_code == b.class_code && a.revision == b.revision &&
         a.serial_number == b.serial_number;
}

}  // namespace

Result<PciClaim> PciClaim::create(const Options& options, const PciClaimRequest& request,
                                  std::vector<GuardFinding>* findings, StopFlag& stop,
                                  Logger& log) {
  PciClaim claim(options, request);
  std::vector<GuardFinding> seen;
  Status outcome = claim.look(seen, stop);
  if (outcome) outcome = claim.take(seen, log);
  if (findings != nullptr) *findings = std::move(seen);
  if (!outcome) return std::move(outcome).error();
  return claim;
}

Status PciClaim::look(std::vector<GuardFinding>& findings, StopFlag& stop) {
  for (std::int64_t waited = 0;; waited += options_.driver_poll_ms) {
    auto function = read_function(options_.sysfs_root, request_.address);
    if (!function) {
      return note(findings, refuses("present", Errc::refused, function.error().what));
    }
    sys_ = *std::move(function);
    const auto results = look_at_function(options_, request_, sys_, false);
    const GuardResult& last = results.back();
    // udev, or a monitor, looks at a node for a moment.
    const bool passing = !last.finding.passed && last.by == guard_node_open;
    if (!passing || waited >= options_.driver_wait_ms) {
      for (const GuardResult& result : results) findings.push_back(result.finding);
      return last.finding.passed ? Status(Ok{}) : Status(refusal(last));
    }
    if (stop.wait(options_.driver_poll_ms)) {
      return Error{Errc::cancelled, "stopped while waiting for the device to be let go"};
    }
  }
}

Status PciClaim::take(std::vector<GuardFinding>& findings, Logger& log) {
  if (::mkdir(options_.run_path.c_str(), 0750) != 0 && errno != EEXIST) {
    return note(findings, refuses("host_lock", Errc::refused,
                                  fmt::format("cannot create {}: {}", options_.run_path,
                                              std::strerror(errno))));
  }
  auto lock = HostLock::take(options_.run_path, request_.address);
  if (!lock) {
    const Errc code = lock.error().code == Errc::busy ? Errc::busy : Errc::refused;
    return note(findings, refuses("host_lock", code, lock.error().what));
  }
  lock_ = *std::move(lock);
  findings.push_back(passes("host_lock", "no other worker on this host has it").finding);
  auto stay = DriverStay::create(options_, sys_, log);
  if (!stay) return note(findings, refuses("claim", stay.error().code, stay.error().what));
  stay_ = *std::move(stay);
  sys_.driver = stay_->driver();
  auto space = read_space(options_, request_.address);
  if (!space) return note(findings, refuses("config", Errc::failed, space.error().what));
  space_ = *std::move(space);
  if (space_.vendor_id != sys_.vendor_id || space_.device_id != sys_.device_id) {
    return note(findings,
                refuses("config", Errc::failed,
                        fmt::format("its configuration space says {:04x}:{:04x}, the kernel "
                                    "{:04x}:{:04x}; the device was changed under the kernel: "
                                    "remove and rescan {}",
                                    space_.vendor_id, space_.device_id, sys_.vendor_id,
                                    sys_.device_id, to_string(request_.address))));
  }
  // The guards look all over again: only now is the function kept from others.
  if (auto still = recheck(); !still) {
    return note(findings, refuses("claim", still.error().code, still.error().what));
  }
  return note(findings, passes("claim", stay_->driver().empty()
                                            ? std::string("it is held without a driver")
                                            : fmt::format("it is held on {}", stay_->driver())));
}

Status PciClaim::recheck() const {
  for (std::int64_t waited = 0;; waited += options_.driver_poll_ms) {
    const auto now = read_function(options_.sysfs_root, request_.address);
    if (!now) return Error{Errc::refused, now.error().what, now.error().raw};
    const auto results = look_at_function(options_, request_, *now, false, stay_->driver());
    const GuardResult& last = results.back();
    if (last.finding.passed) return same_device();
    if (last.by != guard_node_open || waited >= options_.driver_wait_ms) return refusal(last);
    StopFlag never_set;
    (void)never_set.wait(options_.driver_poll_ms);
  }
}

Status PciClaim::same_device() const {
  const auto space = read_space(options_, request_.address);
  if (!space) {
    return Error{Errc::refused, fmt::format("the claimed device does not answer any more: {}",
                                            space.error().what)};
  }
  if (same_identity(*space, space_)) return Ok{};
  return Error{Errc::refused, fmt::format("the device at {} is not the one that was claimed: it "
                                          "says {:04x}:{:04x}, {} now, and said {:04x}:{:04x}, {}",
                                          to_string(request_.address), space->vendor_id,
                                          space->device_id, space->serial_number, space_.vendor_id,
                                          space_.device_id, space_.serial_number)};
}

Status PciClaim::still_ours() const {
  if (auto held = stay_->still_held(); !held) return held;
  return same_device();
}

Result<std::vector<GuardFinding>> inspect_function(const Options& options,
                                                   const PciClaimRequest& request) {
  const auto function = read_function(options.sysfs_root, request.address);
  if (!function) return function.error();
  std::vector<GuardFinding> findings;
  for (const GuardResult& result : look_at_function(options, request, *function, true)) {
    findings.push_back(result.finding);
  }
  return findings;
}

}  // namespace reclaim::nvme
