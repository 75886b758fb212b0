#include "nvme/pci/config_registers.h"

#include <array>

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kAllBits = 0xffffffffU;
constexpr std::uint16_t kMellanox = 0x15b3;

constexpr auto kHeader = ConfigPart::header;
constexpr auto kCapability = ConfigPart::capability;
constexpr auto kExtended = ConfigPart::extended;

// clang-format off
constexpr std::array kVolatile = {
    // part, id, offset, bytes, bits, vendor, name, section of PCI Express Base 5.0
    VolatileRegister{kHeader, 0, 0x04, 2, kAllBits, 0, "command", "7.5.1.1.3"},
    VolatileRegister{kHeader, 0, 0x06, 2, 0xf908, 0, "status: errors, interrupt", "7.5.1.1.4"},
    VolatileRegister{kHeader, 0, 0x0c, 1, kAllBits, 0, "cache line size", "7.5.1.1.7"},
    VolatileRegister{kHeader, 0, 0x0d, 1, kAllBits, 0, "latency timer", "7.5.1.1.8"},
    VolatileRegister{kHeader, 0, 0x0f, 1, 0x4f, 0, "BIST: start, completion code", "7.5.1.1.10"},
    VolatileRegister{kHeader, 0, 0x30, 4, kAllBits, 0, "expansion ROM BAR", "7.5.1.2.4"},
    VolatileRegister{kHeader, 0, 0x3c, 1, kAllBits, 0, "interrupt line", "7.5.1.1.12"},

    VolatileRegister{kCapability, reg::kPowerManagement, 4, 2, 0xff03, 0, "power state, PME, data select", "7.5.2.2"},
    VolatileRegister{kCapability, reg::kPowerManagement, 7, 1, kAllBits, 0, "power data", "7.5.2.3"},
    VolatileRegister{kCapability, reg::kVpd, 2, 6, kAllBits, 0, "VPD address and data", "7.9.19"},
    VolatileRegister{kCapability, reg::kMsi, 2, 2, 0x0471, 0, "MSI enable, vectors in use", "7.7.1"},
    VolatileRegister{kCapability, reg::kMsi, 4, kAllOfIt, kAllBits, 0, "MSI address, data, mask, pending", "7.7.1"},
    VolatileRegister{kCapability, 0x07, 2, 6, kAllBits, 0, "PCI-X command and status", "PCI-X 2.0, 7.2"},
    VolatileRegister{kCapability, reg::kVendorSpecific, 4, kAllOfIt, kAllBits, kMellanox, "gateway of ConnectX: space, counter, semaphore, address, data", "Linux, mlx5/core/lib/pci_vsc.c"},
    VolatileRegister{kCapability, reg::kExpress, 0x04, 4, 0x0ffc0000, 0, "captured slot power limit", "7.5.3.3"},
    VolatileRegister{kCapability, reg::kExpress, 0x08, 4, kAllBits, 0, "device control and status", "7.5.3.4, 7.5.3.5"},
    VolatileRegister{kCapability, reg::kExpress, 0x10, 4, kAllBits, 0, "link control and status", "7.5.3.7, 7.5.3.8"},
    VolatileRegister{kCapability, reg::kExpress, 0x28, 4, kAllBits, 0, "device control and status 2", "7.5.3.16, 7.5.3.17"},
    VolatileRegister{kCapability, reg::kExpress, 0x30, 4, kAllBits, 0, "link control and status 2", "7.5.3.19, 7.5.3.20"},
    VolatileRegister{kCapability, reg::kMsiX, 2, 2, 0xc000, 0, "MSI-X enable and mask", "7.7.2"},
    VolatileRegister{kCapability, reg::kAdvancedFeatures, 4, 2, kAllBits, 0, "advanced features control and status", "7.9.22"},

    VolatileRegister{kExtended, reg::kErrorReporting, 0x04, 0x14, kAllBits, 0, "error status, mask, severity", "7.8.4"},
    VolatileRegister{kExtended, reg::kErrorReporting, 0x18, 4, 0x095f, 0, "first error, ECRC enable", "7.8.4.7"},
    VolatileRegister{kExtended, reg::kErrorReporting, 0x1c, kAllOfIt, kAllBits, 0, "header log, prefix log", "7.8.4"},
    VolatileRegister{kExtended, reg::kVirtualChannel, 0x0c, 4, kAllBits, 0, "port VC control and status", "7.9.1"},
    VolatileRegister{kExtended, reg::kVirtualChannel, 0x14, 8, kAllBits, 0, "VC0 control and status", "7.9.1"},
    VolatileRegister{kExtended, reg::kPowerBudgeting, 4, 8, kAllBits, 0, "power budget select and data", "7.8.1"},
    VolatileRegister{kExtended, reg::kAccessControl, 6, 2, kAllBits, 0, "access control", "7.7.8"},
    VolatileRegister{kExtended, reg::kAlternativeRouting, 6, 2, kAllBits, 0, "ARI control", "7.8.8"},
    VolatileRegister{kExtended, reg::kAddressTranslation, 6, 2, kAllBits, 0, "ATS control", "10.5.1"},
    VolatileRegister{kExtended, reg::kSriov, 0x08, 4, kAllBits, 0, "SR-IOV control and status", "9.3.3"},
    VolatileRegister{kExtended, reg::kSriov, 0x10, 2, kAllBits, 0, "number of VFs", "9.3.3.7"},
    VolatileRegister{kExtended, reg::kSriov, 0x14, 4, kAllBits, 0, "VF offset and stride, which follow NumVFs", "9.3.3.9"},
    VolatileRegister{kExtended, reg::kSriov, 0x20, 4, kAllBits, 0, "system page size", "9.3.3.13"},
    VolatileRegister{kExtended, reg::kMulticast, 6, kAllOfIt, kAllBits, 0, "multicast control", "7.9.11"},
    VolatileRegister{kExtended, reg::kPageRequest, 4, 4, kAllBits, 0, "page request control and status", "10.5.2"},
    VolatileRegister{kExtended, reg::kPageRequest, 0xc, 4, kAllBits, 0, "page requests allowed", "10.5.2"},
    VolatileRegister{kExtended, reg::kResizableBar, 0x08, 4, 0x3f00, 0, "size of the first resizable BAR", "7.8.6"},
    VolatileRegister{kExtended, reg::kResizableBar, 0x10, 4, 0x3f00, 0, "size of the second resizable BAR", "7.8.6"},
    VolatileRegister{kExtended, reg::kResizableBar, 0x18, 4, 0x3f00, 0, "size of the third resizable BAR", "7.8.6"},
    VolatileRegister{kExtended, reg::kVfResizableBar, 0x08, 4, 0x3f00, 0, "size of the first resizable VF BAR", "7.8.7"},
    VolatileRegister{kExtended, reg::kVfResizableBar, 0x10, 4, 0x3f00, 0, "size of the second resizable VF BAR", "7.8.7"},
    VolatileRegister{kExtended, reg::kVfResizableBar, 0x18, 4, 0x3f00, 0, "size of the third resizable VF BAR", "7.8.7"},
    VolatileRegister{kExtended, reg::kDynamicPower, 8, 4, kAllBits, 0, "dynamic power control and status", "7.9.12"},
    VolatileRegister{kExtended, reg::kProcessingHints, 8, kAllOfIt, kAllBits, 0, "TPH control, steering tags", "7.9.13"},
    VolatileRegister{kExtended, reg::kLatencyTolerance, 4, 4, kAllBits, 0, "latencies that the platform tolerates", "7.8.2"},
    VolatileRegister{kExtended, reg::kSecondaryExpress, 4, kAllOfIt, kAllBits, 0, "link control 3, lanes", "7.7.3"},
    VolatileRegister{kExtended, reg::kPasid, 6, 2, kAllBits, 0, "PASID control", "7.8.9"},
    VolatileRegister{kExtended, reg::kL1Substates, 8, kAllOfIt, kAllBits, 0, "L1 substates control and status", "7.8.3"},
    VolatileRegister{kExtended, reg::kTimeMeasurement, 8, 4, kAllBits, 0, "time measurement control", "7.9.16"},
    VolatileRegister{kExtended, reg::kDataLink, 8, 4, kAllBits, 0, "data link feature status", "7.7.4"},
    VolatileRegister{kExtended, reg::kPhysical16, 8, kAllOfIt, kAllBits, 0, "16 GT/s control, status, lanes", "7.7.5"},
    VolatileRegister{kExtended, reg::kLaneMargining, 4, kAllOfIt, kAllBits, 0, "lane margining", "7.7.7"},
    VolatileRegister{kExtended, reg::kPhysical32, 8, kAllOfIt, kAllBits, 0, "32 GT/s control, status, lanes", "7.7.6"},
    VolatileRegister{kExtended, reg::kDataObjectExchange, 8, kAllOfIt, kAllBits, 0, "DOE control, status, mailboxes", "PCI Express Base 6.0, 7.9.24"},
};
// clang-format on

constexpr std::array kFields = {
    HeaderField{reg::kVendorId, 2, "vendor id"},
    HeaderField{reg::kDeviceId, 2, "device id"},
    HeaderField{reg::kStatus, 2, "status"},
    HeaderField{reg::kRevision, 1, "revision"},
    HeaderField{0x09, 3, "class code"},
    HeaderField{reg::kHeaderType, 1, "header type"},
    HeaderField{0x0f, 1, "BIST"},
    HeaderField{0x10, 4, "kind of BAR 0"},
    HeaderField{0x14, 4, "kind of BAR 1"},
    HeaderField{0x18, 4, "kind of BAR 2"},
    HeaderField{0x1c, 4, "kind of BAR 3"},
    HeaderField{0x20, 4, "kind of BAR 4"},
    HeaderField{0x24, 4, "kind of BAR 5"},
    HeaderField{0x28, 4, "CardBus CIS pointer"},
    HeaderField{reg::kSubsystemVendorId, 2, "subsystem vendor id"},
    HeaderField{reg::kSubsystemId, 2, "subsystem id"},
    HeaderField{reg::kCapabilities, 4, "capabilities pointer"},
    HeaderField{0x38, 4, "reserved register 0x38"},
    HeaderField{0x3d, 1, "interrupt pin"},
    HeaderField{0x3e, 1, "minimum grant"},
    HeaderField{0x3f, 1, "maximum latency"},
};

}  // namespace

std::span<const VolatileRegister> volatile_registers() {
  return kVolatile;
}

std::span<const HeaderField> header_fields() {
  return kFields;
}

}  // namespace reclaim::nvme
