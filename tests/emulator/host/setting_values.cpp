#include "tests/emulator/host/setting_values.h"

#include <algorithm>

namespace reclaim::emulator {

Error bad(const Setting& setting, std::string_view accepted) {
  return Error{Errc::invalid, "setting " + setting.key + "=" + setting.value + ": accepted is " +
                                  std::string(accepted)};
}

Status flag(const Setting& setting, bool& into) {
  if (setting.value != "0" && setting.value != "1") return bad(setting, "0 or 1");
  into = setting.value == "1";
  return Ok{};
}

Status percent(const Setting& setting, std::int8_t& into) {
  if (setting.value == "off") {
    into = -1;
    return Ok{};
  }
  std::int8_t value = 0;
  if (!number(setting, value).ok() || value < 0 || value > 100)
    return bad(setting, "0..100 or off");
  into = value;
  return Ok{};
}

Status text(const Setting& setting, std::span<char> into, char padding) {
  if (setting.value.size() > into.size()) {
    return bad(setting, "at most " + std::to_string(into.size()) + " characters");
  }
  std::fill(into.begin(), into.end(), padding);
  std::copy(setting.value.begin(), setting.value.end(), into.begin());
  return Ok{};
}

Status size(const Setting& setting, std::uint64_t& into) {
  const auto value = parse_size(setting.value);
  if (!value.ok()) return value.error();
  into = *value;
  return Ok{};
}

Result<std::vector<std::uint64_t>> fields(const Setting& setting, std::size_t count) {
  std::vector<std::uint64_t> values;
  std::string_view rest = setting.value;
  while (!rest.empty()) {
    const std::size_t cut = std::min(rest.find(':'), rest.size());
    const auto value = parse_size(rest.substr(0, cut));
    if (!value.ok()) return value.error();
    values.push_back(*value);
    rest.remove_prefix(std::min(cut + 1, rest.size()));
  }
  if (values.size() != count) {
    return bad(setting, std::to_string(count) + " numbers separated by colons");
  }
  return values;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error error{Errc::invalid,
                    "'" + std::string(text) + "' is not a size like 4096, 64M or 1G"};
  if (text.empty()) return error;
  std::uint64_t value = 0;
  if (text.starts_with("0x")) {
    const auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (code != std::errc{} || end != text.data() + text.size()) return error;
    return value;
  }
  constexpr std::string_view kSuffixes = "KMGT";
  const std::size_t suffix = kSuffixes.find(text.back());
  unsigned shift = 0;
  if (suffix != std::string_view::npos) {
    shift = static_cast<unsigned>(suffix + 1) * 10;
    text.remove_suffix(1);
  }
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value > (~0ULL >> shift)) {
    return error;
  }
  return value << shift;
}

}  // namespace reclaim::emulator
