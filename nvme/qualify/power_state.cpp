#include "nvme/qualify/power_state.h"

#include <fmt/core.h>

#include "nvme/controller/admin_change.h"
#include "nvme/controller/admin_command.h"
#include "nvme/controller/buffer.h"
#include "nvme/controller/log_pages.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kIdentify = 0x06;
constexpr std::uint8_t kGetFeatures = 0x0a;
constexpr std::uint32_t kController = 1;         // CNS
constexpr std::size_t kNpss = 263;               // of Identify Controller
constexpr std::uint8_t kPowerManagement = 0x02;  // feature
constexpr std::uint32_t kPowerState = 0x1f;      // its bits 4:0

Result<std::uint32_t> deepest_state(const DriveContext& drive) {
  AlignedBuffer page(kIdentifyBytes);
  RawCommand identify;
  identify.opcode = kIdentify;
  identify.cdw10 = kController;
  identify.data = page.bytes();
  const auto done = admin_command(drive.claim.controller_fd(), identify,
                                  drive.options.admin_timeout_ms, "Identify");
  if (!done) return done.error();
  return std::to_integer<std::uint32_t>(page.bytes()[kNpss]) & kPowerState;
}

}  // namespace

std::string visit_deepest_power_state(const DriveContext& drive, StopFlag& stop) {
  const int controller = drive.claim.controller_fd();
  const std::uint32_t timeout_ms = drive.options.admin_timeout_ms;
  const auto deepest = deepest_state(drive);
  if (!deepest) return "not looked at: " + deepest.error().what;
  if (*deepest == 0) return "the drive has one power state";
  RawCommand get;
  get.opcode = kGetFeatures;
  get.cdw10 = kPowerManagement;
  const auto former = admin_command(controller, get, timeout_ms, "Get Features");
  if (!former) return "not changed: " + former.error().what;
  const auto set = [&](std::uint32_t state) {
    return set_feature(controller, kPowerManagement, 0, state, false, timeout_ms);
  };
  if (const Status sent = set(*deepest); !sent) return "not changed: " + sent.error().what;
  (void)stop.wait(drive.options.poll_interval_ms);
  if (const Status back = set(*former & kPowerState); !back) {
    return fmt::format("power state {}, and not back: {}", *deepest, back.error().what);
  }
  return fmt::format("power state {} for {} ms, and back to {}", *deepest,
                     drive.options.poll_interval_ms, *former & kPowerState);
}

}  // namespace reclaim::nvme
