// The table of every option: what the sample file, the checks and the documentation are made from.
#include <algorithm>
#include <array>
#include <cstddef>

#include "config/oslo/options.h"
#include "config/schema_api.h"
#include "config/schema_auth.h"
#include "config/schema_bus.h"
#include "config/schema_cyborg.h"
#include "config/schema_host.h"
#include "config/schema_policies.h"
#include "config/schema_session.h"
#include "config/schema_steps.h"

namespace reclaim::config {
namespace {

template <std::size_t... kSizes>
constexpr auto joined(const std::array<Option, kSizes>&... parts) {
  std::array<Option, (kSizes + ...)> all{};
  auto* next = all.begin();
  ((next = std::copy(parts.begin(), parts.end(), next)), ...);
  return all;
}

// All options. A misplaced one is told to belong to the group of the last option with its name: so
// [policy:NAME], whose options exist elsewhere as well, comes first.
constexpr auto kOptions =
    joined(kPolicyOptions, kBusOptions,
           adapter_options("placement", "placement",
                           "Placement's URL, instead of the one in the catalog."),
           session_options("placement"), timeout_option("placement"), kAuthOptions,
           adapter_options("cyborg", "accelerator",
                           "Cyborg's URL, with its /v2, instead of the one in the catalog."),
           session_options("cyborg"), timeout_option("cyborg"), kCyborgOptions, kHostOptions,
           kStepOptions, kApiOptions, session_options("keystone_authtoken"));

}  // namespace

std::span<const Option> schema() {
  return kOptions;
}

}  // namespace reclaim::config
