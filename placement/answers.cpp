#include "placement/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "state/base/first_error.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/uuid.h"

namespace reclaim::placement {
namespace {

using rapidjson::Value;

constexpr std::size_t kInventoriesMax = 256;
constexpr std::size_t kConsumersMax = 10'000;
constexpr std::size_t kTraitsMax = 10'000;
constexpr std::size_t kExternalIdBytesMax = 255;

Error wrong(std::string_view where, std::string_view what) {
  return Error{Errc::invalid, fmt::format("Placement's answer: {}: {}", where, what)};
}

Result<std::int64_t> get_count(const Value& object, std::string_view name) {
  auto number = json::get_int(object, name);
  if (number.ok() && *number < 0) {
    return Error{Errc::invalid, fmt::format("'{}' is {}, less than zero", name, *number)};
  }
  return number;
}

Result<rapidjson::Document> parse_object(std::string_view body, std::size_t body_bytes_max) {
  auto document = json::parse(body, body_bytes_max);
  if (!document.ok()) return document.error().wrap("Placement's answer");
  if (!document->IsObject()) {
    return Error{Errc::invalid, "Placement's answer: it is JSON, but not an object"};
  }
  return document;
}

// A UUID, or "" for null where that is allowed.
Result<std::string> get_uuid(const Value& object, std::string_view name, bool may_be_null) {
  const Value* member = json::find(object, name);
  if (may_be_null && member != nullptr && member->IsNull()) return std::string();
  auto text = json::get_string(object, name);
  if (!text.ok()) return text;
  if (!looks_like_uuid(*text)) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is '{}', not a UUID", name, printable_excerpt(*text, 60))};
  }
  return text;
}

// Keystone's id of a project or user, which goes into certificates: Placement takes 255 characters.
Result<std::string> get_external_id(const Value& object, std::string_view name) {
  auto id = json::get_string(object, name);
  const auto is_one = [](const std::string& text) {
    return !text.empty() && text == printable_excerpt(text, kExternalIdBytesMax);
  };
  if (id.ok() && !is_one(*id)) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is '{}', not an id", name, printable_excerpt(*id, 60))};
  }
  return id;
}

Result<std::string> get_name(const Value& object) {
  auto name = json::get_string(object, "name");
  if (name.ok() && (name->empty() || name->size() > kProviderNameBytesMax)) {
    return Error{Errc::invalid, fmt::format("'name' is of {} bytes, 1 to {} are possible",
                                            name->size(), kProviderNameBytesMax)};
  }
  return name;
}

Result<RowAnswer> parse_row(const Value& value) {
  RowAnswer row;
  FirstError error;
  error.or_set(row.uuid, get_uuid(value, "uuid", false));
  error.or_set(row.name, get_name(value));
  error.or_set(row.parent_uuid, get_uuid(value, "parent_provider_uuid", true));
  error.or_set(row.root_uuid, get_uuid(value, "root_provider_uuid", false));
  error.or_set(row.generation, get_count(value, "generation"));
  return error.or_value(std::move(row));
}

Result<Inventory> parse_inventory(std::string_view resource_class, const Value& value) {
  Inventory inventory;
  inventory.resource_class = std::string(resource_class);
  FirstError error;
  error.or_set(inventory.total, get_count(value, "total"));
  error.or_set(inventory.reserved, get_count(value, "reserved"));
  error.or_set(inventory.min_unit, get_count(value, "min_unit"));
  error.or_set(inventory.max_unit, get_count(value, "max_unit"));
  error.or_set(inventory.step_size, get_count(value, "step_size"));
  error.or_set(inventory.allocation_ratio, json::get_number(value, "allocation_ratio"));
  if (error.status().ok() && !std::isfinite(inventory.allocation_ratio)) {
    return Error{Errc::invalid, "'allocation_ratio' is not finite"};
  }
  return error.or_value(std::move(inventory));
}

std::string_view member_name(const Value& name) {
  return {name.GetString(), name.GetStringLength()};
}

Value text_value(std::string_view text, rapidjson::Document::AllocatorType& allocator) {
  return Value(text.data(), static_cast<rapidjson::SizeType>(text.size()), allocator);
}

Value inventory_value(const Inventory& inventory, rapidjson::Document::AllocatorType& allocator) {
  Value value(rapidjson::kObjectType);
  value.AddMember("total", inventory.total, allocator);
  value.AddMember("reserved", inventory.reserved, allocator);
  value.AddMember("min_unit", inventory.min_unit, allocator);
  value.AddMember("max_unit", inventory.max_unit, allocator);
  value.AddMember("step_size", inventory.step_size, allocator);
  value.AddMember("allocation_ratio", inventory.allocation_ratio, allocator);
  return value;
}

Result<TraitsAnswer> parse_traits(const rapidjson::Document& document) {
  const Value* list = json::find(document, "traits");
  if (list == nullptr || !list->IsArray()) return wrong("'traits'", "a list is needed");
  if (list->Size() > kTraitsMax) {
    return Error{Errc::limit, fmt::format("Placement lists {} traits, over the limit of {}",
                                          list->Size(), kTraitsMax)};
  }
  TraitsAnswer answer;
  for (const Value& value : list->GetArray()) {
    const std::string_view name = value.IsString() ? member_name(value) : "";
    if (!is_resource_class(name)) {
      return wrong(fmt::format("'traits'[{}]", answer.traits.size()),
                   fmt::format("'{}' is not a trait", printable_excerpt(name, 60)));
    }
    answer.traits.emplace_back(name);
  }
  return answer;
}

}  // namespace

bool is_resource_class(std::string_view name) {
  return !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Result<std::vector<RowAnswer>> parse_rows(std::string_view body, std::size_t body_bytes_max,
                                          std::size_t rows_max) {
  auto document = parse_object(body, body_bytes_max);
  if (!document.ok()) return std::move(document).error();
  const Value* list = json::find(*document, "resource_providers");
  if (list == nullptr || !list->IsArray()) {
    return wrong("'resource_providers'", "a list is needed");
  }
  if (list->Size() > rows_max) {
    return Error{Errc::limit, fmt::format("Placement lists {} providers, over the limit of {}",
                                          list->Size(), rows_max)};
  }
  std::vector<RowAnswer> rows;
  rows.reserve(list->Size());
  for (const Value& value : list->GetArray()) {
    auto row = parse_row(value);
    if (!row.ok()) {
      return wrong(fmt::format("'resource_providers'[{}]", rows.size()), row.error().what);
    }
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<InventoriesAnswer> parse_inventories(std::string_view body, std::size_t body_bytes_max) {
  auto document = parse_object(body, body_bytes_max);
  if (!document.ok()) return std::move(document).error();
  InventoriesAnswer answer;
  auto generation = get_count(*document, "resource_provider_generation");
  if (!generation.ok()) return wrong("inventories", generation.error().what);
  answer.generation = *generation;
  const Value* inventories = json::find(*document, "inventories");
  if (inventories == nullptr || !inventories->IsObject()) {
    return wrong("'inventories'", "an object is needed");
  }
  if (inventories->MemberCount() > kInventoriesMax) {
    return Error{Errc::limit, fmt::format("a provider has {} inventories, over the limit of {}",
                                          inventories->MemberCount(), kInventoriesMax)};
  }
  for (const auto& member : inventories->GetObject()) {
    const std::string_view name = member_name(member.name);
    if (!is_resource_class(name)) {
      return wrong("'inventories'",
                   fmt::format("'{}' is not a resource class", printable_excerpt(name, 60)));
    }
    const bool twice = std::any_of(answer.inventories.begin(), answer.inventories.end(),
                                   [&](const Inventory& e) { return e.resource_class == name; });
    if (twice) return wrong("'inventories'", fmt::format("{} is there twice", name));
    auto inventory = parse_inventory(name, member.value);
    if (!inventory.ok()) {
      return wrong(fmt::format("inventory of {}", name), inventory.error().what);
    }
    answer.inventories.push_back(*std::move(inventory));
  }
  return answer;
}

Result<AllocationsAnswer> parse_allocations(std::string_view body, std::size_t body_bytes_max) {
  auto document = parse_object(body, body_bytes_max);
  if (!document.ok()) return std::move(document).error();
  AllocationsAnswer answer;
  auto generation = get_count(*document, "resource_provider_generation");
  if (!generation.ok()) return wrong("allocations", generation.error().what);
  answer.generation = *generation;
  const Value* allocations = json::find(*document, "allocations");
  if (allocations == nullptr || !allocations->IsObject()) {
    return wrong("'allocations'", "an object is needed");
  }
  if (allocations->MemberCount() > kConsumersMax) {
    return Error{Errc::limit, fmt::format("a provider has {} consumers, over the limit of {}",
                                          allocations->MemberCount(), kConsumersMax)};
  }
  for (const auto& member : allocations->GetObject()) {
    // Whatever stands here counts as a consumer: reading one too many keeps a device reserved.
    answer.consumers.emplace_back(member_name(member.name));
  }
  return answer;
}

Result<Consumer> parse_consumer(std::string_view body, std::size_t body_bytes_max) {
  auto document = parse_object(body, body_bytes_max);
  if (!document.ok()) return std::move(document).error();
  const Value* allocations = json::find(*document, "allocations");
  if (allocations == nullptr || !allocations->IsObject()) {
    return wrong("'allocations'", "an object is needed");
  }
  Consumer consumer;
  consumer.holds = !allocations->ObjectEmpty();
  if (!consumer.holds) return consumer;
  FirstError error;
  error.or_set(consumer.project, get_external_id(*document, "project_id"));
  error.or_set(consumer.user, get_external_id(*document, "user_id"));
  if (!error.status().ok()) return wrong("a consumer", error.status().error().what);
  return consumer;
}

std::optional<std::int64_t> parse_put_generation(std::string_view body,
                                                 std::size_t body_bytes_max) {
  const auto document = json::parse(body, body_bytes_max);
  if (!document.ok()) return std::nullopt;
  const auto generation = json::get_int(*document, "resource_provider_generation");
  if (!generation.ok()) return std::nullopt;
  return *generation;
}

Result<TraitsAnswer> parse_known_traits(std::string_view body, std::size_t body_bytes_max) {
  auto document = parse_object(body, body_bytes_max);
  if (!document.ok()) return std::move(document).error();
  return parse_traits(*document);
}

Result<TraitsAnswer> parse_provider_traits(std::string_view body, std::size_t body_bytes_max) {
  auto document = parse_object(body, body_bytes_max);
  if (!document.ok()) return std::move(document).error();
  auto generation = get_count(*document, "resource_provider_generation");
  if (!generation.ok()) return wrong("traits", generation.error().what);
  auto answer = parse_traits(*document);
  if (answer.ok()) answer->generation = *generation;
  return answer;
}

std::string inventory_body(const Inventory& inventory, std::int64_t generation) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  Value body(rapidjson::kObjectType);
  body.AddMember("resource_provider_generation", generation, allocator);
  Value fields = inventory_value(inventory, allocator);
  for (auto& field : fields.GetObject()) body.AddMember(field.name, field.value, allocator);
  return json::to_text(body);
}

std::string inventories_body(const Inventory& inventory, std::int64_t generation) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  Value inventories(rapidjson::kObjectType);
  inventories.AddMember(text_value(inventory.resource_class, allocator),
                        inventory_value(inventory, allocator), allocator);
  document.AddMember("resource_provider_generation", generation, allocator);
  document.AddMember("inventories", inventories, allocator);
  return json::to_text(document);
}

std::string provider_body(const NewDevice& device) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  document.AddMember("uuid", text_value(device.uuid, allocator), allocator);
  document.AddMember("name", text_value(device.name, allocator), allocator);
  document.AddMember("parent_provider_uuid", text_value(device.parent_uuid, allocator), allocator);
  return json::to_text(document);
}

std::string traits_body(const std::vector<std::string>& traits, std::int64_t generation) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  Value list(rapidjson::kArrayType);
  for (const std::string& trait : traits) list.PushBack(text_value(trait, allocator), allocator);
  document.AddMember("resource_provider_generation", generation, allocator);
  document.AddMember("traits", list, allocator);
  return json::to_text(document);
}

}  // namespace reclaim::placement
