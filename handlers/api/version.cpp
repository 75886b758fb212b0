#include "handlers/api/version.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "handlers/api/json.h"
#include "handlers/api/text.h"
#include "state/base/log.h"

namespace reclaim::api {
namespace {

// The specification's service type, and the one under which we stand in a catalogue beside Cyborg.
constexpr std::array<std::string_view, 2> kServiceTypes{"accelerator", "accelerator-cleaning"};

bool blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || !digits || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string range() {
  return fmt::format("The supported version range is: [{}, {}].", to_string(kVersionMin),
                     to_string(kVersionMax));
}

Result<Microversion> parse_version(std::string_view text) {
  if (lower(text) == "latest") return kVersionMax;
  const std::size_t dot = text.find('.');
  const auto major = number(text.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::nullopt : number(text.substr(dot + 1));
  if (!major || !minor) {
    return Error{Errc::invalid,
                 fmt::format("Invalid value '{}' for {} header: accelerator X.Y or accelerator "
                             "latest is needed. {}",
                             printable_excerpt(text, 40), kVersionHeader, range())};
  }
  const Microversion version{*major, *minor};
  if (version < kVersionMin || kVersionMax < version) {
    return Error{Errc::refused, fmt::format("Version {} was requested but is not supported by "
                                            "this service. {}",
                                            to_string(version), range())};
  }
  return version;
}

void put_version(JsonWriter& writer, std::string_view id, std::string_view href) {
  writer.StartObject();
  put_member(writer, "id", id);
  put_member(writer, "status", "CURRENT");
  put_member(writer, "max_version", to_string(kVersionMax));
  put_member(writer, "min_version", to_string(kVersionMin));
  put_self_link(writer, href);
  writer.EndObject();
}

}  // namespace

std::string to_string(Microversion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

Result<Negotiated> negotiate(std::string_view header) {
  Negotiated negotiated;
  const std::string_view whole = trimmed(header);
  if (whole.empty()) return negotiated;
  std::string_view asked;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t gap = entry.find_first_of(" \t");
    if (gap == std::string_view::npos) continue;
    const std::string service = lower(entry.substr(0, gap));
    if (std::find(kServiceTypes.begin(), kServiceTypes.end(), service) == kServiceTypes.end()) {
      continue;
    }
    negotiated.service_type = service;
    asked = trimmed(entry.substr(gap));
  }
  if (asked.empty()) {
    if (whole.find_first_of(" \t,") != std::string_view::npos) return negotiated;
    asked = whole;
  }
  const auto version = parse_version(asked);
  if (!version) return version.error();
  negotiated.version = *version;
  return negotiated;
}

std::string root_document(std::string_view base_url) {
  const std::string href = std::string(base_url) + "/v2";
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  put_member(writer, "name", "Reclaim device API");
  put_member(writer, "description",
             "The device API of Reclaim: accelerator devices, the state of their cleaning, and "
             "the accelerator requests that bind them.");
  put_key(writer, "versions");
  writer.StartArray();
  put_version(writer, "v2", href);
  writer.EndArray();
  put_key(writer, "default_version");
  put_version(writer, "v2", href);
  writer.EndObject();
  return text_of(buffer);
}

std::string version_document(std::string_view base_url) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  put_version(writer, "v2.0", std::string(base_url) + "/v2");
  return text_of(buffer);
}

}  // namespace reclaim::api
