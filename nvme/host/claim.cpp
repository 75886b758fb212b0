#include "nvme/host/claim.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nvme/controller/admin.h"
#include "nvme/host/nodes.h"

namespace reclaim::nvme {
namespace {

// The opener's part of a sysfs picture; a new picture that differs in it is another drive.
bool same_nodes(const SysDrive& a, const SysDrive& b) {
  if (a.controller != b.controller || !(a.controller_number == b.controller_number)) return false;
  return std::equal(a.namespaces.begin(), a.namespaces.end(), b.namespaces.begin(),
                    b.namespaces.end(), [](const SysNamespace& x, const SysNamespace& y) {
                      return x.nsid == y.nsid && x.disk.number == y.disk.number &&
                             x.disk_sequence == y.disk_sequence &&
                             x.capacity_bytes == y.capacity_bytes && x.block_bytes == y.block_bytes;
                    });
}

// Refusals that a moment's patience may mend: the driver changes, or udev looks at a new node.
bool may_pass(const GuardResult& result) {
  return result.code == Errc::busy &&
         (result.by == guard_driver || result.by == guard_live || result.by == guard_node_open);
}

Status note(std::vector<GuardFinding>& findings, GuardResult result) {
  const bool passed = result.finding.passed;
  findings.push_back(result.finding);
  return passed ? Status(Ok{}) : Status(refusal(result));
}

}  // namespace

Result<Claim> Claim::create(const Options& options, const ClaimRequest& request,
                            std::vector<GuardFinding>* findings, StopFlag& stop, Logger& log) {
  Claim claim(options, request, log);
  std::vector<GuardFinding> seen;
  Status outcome = claim.get_ready(seen, stop);
  if (outcome) outcome = claim.open_controller(seen);
  if (outcome) outcome = claim.wait_for_nodes(seen, stop);
  if (outcome) outcome = claim.open_namespaces(seen);
  if (findings != nullptr) *findings = std::move(seen);
  if (!outcome) return std::move(outcome).error();
  return claim;
}

// Up to a drive that is ours, on nvme and live, and that nobody uses.
Status Claim::get_ready(std::vector<GuardFinding>& findings, StopFlag& stop) {
  if (request_.managed) {
    if (auto ready = look_or_revive(findings, stop); !ready) return ready;
    return lock_ ? Status(Ok{}) : take_host_lock(findings);
  }
  if (auto free = look(true, findings, stop); !free) return free;
  if (auto locked = take_host_lock(findings); !locked) return locked;
  if (auto taken = take_over(findings); !taken) return taken;
  // The guards look all over again: only now are there namespaces, and udev had a look at them.
  findings.clear();
  return look_or_revive(findings, stop);
}

// The guards; those whose refusal passes by itself are given time.
Status Claim::look(bool to_take_over, std::vector<GuardFinding>& findings, StopFlag& stop) {
  for (std::int64_t waited = 0;; waited += options_.driver_poll_ms) {
    const bool last_look = waited >= options_.driver_wait_ms;
    auto sys = read_drive(options_.sysfs_root, request_.address);
    if (sys) {
      sys_ = *std::move(sys);
      const GuardContext context{options_, request_, sys_, to_take_over};
      const auto results = look_at(guards_before_opening(), context, false);
      const GuardResult& last = results.back();
      if (last.finding.passed || !may_pass(last) || last_look) {
        for (const GuardResult& result : results) findings.push_back(result.finding);
        return last.finding.passed ? Status(Ok{}) : Status(refusal(last));
      }
    } else if (last_look) {
      // The drive may be on its way back from a guest, or the host is changing it under our eyes.
      return Error{Errc::busy, sys.error().what, sys.error().raw};
    }
    if (stop.wait(options_.driver_poll_ms)) {
      return Error{Errc::cancelled, "stopped while waiting for the drive's driver"};
    }
  }
}

// A controller may not survive its guest; what brings it back, if anything, is a reset.
Status Claim::look_or_revive(std::vector<GuardFinding>& findings, StopFlag& stop) {
  auto ready = look(false, findings, stop);
  if (ready || ready.error().code != Errc::busy || !only_the_controller_is_in_the_way()) {
    return ready;
  }
  if (!lock_) {
    std::vector<GuardFinding> locking;
    if (auto locked = take_host_lock(locking); !locked) return locked;
  }
  log_->warning(log_name::kNvme, fmt::format("{}: {}; resetting it", to_string(request_.address),
                                             ready.error().what));
  auto reset = reset_function(options_, request_.address);
  if (reset && sys_.driver.empty()) reset = takeover_->probe_again();
  findings.clear();
  auto again = reset ? look(false, findings, stop) : reset;
  if (again || again.error().code == Errc::cancelled) return again;
  if (reset && !only_the_controller_is_in_the_way()) return again;
  return Error{Errc::failed,
               fmt::format("{}; it was reset and did not come up ({}): power-cycle its slot, or "
                           "replace the drive, then reclaim device clean {}",
                           ready.error().what, again.error().what, to_string(request_.address))};
}

// Everything else looked at and passed, and the driver that has the controller is the host's (or,
// of a drive that we took over, none any more: the kernel lets go of a controller that stays dead).
bool Claim::only_the_controller_is_in_the_way() const {
  const bool hangs = sys_.driver == "nvme" && !sys_.controller_state.empty() &&
                     sys_.controller_state.rfind("deleting", 0) != 0;
  const bool let_go = sys_.driver.empty() && takeover_ != nullptr;
  if (!hangs && !let_go) return false;
  const auto all = look_at(guards_before_opening(), GuardContext{options_, request_, sys_}, true);
  return std::all_of(all.begin(), all.end(), [let_go](const GuardResult& result) {
    return result.finding.passed || result.by == guard_live ||
           (let_go && result.by == guard_driver);
  });
}

Status Claim::take_over(std::vector<GuardFinding>& findings) {
  auto takeover = Takeover::create(options_, sys_, *log_);
  if (!takeover) {
    return note(findings, refuses("takeover", takeover.error().code, takeover.error().what));
  }
  takeover_ = *std::move(takeover);
  return Ok{};
}

// Redis' lock can expire and be given to another; this one holds as long as our descriptors do.
Status Claim::take_host_lock(std::vector<GuardFinding>& findings) {
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
  return note(findings, passes("host_lock", "no other worker on this host has it"));
}

Status Claim::open_controller(std::vector<GuardFinding>& findings) {
  auto fd = open_controller_node(options_, sys_);
  if (!fd) return note(findings, refuses("controller_node", fd.error().code, fd.error().what));
  controller_ = *std::move(fd);
  findings.push_back(passes("controller_node", fmt::format("{} is device {}", sys_.controller,
                                                           to_string(sys_.controller_number)))
                         .finding);
  auto identity = identify_controller(controller_.get(), options_.admin_timeout_ms);
  if (!identity) {
    return note(findings, refuses("serial", Errc::failed, identity.error().what));
  }
  identity_ = *std::move(identity);
  const GuardContext context{options_, request_, sys_};
  if (auto serial = note(findings, guard_serial(context, identity_)); !serial) return serial;
  return note(findings, guard_shared_subsystem(context, identity_));
}

// The kernel lists namespaces a moment after the controller is live. One that it never lists is for
// the clean steps to see to, not for the claim.
Status Claim::wait_for_nodes(std::vector<GuardFinding>& findings, StopFlag& stop) {
  const auto active = active_namespaces(controller_.get(), options_.admin_timeout_ms);
  if (!active) {
    findings.push_back(passes("namespaces", active.error().what).finding);
    return Ok{};
  }
  const auto listed = [this](std::uint32_t nsid) {
    return std::any_of(sys_.namespaces.begin(), sys_.namespaces.end(),
                       [nsid](const SysNamespace& ns) { return ns.nsid == nsid; });
  };
  std::size_t seen = 0;
  for (std::int64_t waited = 0;; waited += options_.driver_poll_ms) {
    seen = static_cast<std::size_t>(std::count_if(active->begin(), active->end(), listed));
    if (seen == active->size() || waited >= options_.driver_wait_ms) break;
    if (stop.wait(options_.driver_poll_ms)) {
      return Error{Errc::cancelled, "stopped while waiting for the drive's namespaces"};
    }
    auto sys = read_drive(options_.sysfs_root, request_.address);
    if (!sys) continue;  // in the middle of a change
    if (sys->controller != sys_.controller) {
      return Error{Errc::busy, "the drive's controller disappeared while it was claimed"};
    }
    sys_ = *std::move(sys);
  }
  findings.push_back(passes("namespaces", fmt::format("{} of {} attached namespaces have a node",
                                                      seen, active->size()))
                         .finding);
  return Ok{};
}

Status Claim::open_namespaces(std::vector<GuardFinding>& findings) {
  for (const SysNamespace& sys : sys_.namespaces) {
    auto opened = open_namespace(sys);
    if (!opened) {
      return note(findings, refuses("claim", opened.error().code, opened.error().what));
    }
    namespaces_.push_back(*std::move(opened));
  }
  std::string held = fmt::format("{} namespaces are held exclusively", namespaces_.size());
  if (const Status usable = whole(); !usable) held += "; " + usable.error().what;
  return note(findings, passes("claim", std::move(held)));
}

Result<ClaimedNamespace> Claim::open_namespace(const SysNamespace& sys) const {
  const std::string path = options_.dev_root + "/" + sys.disk.name;
  ClaimedNamespace claimed;
  claimed.sys = sys;
  claimed.fd = UniqueFd(::open(path.c_str(), O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC));
  if (!claimed.fd.valid() && errno == EBUSY) {
    // The guards before saw nobody: whoever it is does not show in sysfs or /proc.
    return Error{Errc::refused,
                 fmt::format("{} is held exclusively by something that shows neither in sysfs nor "
                             "among the host's processes (a zfs pool, a mount in a container); "
                             "release it",
                             path),
                 EBUSY};
  }
  if (!claimed.fd.valid()) {
    // The node is not made yet, or gone again.
    const bool passing = errno == ENOENT || errno == ENXIO || errno == ENODEV;
    return Error{passing ? Errc::busy : Errc::refused,
                 fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno};
  }
  if (auto disk = check_disk(claimed.fd.get(), path, sys); !disk) return std::move(disk).error();
  auto facts = identify_namespace(controller_.get(), sys.nsid, options_.admin_timeout_ms);
  if (!facts) return Error{Errc::refused, facts.error().what, facts.error().raw};
  claimed.facts = *std::move(facts);
  claimed.facts.node = sys.disk.name;
  return claimed;
}

Status Claim::recheck() const {
  auto now = read_drive(options_.sysfs_root, request_.address);
  for (std::int64_t waited = 0;; waited += options_.driver_poll_ms) {
    if (!now) return Error{Errc::refused, now.error().what, now.error().raw};
    const GuardContext context{options_, request_, *now};
    const auto results = look_at(guards_before_command(), context, false);
    const GuardResult& last = results.back();
    if (last.finding.passed) break;
    // A monitor that asks the drive for its health is gone in a moment.
    if (last.by != guard_node_open || waited >= options_.driver_wait_ms) {
      return refusal(last);
    }
    StopFlag never_set;
    (void)never_set.wait(options_.driver_poll_ms);
    now = read_drive(options_.sysfs_root, request_.address);
  }
  if (!same_nodes(sys_, *now)) {
    return Error{Errc::refused,
                 "guard claim: the drive's controller or namespaces are not those that were "
                 "claimed; it was reset, changed or reconfigured since"};
  }
  return still_same_drive();
}

Status Claim::still_same_drive() const {
  for (const ClaimedNamespace& ns : namespaces_) {
    auto number = check_number(ns.fd.get(), S_IFBLK, options_.dev_root + "/" + ns.sys.disk.name,
                               ns.sys.disk.number);
    if (!number) return number;
  }
  const auto identity = identify_controller(controller_.get(), options_.admin_timeout_ms);
  if (!identity) {
    return Error{
        Errc::refused,
        fmt::format("the claimed drive does not answer any more: {}", identity.error().what),
        identity.error().raw};
  }
  if (identity->serial == identity_.serial) return Ok{};
  return Error{Errc::refused,
               fmt::format("guard serial: the opened controller said serial {} and now says {}",
                           identity_.serial, identity->serial)};
}

Status Claim::whole() const {
  for (const ClaimedNamespace& ns : namespaces_) {
    if (ns.whole()) continue;
    return Error{
        Errc::failed,
        fmt::format("{} is {} bytes in blocks of {} for the kernel, but {} in blocks of {} for the "
                    "drive; run `nvme ns-rescan /dev/{}`, or format the namespace without metadata "
                    "and in blocks of at most 4096 bytes",
                    ns.sys.disk.name, ns.sys.capacity_bytes, ns.sys.block_bytes,
                    ns.facts.capacity_bytes, ns.facts.block_bytes, sys_.controller)};
  }
  return Ok{};
}

Status Claim::restore_driver() {
  if (takeover_ == nullptr) return Ok{};
  namespaces_.clear();
  controller_.reset();
  restored_ = true;
  return takeover_->give_back();
}

Status Claim::still_held() const {
  CHECK(restored_);
  return takeover_->still_held();
}

const ClaimedNamespace* Claim::find(std::uint32_t nsid) const {
  const auto found =
      std::find_if(namespaces_.begin(), namespaces_.end(),
                   [nsid](const ClaimedNamespace& ns) { return ns.facts.nsid == nsid; });
  return found == namespaces_.end() ? nullptr : &*found;
}

std::vector<NamespaceFacts> Claim::namespace_facts() const {
  std::vector<NamespaceFacts> facts;
  for (const ClaimedNamespace& ns : namespaces_) facts.push_back(ns.facts);
  return facts;
}

DriveFacts facts_of(const SysDrive& sys) {
  DriveFacts facts;
  facts.address = sys.address;
  facts.vendor_id = sys.vendor_id;
  facts.device_id = sys.device_id;
  facts.class_code = sys.class_code;
  facts.driver = sys.driver;
  facts.controller = sys.controller;
  facts.controller_state = sys.controller_state;
  facts.subsystem_nqn = sys.subsystem_nqn;
  facts.iommu_group = sys.iommu_group;
  facts.sriov_vfs_enabled = sys.sriov_vfs_enabled;
  facts.hardware = sys.hardware;
  facts.mac = sys.mac;
  for (const SysNamespace& ns : sys.namespaces) {
    facts.namespaces.push_back(
        NamespaceFacts{ns.nsid, ns.disk.name, ns.capacity_bytes, ns.block_bytes, 0});
  }
  return facts;
}

Result<DriveFacts> look_at_drive(const Options& options, const PciAddress& address,
                                 bool open_controller) {
  const auto sys = read_drive(options.sysfs_root, address);
  if (!sys) return sys.error();
  return look_at_drive(options, *sys, open_controller);
}

DriveFacts look_at_drive(const Options& options, const SysDrive& sys, bool open_controller) {
  DriveFacts facts = facts_of(sys);
  if (sys.driver != "nvme") {
    facts.problem = sys.driver.empty() ? "no driver is bound" : "bound to " + sys.driver;
  } else if (sys.controller_state != "live") {
    facts.problem = sys.controller.empty() ? "the nvme driver has no controller for it"
                                           : sys.controller + " is " + sys.controller_state;
  } else if (open_controller) {
    const auto fd = open_controller_node(options, sys);
    if (!fd) {
      facts.problem = fd.error().what;
      return facts;
    }
    auto identity = identify_controller(fd->get(), options.admin_timeout_ms);
    const auto smart = read_smart(fd->get(), options.admin_timeout_ms);
    if (identity)
      facts.identity = *std::move(identity);
    else
      facts.problem = identity.error().what;
    if (smart) {
      facts.counters = smart->counters;
      facts.health = smart->health;
    }
    if (options.looks_at_sanitize && facts.identity && facts.identity->capabilities.sanitize()) {
      const auto log = read_sanitize_log(fd->get(), options.admin_timeout_ms);
      if (log) facts.sanitize = *log;
    }
    for (NamespaceFacts& ns : facts.namespaces) {
      const auto said = identify_namespace(fd->get(), ns.nsid, options.admin_timeout_ms);
      if (said) ns.dlfeat = said->dlfeat;
    }
  }
  return facts;
}

Result<std::vector<GuardFinding>> inspect_drive(const Options& options, const ClaimRequest& request,
                                                bool open_controller) {
  auto sys = read_drive(options.sysfs_root, request.address);
  if (!sys) return std::move(sys).error();
  const GuardContext context{options, request, *sys, !request.managed};
  std::vector<GuardFinding> findings;
  for (const GuardResult& result : look_at(guards_before_opening(), context, true)) {
    findings.push_back(result.finding);
  }
  if (!open_controller || sys->controller_state != "live") return findings;
  const auto fd = open_controller_node(options, *sys);
  const auto identity =
      fd ? identify_controller(fd->get(), options.admin_timeout_ms) : Result<Identity>(fd.error());
  if (!identity) {
    findings.push_back(refuses("serial", Errc::failed, identity.error().what).finding);
    return findings;
  }
  findings.push_back(guard_serial(context, *identity).finding);
  findings.push_back(guard_shared_subsystem(context, *identity).finding);
  return findings;
}

}  // namespace reclaim::nvme
