#include "handlers/arq/notification.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "state/base/bool_text.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/device/python_text.h"
#include "state/device/versioned_object.h"

namespace reclaim {
namespace {

constexpr std::size_t kTextBytesMax = 255;
constexpr std::array<std::string_view, 4> kAddressParts{"domain", "bus", "device", "function"};
constexpr std::string_view kManaged = "managed";

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

std::string_view kind_of(const rapidjson::Value& value) {
  switch (value.GetType()) {
    case rapidjson::kObjectType:
      return "an object";
    case rapidjson::kArrayType:
      return "a list";
    case rapidjson::kNumberType:
      return "a number";
    case rapidjson::kStringType:
      return "a text";
    case rapidjson::kNullType:
      return "null";
    default:
      return "a truth value";
  }
}

// A text, or the empty one where the member is absent or null.
Result<std::string> text_member(const rapidjson::Value& object, std::string_view name) {
  const rapidjson::Value* value = json::find(object, name);
  if (value == nullptr || value->IsNull()) return std::string();
  if (!value->IsString()) {
    return invalid(fmt::format("'{}' is {}, a text or null is needed", name, kind_of(*value)));
  }
  const std::string_view text(value->GetString(), value->GetStringLength());
  if (text.size() > kTextBytesMax) {
    return invalid(fmt::format("'{}' is {} bytes long, at most {} make sense", name, text.size(),
                               kTextBytesMax));
  }
  if (std::any_of(text.begin(), text.end(), is_control)) {
    return invalid(fmt::format("'{}' holds control characters", name));
  }
  return std::string(text);
}

Status take_texts(const rapidjson::Value& data, Arq& arq) {
  struct Member {
    std::string_view name;
    std::string* to;
  };
  for (const auto& [name, to] : {Member{"uuid", &arq.uuid},
                                 {"project_id", &arq.project_id},
                                 {"device_profile_name", &arq.device_profile_name},
                                 {"hostname", &arq.hostname},
                                 {"device_rp_uuid", &arq.device_rp_uuid},
                                 {"instance_uuid", &arq.instance_uuid},
                                 {"attach_handle_type", &arq.attach_handle_type},
                                 {"attach_handle_uuid", &arq.attach_handle_uuid},
                                 {"created_at", &arq.created_at},
                                 {"updated_at", &arq.updated_at}}) {
    Result<std::string> text = text_member(data, name);
    if (!text) return std::move(text).error();
    *to = *std::move(text);
  }
  // The book of ARQs is kept by it.
  if (!looks_like_uuid(arq.uuid)) {
    return invalid(
        fmt::format("'uuid' is '{}', an ARQ's UUID is needed", printable_excerpt(arq.uuid, 64)));
  }
  arq.uuid = lower(arq.uuid);
  return Ok{};
}

Status take_state(const rapidjson::Value& data, const ArqRow& row, Arq& arq) {
  Result<std::string> text = text_member(data, "state");
  if (!text) return std::move(text).error();
  arq.state = row.state;
  if (text->empty()) return Ok{};
  const Result<ArqState> state = parse_arq_state(*text);
  if (!state) return state.error().wrap("'state'");
  arq.state = *state;
  return Ok{};
}

Status take_group(const rapidjson::Value& data, Arq& arq) {
  constexpr std::string_view kName = "device_profile_group_id";
  const rapidjson::Value* group = json::find(data, kName);
  if (group == nullptr || group->IsNull()) return Ok{};
  if (!group->IsInt64()) {
    return invalid(fmt::format("'{}' is {}, a whole number is needed", kName, kind_of(*group)));
  }
  arq.device_profile_group_id = group->GetInt64();
  return Ok{};
}

// JSON's truth values, and whatever oslo.utils takes for one; null is not a marker.
Status take_managed(const rapidjson::Value& value, Arq& arq) {
  if (value.IsNull()) return Ok{};
  if (value.IsBool()) {
    arq.managed = value.GetBool();
    return Ok{};
  }
  if (!value.IsString() && !value.IsInt64()) {
    return invalid(fmt::format("'managed' is {}, a boolean is needed", kind_of(value)));
  }
  const std::string text = value.IsString()
                               ? std::string(value.GetString(), value.GetStringLength())
                               : std::to_string(value.GetInt64());
  const Result<bool> managed = bool_from_string(text);
  if (!managed) return managed.error().wrap("'managed'");
  arq.managed = *managed;
  return Ok{};
}

Status take_address(const rapidjson::Value& info, Arq& arq) {
  std::array<std::string, kAddressParts.size()> parts;
  std::size_t given = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Result<std::string> part = text_member(info, kAddressParts[i]);
    if (!part) return std::move(part).error();
    given += part->empty() ? 0 : 1;
    parts[i] = *std::move(part);
  }
  if (given == 0) return Ok{};
  const Result<PciAddress> address = pci_address_of_parts(parts[0], parts[1], parts[2], parts[3]);
  if (!address) return address.error();
  arq.address = *address;
  return Ok{};
}

std::string other_members(const rapidjson::Value& info) {
  rapidjson::Document other(rapidjson::kObjectType);
  for (const auto& member : info.GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    if (name == kManaged ||
        std::find(kAddressParts.begin(), kAddressParts.end(), name) != kAddressParts.end()) {
      continue;
    }
    other.AddMember(rapidjson::Value(member.name, other.GetAllocator()),
                    rapidjson::Value(member.value, other.GetAllocator()), other.GetAllocator());
  }
  if (other.ObjectEmpty()) return {};
  std::string text = json::to_text(other);
  // It stands inside the ARQ's own JSON, which may not be nested deeper either.
  const bool fits = parse_shallow("[" + text + "]", kArqOtherInfoBytesMax).ok();
  return fits ? text : std::string();
}

Status take_info_members(const rapidjson::Value& value, Arq& arq) {
  const VersionedObject object = open_versioned_object(value);
  if (object.data == nullptr) return invalid("its object data is not an object");
  const rapidjson::Value& info = *object.data;
  Status address = take_address(info, arq);
  if (!address) return address;
  arq.other_info = other_members(info);
  const rapidjson::Value* managed = json::find(info, kManaged);
  return managed == nullptr ? Status(Ok{}) : take_managed(*managed, arq);
}

// The mapping of Cyborg's API, or the text that its database keeps of it.
Status take_attach_handle_info(const rapidjson::Value& data, Arq& arq) {
  constexpr std::string_view kName = "attach_handle_info";
  const rapidjson::Value* value = json::find(data, kName);
  if (value == nullptr || value->IsNull()) return Ok{};
  Status taken = Ok{};
  if (value->IsObject()) {
    taken = take_info_members(*value, arq);
  } else if (value->IsString()) {
    if (value->GetStringLength() == 0) return Ok{};
    const auto parsed =
        parse_json_or_python({value->GetString(), value->GetStringLength()}, kArqPayloadBytesMax);
    taken = parsed ? take_info_members(*parsed, arq) : Status(parsed.error());
  } else {
    taken = invalid(fmt::format("it is {}, an object is needed", kind_of(*value)));
  }
  if (!taken) return taken.error().wrap("'attach_handle_info'");
  return Ok{};
}

Result<Arq> decode_data(const rapidjson::Value& data, const ArqRow& row) {
  Arq arq;
  Status taken = take_texts(data, arq);
  if (taken) taken = take_state(data, row, arq);
  if (taken) taken = take_group(data, arq);
  if (taken) taken = take_attach_handle_info(data, arq);
  if (!taken) return std::move(taken).error();
  return arq;
}

}  // namespace

Result<Arq> decode_arq_payload(std::string_view payload, const ArqRow& row) {
  const auto document = parse_shallow(payload, kArqPayloadBytesMax);
  if (!document) return document.error().wrap("the ARQ's payload");
  const VersionedObject object = open_versioned_object(*document);
  if (!object.flat && !object.major_is_one()) {
    return invalid(fmt::format("payload version '{}' is not known, 1.x is",
                               printable_excerpt(object.version, 16)));
  }
  if (object.data == nullptr) return invalid("the payload's object data is not an object");
  Result<Arq> arq = decode_data(*object.data, row);
  if (!arq) return arq.error().wrap("the ARQ");
  return arq;
}

}  // namespace reclaim
