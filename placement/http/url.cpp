#include "placement/http/url.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/log.h"

namespace reclaim::placement {
namespace {

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                    [](char p, char t) { return p == (t >= 'A' && t <= 'Z' ? t - 'A' + 'a' : t); });
}

}  // namespace

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (unreserved(c)) {
      encoded.push_back(c);
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

Result<std::string> check_base_url(std::string_view option, std::string_view url) {
  const auto refuse = [&](std::string_view why) {
    // The part before an '@' may be a password: it is not shown.
    const auto at = url.rfind('@');
    const std::string_view shown = at == std::string_view::npos ? url : url.substr(at);
    return Error{Errc::invalid,
                 fmt::format("{} '{}' {}; a URL like https://host:5000/path is needed", option,
                             printable_excerpt(shown, 200), why)};
  };
  std::string_view rest = url;
  if (starts_with_ignoring_case(url, "https://")) {
    rest.remove_prefix(8);
  } else if (starts_with_ignoring_case(url, "http://")) {
    rest.remove_prefix(7);
  } else {
    return refuse("is neither http:// nor https://");
  }
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return refuse("contains a blank");
  }
  if (rest.find('@') != std::string_view::npos) return refuse("carries a user name");
  if (rest.find_first_of("?#") != std::string_view::npos) return refuse("carries a query");
  const std::string_view host = rest.substr(0, rest.find('/'));
  if (host.empty() || host.front() == ':') return refuse("names no host");
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
