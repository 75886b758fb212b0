#include "nvme/pci/pci_step.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"pci.reset", "pci.check_config",
                                                    "pci.check_rom", "pci.check_health"};
constexpr std::size_t kDriverNameMax = 64;

}  // namespace

std::string_view to_string(PciStep step) {
  return kNames[static_cast<std::size_t>(step)];
}

Result<PciStep> parse_pci_step(std::string_view text) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), text);
  if (found != kNames.end()) return static_cast<PciStep>(found - kNames.begin());
  return Error{Errc::invalid, fmt::format("'{}' is no step of a PCI function; {} are",
                                          printable_excerpt(text), fmt::join(kNames, ", "))};
}

Result<StepDriver> parse_step_driver(std::string_view text) {
  if (text == "keep") return StepDriver{};
  if (text == "none") return StepDriver{StepDriver::Kind::none, {}};
  const bool is_name = !text.empty() && text.size() <= kDriverNameMax &&
                       std::all_of(text.begin(), text.end(),
                                   [](char c) { return is_alnum(c) || c == '_' || c == '-'; });
  if (is_name) return StepDriver{StepDriver::Kind::named, std::string(text)};
  return Error{Errc::invalid, fmt::format("'{}' is no driver; keep, none, or a driver's name is",
                                          printable_excerpt(text))};
}

}  // namespace reclaim::nvme
