// pci.reset: the function is reset through sysfs, and has to answer again as the same.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "nvme/host/driver_override.h"
#include "nvme/host/sysfs.h"
#include "nvme/pci/function_files.h"
#include "nvme/pci/pci_steps.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kMethodsBytesMax = 256;
constexpr std::string_view kBus = "bus";
// The ways of a reset in the order in which the kernel tries them: what it knows of this very
// device first, because of such a device the plain FLR is known to do harm or nothing
// (drivers/pci/quirks.c).
constexpr std::array<std::string_view, 6> kOrder = {
    "device_specific", "flr", "af_flr", "acpi", "pm", kBus};

constexpr std::string_view kNoWay =
    "power-cycle its slot after each tenant by a step of your own, and take pci.reset out of its "
    "steps";

Error quarantine(std::string_view found, std::string_view remedy) {
  return Error{Errc::failed, fmt::format("reset: {}; {}", found, remedy)};
}

// Finds another function of the same bus, which a reset of the bus would reset, too; "" for none.
Result<std::string> neighbour(const Options& options, const PciAddress& address) {
  const auto names = list_directory(options.sysfs_root + "/bus/pci/devices");
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const auto other = parse_pci_address(name);
    if (other && *other != address && other->domain == address.domain &&
        other->bus == address.bus) {
      return name;
    }
  }
  return std::string();
}

Result<std::string> choose(const Options& options, const PciAddress& address,
                           const std::string& listed) {
  std::vector<std::string> methods;
  std::istringstream words(listed);
  for (std::string word; words >> word;) methods.push_back(word);
  for (const std::string_view method : kOrder) {
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) continue;
    if (method != kBus) return std::string(method);
    const auto other = neighbour(options, address);
    if (!other) return other.error();
    if (other->empty()) return std::string(method);
    return quarantine(fmt::format("only its bus can be reset, and {} is on it, too", *other),
                      fmt::format("move one of them to another slot, or {}", kNoWay));
  }
  return quarantine(
      listed.empty()
          ? std::string("the kernel has no way to reset this function")
          : fmt::format("of the ways to reset it ({}), none is fit for it alone", listed),
      kNoWay);
}

// Chosen for one reset; the former list is put back at the latest when this ends.
class ChosenMethod final {
 public:
  ChosenMethod(std::string path, std::string former)
      : path_(std::move(path)), former_(std::move(former)) {}
  ~ChosenMethod() { (void)put_back(); }
  ChosenMethod(const ChosenMethod&) = delete;
  ChosenMethod& operator=(const ChosenMethod&) = delete;

  [[nodiscard]] Status choose(const std::string& method) {
    if (method == former_) return Ok{};
    chosen_ = true;
    return write_attribute(path_, method);
  }
  [[nodiscard]] Status put_back() {
    if (!chosen_) return Ok{};
    chosen_ = false;
    return write_attribute(path_, former_);
  }

 private:
  std::string path_;
  std::string former_;
  bool chosen_ = false;
};

// Waits for the function and returns its configuration space as soon as it answers.
Result<std::string> wait_for(const Options& options, const PciAddress& address,
                             std::int64_t timeout_ms, StopFlag& stop) {
  for (std::int64_t waited = 0;; waited += options.driver_poll_ms) {
    auto config = read_config(options, address);
    if (config) return config;
    if (waited >= timeout_ms) {
      return quarantine(
          fmt::format("it did not come back within {} ms ({})", timeout_ms, config.error().what),
          "power-cycle its slot, or replace it, then clean it again");
    }
    if (stop.wait(options.driver_poll_ms)) {
      return Error{Errc::cancelled, "stopped while the device was being reset"};
    }
  }
}

}  // namespace

Result<StepReport> pci_reset(const PciClaim& claim, const PciStepRequest& request, StopFlag& stop) {
  const Options& options = claim.options();
  const PciAddress& address = claim.address();
  const std::string folder = function_path(options, address);
  const auto listed = read_file(folder + "/reset_method", kMethodsBytesMax);
  if (!listed && listed.error().code != Errc::not_found) return listed.error();
  const auto method = choose(options, address, listed ? *listed : std::string());
  if (!method) return method.error();
  const auto before = read_config(options, address);
  if (!before) return quarantine(before.error().what, "power-cycle its slot, or replace it");

  ChosenMethod chosen(folder + "/reset_method", *listed);
  if (auto done = chosen.choose(*method); !done) return quarantine(done.error().what, kNoWay);
  const Status written = write_attribute(folder + "/reset", "1");
  auto after =
      written
          ? wait_for(options, address, request.reset_timeout_ms, stop)
          : Result<std::string>(quarantine(
                written.error().what, "see the kernel's log; power-cycle its slot, or replace it"));
  if (auto done = chosen.put_back(); !done && after) {
    return quarantine(fmt::format("it is reset, but {}", done.error().what),
                      fmt::format("write '{}' to {}/reset_method", *listed, folder));
  }
  if (!after) return std::move(after).error();

  const auto was = parse_config_space(*before);
  const auto is = parse_config_space(*after);
  CHECK(was.ok() && is.ok());
  if (is->vendor_id != was->vendor_id || is->device_id != was->device_id ||
      is->class_code != was->class_code || is->subsystem_id != was->subsystem_id) {
    return quarantine(fmt::format("it came back as {:04x}:{:04x} of class {:06x}, and was "
                                  "{:04x}:{:04x} of class {:06x}",
                                  is->vendor_id, is->device_id, is->class_code, was->vendor_id,
                                  was->device_id, was->class_code),
                      "its firmware is not the one it had: power-cycle its slot, write the "
                      "vendor's firmware to it, or replace it");
  }
  const auto changed = compare_config(*before, *after, request.config_ignored);
  StepReport report;
  report.findings.push_back({"reset", fmt::format("reset by {}, and it answers", *method), false});
  // The differences are not judged here: what a tenant had set is gone now, which pci.check_config
  // sees.
  for (const std::string& line : changed ? *changed : std::vector<std::string>{}) {
    report.findings.push_back({"config", line, true});
  }
  return report;
}

}  // namespace reclaim::nvme
