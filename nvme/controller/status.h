// NVMe status codes as errors an operator understands. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::nvme {

// The status code type and status code of what an ioctl returned, without the "do not retry",
// "more" and retry-delay bits.
constexpr std::uint16_t status_code(int raw) {
  return static_cast<std::uint16_t>(raw & 0x7ff);
}

inline constexpr std::uint16_t kSanitizeFailed = 0x01c;
inline constexpr std::uint16_t kSanitizeInProgress = 0x01d;

// `command` begins the sentence ("Sanitize"). Errc::failed where the drive refused the command and
// so nothing was done; Errc::busy where the same command may pass later by itself; Errc::unknown
// where the command may have been carried out. `raw` of the error is the whole status.
[[nodiscard]] Error status_to_error(int raw, std::string_view command);

// Makes the error of an ioctl that returned -1; `command` begins the sentence. ENODEV, EIO, EINTR,
// ETIMEDOUT and whatever else the kernel gives when the answer of the drive got lost are
// Errc::unknown.
[[nodiscard]] Error errno_to_error(int error_number, std::string_view command);

}  // namespace reclaim::nvme
