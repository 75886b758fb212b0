#include "config/udev_rules.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "state/base/text.h"
#include "udev_rules_text.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kExample = "#ENV{.RECLAIM_";
constexpr std::string_view kOwned = "ENV{RECLAIM_OWNED}=\"1\"";

std::string hex(const std::optional<std::uint16_t>& id) {
  return id ? fmt::format("0x{:04x}", *id) : std::string("0x????");
}

std::string ids_match(const DeviceSpec& spec) {
  if (!spec.vendor_id && !spec.product_id) return {};
  return fmt::format("ENV{{.RECLAIM_IDS}}==\"*{}:{}*\", ", hex(spec.vendor_id),
                     hex(spec.product_id));
}

std::string addresses_of(const DeviceSpec& spec, const std::vector<HostDrive>& drives) {
  std::string pattern;
  for (const HostDrive& drive : drives) {
    if (!matches(spec, drive.vendor_id, drive.device_id, drive.address)) continue;
    pattern += fmt::format("{}*{}*", pattern.empty() ? "" : "|", to_string(drive.address));
  }
  return pattern;
}

std::string line_of(const DeviceSpec& spec, const std::vector<HostDrive>& drives) {
  const std::string where = fmt::format("# {}\n", to_string(spec.at));
  const std::string ids = ids_match(spec);
  if (spec.address.covers_a_host() && !ids.empty()) return where + ids + std::string(kOwned) + "\n";
  const std::string addresses = addresses_of(spec, drives);
  if (addresses.empty()) return where + "# matches no drive of this host today\n";
  return fmt::format("{}ENV{{.RECLAIM_ADDRESS}}==\"{}\", {}\n", where, addresses, kOwned);
}

// The value of KEY=="VALUE" in a rule; empty: it does not ask for it.
std::string value_of(std::string_view rule, std::string_view key) {
  const std::size_t at = rule.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = rule.substr(at + key.size());
  return std::string(rest.substr(0, rest.find('"')));
}

bool matches_pattern(const std::string& pattern, const std::string& text) {
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::string one(take_until(rest, '|'));
    if (::fnmatch(one.c_str(), text.c_str(), 0) == 0) return true;
  }
  return pattern.empty();
}

}  // namespace

std::string udev_rules(const std::vector<DeviceSpec>& specs, const std::vector<HostDrive>& drives) {
  std::string out;
  std::string_view rest = kUdevRules;
  bool listed = false;
  while (!rest.empty()) {
    const std::string_view line = take_until(rest, '\n');
    if (!line.starts_with(kExample)) {
      out += line;
      out += '\n';
    } else if (!std::exchange(listed, true)) {
      for (const DeviceSpec& spec : specs) out += line_of(spec, drives);
    }
  }
  return out;
}

bool UdevListing::lists(const HostDrive& drive) const {
  const std::string address = to_string(drive.address);
  const std::string ids = fmt::format("0x{:04x}:0x{:04x}", drive.vendor_id, drive.device_id);
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    return matches_pattern(line.addresses, address) && matches_pattern(line.ids, ids);
  });
}

UdevListing read_udev_rules(std::string_view text) {
  UdevListing listing;
  while (!text.empty()) {
    const std::string_view rule = strip(take_until(text, '\n'));
    if (!rule.starts_with("ENV{.RECLAIM_") || rule.find(kOwned) == std::string_view::npos) continue;
    listing.lines.push_back(
        {value_of(rule, "ENV{.RECLAIM_ADDRESS}==\""), value_of(rule, "ENV{.RECLAIM_IDS}==\"")});
  }
  return listing;
}

}  // namespace reclaim::config
