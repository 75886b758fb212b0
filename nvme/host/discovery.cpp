#include "nvme/host/discovery.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "nvme/host/claim.h"
#include "nvme/host/guards.h"
#include "nvme/host/sysfs.h"

namespace reclaim::nvme {
namespace {

constexpr std::chrono::milliseconds kStopHeardWithin{50};

// Says which of the host's guests has the device, by the guards that would refuse a claim; what
// cannot be read tells nothing here. Only a vfio driver lets a process have it, and that look is
// the dearer one.
std::string guest_of(const Options& options, const SysDrive& sys,
                     const std::shared_ptr<HostLook>& host) {
  ClaimRequest request;
  request.address = sys.address;
  const GuardContext context{.options = options, .request = request, .drive = sys, .host = host};
  for (const Guard guard : {guard_libvirt_domain, guard_vfio_open}) {
    if (guard == guard_vfio_open && sys.driver == "nvme") continue;
    const GuardResult seen = guard(context);
    if (!seen.finding.passed && seen.code == Errc::busy) return seen.finding.detail;
  }
  return {};
}

// A function that is not an NVMe controller, if it is there.
void look_at_other(const Options& options, const MayBeAsked& may_be_asked, bool on_thread,
                   const PciAddress& address, const std::shared_ptr<HostLook>& host,
                   std::vector<DriveFacts>& found) {
  const auto sys = read_drive(options.sysfs_root, address, host->slots(options));
  if (!sys) return;
  DriveFacts facts = facts_of(*sys);
  if (may_be_asked != nullptr && may_be_asked(facts)) {
    if (!on_thread) facts.guest = guest_of(options, *sys, host);
  } else {
    facts.problem = "it is not an NVMe controller";
  }
  found.push_back(std::move(facts));
}

}  // namespace

// One drive that is asked. Shared with its thread, which is detached: one that hangs in the kernel
// could not be joined.
struct Discovery::Look {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<DriveFacts>> answer;
  // Begun by a look before: its answer tells of then. Only the discovery's thread has this.
  bool old = false;
};

Discovery::Discovery(Options options, const Clock& clock, MayBeAsked may_be_asked)
    : options_(std::move(options)), clock_(clock), may_be_asked_(std::move(may_be_asked)) {}

Discovery::~Discovery() = default;

void Discovery::begin(const SysDrive& sys) {
  const auto look = std::make_shared<Look>();
  looks_[sys.address] = look;
  std::thread([look, options = options_, sys] {
    Result<DriveFacts> answer = look_at_drive(options, sys, true);
    const auto driver = read_driver(options.sysfs_root, sys.address);
    if (!driver && driver.error().code == Errc::not_found) answer = driver.error();
    const std::lock_guard lock(look->mutex);
    look->answer = std::move(answer);
    look->answered.notify_all();
  }).detach();
}

// The facts that are told of a drive without asking it; nothing of one that is gone.
std::optional<DriveFacts> Discovery::from_sysfs(
    const PciAddress& address, const std::map<PciAddress, std::optional<DriveFacts>>& on_threads,
    const std::shared_ptr<HostLook>& host) {
  const auto sys = read_drive(options_.sysfs_root, address, host->slots(options_));
  if (!sys && sys.error().code == Errc::not_found) return std::nullopt;
  if (!sys) {
    DriveFacts unreadable;
    unreadable.address = address;
    unreadable.problem = sys.error().what;
    return unreadable;
  }
  DriveFacts facts = look_at_drive(options_, *sys, false);
  if (const auto thread = on_threads.find(address); thread != on_threads.end()) {
    if (thread->second) facts.identity = thread->second->identity;
    if (thread->second) facts.counters = thread->second->counters;
    return facts;
  }
  if (may_be_asked_ != nullptr && !may_be_asked_(facts)) {
    if (!facts.problem.empty()) facts.problem += "; ";
    facts.problem += "no [nvme] device_spec entry matches it: it is not asked anything";
    return facts;
  }
  facts.guest = guest_of(options_, *sys, host);
  if (!facts.problem.empty()) return facts;
  if (!looks_.contains(address)) begin(*sys);
  facts.problem = fmt::format(
      "{} does not answer an Identify within {} ms; see the kernel's log, and power-cycle its slot "
      "or replace the drive if this lasts",
      facts.controller, options_.discovery_timeout_ms);
  return facts;
}

bool Discovery::wait_for_all(StopFlag& stop) const {
  const std::int64_t deadline = clock_.now().mono.ms + options_.discovery_timeout_ms;
  for (const auto& [address, look] : looks_) {
    std::unique_lock lock(look->mutex);
    while (!look->old && !look->answer && clock_.now().mono.ms < deadline) {
      if (stop.requested()) return false;
      look->answered.wait_for(lock, kStopHeardWithin);
    }
  }
  return !stop.requested();
}

Result<std::vector<DriveFacts>> Discovery::look(
    const std::map<PciAddress, std::optional<DriveFacts>>& on_threads,
    const std::set<PciAddress>& others, StopFlag& stop) {
  std::erase_if(looks_, [](const auto& look) {
    const std::lock_guard lock(look.second->mutex);
    look.second->old = true;
    return look.second->answer.has_value();
  });
  const auto functions = list_nvme_functions(options_.sysfs_root);
  if (!functions) return functions.error();
  const auto host = std::make_shared<HostLook>();
  std::vector<DriveFacts> found;
  for (const PciAddress& other : others) {
    if (!std::binary_search(functions->begin(), functions->end(), other)) {
      look_at_other(options_, may_be_asked_, on_threads.contains(other), other, host, found);
    }
  }
  for (const PciAddress& address : *functions) {
    if (auto facts = from_sysfs(address, on_threads, host)) found.push_back(*std::move(facts));
  }
  if (!wait_for_all(stop)) return Error{Errc::cancelled, "stopped while looking at the drives"};
  std::erase_if(found, [this](DriveFacts& facts) {
    const auto look = looks_.find(facts.address);
    if (look == looks_.end() || look->second->old) return false;
    const std::lock_guard lock(look->second->mutex);
    std::optional<Result<DriveFacts>>& answer = look->second->answer;
    if (!answer) return false;
    if (!*answer && answer->error().code == Errc::not_found) return true;  // unplugged meanwhile
    if (*answer) {
      (*answer)->guest = std::move(facts.guest);
      facts = *std::move(*answer);
    } else {
      facts.problem = answer->error().what;
    }
    return false;
  });
  return found;
}

}  // namespace reclaim::nvme
