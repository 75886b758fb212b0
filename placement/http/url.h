// The few things we do with URLs: check a base, join a path to it, encode a query value.
#pragma once

#include <string>
#include <string_view>

#include "state/base/result.h"
#include "state/base/url.h"

namespace reclaim::placement {

using url::percent_encode;

// A base URL we can join paths to: http or https, a host, no user information, query or fragment,
// no control characters or blanks. Returns it without trailing slashes. `option` is what the error
// names.
[[nodiscard]] Result<std::string> check_base_url(std::string_view option, std::string_view url);

// The URL at which Keystone's version 3 answers: "/v3" is appended to an unversioned auth_url, and
// takes the place of a "/v2.0".
[[nodiscard]] Result<std::string> keystone_v3_url(std::string_view auth_url);

}  // namespace reclaim::placement
