#include "nvme/pci/pci_state.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/pci/config_space.h"
#include "state/base/fields.h"
#include "state/base/json.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kTextBytesMax = std::size_t{16} * 1024;
constexpr std::size_t kConfigBytesMax = 4096;
constexpr std::size_t kSha256Digits = 64;

// A PciState as it is kept: most of a configuration space is zeros at its end.
struct Stored {
  std::uint32_t config_bytes = 0;
  std::string config;  // hex, without the zeros at its end
  PciRom rom;
  std::uint8_t link_speed = 0;
  std::uint8_t link_width = 0;
  std::optional<PciErrorCounters> errors;
};

Error wrong(std::string_view what) {
  return Error{Errc::invalid, fmt::format("the enrolment baseline: {}", what)};
}

bool is_sha256(std::string_view text) {
  return text.size() == kSha256Digits && std::all_of(text.begin(), text.end(), [](char c) {
           return hex_value(c) >= 0 && lower(c) == c;
         });
}

}  // namespace

template <typename Visit>
void visit_fields(Visit& visit, field::Of<PciErrorCounters> auto& s) {
  visit("correctable", s.correctable);
  visit("nonfatal", s.nonfatal);
  visit("fatal", s.fatal);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<PciRom> auto& s) {
  visit("present", s.present);
  visit("bytes", s.bytes);
  visit("sha256", s.sha256);
}

namespace {

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Stored> auto& s) {
  visit("config_bytes", s.config_bytes);
  visit("config", s.config);
  visit("rom", s.rom);
  visit("link_speed", s.link_speed);
  visit("link_width", s.link_width);
  visit("errors", s.errors);
}

}  // namespace

std::string to_string(const PciRom& rom) {
  if (!rom.present) return "no ROM";
  return fmt::format("{} bytes, SHA-256 {}", rom.bytes, rom.sha256);
}

std::string encode_pci_state(const PciState& state) {
  CHECK(state.config.size() <= kConfigBytesMax);
  std::string_view config = state.config;
  config = config.substr(0, config.find_last_not_of('\0') + 1);
  Stored stored;
  stored.config_bytes = static_cast<std::uint32_t>(state.config.size());
  stored.config = hex_of({reinterpret_cast<const unsigned char*>(config.data()), config.size()});
  stored.rom = state.rom;
  stored.link_speed = state.link_speed;
  stored.link_width = state.link_width;
  stored.errors = state.errors;
  rapidjson::Document document(rapidjson::kObjectType);
  document.AddMember("version", rapidjson::Value(kVersion), document.GetAllocator());
  field::add_members(document, stored);
  std::string text = json::to_text(document);
  CHECK(text.size() <= kTextBytesMax);
  return text;
}

Result<PciState> decode_pci_state(std::string_view text) {
  const auto document = json::parse(text, kTextBytesMax);
  if (!document) return document.error().wrap("the enrolment baseline");
  const auto version = json::get_int(*document, "version");
  if (!version) return version.error().wrap("the enrolment baseline");
  if (*version != kVersion) {
    return wrong(fmt::format("it is of version {}; {} is read", *version, kVersion));
  }
  auto stored = field::from_json<Stored>(*document);
  if (!stored) return wrong(stored.error().what);
  auto config = bytes_of_hex(stored->config);
  if (!config) return wrong("'config' is not hexadecimal");
  if (stored->config_bytes > kConfigBytesMax || config->size() > stored->config_bytes) {
    return wrong("'config_bytes' does not fit 'config'");
  }
  config->resize(stored->config_bytes, '\0');
  if (auto space = parse_config_space(*config); !space) {
    return wrong(fmt::format("'config': {}", space.error().what));
  }
  const PciRom& rom = stored->rom;
  if (rom.present ? !is_sha256(rom.sha256) : !rom.sha256.empty() || rom.bytes != 0) {
    return wrong("'rom.sha256' is not that of a ROM");
  }
  PciState state;
  state.config = *std::move(config);
  state.rom = std::move(stored->rom);
  state.link_speed = stored->link_speed;
  state.link_width = stored->link_width;
  state.errors = stored->errors;
  return state;
}

}  // namespace reclaim::nvme
