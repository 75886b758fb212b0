// The registers of a PCI function's configuration space, and those of them that change without
// anybody having changed the device. Offsets and sections are those of the PCI Express Base
// Specification 5.0. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace reclaim::nvme {

namespace reg {

// Type 0 header, 7.5.1.
inline constexpr std::uint16_t kVendorId = 0x00;
inline constexpr std::uint16_t kDeviceId = 0x02;
inline constexpr std::uint16_t kCommand = 0x04;
inline constexpr std::uint16_t kStatus = 0x06;
inline constexpr std::uint16_t kRevision = 0x08;
inline constexpr std::uint16_t kHeaderType = 0x0e;
inline constexpr std::uint16_t kBar0 = 0x10;
inline constexpr std::uint16_t kSubsystemVendorId = 0x2c;
inline constexpr std::uint16_t kSubsystemId = 0x2e;
inline constexpr std::uint16_t kRomBar = 0x30;
inline constexpr std::uint16_t kCapabilities = 0x34;

inline constexpr unsigned kBars = 6;
inline constexpr std::uint16_t kNobody = 0xffff;  // a vendor id that nobody has
inline constexpr std::uint16_t kCommandMemory = 0x0002;
inline constexpr std::uint16_t kStatusHasList = 0x0010;

// True if a BAR of memory takes up the next one, too (7.5.1.2.1).
[[nodiscard]] constexpr bool is_wide(std::uint32_t bar) {
  return (bar & 7U) == 4;
}

// Capabilities.
inline constexpr std::uint16_t kPowerManagement = 0x01;
inline constexpr std::uint16_t kVpd = 0x03;
inline constexpr std::uint16_t kMsi = 0x05;
inline constexpr std::uint16_t kVendorSpecific = 0x09;
inline constexpr std::uint16_t kExpress = 0x10;
inline constexpr std::uint16_t kMsiX = 0x11;
inline constexpr std::uint16_t kAdvancedFeatures = 0x13;

// Extended capabilities.
inline constexpr std::uint16_t kErrorReporting = 0x0001;
inline constexpr std::uint16_t kVirtualChannel = 0x0002;
inline constexpr std::uint16_t kSerialNumber = 0x0003;
inline constexpr std::uint16_t kPowerBudgeting = 0x0004;
inline constexpr std::uint16_t kVendorExtended = 0x000b;
inline constexpr std::uint16_t kAccessControl = 0x000d;
inline constexpr std::uint16_t kAlternativeRouting = 0x000e;
inline constexpr std::uint16_t kAddressTranslation = 0x000f;
inline constexpr std::uint16_t kSriov = 0x0010;
inline constexpr std::uint16_t kMulticast = 0x0012;
inline constexpr std::uint16_t kPageRequest = 0x0013;
inline constexpr std::uint16_t kResizableBar = 0x0015;
inline constexpr std::uint16_t kDynamicPower = 0x0016;
inline constexpr std::uint16_t kProcessingHints = 0x0017;
inline constexpr std::uint16_t kLatencyTolerance = 0x0018;
inline constexpr std::uint16_t kSecondaryExpress = 0x0019;
inline constexpr std::uint16_t kPasid = 0x001b;
inline constexpr std::uint16_t kL1Substates = 0x001e;
inline constexpr std::uint16_t kTimeMeasurement = 0x001f;
inline constexpr std::uint16_t kDesignatedVendor = 0x0023;
inline constexpr std::uint16_t kVfResizableBar = 0x0024;
inline constexpr std::uint16_t kDataLink = 0x0025;
inline constexpr std::uint16_t kPhysical16 = 0x0026;
inline constexpr std::uint16_t kLaneMargining = 0x0027;
inline constexpr std::uint16_t kPhysical32 = 0x002a;
inline constexpr std::uint16_t kDataObjectExchange = 0x002e;

}  // namespace reg

enum class ConfigPart : std::uint8_t { header, capability, extended };

inline constexpr std::uint16_t kAllOfIt = 0xffff;  // up to the end of the capability

// A register, or bits of it, that hardware, kernel and drivers change by themselves: it is not
// compared. BARs have no row, because what of them changes depends on their kind.
struct VolatileRegister {
  ConfigPart part;
  std::uint16_t id;      // of the capability; 0 in the header
  std::uint16_t offset;  // in the header or the capability
  std::uint16_t bytes;
  std::uint32_t bits;       // that change; all ones where it is longer than 4 bytes
  std::uint16_t vendor_id;  // of the only devices of which it is true; 0: of all
  std::string_view name;
  std::string_view source;
};
[[nodiscard]] std::span<const VolatileRegister> volatile_registers();

// A field of the header that is the device's own, by name.
struct HeaderField {
  std::uint16_t offset;
  std::uint16_t bytes;
  std::string_view name;
};
[[nodiscard]] std::span<const HeaderField> header_fields();

}  // namespace reclaim::nvme
