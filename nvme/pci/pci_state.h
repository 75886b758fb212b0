// The state of a PCI function that is no drive, as far as a tenant can change it. The steps of this
// room look at it; as text it is the function's enrolment baseline. Passive data and its codec.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::nvme {

// Errors that the kernel has counted since it found the function (TOTAL_ERR_* of
// Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats). They begin at 0 with each boot.
struct PciErrorCounters {
  std::uint64_t correctable = 0;
  std::uint64_t nonfatal = 0;
  std::uint64_t fatal = 0;
  friend bool operator==(const PciErrorCounters&, const PciErrorCounters&) = default;
};

// The expansion ROM. Not there: the function has none, or nothing in it that begins as an image
// does (55 aa), which neither firmware nor kernel would run or show.
struct PciRom {
  bool present = false;
  std::uint64_t bytes = 0;
  std::string sha256;  // lower-case hex
  friend bool operator==(const PciRom&, const PciRom&) = default;
};
[[nodiscard]] std::string to_string(const PciRom& rom);  // "no ROM", "65536 bytes, SHA-256 …"

struct PciState {
  std::string config;  // the bytes of the configuration space
  PciRom rom;
  // The link as it was trained, as the registers code it (config_space.h); 0: it has none.
  std::uint8_t link_speed = 0;
  std::uint8_t link_width = 0;
  std::optional<PciErrorCounters> errors;  // nothing: the kernel counts none
  friend bool operator==(const PciState&, const PciState&) = default;
};

// One line of JSON, and back. Errc::invalid names what is wrong; Errc::limit.
[[nodiscard]] std::string encode_pci_state(const PciState& state);
[[nodiscard]] Result<PciState> decode_pci_state(std::string_view text);

}  // namespace reclaim::nvme
