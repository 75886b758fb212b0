#include "config/device_spec/function_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "nvme/pci/pci_step.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/device/record.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kTypeBytesMax = 32;
constexpr std::size_t kItemsMax = 64;
constexpr std::size_t kDigestDigits = 64;
constexpr std::uint16_t kConfigBytes = 4096;

std::string word_of(const rapidjson::Value& value) {
  return value.IsString() ? std::string(value.GetString(), value.GetStringLength())
                          : json::to_text(value);
}

// Nothing: it is no list of texts.
std::optional<std::vector<std::string>> words_of(const rapidjson::Value& value) {
  if (!value.IsArray() || value.Size() > kItemsMax) return std::nullopt;
  std::vector<std::string> words;
  for (const auto& item : value.GetArray()) {
    if (!item.IsString()) return std::nullopt;
    words.push_back(word_of(item));
  }
  return words;
}

Status read_type(const rapidjson::Value& value, DeviceSpec& spec) {
  const std::string word = word_of(value);
  const bool plain = !word.empty() && word.size() <= kTypeBytesMax &&
                     std::all_of(word.begin(), word.end(), [](char c) {
                       return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                     });
  if (plain && word != kTypeNvme) {
    spec.type = word;
    return Ok{};
  }
  return Error{Errc::invalid,
               fmt::format("'type' is '{}', accepted: 1 to {} upper-case letters, digits and '_', "
                           "like NIC or GPU; {} is for drives, which are in [nvme] device_spec",
                           printable_excerpt(word), kTypeBytesMax, kTypeNvme)};
}

Status read_driver(const rapidjson::Value& value, DeviceSpec& spec) {
  const std::string word = word_of(value);
  const auto driver = nvme::parse_step_driver(word);
  if (driver && driver->kind == nvme::StepDriver::Kind::named) {
    spec.driver = word;
    return Ok{};
  }
  return Error{Errc::invalid,
               fmt::format("'driver' is '{}', accepted: the name of the driver that the host binds "
                           "the device to, like mlx5_core; without it only none and vfio drivers",
                           printable_excerpt(word))};
}

Status read_roms(const rapidjson::Value& value, DeviceSpec& spec) {
  const auto words = words_of(value);
  const auto is_digest = [](const std::string& word) {
    return word.size() == kDigestDigits && std::all_of(word.begin(), word.end(), [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
  };
  if (!words || !std::all_of(words->begin(), words->end(), is_digest)) {
    return Error{Errc::invalid,
                 fmt::format("'rom_sha256' must be a list of at most {} SHA-256 sums, each of {} "
                             "lower-case hexadecimal digits",
                             kItemsMax, kDigestDigits)};
  }
  spec.roms_allowed = *words;
  return Ok{};
}

std::optional<nvme::ConfigRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_hex<std::uint16_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_hex<std::uint16_t>(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= kConfigBytes) return std::nullopt;
  return nvme::ConfigRange{*first, *last};
}

Status read_config_ignore(const rapidjson::Value& value, DeviceSpec& spec) {
  const auto words = words_of(value);
  bool good = words.has_value();
  for (std::size_t i = 0; good && i < words->size(); ++i) {
    const auto range = parse_range((*words)[i]);
    if (range) spec.config_ignored.push_back(*range);
    good = range.has_value();
  }
  if (good) return Ok{};
  return Error{Errc::invalid,
               fmt::format("'config_ignore' must be a list of at most {} bytes or ranges of bytes "
                           "of the configuration space, in hexadecimal up to fff, like [\"0x60\", "
                           "\"0x64-0x67\"]",
                           kItemsMax)};
}

}  // namespace

Status read_function_key(std::string_view key, const rapidjson::Value& value, DeviceSpec& spec) {
  if (key == "type") return read_type(value, spec);
  if (key == "driver") return read_driver(value, spec);
  if (key == "rom_sha256") return read_roms(value, spec);
  return read_config_ignore(value, spec);
}

}  // namespace reclaim::config
