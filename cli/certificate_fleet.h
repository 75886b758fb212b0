// The last certificate of each device of the fleet, as Redis has it. The chains themselves are on
// the hosts, and only they prove anything. Pure; thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/format.h"
#include "state/base/result.h"
#include "state/certificate/stored.h"

namespace reclaim::cli {

// `sealed` is what Redis has for that device. Errors: as open_stored().
[[nodiscard]] Result<StoredCertificate> fleet_certificate(const std::string& host,
                                                          const std::string& address,
                                                          std::string_view sealed);
// Says in words which rows of a list with hosts have the id of an earlier one. A host's login may
// write another's id into a text of its own.
[[nodiscard]] std::vector<std::string> claimed_twice(const Table& table);

}  // namespace reclaim::cli
