// Reads what sysfs shows of a PCI function beside its driver: configuration space, expansion ROM,
// errors that the kernel counted. Blocking; thread: a drive thread's.
#pragma once

#include <optional>
#include <string>

#include "nvme/options.h"
#include "nvme/pci/config_space.h"
#include "nvme/pci/pci_state.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// Reads the configuration space: at least 256 bytes that parse_config_space() understands;
// Errc::failed otherwise.
[[nodiscard]] Result<std::string> read_config(const Options& options, const PciAddress& address);

// The ROM is switched on for the reading and off again whatever comes of it. Without a driver, the
// function's memory is switched on for it, too. Errc::failed: it cannot be read, or is no image.
[[nodiscard]] Result<PciRom> read_rom(const Options& options, const PciAddress& address);

// Reads the errors that the kernel counted; nothing: it counts none for the function.
[[nodiscard]] Result<std::optional<PciErrorCounters>> read_error_counters(
    const Options& options, const PciAddress& address);

// Reads all of a PciState. Errc::failed where a part cannot be read.
[[nodiscard]] Result<PciState> read_pci_state(const Options& options, const PciAddress& address);

}  // namespace reclaim::nvme
