// The table of every option: what the sample file, the checks and the documentation are made from.
#include <algorithm>
#include <array>

#include "config/options.h"
#include "config/schema_bus.h"
#include "config/schema_host.h"
#include "config/schema_placement.h"

namespace reclaim::config {
namespace {

constexpr auto kOptions = [] {
  std::array<Option, kBusOptions.size() + kPlacementOptions.size() + kHostOptions.size()> all{};
  auto* next = std::copy(kBusOptions.begin(), kBusOptions.end(), all.begin());
  next = std::copy(kPlacementOptions.begin(), kPlacementOptions.end(), next);
  std::copy(kHostOptions.begin(), kHostOptions.end(), next);
  return all;
}();

}  // namespace

std::span<const Option> schema() {
  return kOptions;
}

}  // namespace reclaim::config
