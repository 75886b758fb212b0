#include "nvme/controller/controller_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "state/base/fields.h"
#include "state/base/json.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kTextBytesMax = std::size_t{256} * 1024;

// NVM Express Base 2.0, "Feature Identifiers". Left out: what is made again at each probe and
// cannot be saved (queues, keep alive, timestamp, host memory buffer, host identifier).
constexpr std::array kFeatureRules = {
    FeatureRule{0x01, false, false, "arbitration"},
    FeatureRule{0x02, false, true, "power management"},
    FeatureRule{0x04, false, true, "temperature threshold"},
    FeatureRule{0x05, true, false, "error recovery"},
    FeatureRule{0x06, false, false, "volatile write cache"},
    FeatureRule{0x08, false, true, "interrupt coalescing"},
    FeatureRule{0x0a, false, false, "write atomicity"},
    FeatureRule{0x0b, false, true, "asynchronous events"},
    FeatureRule{0x10, false, false, "host controlled thermal management"},
    FeatureRule{0x11, false, false, "non-operational power states"},
    FeatureRule{0x17, false, false, "sanitize config"},
    FeatureRule{0x80, false, false, "software progress marker"},
    FeatureRule{0x82, true, false, "reservation notification mask"},
    FeatureRule{0x83, true, false, "reservation persistence"},
};

constexpr std::array kStructureRules = {
    StructureRule{0x03, true, false, 4096, "lba_range_types"},
    StructureRule{0x0c, false, true, 256, "power_state_transitions"},
    StructureRule{0x7d, false, false, 4096, "enhanced_controller_metadata"},
    StructureRule{0x7e, false, false, 4096, "controller_metadata"},
    StructureRule{0x7f, true, false, 4096, "namespace_metadata"},
};

}  // namespace

template <typename Visit>
void visit_fields(Visit& visit, field::Of<HealthState> auto& s) {
  visit("critical_warning", s.critical_warning);
  visit("available_spare", s.available_spare);
  visit("spare_threshold", s.spare_threshold);
  visit("percentage_used", s.percentage_used);
  visit("data_units_written", s.data_units_written);
  visit("power_on_hours", s.power_on_hours);
  visit("unsafe_shutdowns", s.unsafe_shutdowns);
  visit("media_errors", s.media_errors);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<LbaFormat> auto& s) {
  visit("block_bytes", s.block_bytes);
  visit("metadata_bytes", s.metadata_bytes);
  visit("performance", s.performance);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<NamespaceState> auto& s) {
  visit("nsid", s.nsid);
  visit("active", s.active);
  visit("size_blocks", s.size_blocks);
  visit("capacity_blocks", s.capacity_blocks);
  visit("format", s.format);
  visit("block_bytes", s.block_bytes);
  visit("metadata_bytes", s.metadata_bytes);
  visit("protection", s.protection);
  visit("sharing", s.sharing);
  visit("attributes", s.attributes);
  visit("write_protect", s.write_protect);
  visit("registrants", s.registrants);
  visit("reservation", s.reservation);
  visit("reservation_persists", s.reservation_persists);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<FirmwareState> auto& s) {
  visit("active_slot", s.active_slot);
  visit("next_slot", s.next_slot);
  visit("revisions", s.revisions);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<OpalState> auto& s) {
  visit("supported", s.supported);
  visit("locking_enabled", s.locking_enabled);
  visit("locked", s.locked);
  visit("mbr_enabled", s.mbr_enabled);
  visit("mbr_done", s.mbr_done);
  visit("sid_known", s.sid_known);
  visit("sid_changed", s.sid_changed);
  visit("sid_blocked", s.sid_blocked);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<BootPartitionState> auto& s) {
  visit("supported", s.supported);
  visit("active", s.active);
  visit("bytes", s.bytes);
  visit("sha256", s.sha256);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<FeatureState> auto& s) {
  visit("id", s.id);
  visit("nsid", s.nsid);
  visit("current", s.current);
  visit("default", s.factory);
  visit("saved", s.saved);
  visit("saveable", s.saveable);
  visit("changeable", s.changeable);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<ConfigurationState> auto& s) {
  visit("surface", s.surface);
  visit("name", s.name);
  visit("now", s.now);
  visit("default", s.factory);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<SecondaryController> auto& s) {
  visit("id", s.id);
  visit("online", s.online);
  visit("queues", s.queues);
  visit("interrupts", s.interrupts);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<ControllerState> auto& s) {
  visit("serial", s.serial);
  visit("model", s.model);
  visit("firmware_revision", s.firmware_revision);
  visit("oacs", s.oacs);
  visit("oncs", s.oncs);
  visit("nwpc", s.nwpc);
  visit("controller_id", s.controller_id);
  visit("capacity_bytes", s.capacity_bytes);
  visit("unallocated_bytes", s.unallocated_bytes);
  visit("host_memory_pages", s.host_memory_pages);
  visit("endurance_groups", s.endurance_groups);
  visit("health", s.health);
  visit("firmware", s.firmware);
  visit("opal", s.opal);
  visit("rpmb_targets", s.rpmb_targets);
  visit("rpmb_programmed", s.rpmb_programmed);
  visit("boot", s.boot);
  visit("self_test", s.self_test);
  visit("locked_commands", s.locked_commands);
  visit("locked_features", s.locked_features);
  visit("secondary", s.secondary);
  visit("formats", s.formats);
  visit("namespaces", s.namespaces);
  visit("features", s.features);
  visit("configuration", s.configuration);
}

std::span<const FeatureRule> feature_rules() {
  return kFeatureRules;
}

std::span<const StructureRule> structure_rules() {
  return kStructureRules;
}

const FeatureRule* find_feature_rule(std::uint8_t id) {
  const auto* const found = std::find_if(kFeatureRules.begin(), kFeatureRules.end(),
                                         [id](const FeatureRule& r) { return r.id == id; });
  return found == kFeatureRules.end() ? nullptr : found;
}

std::string encode_controller_state(const ControllerState& state) {
  CHECK(state.unreadable.empty());
  rapidjson::Document document(rapidjson::kObjectType);
  document.AddMember("version", rapidjson::Value(kVersion), document.GetAllocator());
  field::add_members(document, state);
  std::string text = json::to_text(document);
  CHECK(text.size() <= kTextBytesMax);
  return text;
}

Result<ControllerState> decode_controller_state(std::string_view text) {
  const auto document = json::parse(text, kTextBytesMax);
  if (!document) return document.error().wrap("the enrolment baseline");
  const auto version = json::get_int(*document, "version");
  if (!version) return version.error().wrap("the enrolment baseline");
  if (*version != kVersion) {
    return Error{Errc::invalid, fmt::format("the enrolment baseline is of version {}; {} is read",
                                            *version, kVersion)};
  }
  auto state = field::from_json<ControllerState>(*document);
  if (!state) return Error{Errc::invalid, "the enrolment baseline: " + state.error().what};
  return state;
}

}  // namespace reclaim::nvme
