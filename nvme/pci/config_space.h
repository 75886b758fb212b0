// The configuration space of a PCI function, of 64 bytes (what the kernel shows to those without
// privileges), 256 (conventional PCI) or 4096 (PCI Express), as plain values. What a device says of
// itself is foreign: every walk is bounded, and a list that loops or leads nowhere is an error.
// Offsets are those of the PCI Express Base Specification 5.0, chapters 7 and 9. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

namespace reclaim::nvme {

struct PciCapability {
  bool extended = false;
  std::uint16_t id = 0;
  std::uint8_t version = 0;  // of extended ones; 0 otherwise
  std::uint16_t at = 0;      // offset in bytes
  std::uint16_t bytes = 0;   // that are its own: as it says, or up to the next one
  friend bool operator==(const PciCapability&, const PciCapability&) = default;
};
// "vendor-specific capability at 0x60", "extended capability 0x1234 at 0x100".
[[nodiscard]] std::string to_string(const PciCapability& capability);

enum class BarKind : std::uint8_t { memory32, memory64, io };

struct PciBar {
  unsigned index = 0;
  BarKind kind = BarKind::memory32;
  bool prefetchable = false;
  std::uint64_t address = 0;
  friend bool operator==(const PciBar&, const PciBar&) = default;
};

// Speeds as the registers code them: 1 is 2.5 GT/s, each step up the next generation.
struct PciLink {
  std::uint8_t speed = 0;
  std::uint8_t width = 0;  // lanes
  std::uint8_t speed_max = 0;
  std::uint8_t width_max = 0;
  friend bool operator==(const PciLink&, const PciLink&) = default;
};
// "16 GT/s x8".
[[nodiscard]] std::string link_text(std::uint8_t speed, std::uint8_t width);

// Advanced Error Reporting: the bits that are latched now.
struct PciErrorStatus {
  std::uint32_t uncorrectable = 0;
  std::uint32_t correctable = 0;
  friend bool operator==(const PciErrorStatus&, const PciErrorStatus&) = default;
};

struct PciVirtualFunctions {
  bool enabled = false;
  std::uint16_t total = 0;
  std::uint16_t number = 0;  // NumVFs
  friend bool operator==(const PciVirtualFunctions&, const PciVirtualFunctions&) = default;
};

struct ConfigSpace {
  std::uint16_t vendor_id = 0;
  std::uint16_t device_id = 0;
  std::uint16_t subsystem_vendor_id = 0;
  std::uint16_t subsystem_id = 0;
  std::uint32_t class_code = 0;  // base class, sub-class, programming interface
  std::uint8_t revision = 0;
  bool multifunction = false;
  bool memory_enabled = false;   // Command: answers to memory accesses, its ROM's included
  std::uint8_t power_state = 0;  // D0 to D3hot; 0 also where it has no power management
  std::vector<PciBar> bars;      // those that are there
  std::uint32_t rom_bar = 0;     // 0: it has no expansion ROM, or none was given an address
  std::vector<PciCapability> capabilities;  // in the order of the lists, extended ones last
  std::string serial_number;                // Device Serial Number; "": none
  // Each only where the function has it.
  std::optional<PciLink> link;
  std::optional<PciErrorStatus> errors;
  std::optional<PciVirtualFunctions> virtual_functions;

  [[nodiscard]] const PciCapability* find(bool extended, std::uint16_t id) const;
};

// Errc::invalid: not of these lengths; no function answers (all ones); a bridge; a list of
// capabilities that loops, leads out of its space or ends inside a capability. Of 64 bytes there
// are no capabilities.
[[nodiscard]] Result<ConfigSpace> parse_config_space(std::string_view bytes);

}  // namespace reclaim::nvme
