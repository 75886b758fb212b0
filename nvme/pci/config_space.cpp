#include "nvme/pci/config_space.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "nvme/controller/bytes.h"
#include "nvme/controller/hardware_identity.h"
#include "nvme/pci/config_registers.h"

namespace reclaim::nvme {
namespace {

struct CapabilityName {
  bool extended;
  std::uint16_t id;
  std::string_view name;
};

// PCI Code and ID Assignment Specification 1.11, "Capability IDs" and "Extended Capability IDs".
constexpr std::array kNames = {
    CapabilityName{false, reg::kPowerManagement, "power management"},
    CapabilityName{false, 0x02, "AGP"},
    CapabilityName{false, reg::kVpd, "vital product data"},
    CapabilityName{false, reg::kMsi, "MSI"},
    CapabilityName{false, 0x07, "PCI-X"},
    CapabilityName{false, 0x08, "HyperTransport"},
    CapabilityName{false, reg::kVendorSpecific, "vendor-specific"},
    CapabilityName{false, 0x0d, "subsystem id"},
    CapabilityName{false, reg::kExpress, "PCI Express"},
    CapabilityName{false, reg::kMsiX, "MSI-X"},
    CapabilityName{false, 0x12, "SATA"},
    CapabilityName{false, reg::kAdvancedFeatures, "advanced features"},
    CapabilityName{false, 0x14, "enhanced allocation"},
    CapabilityName{true, reg::kErrorReporting, "advanced error reporting"},
    CapabilityName{true, reg::kVirtualChannel, "virtual channel"},
    CapabilityName{true, reg::kSerialNumber, "device serial number"},
    CapabilityName{true, reg::kPowerBudgeting, "power budgeting"},
    CapabilityName{true, reg::kVendorExtended, "vendor-specific extended"},
    CapabilityName{true, reg::kAccessControl, "access control services"},
    CapabilityName{true, reg::kAlternativeRouting, "alternative routing-id"},
    CapabilityName{true, reg::kAddressTranslation, "address translation services"},
    CapabilityName{true, reg::kSriov, "SR-IOV"},
    CapabilityName{true, reg::kMulticast, "multicast"},
    CapabilityName{true, reg::kPageRequest, "page request"},
    CapabilityName{true, reg::kResizableBar, "resizable BAR"},
    CapabilityName{true, reg::kDynamicPower, "dynamic power allocation"},
    CapabilityName{true, reg::kProcessingHints, "TPH requester"},
    CapabilityName{true, reg::kLatencyTolerance, "latency tolerance reporting"},
    CapabilityName{true, reg::kSecondaryExpress, "secondary PCI Express"},
    CapabilityName{true, reg::kPasid, "PASID"},
    CapabilityName{true, reg::kL1Substates, "L1 PM substates"},
    CapabilityName{true, reg::kTimeMeasurement, "precision time measurement"},
    CapabilityName{true, reg::kDesignatedVendor, "designated vendor-specific"},
    CapabilityName{true, reg::kVfResizableBar, "VF resizable BAR"},
    CapabilityName{true, reg::kDataLink, "data link feature"},
    CapabilityName{true, reg::kPhysical16, "physical layer 16 GT/s"},
    CapabilityName{true, reg::kLaneMargining, "lane margining"},
    CapabilityName{true, reg::kPhysical32, "physical layer 32 GT/s"},
    CapabilityName{true, reg::kDataObjectExchange, "data object exchange"},
};

constexpr std::size_t kHeaderBytes = 0x40;
constexpr std::size_t kConventionalBytes = 0x100;
constexpr std::size_t kExpressBytes = 0x1000;

using Bytes = std::span<const std::byte>;

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

// The length of a capability, by its kind or as it says itself; 0: unknown, it reaches to the next
// one.
std::size_t told_bytes(Bytes bytes, const PciCapability& capability) {
  const std::size_t at = capability.at;
  const std::size_t end = capability.extended ? bytes.size() : kConventionalBytes;
  if (capability.extended) {
    switch (capability.id) {
      case reg::kVendorExtended:
      case reg::kDesignatedVendor:
        return at + 8 <= end ? load_le<std::uint32_t>(bytes, at + 4) >> 20U : 0;
      case reg::kErrorReporting:
        return 0x48;
      case reg::kSerialNumber:
        return 12;
      case reg::kSriov:
        return 0x40;
      default:
        return 0;
    }
  }
  switch (capability.id) {
    case reg::kPowerManagement:
    case reg::kVpd:
      return 8;
    case reg::kVendorSpecific:
      return at + 3 <= end ? load_le<std::uint8_t>(bytes, at + 2) : 0;
    case reg::kMsiX:
      return 12;
    case reg::kAdvancedFeatures:
      return 6;
    case reg::kMsi: {
      if (at + 4 > end) return 0;
      const auto control = load_le<std::uint16_t>(bytes, at + 2);
      return ((control & 0x80U) != 0 ? 14U : 10U) + ((control & 0x100U) != 0 ? 10U : 0U);
    }
    case reg::kExpress:
      if (at + 4 > end) return 0;
      return (load_le<std::uint16_t>(bytes, at + 2) & 0xfU) >= 2 ? 0x3c : 0x14;
    default:
      return 0;
  }
}

// Each capability ends at the latest where the next one in the space begins.
void measure(Bytes bytes, std::vector<PciCapability>& capabilities) {
  for (PciCapability& each : capabilities) {
    std::size_t end = each.extended ? bytes.size() : kConventionalBytes;
    for (const PciCapability& other : capabilities) {
      if (other.at > each.at) end = std::min<std::size_t>(end, other.at);
    }
    const std::size_t room = end - each.at;
    const std::size_t told = told_bytes(bytes, each);
    each.bytes = static_cast<std::uint16_t>(told == 0 ? room : std::min(told, room));
  }
}

Status walk(Bytes bytes, std::vector<PciCapability>& found) {
  if ((load_le<std::uint16_t>(bytes, reg::kStatus) & reg::kStatusHasList) == 0) return Ok{};
  std::bitset<kConventionalBytes> seen;
  std::size_t at = load_le<std::uint8_t>(bytes, reg::kCapabilities) & 0xfcU;
  while (at != 0) {
    if (at < kHeaderBytes) {
      return invalid(fmt::format("the list of capabilities leads into the header, to {:#04x}", at));
    }
    if (seen.test(at)) {
      return invalid(fmt::format("the list of capabilities leads back to {:#04x}", at));
    }
    seen.set(at);
    const auto id = load_le<std::uint8_t>(bytes, at);
    if (id == 0xff) {
      return invalid(fmt::format("the list of capabilities leads to {:#04x}, where none is", at));
    }
    found.push_back(PciCapability{false, id, 0, static_cast<std::uint16_t>(at), 0});
    at = load_le<std::uint8_t>(bytes, at + 1) & 0xfcU;
  }
  return Ok{};
}

Status walk_extended(Bytes bytes, std::vector<PciCapability>& found) {
  if (bytes.size() <= kConventionalBytes) return Ok{};
  std::bitset<kExpressBytes> seen;
  std::size_t at = kConventionalBytes;
  while (at != 0) {
    if (at < kConventionalBytes) {
      return invalid(fmt::format(
          "the list of extended capabilities leads out of their space, to {:#05x}", at));
    }
    if (seen.test(at)) {
      return invalid(fmt::format("the list of extended capabilities leads back to {:#05x}", at));
    }
    seen.set(at);
    const auto header = load_le<std::uint32_t>(bytes, at);
    if (header == 0 && at == kConventionalBytes) return Ok{};  // it has none
    if (header == 0 || header == 0xffffffffU) {
      return invalid(
          fmt::format("the list of extended capabilities leads to {:#05x}, where none is", at));
    }
    found.push_back(PciCapability{true, static_cast<std::uint16_t>(header & 0xffffU),
                                  static_cast<std::uint8_t>(header >> 16U & 0xfU),
                                  static_cast<std::uint16_t>(at), 0});
    at = header >> 20U & 0xffcU;
  }
  return Ok{};
}

std::vector<PciBar> read_bars(Bytes bytes) {
  std::vector<PciBar> bars;
  for (unsigned i = 0; i < reg::kBars; ++i) {
    const auto low = load_le<std::uint32_t>(bytes, reg::kBar0 + 4 * i);
    if (low == 0) continue;
    PciBar bar;
    bar.index = i;
    if ((low & 1U) != 0) {
      bar.kind = BarKind::io;
      bar.address = low & ~3U;
    } else {
      bar.prefetchable = (low & 8U) != 0;
      bar.address = low & ~0xfU;
      if (reg::is_wide(low) && i + 1 < reg::kBars) {
        bar.kind = BarKind::memory64;
        ++i;
        bar.address |= std::uint64_t{load_le<std::uint32_t>(bytes, reg::kBar0 + 4 * i)} << 32U;
      }
    }
    bars.push_back(bar);
  }
  return bars;
}

// The registers of a capability that are read here have to be inside of it.
Status needs(const PciCapability& capability, std::size_t bytes) {
  if (capability.bytes >= bytes) return Ok{};
  return invalid(fmt::format("the {} has {} bytes, {} are needed", to_string(capability),
                             capability.bytes, bytes));
}

Status read_capabilities(Bytes bytes, ConfigSpace& space) {
  if (const auto* const power = space.find(false, reg::kPowerManagement)) {
    if (auto whole = needs(*power, 6); !whole) return whole;
    space.power_state = load_le<std::uint8_t>(bytes, power->at + 4U) & 3U;
  }
  if (const auto* const express = space.find(false, reg::kExpress)) {
    if (auto whole = needs(*express, 0x14); !whole) return whole;
    const auto can = load_le<std::uint32_t>(bytes, express->at + 0xcU);
    const auto now = load_le<std::uint16_t>(bytes, express->at + 0x12U);
    // One inside the root complex has the registers and no link: all of them are 0.
    if (can != 0) {
      space.link = PciLink{
          static_cast<std::uint8_t>(now & 0xfU), static_cast<std::uint8_t>(now >> 4U & 0x3fU),
          static_cast<std::uint8_t>(can & 0xfU), static_cast<std::uint8_t>(can >> 4U & 0x3fU)};
    }
  }
  if (const auto* const errors = space.find(true, reg::kErrorReporting)) {
    if (auto whole = needs(*errors, 0x14); !whole) return whole;
    space.errors = PciErrorStatus{load_le<std::uint32_t>(bytes, errors->at + 4U),
                                  load_le<std::uint32_t>(bytes, errors->at + 0x10U)};
  }
  if (const auto* const sriov = space.find(true, reg::kSriov)) {
    if (auto whole = needs(*sriov, 0x40); !whole) return whole;
    space.virtual_functions =
        PciVirtualFunctions{(load_le<std::uint16_t>(bytes, sriov->at + 8U) & 1U) != 0,
                            load_le<std::uint16_t>(bytes, sriov->at + 0xeU),
                            load_le<std::uint16_t>(bytes, sriov->at + 0x10U)};
  }
  return Ok{};
}

}  // namespace

std::string to_string(const PciCapability& capability) {
  const auto* const found =
      std::find_if(kNames.begin(), kNames.end(), [&capability](const CapabilityName& name) {
        return name.extended == capability.extended && name.id == capability.id;
      });
  if (found != kNames.end()) {
    return fmt::format("{} capability at {:#04x}", found->name, capability.at);
  }
  return capability.extended
             ? fmt::format("extended capability {:#06x} at {:#05x}", capability.id, capability.at)
             : fmt::format("capability {:#04x} at {:#04x}", capability.id, capability.at);
}

std::string link_text(std::uint8_t speed, std::uint8_t width) {
  constexpr std::array<std::string_view, 7> kSpeeds = {"no speed", "2.5 GT/s", "5 GT/s", "8 GT/s",
                                                       "16 GT/s",  "32 GT/s",  "64 GT/s"};
  if (speed < kSpeeds.size()) return fmt::format("{} x{}", kSpeeds[speed], width);
  return fmt::format("speed {} x{}", speed, width);
}

const PciCapability* ConfigSpace::find(bool extended, std::uint16_t id) const {
  const auto found = std::find_if(capabilities.begin(), capabilities.end(),
                                  [extended, id](const PciCapability& each) {
                                    return each.extended == extended && each.id == id;
                                  });
  return found == capabilities.end() ? nullptr : &*found;
}

Result<ConfigSpace> parse_config_space(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  if (bytes.size() != kHeaderBytes && bytes.size() != kConventionalBytes &&
      bytes.size() != kExpressBytes) {
    return invalid(
        fmt::format("a configuration space has 64, 256 or 4096 bytes, this one {}", bytes.size()));
  }
  ConfigSpace space;
  space.vendor_id = load_le<std::uint16_t>(bytes, reg::kVendorId);
  if (space.vendor_id == reg::kNobody) {
    return invalid("the function does not answer: its configuration space reads as ones");
  }
  const auto header_type = load_le<std::uint8_t>(bytes, reg::kHeaderType);
  if ((header_type & 0x7fU) != 0) {
    return invalid(fmt::format("it has a header of type {}, a bridge's, where a device has type 0",
                               header_type & 0x7fU));
  }
  space.device_id = load_le<std::uint16_t>(bytes, reg::kDeviceId);
  space.memory_enabled = (load_le<std::uint16_t>(bytes, reg::kCommand) & reg::kCommandMemory) != 0;
  space.revision = load_le<std::uint8_t>(bytes, reg::kRevision);
  space.class_code = load_le<std::uint32_t>(bytes, reg::kRevision) >> 8U;
  space.multifunction = (header_type & 0x80U) != 0;
  space.subsystem_vendor_id = load_le<std::uint16_t>(bytes, reg::kSubsystemVendorId);
  space.subsystem_id = load_le<std::uint16_t>(bytes, reg::kSubsystemId);
  space.rom_bar = load_le<std::uint32_t>(bytes, reg::kRomBar);
  space.bars = read_bars(bytes);
  if (bytes.size() == kHeaderBytes) return space;
  if (auto done = walk(bytes, space.capabilities); !done) return std::move(done).error();
  if (auto done = walk_extended(bytes, space.capabilities); !done) return std::move(done).error();
  measure(bytes, space.capabilities);
  if (auto done = read_capabilities(bytes, space); !done) return std::move(done).error();
  space.serial_number = device_serial_number(text);
  return space;
}

}  // namespace reclaim::nvme
