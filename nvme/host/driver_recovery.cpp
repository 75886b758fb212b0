// Drives that a worker had taken over when it ended: what it could not put back, the next one does.
#include <fmt/core.h>

#include "nvme/host/driver_binding.h"
#include "nvme/host/guards.h"
#include "nvme/stop_flag.h"
#include "state/ledger/host_lock.h"

namespace reclaim::nvme {
namespace {

Status give_back_left(const Options& options, const PciAddress& address, Logger& log) {
  auto left = read_former_driver(options, address);
  if (!left) return std::move(left).error();
  if (!*left) return Ok{};
  auto drive = read_drive(options.sysfs_root, address);
  if (!drive) return std::move(drive).error();
  // The drive was free when it was taken over; since then nobody kept it so.
  if (auto free = host_leaves_alone(options, address, 0); !free) return free;
  return Takeover::undo(options, *drive, **left, log);
}

}  // namespace

Status host_leaves_alone(const Options& options, const PciAddress& address, std::int64_t wait_ms) {
  StopFlag never_set;
  for (std::int64_t waited = 0;; waited += options.driver_poll_ms) {
    const auto driver = read_driver(options.sysfs_root, address);
    if (!driver) return driver.error();
    const auto drive = *driver == "nvme" ? read_drive(options.sysfs_root, address)
                                         : read_function(options.sysfs_root, address);
    if (!drive) return drive.error();
    if (drive->driver.empty() || on_vfio(*drive)) return Ok{};
    const ClaimRequest request;
    const auto results =
        look_at(guards_on_host_use(), GuardContext{options, request, *drive}, false);
    const GuardResult& last = results.back();
    if (last.finding.passed) return Ok{};
    if (last.by != guard_node_open || waited >= wait_ms) return refusal(last);
    (void)never_set.wait(options.driver_poll_ms);
  }
}

void give_back_drive_left(const Options& options, const PciAddress& address, Logger& log) {
  const std::string name = to_string(address);
  const auto lock = HostLock::take(options.run_path, address);
  if (!lock && lock.error().code == Errc::busy) {
    return log.info(log_name::kNvme,
                    fmt::format("{} is taken over by another worker: {}", name, lock.error().what));
  }
  const Status done = lock ? give_back_left(options, address, log) : Status(Error(lock.error()));
  if (done) return;
  log.error(log_name::kNvme,
            fmt::format("{} was left taken over from its vfio driver and cannot be given "
                        "back: {}",
                        name, done.error().what));
}

}  // namespace reclaim::nvme
