// Which of Placement's microversions we speak.
//
// 1.26 is what we cannot do without: before it, reserved = total is refused, so that a dirty device
// could not be reserved again. 1.28 is what we ask for: the version our tests replay, and nothing
// newer changes an answer we read (1.29 to 1.39 are about allocation candidates, consumer types and
// `required=in:`). A fixed version also means that a Placement upgrade changes no answer under us.
#pragma once

#include <string>
#include <string_view>

#include "placement/http.h"
#include "state/base/result.h"

namespace reclaim::placement {

struct Microversion {
  int major = 0;
  int minor = 0;
  friend constexpr auto operator<=>(const Microversion&, const Microversion&) = default;
};

inline constexpr Microversion kNeeded{1, 26};
inline constexpr Microversion kWanted{1, 28};

[[nodiscard]] std::string to_string(Microversion version);
[[nodiscard]] Result<Microversion> parse_microversion(std::string_view text);

// From the version document, `GET /` without a token: the lower of kWanted and what Placement has.
// Errors: refused (Placement is too old or too new), unavailable (429, 5xx), invalid.
[[nodiscard]] Result<Microversion> choose_microversion(const HttpResponse& response,
                                                       std::size_t body_bytes_max);

}  // namespace reclaim::placement
