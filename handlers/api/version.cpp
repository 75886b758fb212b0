#include "handlers/api/version.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "handlers/api/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::api {
namespace {

// The specification's service type, and the one under which we stand in a catalogue beside Cyborg.
constexpr std::array<std::string_view, 2> kServiceTypes{"accelerator", "accelerator-cleaning"};

constexpr std::string_view kBlanks = " \t";

std::optional<int> number(std::string_view digits) {
  return digits.starts_with('-') ? std::nullopt : parse_number<int>(digits);
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
  const std::string_view whole = strip(header, kBlanks);
  if (whole.empty()) return negotiated;
  std::string_view asked;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view entry = strip(take_until(rest, ','), kBlanks);
    const std::size_t gap = entry.find_first_of(kBlanks);
    if (gap == std::string_view::npos) continue;
    const std::string service = lower(entry.substr(0, gap));
    if (std::find(kServiceTypes.begin(), kServiceTypes.end(), service) == kServiceTypes.end()) {
      continue;
    }
    negotiated.service_type = service;
    asked = strip(entry.substr(gap), kBlanks);
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
