// Tells whether a host, by the name that somebody gave it, is this one and no other: only names and
// addresses that no resolver can turn into another host's. Pure; thread: any.
#pragma once

#include <string_view>

namespace reclaim {

// `host` without brackets and port.
[[nodiscard]] bool is_loopback(std::string_view host);

// "https://[::1]:6667/v2" -> "::1". What is not a URL gives an empty text.
[[nodiscard]] std::string_view host_of_url(std::string_view url);

}  // namespace reclaim
