// The identity that stays with a drive's hardware when its PCI address does not: bus numbers may be
// others after a reboot. It is read without the drive's driver, so that an unmanaged drive on
// vfio-pci has it too. Pure; part of nvme_core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::nvme {

struct HardwareIdentity {
  // PCIe Device Serial Number (extended capability 0003h), "00-25-38-91-11-c0-bd-e3" as lspci has
  // it; empty: the function has none, or it could not be read.
  std::string serial_number;
  // Physical slot, as /sys/bus/pci/slots names it; empty: the platform does not tell.
  std::string slot;

  [[nodiscard]] bool empty() const { return serial_number.empty() && slot.empty(); }
  friend bool operator==(const HardwareIdentity&, const HardwareIdentity&) = default;
};

enum class Match : std::uint8_t { same, different, unknown };

// Device Serial Numbers decide where both are known. Without them another slot is another drive,
// but the same slot tells nothing: drives are exchanged while a host is off.
[[nodiscard]] Match compare(const HardwareIdentity& noted, const HardwareIdentity& now);

// One line for record and ledger, "dsn=00-25-38-91-11-c0-bd-e3 slot=12"; "" of an empty one.
[[nodiscard]] std::string encode_hardware(const HardwareIdentity& identity);
// Errc::invalid for what is none of ours.
[[nodiscard]] Result<HardwareIdentity> decode_hardware(std::string_view text);

// The Device Serial Number in a function's configuration space. "" without one, of zeros or ones
// only (drives that were never given one), and where less than the extended space was readable.
[[nodiscard]] std::string device_serial_number(std::string_view config_space);

}  // namespace reclaim::nvme
