#include "placement/keystone/service.h"

#include <fmt/core.h>

#include <algorithm>

#include "placement/http/url.h"
#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim::placement {
namespace {

Result<std::string> as_it_is(const std::string& url) {
  return url;
}

// Some catalogs name Cyborg's root, most its version 2.
Result<std::string> cyborg_v2_url(const std::string& url) {
  return url.ends_with("/v2") ? url : url + "/v2";
}

Result<std::string> identity_url(const std::string& url) {
  return keystone_v3_url(url);
}

Error fail(Errc code, const HttpResponse& response, const Service& service, std::string_view what) {
  return Error{code, fmt::format("{}'s version document: {}", service.name, what), response.status};
}

}  // namespace

// 1.26 is what we cannot do without: before it, reserved = total is refused, so that a dirty device
// could not be reserved again. 1.28 is what we ask for: the version our tests replay, and nothing
// newer changes an answer we read (1.29 to 1.39 are about allocation candidates, consumer types and
// `required=in:`). A fixed version also means that a Placement upgrade changes no answer under us.
const Service kPlacement{"Placement", "placement", {1, 26},
                         {1, 28},     "/",         "give it role admin or service on its project",
                         &as_it_is};
// 2.3 brings a device's status, 2.4 an attach handle's `managed`; with less, they are not told.
const Service kCyborg{
    "Cyborg",      "accelerator", {2, 0}, {2, 4}, "", "give it role admin on its project",
    &cyborg_v2_url};
const Service kIdentity{
    "Keystone", "", {}, {}, "", "give it role admin or service on its project", &identity_url};

Result<Microversion> choose_microversion(const HttpResponse& response, std::size_t body_bytes_max,
                                         const Service& service) {
  const auto wrong = [&](Errc code, std::string_view what) {
    return fail(code, response, service, what);
  };
  if (response.status == 429 || response.status >= 500) {
    return wrong(Errc::unavailable, fmt::format("status {}", response.status));
  }
  if (response.status != 200 && response.status != 300) {
    return wrong(Errc::invalid,
                 fmt::format("status {}; is the endpoint {}'s?", response.status, service.name));
  }
  const auto document = json::parse(response.body, body_bytes_max);
  if (!document.ok()) return wrong(Errc::invalid, document.error().what);
  // Either a list of versions, or, below a version's own path, that version.
  const rapidjson::Value* version = &*document;
  if (json::find(*document, "max_version") == nullptr) {
    const rapidjson::Value* versions = json::find(*document, "versions");
    if (versions == nullptr || !versions->IsArray() || versions->Empty()) {
      return wrong(Errc::invalid,
                   fmt::format("it has no list 'versions'; is the endpoint {}'s?", service.name));
    }
    version = &(*versions)[0];
  }
  const auto read = [&](std::string_view name) -> Result<Microversion> {
    auto text = json::get_string(*version, name);
    if (!text.ok()) return wrong(Errc::invalid, text.error().what);
    auto parsed = parse_microversion(*text);
    if (!parsed.ok()) return wrong(Errc::invalid, parsed.error().what);
    return parsed;
  };
  const auto lowest = read("min_version");
  if (!lowest.ok()) return lowest;
  const auto highest = read("max_version");
  if (!highest.ok()) return highest;
  const Microversion chosen = std::min(service.wanted, *highest);
  if (chosen < service.needed || chosen < *lowest) {
    return wrong(Errc::refused, fmt::format("it speaks {} to {}; Reclaim needs {} to {}",
                                            to_string(*lowest), to_string(*highest),
                                            to_string(service.needed), to_string(service.wanted)));
  }
  return chosen;
}

bool wants_bare_version(const HttpResponse& version_document) {
  const std::string_view spoken = version_document.header("OpenStack-API-Version");
  return !spoken.empty() && spoken.find(' ') == std::string_view::npos;
}

}  // namespace reclaim::placement
