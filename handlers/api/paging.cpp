#include "handlers/api/paging.h"

#include <fmt/core.h>

#include "handlers/api/json.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/url.h"
#include "state/base/uuid.h"

namespace reclaim::api {

Result<std::size_t> parse_limit(std::string_view value) {
  const auto limit = url::number(value, kLimitMax);
  if (limit && *limit > 0) return std::size_t{*limit};
  return Error{Errc::invalid, fmt::format("limit = '{}'; accepted is a number from 1 to {}",
                                          printable_excerpt(value, 40), kLimitMax)};
}

Result<std::string> parse_marker(std::string_view value, std::string_view of) {
  std::string uuid = lower(value);
  if (looks_like_uuid(uuid)) return uuid;
  return Error{Errc::invalid, fmt::format("marker = '{}'; accepted is the UUID of {}",
                                          printable_excerpt(value, 40), of)};
}

Error given_twice(std::string_view name) {
  return Error{Errc::invalid, fmt::format("{} is given twice", name)};
}

Error unknown_parameter(std::string_view name, std::string_view accepted) {
  return Error{Errc::invalid, fmt::format("Unknown argument: '{}'; accepted{}",
                                          printable_excerpt(name, 40), accepted)};
}

std::string next_link(std::string_view name, const std::string& url, const Parameters& parameters,
                      std::string_view marker) {
  std::string href = url + "?";
  for (const auto& [key, value] : parameters) {
    if (key != "marker") {
      href += url::percent_encode(key) + "=" + url::percent_encode(value) + "&";
    }
  }
  href += fmt::format("marker={}", marker);
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartArray();
  writer.StartObject();
  put_member(writer, "href", href);
  put_member(writer, "rel", "next");
  writer.EndObject();
  writer.EndArray();
  return fmt::format(R"(,"{}_links":{})", name, text_of(buffer));
}

}  // namespace reclaim::api
