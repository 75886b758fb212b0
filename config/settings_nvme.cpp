// [nvme], [devices] and [pci]: whose devices, and how they are cleaned.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "config/device_spec/clean_rules.h"
#include "config/settings_parts.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kGroup = "nvme";
constexpr std::string_view kDevicesGroup = "devices";
constexpr std::size_t kItemBytes = 255;

// Reads the entries of an option. The first that matches a device counts, so our own files' come
// before a service's.
template <typename Parse>
void read_entries(const Reading& reading, std::string_view group, std::string_view name,
                  Parse parse, std::vector<DeviceSpec>& all) {
  for (const Value& value : reading.read.multi(group, name)) {
    std::vector<DeviceSpec> specs = parse(value.text, value.at, reading.problems);
    if (all.size() + specs.size() > kDeviceSpecsMax) {
      reading.problems.push_back(
          {value.at, fmt::format("[{}] {}: more than {} entries", group, name, kDeviceSpecsMax)});
      break;
    }
    for (DeviceSpec& spec : specs) spec.service = value.service;
    std::move(specs.begin(), specs.end(), std::back_inserter(all));
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const DeviceSpec& spec) { return !spec.service; });
}

void warn_of_never_counting(const Reading& reading, const std::vector<DeviceSpec>& specs,
                            std::string_view option) {
  for (Problem& entry : never_counting(specs, option)) {
    reading.warnings.push_back(std::move(entry));
  }
}

// Leaves out the entries with a devname: taken without the interface's name, such an entry would
// match every device.
void leave_out_interfaces(const Reading& reading, Settings& settings) {
  std::erase_if(settings.function_specs, [&](const DeviceSpec& spec) {
    if (spec.devname.empty()) return false;
    reading.warnings.push_back(
        {spec.at,
         fmt::format("[devices] device_spec: the entry of devname '{}' is left out, for no "
                     "interface is called so while a guest has it: name the card's "
                     "address instead",
                     printable_excerpt(spec.devname))});
    return true;
  });
}

void read_specs(const Reading& reading, Settings& settings) {
  read_entries(reading, kGroup, "device_spec", parse_device_spec, settings.device_specs);
  for (DeviceSpec& spec : settings.device_specs) {
    if (const Status settled = settle_rules(spec, settings.verify); !settled.ok()) {
      reading.problems.push_back({spec.at, "[nvme] device_spec: " + settled.error().what});
    }
  }
  warn_of_never_counting(reading, settings.device_specs, "[nvme] device_spec");
  if (!reading.read.given(kGroup, "device_spec") &&
      !reading.read.given(kDevicesGroup, "device_spec") && reading.purpose != Purpose::api) {
    reading.warnings.push_back(
        {{}, "[nvme] device_spec is not set: no drive will ever be touched"});
  }
}

// "nvme.check_health:95", several of them separated by ','. `one` judges each alone; `all` judges
// them together: one alone may be on its way past another.
void read_priorities(const Reading& reading, std::string_view group, std::string_view example,
                     Status (*one)(const StepPriorities&), Status (*all)(const StepPriorities&),
                     StepPriorities& priorities) {
  constexpr std::string_view kName = "clean_step_priority_override";
  const std::size_t problems_before = reading.problems.size();
  std::optional<Location> last;
  for (const Value& value : reading.read.multi(group, kName)) {
    const auto complain = [&](std::string_view text) {
      reading.problems.push_back({value.at, fmt::format("[{}] {}: {}", group, kName, text)});
    };
    last = value.at;
    for (const std::string& item : split_list(value.text)) {
      const std::size_t colon = item.rfind(':');
      const std::string step(strip(item.substr(0, colon)));
      const std::string_view digits =
          colon == std::string::npos ? "" : strip(std::string_view(item).substr(colon + 1));
      int priority = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), priority);
      if (step.empty() || digits.empty() || error != std::errc{} ||
          end != digits.data() + digits.size()) {
        complain(fmt::format("'{}' is not STEP:PRIORITY like {}",
                             printable_excerpt(item, kItemBytes), example));
        continue;
      }
      const Status known = one({{step, priority}});
      if (!known.ok()) complain(known.error().what);
      priorities[step] = priority;
    }
  }
  const Status order = all(priorities);
  if (last && !order.ok() && reading.problems.size() == problems_before) {
    reading.problems.push_back(
        {*last, fmt::format("[{}] {}: {}", group, kName, order.error().what)});
  }
}

// Registered, the host's own drives would be erased before long, but for the guards.
void refuse_every_drive(const Reading& reading, const Settings& settings) {
  if (!settings.conductor.manage_providers || settings.manage_every_drive) return;
  for (const DeviceSpec& spec : settings.device_specs) {
    if (!matches_every_drive(spec)) continue;
    reading.problems.push_back(
        {spec.at,
         "[nvme] device_spec matches every drive of the host, and manage_providers registers and "
         "erases each that has no provider: name vendor_id and product_id or addresses in it, or "
         "say manage_every_drive = true"});
  }
}

}  // namespace

void read_passthrough_whitelist(const Reading& reading, Settings& settings) {
  read_entries(reading, "pci", "passthrough_whitelist", parse_passthrough_whitelist,
               settings.passthrough_whitelist);
}

void read_nvme(const Reading& reading, Settings& settings) {
  const Reader& read = reading.read;
  fill_group(reading, kGroup, settings);
  settings.nvme.threads_max = settings.conductor.cleanings_max;
  settings.nvme.foreign_sanitize_timeout_ms = settings.conductor.cleanup_timeout_ms;
  read_specs(reading, settings);
  read_firmware_images(reading, settings);
  if (!settings.nvme.firmware.images.empty()) {
    settings.conductor.step_priorities[restore_firmware_step()] = kRestoreFirmwarePriority;
  }
  read_priorities(reading, kGroup, "nvme.check_health:90", check_step_priorities, check_step_order,
                  settings.conductor.step_priorities);
  read_entries(reading, kDevicesGroup, "device_spec", parse_function_spec, settings.function_specs);
  leave_out_interfaces(reading, settings);
  warn_of_never_counting(reading, settings.function_specs, "[devices] device_spec");
  read_priorities(reading, kDevicesGroup, "pci.reset:0", check_function_step_priorities,
                  check_function_step_order, settings.conductor.function_step_priorities);
  refuse_every_drive(reading, settings);
  const auto rate = parse_bytes_per_s(read.string(kGroup, "zero_rate_max"));
  if (rate.ok()) {
    settings.nvme.zero_bytes_per_s_max = settings.conductor.zero_bytes_per_s_max = *rate;
  } else {
    read.complain(kGroup, "zero_rate_max", ": " + rate.error().what);
  }
}

}  // namespace reclaim::config
