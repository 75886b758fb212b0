// Placement's answers, read from JSON. Every error names the member that is wrong. What is not
// looked at is not checked; what is looked at is checked fully, because it decides about drives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/providers.h"
#include "state/base/result.h"

namespace reclaim::placement {

inline constexpr std::size_t kProviderNameBytesMax = 200;  // Placement's own limit

struct RowAnswer {
  std::string uuid;
  std::string name;
  std::string parent_uuid;  // empty for a root
  std::string root_uuid;
  std::int64_t generation = 0;
};

// GET /resource_providers?…
[[nodiscard]] Result<std::vector<RowAnswer>> parse_rows(std::string_view body,
                                                        std::size_t body_bytes_max,
                                                        std::size_t rows_max);

struct InventoriesAnswer {
  std::int64_t generation = 0;
  std::vector<Inventory> inventories;
};

// GET /resource_providers/{uuid}/inventories
[[nodiscard]] Result<InventoriesAnswer> parse_inventories(std::string_view body,
                                                          std::size_t body_bytes_max);

struct AllocationsAnswer {
  std::int64_t generation = 0;
  std::vector<std::string> consumers;
};

// GET /resource_providers/{uuid}/allocations
[[nodiscard]] Result<AllocationsAnswer> parse_allocations(std::string_view body,
                                                          std::size_t body_bytes_max);

// GET /allocations/{consumer}: of one without allocations Placement tells only that.
[[nodiscard]] Result<Consumer> parse_consumer(std::string_view body, std::size_t body_bytes_max);

// The generation in the answer to a PUT of one inventory, if it is there: Placement leaves the
// member out when it is 0, and the confirming read decides anyway.
[[nodiscard]] std::optional<std::int64_t> parse_put_generation(std::string_view body,
                                                               std::size_t body_bytes_max);

struct TraitsAnswer {
  std::int64_t generation = 0;  // of the provider; 0 where the answer is about no provider
  std::vector<std::string> traits;
};

// GET /resource_providers/{uuid}/traits, and GET /traits, whose answer has no generation.
[[nodiscard]] Result<TraitsAnswer> parse_provider_traits(std::string_view body,
                                                         std::size_t body_bytes_max);
[[nodiscard]] Result<TraitsAnswer> parse_known_traits(std::string_view body,
                                                      std::size_t body_bytes_max);

// The body of PUT /resource_providers/{uuid}/inventories/{class}: every field, for Placement fills
// in its defaults for those that are absent.
[[nodiscard]] std::string inventory_body(const Inventory& inventory, std::int64_t generation);

// The bodies of POST /resource_providers and of PUT …/{uuid}/traits and …/{uuid}/inventories; the
// two PUTs replace all that is there.
[[nodiscard]] std::string provider_body(const NewDevice& device);
[[nodiscard]] std::string traits_body(const std::vector<std::string>& traits,
                                      std::int64_t generation);
[[nodiscard]] std::string inventories_body(const Inventory& inventory, std::int64_t generation);

// CUSTOM_PCI_1B36_0010: upper-case letters, digits and underscores, at most 255 of them. Traits
// are written the same way.
[[nodiscard]] bool is_resource_class(std::string_view name);

}  // namespace reclaim::placement
