#include "placement/lookups.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "placement/http/url.h"
#include "state/base/log.h"
#include "state/base/uuid.h"

namespace reclaim::placement {
namespace {

std::size_t body_max(const Options& options) {
  return static_cast<std::size_t>(options.body_bytes_max);
}

// The request for what `kind` stands for of one provider; `what` is its path below the provider's.
Result<ApiRequest> of_provider(const std::string& uuid, RequestKind kind, std::string_view what) {
  if (!looks_like_uuid(uuid)) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is not a provider's UUID", printable_excerpt(uuid, 60))};
  }
  return ApiRequest{kind, fmt::format("/resource_providers/{}/{}", uuid, what), ""};
}

}  // namespace

Lookup<std::vector<ProviderRow>> ask_rows(const Options& options, const std::string& root_uuid) {
  Result<ApiRequest> request =
      ApiRequest{RequestKind::list_tree, "/resource_providers?in_tree=" + root_uuid, ""};
  if (root_uuid.empty()) request = Error{Errc::not_found, "the host's tree was not listed yet"};
  return {
      std::move(request), [&options](const std::string& body) -> Result<std::vector<ProviderRow>> {
        auto answers =
            parse_rows(body, body_max(options), static_cast<std::size_t>(options.tree_rows_max));
        if (!answers.ok()) return std::move(answers).error();
        std::vector<ProviderRow> rows;
        for (RowAnswer& row : *answers) {
          rows.push_back({std::move(row.uuid), std::move(row.name), std::move(row.parent_uuid),
                          row.generation});
        }
        return rows;
      }};
}

Lookup<std::vector<Inventory>> ask_inventories(const Options& options,
                                               const std::string& provider_uuid) {
  return {of_provider(provider_uuid, RequestKind::inventories, "inventories"),
          [&options](const std::string& body) -> Result<std::vector<Inventory>> {
            auto read = parse_inventories(body, body_max(options));
            if (!read.ok()) return std::move(read).error();
            return std::move(read->inventories);
          }};
}

Lookup<std::vector<std::string>> ask_consumers(const Options& options,
                                               const std::string& provider_uuid) {
  return {of_provider(provider_uuid, RequestKind::allocations, "allocations"),
          [&options](const std::string& body) -> Result<std::vector<std::string>> {
            auto read = parse_allocations(body, body_max(options));
            if (!read.ok()) return std::move(read).error();
            return std::move(read->consumers);
          }};
}

Lookup<Consumer> ask_consumer(const Options& options, const std::string& consumer) {
  Result<ApiRequest> request =
      ApiRequest{RequestKind::allocations, "/allocations/" + percent_encode(consumer), ""};
  if (!looks_like_uuid(consumer)) {
    request = Error{Errc::invalid,
                    fmt::format("'{}' is not a consumer's UUID", printable_excerpt(consumer, 60))};
  }
  return {std::move(request),
          [&options](const std::string& body) { return parse_consumer(body, body_max(options)); }};
}

Lookup<std::string> ask_for_name(const Options& options, const std::string& name) {
  return {
      ApiRequest{RequestKind::find_root, "/resource_providers?name=" + percent_encode(name), ""},
      [&options, name](const std::string& body) -> Result<std::string> {
        auto rows =
            parse_rows(body, body_max(options), static_cast<std::size_t>(options.tree_rows_max));
        if (!rows.ok()) return std::move(rows).error();
        const auto row = std::find_if(rows->begin(), rows->end(),
                                      [&](const RowAnswer& each) { return each.name == name; });
        if (row != rows->end()) return std::move(row->uuid);
        return Error{Errc::not_found, fmt::format("Placement has no provider named '{}'",
                                                  printable_excerpt(name, 200))};
      }};
}

Lookup<std::vector<std::string>> ask_known_traits(const Options& options,
                                                  const std::vector<std::string>& traits) {
  return {ApiRequest{RequestKind::traits, fmt::format("/traits?name=in:{}", fmt::join(traits, ",")),
                     ""},
          [&options](const std::string& body) -> Result<std::vector<std::string>> {
            auto read = parse_known_traits(body, body_max(options));
            if (!read.ok()) return std::move(read).error();
            return std::move(read->traits);
          }};
}

}  // namespace reclaim::placement
