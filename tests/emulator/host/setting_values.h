// Values of `key=value` settings, read into fields of DriveState; and the table of keys. Inside of
// host/ only.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/host/settings.h"

namespace reclaim::emulator {

using Apply = std::function<Status(DriveState&, const Setting&)>;
using SettingTable = std::map<std::string, Apply, std::less<>>;

// What a tenant may have left beside blocks, and the faults around it (surface_settings.cpp).
void add_surface_settings(SettingTable& table);
// How it takes firmware, and the faults of that (firmware_settings.cpp).
void add_firmware_settings(SettingTable& table);

// What a real drive answered (page_settings.cpp).
void add_page_settings(SettingTable& table);

Error bad(const Setting& setting, std::string_view accepted);

template <typename Number>
Status number(const Setting& setting, Number& into) {
  std::string_view text = setting.value;
  int base = 10;
  if (text.substr(0, 2) == "0x") {
    base = 16;
    text.remove_prefix(2);
  }
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc{} || end != text.data() + text.size()) {
    return bad(setting, "a number that fits, decimal or 0x…");
  }
  into = value;
  return Ok{};
}

Status flag(const Setting& setting, bool& into);            // "0" or "1"
Status percent(const Setting& setting, std::int8_t& into);  // "0".."100" or "off" (-1)
Status text(const Setting& setting, std::span<char> into, char padding);  // padded to its width
Status size(const Setting& setting, std::uint64_t& into);                 // see parse_size()
// "a:b:c" as sizes.
Result<std::vector<std::uint64_t>> fields(const Setting& setting, std::size_t count);

}  // namespace reclaim::emulator
