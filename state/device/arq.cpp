#include "state/device/arq.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr std::array<std::pair<ArqState, std::string_view>, 7> kStates{{
    {ArqState::initial, "Initial"},
    {ArqState::bind_started, "BindStarted"},
    {ArqState::bound, "Bound"},
    {ArqState::unbound, "Unbound"},
    {ArqState::bind_failed, "BindFailed"},
    {ArqState::unbind_failed, "UnbindFailed"},
    {ArqState::deleting, "Deleting"},
}};

Result<std::uint32_t> hex_part(std::string_view name, std::string_view text, std::uint32_t max) {
  const auto value = parse_hex<std::uint32_t>(text);
  if (!value || *value > max) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is '{}', a hexadecimal number up to {:x} is needed", name,
                             printable_excerpt(text, 40), max)};
  }
  return *value;
}

std::string text_of(const rapidjson::Value& value, std::string_view name) {
  return json::maybe_string(value, name).value_or("");
}

bool flag_of(const rapidjson::Value& value, std::string_view name) {
  const auto* member = json::find(value, name);
  return member != nullptr && member->IsBool() && member->GetBool();
}

}  // namespace

std::string_view to_string(ArqState state) {
  for (const auto& [value, name] : kStates) {
    if (value == state) return name;
  }
  return "Initial";
}

Result<ArqState> parse_arq_state(std::string_view text) {
  for (const auto& [value, name] : kStates) {
    if (name == text) return value;
  }
  return Error{Errc::invalid,
               fmt::format("'{}' is no state of an ARQ; Initial, BindStarted, Bound, Unbound, "
                           "BindFailed, UnbindFailed and Deleting are",
                           printable_excerpt(text, 40))};
}

Result<PciAddress> pci_address_of_parts(std::string_view domain, std::string_view bus,
                                        std::string_view device, std::string_view function) {
  const auto domain_number = hex_part("domain", domain, 0xffffffffU);
  if (!domain_number) return domain_number.error();
  const auto bus_number = hex_part("bus", bus, 0xffU);
  if (!bus_number) return bus_number.error();
  const auto slot = hex_part("device", device, 0x1fU);
  if (!slot) return slot.error();
  const auto function_number = hex_part("function", function, 7U);
  if (!function_number) return function_number.error();
  PciAddress out;
  out.domain = *domain_number;
  out.bus = static_cast<std::uint8_t>(*bus_number);
  out.slot = static_cast<std::uint8_t>(*slot);
  out.function = static_cast<std::uint8_t>(*function_number);
  return out;
}

std::string encode_arq(const Arq& arq) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto add = [&](const char* name, std::string_view text) {
    document.AddMember(rapidjson::StringRef(name), json_string(text, allocator), allocator);
  };
  add("uuid", arq.uuid);
  add("state", to_string(arq.state));
  add("project_id", arq.project_id);
  add("device_profile_name", arq.device_profile_name);
  document.AddMember("device_profile_group_id", arq.device_profile_group_id, allocator);
  add("hostname", arq.hostname);
  add("device_rp_uuid", arq.device_rp_uuid);
  add("instance_uuid", arq.instance_uuid);
  add("attach_handle_type", arq.attach_handle_type);
  add("attach_handle_uuid", arq.attach_handle_uuid);
  add("address", arq.address ? to_string(*arq.address) : std::string());
  if (arq.managed) document.AddMember("managed", *arq.managed, allocator);
  if (!arq.other_info.empty()) {
    document.AddMember("other_info", embed(arq.other_info, allocator), allocator);
  }
  add("created_at", arq.created_at);
  add("updated_at", arq.updated_at);
  add("heard_at", arq.heard_at.ms == 0 ? std::string() : to_iso8601(arq.heard_at));
  add("held_at", arq.held_at.ms == 0 ? std::string() : to_iso8601(arq.held_at));
  document.AddMember("listed", arq.listed, allocator);
  document.AddMember("allocation_seen", arq.allocation_seen, allocator);
  document.AddMember("released", arq.released, allocator);
  return json::to_text(document);
}

Result<Arq> decode_arq(std::string_view json_text) {
  const Result<rapidjson::Document> document = parse_shallow(json_text, kArqBytesMax);
  if (!document) return document.error();
  Arq arq;
  Result<std::string> uuid = json::get_string(*document, "uuid");
  if (!uuid) return std::move(uuid).error();
  arq.uuid = *std::move(uuid);
  const Result<std::string> state = json::get_string(*document, "state");
  if (!state) return state.error();
  const Result<ArqState> parsed = parse_arq_state(*state);
  if (!parsed) return parsed.error().wrap("'state'");
  arq.state = *parsed;
  arq.project_id = text_of(*document, "project_id");
  arq.device_profile_name = text_of(*document, "device_profile_name");
  if (const auto* group = json::find(*document, "device_profile_group_id");
      group != nullptr && group->IsInt64()) {
    arq.device_profile_group_id = group->GetInt64();
  }
  arq.hostname = text_of(*document, "hostname");
  arq.device_rp_uuid = text_of(*document, "device_rp_uuid");
  arq.instance_uuid = text_of(*document, "instance_uuid");
  arq.attach_handle_type = text_of(*document, "attach_handle_type");
  arq.attach_handle_uuid = text_of(*document, "attach_handle_uuid");
  if (const std::string address = text_of(*document, "address"); !address.empty()) {
    const auto pci = parse_pci_address(address);
    if (!pci) return pci.error().wrap("'address'");
    arq.address = *pci;
  }
  if (const auto* managed = json::find(*document, "managed"); managed != nullptr) {
    if (!managed->IsBool()) return Error{Errc::invalid, "'managed' is no true or false"};
    arq.managed = managed->GetBool();
  }
  if (const auto* other = json::find(*document, "other_info"); other != nullptr) {
    arq.other_info = unembed(*other);
  }
  arq.created_at = text_of(*document, "created_at");
  arq.updated_at = text_of(*document, "updated_at");
  if (const std::string heard = text_of(*document, "heard_at"); !heard.empty()) {
    const Result<WallMs> at = from_iso8601(heard);
    if (!at) return at.error().wrap("'heard_at'");
    arq.heard_at = *at;
  }
  if (const std::string held = text_of(*document, "held_at"); !held.empty()) {
    const Result<WallMs> at = from_iso8601(held);
    if (!at) return at.error().wrap("'held_at'");
    arq.held_at = *at;
  }
  arq.listed = flag_of(*document, "listed");
  arq.allocation_seen = flag_of(*document, "allocation_seen");
  arq.released = flag_of(*document, "released");
  return arq;
}

}  // namespace reclaim
