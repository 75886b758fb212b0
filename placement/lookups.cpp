#include "placement/lookups.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "placement/http/url.h"
#include "state/base/log.h"
#include "state/base/uuid.h"

namespace reclaim::placement {

ReadInventories::ReadInventories(const Options& options, std::string provider_uuid)
    : options_(options), uuid_(std::move(provider_uuid)) {}

ReadInventories::Step ReadInventories::start() {
  if (!looks_like_uuid(uuid_)) {
    return Finished<Value>{Error{
        Errc::invalid, fmt::format("'{}' is not a provider's UUID", printable_excerpt(uuid_, 60))}};
  }
  request_ = {RequestKind::inventories, fmt::format("/resource_providers/{}/inventories", uuid_),
              ""};
  return request_;
}

ReadInventories::Step ReadInventories::on_answer(Result<HttpResponse> answer) {
  auto good = triage(request_, std::move(answer));
  if (!good.ok()) return Finished<Value>{std::move(good).error()};
  auto read = parse_inventories(good->body, static_cast<std::size_t>(options_.body_bytes_max));
  if (!read.ok()) return Finished<Value>{std::move(read).error()};
  return Finished<Value>{std::move(read->inventories)};
}

FindProvider::FindProvider(const Options& options, std::string name)
    : options_(options), name_(std::move(name)) {}

FindProvider::Step FindProvider::start() {
  request_ = {RequestKind::find_root, "/resource_providers?name=" + percent_encode(name_), ""};
  return request_;
}

FindProvider::Step FindProvider::on_answer(Result<HttpResponse> answer) {
  auto good = triage(request_, std::move(answer));
  if (!good.ok()) return Finished<Value>{std::move(good).error()};
  auto rows = parse_rows(good->body, static_cast<std::size_t>(options_.body_bytes_max),
                         static_cast<std::size_t>(options_.tree_rows_max));
  if (!rows.ok()) return Finished<Value>{std::move(rows).error()};
  const auto row = std::find_if(rows->begin(), rows->end(),
                                [&](const RowAnswer& each) { return each.name == name_; });
  if (row == rows->end()) {
    return Finished<Value>{Error{Errc::not_found, fmt::format("Placement has no provider named "
                                                              "'{}'",
                                                              printable_excerpt(name_, 200))}};
  }
  return Finished<Value>{std::move(row->uuid)};
}

KnownTraits::KnownTraits(const Options& options, std::vector<std::string> traits)
    : options_(options), traits_(std::move(traits)) {}

KnownTraits::Step KnownTraits::start() {
  request_ = {RequestKind::traits, fmt::format("/traits?name=in:{}", fmt::join(traits_, ",")), ""};
  return request_;
}

KnownTraits::Step KnownTraits::on_answer(Result<HttpResponse> answer) {
  auto good = triage(request_, std::move(answer));
  if (!good.ok()) return Finished<Value>{std::move(good).error()};
  auto read = parse_known_traits(good->body, static_cast<std::size_t>(options_.body_bytes_max));
  if (!read.ok()) return Finished<Value>{std::move(read).error()};
  return Finished<Value>{std::move(read->traits)};
}

}  // namespace reclaim::placement
