#include "state/device/arq.h"

#include <fmt/core.h>

#include "state/base/embedded_json.h"
#include "state/base/enum_names.h"
#include "state/base/fields.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr auto kStates = enum_names<ArqState::deleting>(
    "Initial", "BindStarted", "Bound", "Unbound", "BindFailed", "UnbindFailed", "Deleting");

Result<std::uint32_t> hex_part(std::string_view name, std::string_view text, std::uint32_t max) {
  const auto value = parse_hex<std::uint32_t>(text);
  if (!value || *value > max) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is '{}', a hexadecimal number up to {:x} is needed", name,
                             printable_excerpt(text, 40), max)};
  }
  return *value;
}

}  // namespace

std::string_view to_string(ArqState state) {
  return kStates[state];
}

Result<ArqState> parse_arq_state(std::string_view text) {
  if (const auto state = kStates.find(text)) return *state;
  return Error{Errc::invalid, fmt::format("'{}' is not a state of an ARQ; {} are",
                                          printable_excerpt(text, 40), kStates.list(" and "))};
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

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Arq> auto& arq) {
  using enum field::Rule;
  visit("uuid", arq.uuid);
  visit.text("state", arq.state, parse_arq_state);
  visit("project_id", arq.project_id, lenient);
  visit("device_profile_name", arq.device_profile_name, lenient);
  visit("device_profile_group_id", arq.device_profile_group_id, lenient);
  visit("hostname", arq.hostname, lenient);
  visit("device_rp_uuid", arq.device_rp_uuid, lenient);
  visit("instance_uuid", arq.instance_uuid, lenient);
  visit("attach_handle_type", arq.attach_handle_type, lenient);
  visit("attach_handle_uuid", arq.attach_handle_uuid, lenient);
  visit.text("address", arq.address, parse_pci_address, younger);
  if (visit.wants(arq.managed.has_value())) visit("managed", arq.managed, younger);
  visit.embedded("other_info", arq.other_info, sparse);
  visit("created_at", arq.created_at, lenient);
  visit("updated_at", arq.updated_at, lenient);
  visit("heard_at", arq.heard_at, younger);
  visit("held_at", arq.held_at, younger);
  visit("listed", arq.listed, lenient);
  visit("allocation_seen", arq.allocation_seen, lenient);
  visit("released", arq.released, lenient);
}

std::string encode_arq(const Arq& arq) {
  return field::to_json_text(arq);
}

Result<Arq> decode_arq(std::string_view json_text) {
  const Result<rapidjson::Document> document = parse_shallow(json_text, kArqBytesMax);
  return document ? field::from_json<Arq>(*document) : Result<Arq>(document.error());
}

}  // namespace reclaim
