#include "nvme/pci/pci_steps.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "nvme/pci/config_compare.h"
#include "nvme/pci/function_files.h"
#include "nvme/pci/pci_state.h"

namespace reclaim::nvme {
namespace {

constexpr std::string_view kReflash =
    "write the vendor's firmware to the device and reset it, or replace it; then clean it again";
constexpr std::string_view kNoBaseline = ", no baseline to compare with";

Error quarantine(std::string_view surface, std::string_view found, std::string_view remedy) {
  return Error{Errc::failed, fmt::format("{}: {}; {}", surface, found, remedy)};
}

// Decodes the enrolment baseline of a request; nothing: there is none.
Result<std::optional<PciState>> enrolled(const PciStepRequest& request) {
  if (request.enrolment.empty()) return std::optional<PciState>{};
  auto state = decode_pci_state(request.enrolment);
  if (!state) {
    return Error{Errc::failed, fmt::format("{}; enrol the device again", state.error().what)};
  }
  return std::optional(*std::move(state));
}

// The errors since the baseline; the kernel's counters begin again with each boot.
std::uint64_t since(std::uint64_t before, std::uint64_t now) {
  return now >= before ? now - before : now;
}

Result<StepReport> perform(const PciClaim& claim, const PciStepRequest& request, StopFlag& stop) {
  switch (request.step) {
    case PciStep::reset:
      return pci_reset(claim, request, stop);
    case PciStep::check_config:
      return pci_check_config(claim, request);
    case PciStep::check_rom:
      return pci_check_rom(claim, request);
    case PciStep::check_health:
      break;
  }
  return pci_check_health(claim, request);
}

}  // namespace

Status with_driver(PciClaim& claim, const StepDriver& driver, const std::function<Status()>& work) {
  if (auto ready = claim.recheck(); !ready) return ready;
  Status outcome = claim.use_driver(driver);
  if (outcome) outcome = work();
  const Status back = claim.put_driver_back();
  if (back || outcome) return outcome ? back : outcome;
  return Error{Errc::failed, fmt::format("{}; and its driver was not put back: {}",
                                         outcome.error().what, back.error().what)};
}

Result<StepReport> run_pci_step(PciClaim& claim, const PciStepRequest& request, StopFlag& stop) {
  if (stop.requested()) {
    return Error{Errc::cancelled, fmt::format("stopped before {}", to_string(request.step))};
  }
  return result_with_driver(claim, request.driver, [&] { return perform(claim, request, stop); });
}

Result<std::string> pci_enrolment(PciClaim& claim, const StepDriver& driver) {
  return result_with_driver(claim, driver, [&claim]() -> Result<std::string> {
    const auto state = read_pci_state(claim.options(), claim.address());
    if (!state) return state.error();
    return encode_pci_state(*state);
  });
}

Result<StepReport> pci_check_config(const PciClaim& claim, const PciStepRequest& request) {
  const auto baseline = enrolled(request);
  if (!baseline) return baseline.error();
  const auto now = read_config(claim.options(), claim.address());
  if (!now) return quarantine("config", now.error().what, "power-cycle its slot, or replace it");
  const auto space = parse_config_space(*now);
  CHECK(space.ok());
  std::string found =
      fmt::format("{:04x}:{:04x} revision {:02x}, {} capabilities", space->vendor_id,
                  space->device_id, space->revision, space->capabilities.size());
  if (!*baseline) return StepReport{{{"config", found.append(kNoBaseline), false}}};
  const auto differences = compare_config((*baseline)->config, *now, request.config_ignored);
  if (!differences) return quarantine("config", differences.error().what, "enrol the device again");
  if (!differences->empty()) {
    return quarantine("config", fmt::format("{}", fmt::join(*differences, "; ")),
                      fmt::format("{}; where a register changes by itself, name it in "
                                  "config_ignore",
                                  kReflash));
  }
  return StepReport{{{"config", found.append(", as enrolled"), false}}};
}

Result<StepReport> pci_check_rom(const PciClaim& claim, const PciStepRequest& request) {
  const auto baseline = enrolled(request);
  if (!baseline) return baseline.error();
  const auto rom = read_rom(claim.options(), claim.address());
  if (!rom) return Error{Errc::failed, fmt::format("rom: {}", rom.error().what), rom.error().raw};
  const bool allowed =
      rom->present && std::find(request.roms_allowed.begin(), request.roms_allowed.end(),
                                rom->sha256) != request.roms_allowed.end();
  if (allowed) return StepReport{{{"rom", to_string(*rom) + ", allowed", false}}};
  if (*baseline && (*baseline)->rom == *rom) {
    return StepReport{{{"rom", to_string(*rom) + ", as enrolled", false}}};
  }
  if (*baseline) {
    return quarantine(
        "rom", fmt::format("{}, was {}", to_string(*rom), to_string((*baseline)->rom)), kReflash);
  }
  if (!request.roms_allowed.empty()) {
    return quarantine("rom", to_string(*rom) + ", which is not among those allowed", kReflash);
  }
  return StepReport{{{"rom", to_string(*rom).append(kNoBaseline), false}}};
}

Result<StepReport> pci_check_health(const PciClaim& claim, const PciStepRequest& request) {
  const auto baseline = enrolled(request);
  if (!baseline) return baseline.error();
  const auto config = read_config(claim.options(), claim.address());
  if (!config)
    return quarantine("link", config.error().what, "power-cycle its slot, or replace it");
  const auto space = parse_config_space(*config);
  CHECK(space.ok());
  const auto errors = read_error_counters(claim.options(), claim.address());
  if (!errors) return quarantine("errors", errors.error().what, "see the kernel's log");
  StepReport report;

  const PciLink link = space->link.value_or(PciLink{});
  const std::string trained = space->link
                                  ? fmt::format("{} of {}", link_text(link.speed, link.width),
                                                link_text(link.speed_max, link.width_max))
                                  : std::string("it has no link");
  if (*baseline && (link.speed < (*baseline)->link_speed || link.width < (*baseline)->link_width)) {
    return quarantine("link",
                      fmt::format("{}, was {}", trained,
                                  link_text((*baseline)->link_speed, (*baseline)->link_width)),
                      "reset it, seat it anew, or replace it");
  }
  report.findings.push_back({"link", trained, false});

  if (!*errors) {
    if (*baseline && (*baseline)->errors) {
      return quarantine("errors", "the kernel does not count its errors any more",
                        "start the kernel without pci=noaer, or enrol the device again");
    }
    report.findings.push_back({"errors", "the kernel counts none", false});
    return report;
  }
  const PciErrorCounters now = **errors;
  const PciErrorCounters before =
      *baseline ? (*baseline)->errors.value_or(PciErrorCounters{}) : PciErrorCounters{};
  const std::string counted =
      fmt::format("{} fatal, {} nonfatal, {} correctable errors", since(before.fatal, now.fatal),
                  since(before.nonfatal, now.nonfatal), since(before.correctable, now.correctable));
  if (!*baseline) {
    report.findings.push_back({"errors", counted + std::string(kNoBaseline), false});
    return report;
  }
  if (since(before.fatal, now.fatal) > 0 || since(before.nonfatal, now.nonfatal) > 0 ||
      since(before.correctable, now.correctable) > request.correctable_errors_max) {
    return quarantine("errors",
                      fmt::format("{} since it was enrolled, {} correctable are allowed", counted,
                                  request.correctable_errors_max),
                      "seat the device anew or replace it, and enrol it again");
  }
  report.findings.push_back({"errors", counted + " since it was enrolled", false});
  return report;
}

}  // namespace reclaim::nvme
