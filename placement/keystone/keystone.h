// Keystone version 3 in one request: what to ask for a token, what its answer says, and where its
// catalog puts a service. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/http/http.h"
#include "placement/options.h"
#include "state/base/result.h"

namespace reclaim::placement {

struct CatalogEndpoint {
  std::string service_type;
  std::string service_name;
  std::string interface;
  std::string region;  // either of region and region_id may be what region_name means
  std::string region_id;
  std::string url;
};

struct Token {
  std::string id;
  // The token's life by Keystone's word, from issue to expiry. Both stamps are Keystone's, so our
  // clocks need not agree.
  std::int64_t life_ms = 0;
  std::vector<CatalogEndpoint> catalog;
  std::vector<std::string> roles;
};

// Fails where the options cannot work, and names the option: an unknown auth_type, a missing
// password, two scopes at once, an interface that is none.
[[nodiscard]] Status check_options(const Options& options);

// POST {auth_url}/v3/auth/tokens. Options must have passed check_options().
[[nodiscard]] Result<HttpRequest> token_request(const Options& options);

// Errors: refused (401, 403: the credentials), unavailable (429, 5xx), invalid (anything that is no
// Keystone's answer).
[[nodiscard]] Result<Token> parse_token(const HttpResponse& response, std::size_t body_bytes_max);

// The URL of the service, without trailing slashes: the first interface of valid_interfaces that
// the catalog has in the region. endpoint_override comes before all. Errors: refused, naming what
// was looked for and what the catalog has.
[[nodiscard]] Result<std::string> choose_endpoint(const Options& options,
                                                  const std::vector<CatalogEndpoint>& catalog);

}  // namespace reclaim::placement
