// Drives that a worker had taken over when it ended: what it could not put back, the next one does.
#include <fmt/core.h>

#include "nvme/driver_binding.h"
#include "nvme/guards.h"
#include "state/host_lock.h"

namespace reclaim::nvme {
namespace {

constexpr std::string_view kLog = "reclaim.nvme";

Status give_back_left(const Options& options, const PciAddress& address, Logger& log) {
  auto left = read_former_driver(options, address);
  if (!left) return std::move(left).error();
  if (!*left) return Ok{};
  auto drive = read_drive(options.sysfs_root, address);
  if (!drive) return std::move(drive).error();
  if (drive->driver == "nvme") {
    // It was free when it was taken over; since then nobody kept it so.
    const ClaimRequest nobody;
    const auto results =
        look_at(guards_on_host_use(), GuardContext{options, nobody, *drive}, false);
    if (!results.back().finding.passed) return refusal(results.back());
  }
  return Takeover::undo(options, *drive, **left, log);
}

}  // namespace

void give_back_drive_left(const Options& options, const PciAddress& address, Logger& log) {
  const std::string name = to_string(address);
  const auto lock = HostLock::take(options.run_path, address);
  if (!lock && lock.error().code == Errc::busy) {
    return log.info(kLog,
                    fmt::format("{} is taken over by another worker: {}", name, lock.error().what));
  }
  const Status done = lock ? give_back_left(options, address, log) : Status(Error(lock.error()));
  if (done) return;
  log.error(kLog, fmt::format("{} was left taken over from its vfio driver and cannot be given "
                              "back: {}",
                              name, done.error().what));
}

}  // namespace reclaim::nvme
