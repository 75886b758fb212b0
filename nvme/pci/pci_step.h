// The request for a claim of a PCI function that is no NVMe drive, its built-in clean steps, and
// the request for each. Passive data. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/controller/hardware_identity.h"
#include "nvme/pci/config_compare.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct PciClaimRequest {
  PciAddress address;
  std::string resource_class;  // of the provider: CUSTOM_PCI_<VID>_<PID> must match the ids
  std::optional<std::string> resource_class_override;  // device_spec's own, normalised
  // The driver of the host that its device_spec names; beside it, only none and those of vfio are
  // accepted. Empty: it names none.
  std::string driver;
  HardwareIdentity expected;  // as recorded; empty: nothing recorded yet
  // Commands of the operator's own steps that the plan will run, absolute paths.
  std::vector<std::string> commands;
};

enum class PciStep : std::uint8_t { reset, check_config, check_rom, check_health };
[[nodiscard]] std::string_view to_string(PciStep step);  // "pci.reset"
[[nodiscard]] Result<PciStep> parse_pci_step(std::string_view text);

// The driver of the function while a step runs: `keep` (whatever is bound), `none`, or one by its
// name.
struct StepDriver {
  enum class Kind : std::uint8_t { keep, none, named };
  Kind kind = Kind::keep;
  std::string name;  // of a named one
  friend bool operator==(const StepDriver&, const StepDriver&) = default;
};
[[nodiscard]] Result<StepDriver> parse_step_driver(std::string_view text);

struct PciStepRequest {
  PciStep step = PciStep::reset;
  StepDriver driver;
  std::string enrolment;  // the baseline of this function (encode_pci_state); empty: none
  std::vector<std::string> roms_allowed;         // SHA-256 beside the baseline's, lower-case hex
  std::vector<ConfigRange> config_ignored;       // beside what changes by itself anyway
  std::uint64_t correctable_errors_max = 1'000;  // new ones since the baseline
  std::int64_t reset_timeout_ms = 10'000;        // until it answers again
};

}  // namespace reclaim::nvme
