// Tells what a caller needs for each of the API's resources: the rule of the policy, the
// microversion, and whether a query is accepted. Pure; thread: any.
#pragma once

#include <string_view>

#include "handlers/api/route.h"
#include "handlers/api/version.h"

namespace reclaim::api {

// The rule by which one may see what a cleaning found, and why it does not go on: serials, errors
// of the host.
inline constexpr std::string_view kRuleOfReasons = "cyborg:device:cleaning_steps";

// The rule beside that of `clean`, for an order that names clean steps: their commands run as root.
inline constexpr std::string_view kRuleOfSteps = "cyborg:device:clean_steps";

// The rule beside that of `clean`, for a device in error: an operator may have put it there, who
// keeps it as it is.
inline constexpr std::string_view kRuleOfError = "cyborg:device:clean_error";

// Empty: there is none, and the resource is open or does not exist.
[[nodiscard]] std::string_view rule_of(Resource resource);
[[nodiscard]] Microversion needed_by(Resource resource);
[[nodiscard]] bool takes_parameters(Resource resource);

}  // namespace reclaim::api
