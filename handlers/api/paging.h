// Lists in pages, as OpenStack has them: `limit`, `marker`, and the link to the next page. Pure;
// thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "handlers/api/route.h"
#include "state/base/result.h"

namespace reclaim::api {

inline constexpr std::size_t kLimitMax = 1'000;

// The number of rows in a page, from 1 to kLimitMax. The error names the parameter and what is
// accepted, as each error here.
[[nodiscard]] Result<std::size_t> parse_limit(std::string_view value);
// The UUID of the last row of the page before, in lower case; `of`: what it is of, in words.
[[nodiscard]] Result<std::string> parse_marker(std::string_view value, std::string_view of);

// A parameter that is given a second time, or that this list does not have. `accepted`: their names
// as a list.
[[nodiscard]] Error given_twice(std::string_view name);
[[nodiscard]] Error unknown_parameter(std::string_view name, std::string_view accepted);

// `,"NAME_links":[{"href":URL,"rel":"next"}]`, with the parameters of this page and another marker.
// `url`: the list's, without a query.
[[nodiscard]] std::string next_link(std::string_view name, const std::string& url,
                                    const Parameters& parameters, std::string_view marker);

}  // namespace reclaim::api
