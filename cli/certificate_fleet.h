// The last certificate of each device of the fleet, as Redis has it. The chains themselves are on
// the hosts, and only they prove anything. Pure; thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/format.h"
#include "state/base/result.h"

namespace reclaim::cli {

// "Host", and the columns of `certificate list`.
[[nodiscard]] Table fleet_certificates();

// A row of it: `sealed` is what Redis has for that device. Errc::invalid: it is not a sealed
// certificate, or one of another device.
[[nodiscard]] Result<std::vector<Cell>> fleet_certificate(const std::string& host,
                                                          const std::string& address,
                                                          std::string_view sealed);

}  // namespace reclaim::cli
