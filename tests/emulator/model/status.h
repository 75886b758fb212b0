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
inline constexpr std::uint16_t kHostIdFormat = 0x18 | kDoNotRetry;
inline constexpr std::uint16_t kSanitizeFailed = 0x1c | kDoNotRetry;
inline constexpr std::uint16_t kSanitizeInProgress = 0x1d;  // retrying later is the point
inline constexpr std::uint16_t kWriteProtected = 0x20 | kDoNotRetry;
// "Command Prohibited by Command and Feature Lockdown", a generic status. (28h with type 1 is what
// the Lockdown command itself answers for a command that cannot be prohibited.)
inline constexpr std::uint16_t kLockedDown = 0x23 | kDoNotRetry;
inline constexpr std::uint16_t kLbaOutOfRange = 0x80 | kDoNotRetry;
inline constexpr std::uint16_t kReservationConflict = 0x83 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidFirmwareSlot = 0x106 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidFirmwareImage = 0x107 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidLogPage = 0x109 | kDoNotRetry;
inline constexpr std::uint16_t kInvalidFormat = 0x10a | kDoNotRetry;
inline constexpr std::uint16_t kNeedsReset = 0x10b | kDoNotRetry;
inline constexpr std::uint16_t kFeatureNotSaveable = 0x10d | kDoNotRetry;
inline constexpr std::uint16_t kFeatureNotChangeable = 0x10e | kDoNotRetry;
inline constexpr std::uint16_t kNeedsSubsystemReset = 0x110 | kDoNotRetry;
inline constexpr std::uint16_t kNeedsControllerReset = 0x111 | kDoNotRetry;
inline constexpr std::uint16_t kTakesTooLong = 0x112 | kDoNotRetry;
inline constexpr std::uint16_t kActivationProhibited = 0x113 | kDoNotRetry;
inline constexpr std::uint16_t kOverlappingRange = 0x114 | kDoNotRetry;
inline constexpr std::uint16_t kInsufficientCapacity = 0x115 | kDoNotRetry;
inline constexpr std::uint16_t kNamespaceIdUnavailable = 0x116 | kDoNotRetry;
inline constexpr std::uint16_t kAlreadyAttached = 0x118 | kDoNotRetry;
inline constexpr std::uint16_t kNamespacePrivate = 0x119 | kDoNotRetry;
inline constexpr std::uint16_t kNotAttached = 0x11a | kDoNotRetry;
inline constexpr std::uint16_t kControllerListInvalid = 0x11c | kDoNotRetry;
inline constexpr std::uint16_t kSelfTestRunning = 0x11d | kDoNotRetry;
inline constexpr std::uint16_t kPmrProhibitsSanitize = 0x123 | kDoNotRetry;
inline constexpr std::uint16_t kCannotBeProhibited = 0x128 | kDoNotRetry;
// Data was moved: it is what the media holds, right or wrong.
inline constexpr std::uint16_t kSuccessfulMediaRead = 0x19c;
inline constexpr std::uint16_t kWriteFault = 0x280 | kDoNotRetry;
inline constexpr std::uint16_t kUnrecoveredRead = 0x281 | kDoNotRetry;
inline constexpr std::uint16_t kCompareFailed = 0x285 | kDoNotRetry;
inline constexpr std::uint16_t kAccessDenied = 0x286 | kDoNotRetry;

}  // namespace reclaim::emulator
