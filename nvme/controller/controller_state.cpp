#include "nvme/controller/controller_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "state/base/json.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kTextBytesMax = std::size_t{256} * 1024;
constexpr std::size_t kItemsMax = 2048;

// NVM Express Base 2.0, "Feature Identifiers". Left out: what is made anew at each probe and cannot
// be saved (queues, keep alive, timestamp, host memory buffer, host identifier).
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

// Each struct's members by name, told once for both directions.
template <typename Visit>
void members(Visit& visit, HealthState& s) {
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
void members(Visit& visit, LbaFormat& s) {
  visit("block_bytes", s.block_bytes);
  visit("metadata_bytes", s.metadata_bytes);
  visit("performance", s.performance);
}

template <typename Visit>
void members(Visit& visit, NamespaceState& s) {
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
void members(Visit& visit, FirmwareState& s) {
  visit("active_slot", s.active_slot);
  visit("next_slot", s.next_slot);
  visit("revisions", s.revisions);
}

template <typename Visit>
void members(Visit& visit, OpalState& s) {
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
void members(Visit& visit, BootPartitionState& s) {
  visit("supported", s.supported);
  visit("active", s.active);
  visit("bytes", s.bytes);
  visit("sha256", s.sha256);
}

template <typename Visit>
void members(Visit& visit, FeatureState& s) {
  visit("id", s.id);
  visit("nsid", s.nsid);
  visit("current", s.current);
  visit("default", s.factory);
  visit("saved", s.saved);
  visit("saveable", s.saveable);
  visit("changeable", s.changeable);
}

template <typename Visit>
void members(Visit& visit, ConfigurationState& s) {
  visit("surface", s.surface);
  visit("name", s.name);
  visit("now", s.now);
  visit("default", s.factory);
}

template <typename Visit>
void members(Visit& visit, SecondaryController& s) {
  visit("id", s.id);
  visit("online", s.online);
  visit("queues", s.queues);
  visit("interrupts", s.interrupts);
}

template <typename Visit>
void members(Visit& visit, ControllerState& s) {
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
  visit.younger("configuration", s.configuration);
}

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

using Allocator = rapidjson::Document::AllocatorType;

template <typename T>
rapidjson::Value to_json(T& value, Allocator& memory);

struct Writer {
  rapidjson::Value& object;
  Allocator& memory;
  template <typename T>
  void operator()(const char* name, T& value) {
    object.AddMember(rapidjson::StringRef(name), to_json(value, memory), memory);
  }
  template <typename T>
  void younger(const char* name, T& value) {
    (*this)(name, value);
  }
};

template <typename T>
rapidjson::Value to_json(T& value, Allocator& memory) {
  if constexpr (std::is_same_v<T, bool>) {
    return rapidjson::Value(value);
  } else if constexpr (std::is_integral_v<T>) {
    return rapidjson::Value(std::uint64_t{value});
  } else if constexpr (std::is_same_v<T, std::string>) {
    return rapidjson::Value(value, memory);
  } else if constexpr (IsOptional<T>::value) {
    return value ? to_json(*value, memory) : rapidjson::Value();
  } else if constexpr (IsVector<T>::value) {
    rapidjson::Value array(rapidjson::kArrayType);
    for (auto& each : value) array.PushBack(to_json(each, memory), memory);
    return array;
  } else {
    rapidjson::Value object(rapidjson::kObjectType);
    Writer writer{object, memory};
    members(writer, value);
    return object;
  }
}

// Remembers the first thing that is wrong and where.
struct Reader {
  const rapidjson::Value& object;
  std::string path;
  std::string& problem;

  template <typename T>
  void operator()(const char* name, T& value) {
    const rapidjson::Value* member = json::find(object, name);
    const std::string where = path.empty() ? name : path + "." + name;
    if (member == nullptr) return wrong(where, "is absent");
    read(*member, where, value);
  }

  // What an older version did not write has its default.
  template <typename T>
  void younger(const char* name, T& value) {
    if (json::find(object, name) != nullptr) (*this)(name, value);
  }

  void wrong(const std::string& where, std::string_view what) {
    if (problem.empty()) problem = fmt::format("'{}' {}", where, what);
  }

  template <typename T>
  void read(const rapidjson::Value& from, const std::string& where, T& value) {
    if (!problem.empty()) return;
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.IsBool()) return wrong(where, "is not true or false");
      value = from.GetBool();
    } else if constexpr (std::is_integral_v<T>) {
      if (!from.IsUint64() || from.GetUint64() > std::numeric_limits<T>::max()) {
        return wrong(where, fmt::format("is no number of {} bits", sizeof(T) * 8));
      }
      value = static_cast<T>(from.GetUint64());
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.IsString()) return wrong(where, "is no string");
      value.assign(from.GetString(), from.GetStringLength());
    } else if constexpr (IsOptional<T>::value) {
      value.reset();
      if (!from.IsNull()) read(from, where, value.emplace());
    } else if constexpr (IsVector<T>::value) {
      if (!from.IsArray() || from.Size() > kItemsMax) return wrong(where, "is no list we accept");
      value.clear();
      for (const rapidjson::Value& each : from.GetArray()) {
        value.emplace_back();
        read(each, fmt::format("{}[{}]", where, value.size() - 1), value.back());
      }
    } else {
      if (!from.IsObject()) return wrong(where, "is no object");
      Reader inner{from, where, problem};
      members(inner, value);
    }
  }
};

}  // namespace

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
  ControllerState copy = state;  // the members are told once, for reading and writing
  document.AddMember("version", rapidjson::Value(kVersion), document.GetAllocator());
  Writer writer{document, document.GetAllocator()};
  members(writer, copy);
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
  ControllerState state;
  std::string problem;
  Reader reader{*document, "", problem};
  members(reader, state);
  if (!problem.empty()) return Error{Errc::invalid, "the enrolment baseline: " + problem};
  return state;
}

}  // namespace reclaim::nvme
