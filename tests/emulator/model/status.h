// NVMe status values as the kernel's ioctl returns them: status code, status code type << 8, and
// "do not retry" (4000h). libnvme's own constants lack the type, so these are ours.
#pragma once

#include <cstdint>

namespace reclaim::emulator {

inline constexpr std::uint16_t kDoNotRetry = 0x4000;

inline constexpr std::uint16_t kSuccess = 0;
inline constexpr std::uint16_t kInvalidOpcode = 0x01 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidField = 0x02 | kDoNotRetry;
inline constexpr std::uint16_t kInternalError = 0x06;
inline constexpr std::uint16_t kInvalidNamespace = 0x0b | kDoNotRetry;
inline constexpr std::uint16_t kSanitizeFailed = 0x1c | kDoNotRetry;
inline constexpr std::uint16_t kSanitizeInProgress = 0x1d;  // retrying later is the point
inline constexpr std::uint16_t kWriteProtected = 0x20 | kDoNotRetry;
inline constexpr std::uint16_t kLbaOutOfRange = 0x80 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidLogPage = 0x109 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidFormat = 0x10a | kDoNotRetry;
inline constexpr std::uint16_t kNeedsReset = 0x10b | kDoNotRetry;
inline constexpr std::uint16_t kFeatureNotSaveable = 0x10d | kDoNotRetry;
inline constexpr std::uint16_t kInsufficientCapacity = 0x115 | kDoNotRetry;
inline constexpr std::uint16_t kNamespaceIdUnavailable = 0x116 | kDoNotRetry;
inline constexpr std::uint16_t kAlreadyAttached = 0x118 | kDoNotRetry;
inline constexpr std::uint16_t kNamespacePrivate = 0x119 | kDoNotRetry;
inline constexpr std::uint16_t kNotAttached = 0x11a | kDoNotRetry;
inline constexpr std::uint16_t kControllerListInvalid = 0x11c | kDoNotRetry;
inline constexpr std::uint16_t kUnrecoveredRead = 0x281 | kDoNotRetry;
inline constexpr std::uint16_t kCompareFailed = 0x285 | kDoNotRetry;

}  // namespace reclaim::emulator
