#include "placement/http/url.h"

#include <fmt/core.h>

#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/url.h"

namespace reclaim::placement {
Result<std::string> check_base_url(std::string_view option, std::string_view url) {
  const auto refuse = [&](std::string_view why) {
    // The part before an '@' may be a password: it is not shown.
    const auto at = url.rfind('@');
    const std::string_view shown = at == std::string_view::npos ? url : url.substr(at);
    return Error{Errc::invalid,
                 fmt::format("{} '{}' {}; a URL like https://host:5000/path is needed", option,
                             printable_excerpt(shown, 200), why)};
  };
  if (!starts_with_ignoring_case(url, "https://") && !starts_with_ignoring_case(url, "http://")) {
    return refuse("is neither http:// nor https://");
  }
  const std::string_view rest = url.substr(url.find("://") + 3);
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return refuse("contains a blank");
  }
  if (rest.find('@') != std::string_view::npos) return refuse("carries a user name");
  if (rest.find_first_of("?#") != std::string_view::npos) return refuse("carries a query");
  if (reclaim::url::split_host(rest.substr(0, rest.find('/'))).host.empty())
    return refuse("names no host");
  std::string base(url);
  while (base.back() == '/') base.pop_back();
  return base;
}

Result<std::string> keystone_v3_url(std::string_view auth_url) {
  auto base = check_base_url("auth_url", auth_url);
  if (!base.ok()) return base;
  if (base->ends_with("/v3")) return base;
  if (base->ends_with("/v2.0")) return base->substr(0, base->size() - 5) + "/v3";
  return *base + "/v3";
}

}  // namespace reclaim::placement
