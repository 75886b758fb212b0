// A claim on a drive: the host's lock on its address, its controller and every namespace node open,
// the latter exclusively, all checked against what sysfs says, for as long as the object lives.
// Commands to the controller's node bypass the kernel's exclusive opens
// (Linux, drivers/nvme/host/ioctl.c), so holding them is what keeps the host itself off the drive.
// An unmanaged drive is first taken over from its vfio driver, and given back at the latest when
// the object ends. Blocking; thread: the drive's. Owns every descriptor.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/host/driver_binding.h"
#include "nvme/host/guards.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "nvme/stop_flag.h"
#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/unique_fd.h"
#include "state/ledger/host_lock.h"

namespace reclaim::nvme {

struct ClaimedNamespace {
  NamespaceFacts facts;  // as the controller says, checked against sysfs
  SysNamespace sys;
  UniqueFd fd;  // O_RDWR|O_EXCL|O_DIRECT

  // True if the kernel's disk is what the drive says that it is. It is not where a tenant chose a
  // format of which the kernel makes no disk: metadata behind each block, blocks beyond a page.
  [[nodiscard]] bool whole() const {
    return facts.capacity_bytes == sys.capacity_bytes && facts.block_bytes == sys.block_bytes;
  }
};

class Claim final {
 public:
  // Looks at the guards in order and opens what they leave. The error of a refusal names the guard;
  // `findings`, if given, is filled up to and including it. Waits a while for what passes by itself
  // after a guest is gone: the driver, the live controller, its nodes, udev's looks at them. Where
  // only the controller is in the way, its function is reset, once. `log` outlives the object.
  static Result<Claim> create(const Options& options, const ClaimRequest& request,
                              std::vector<GuardFinding>* findings, StopFlag& stop, Logger& log);

  // Looks again at all that can have changed since: the guards, that our descriptors are still what
  // sysfs shows, that no namespace came or went, and the serial, asked of the opened controller.
  [[nodiscard]] Status recheck() const;
  // Looks only at the descriptors of the namespaces and at the serial.
  [[nodiscard]] Status still_same_drive() const;
  // A claim takes namespaces as they are, so that the clean steps can put them right; nothing is
  // read or written by the kernel's disks before this says that they are whole. Errc::failed.
  [[nodiscard]] Status whole() const;

  // Close and reopen the namespaces, so that they can be changed under us; both are defined in
  // claim_namespaces.cpp. Closing lets the kernel take deleted nodes away. Reopening waits up to
  // `timeout_ms` until the kernel shows exactly the namespaces that are attached, then takes them
  // as create() does, guards included.
  void close_namespaces();
  [[nodiscard]] Status reopen_namespaces(std::int64_t timeout_ms, StopFlag& stop);

  // Closes controller and namespaces of an unmanaged drive and puts its former driver back; see
  // Drives::restore_driver. The lock and what was learnt stay. Nothing to do for a managed one.
  [[nodiscard]] Status restore_driver();
  // True once the drive's driver was restored; only then still_held() may be called, see
  // Takeover::still_held().
  [[nodiscard]] bool restored() const { return restored_; }
  [[nodiscard]] Status still_held() const;

  [[nodiscard]] int controller_fd() const { return controller_.get(); }
  [[nodiscard]] const std::vector<ClaimedNamespace>& namespaces() const { return namespaces_; }
  [[nodiscard]] const ClaimedNamespace* find(std::uint32_t nsid) const;
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] std::vector<NamespaceFacts> namespace_facts() const;
  [[nodiscard]] const SysDrive& sys() const { return sys_; }
  [[nodiscard]] const Rules& rules() const { return request_.rules; }
  // ClaimRequest::enrolment.
  [[nodiscard]] const std::string& enrolment() const { return request_.enrolment; }
  // True if the drive stands on another driver at rest, where nothing of it can be read.
  [[nodiscard]] bool unmanaged() const { return !request_.managed; }
  // Replaces the rules for what follows: a qualification ends with those that it recommends.
  void replace_rules(Rules rules) { request_.rules = std::move(rules); }

 private:
  Claim(Options options, ClaimRequest request, Logger& log)
      : options_(std::move(options)), request_(std::move(request)), log_(&log) {}
  [[nodiscard]] Status get_ready(std::vector<GuardFinding>& findings, StopFlag& stop);
  [[nodiscard]] Status look(bool to_take_over, std::vector<GuardFinding>& findings, StopFlag& stop);
  [[nodiscard]] Status look_or_revive(std::vector<GuardFinding>& findings, StopFlag& stop);
  [[nodiscard]] bool only_the_controller_is_in_the_way() const;
  [[nodiscard]] Status take_over(std::vector<GuardFinding>& findings);
  [[nodiscard]] Status take_host_lock(std::vector<GuardFinding>& findings);
  [[nodiscard]] Status open_controller(std::vector<GuardFinding>& findings);
  [[nodiscard]] Status wait_for_nodes(std::vector<GuardFinding>& findings, StopFlag& stop);
  [[nodiscard]] Status open_namespaces(std::vector<GuardFinding>& findings);
  [[nodiscard]] Result<ClaimedNamespace> open_namespace(const SysNamespace& sys) const;
  [[nodiscard]] Status try_to_reopen();

  Options options_;
  ClaimRequest request_;
  Logger* log_;
  SysDrive sys_;
  bool restored_ = false;
  // The lock is the first of what is taken, the last of what is let go; the drive is given back
  // before the lock, after its descriptors.
  std::optional<HostLock> lock_;
  std::unique_ptr<Takeover> takeover_;
  UniqueFd controller_;
  Identity identity_;
  std::vector<ClaimedNamespace> namespaces_;
};

// The facts that sysfs tells of a function, whatever its class.
[[nodiscard]] DriveFacts facts_of(const SysDrive& sys);

// The facts that sysfs and, where it is live, the opened controller tell of a drive, for discovery.
// With `open_controller` false only sysfs is looked at.
[[nodiscard]] DriveFacts look_at_drive(const Options& options, const SysDrive& sys,
                                       bool open_controller);
[[nodiscard]] Result<DriveFacts> look_at_drive(const Options& options, const PciAddress& address,
                                               bool open_controller);
// Every guard, refused or not; opens the controller to read its serial, claims nothing.
[[nodiscard]] Result<std::vector<GuardFinding>> inspect_drive(const Options& options,
                                                              const ClaimRequest& request,
                                                              bool open_controller);

}  // namespace reclaim::nvme
