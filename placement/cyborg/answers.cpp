#include "placement/cyborg/answers.h"

#include <fmt/core.h>

#include <utility>

#include "state/base/bool_text.h"
#include "state/base/first_error.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/uuid.h"
#include "state/device/python_text.h"

namespace reclaim::placement {
namespace {

using rapidjson::Value;

constexpr std::size_t kTextBytesMax = 255;         // of a column in Cyborg's database
constexpr std::size_t kOtherInfoBytesMax = 2'048;  // with all texts escaped, below kArqBytesMax
constexpr std::size_t kBoardInfoBytesMax = 16'384;

Error wrong(std::string_view what) {
  return Error{Errc::invalid, std::string(what)};
}

// A text, or "" for null and where there is none.
Result<std::string> text_or_none(const Value& object, std::string_view name) {
  const Value* member = json::find(object, name);
  if (member == nullptr || member->IsNull()) return std::string();
  auto text = json::get_string(object, name);
  if (text.ok() && text->size() > kTextBytesMax) {
    return wrong(
        fmt::format("'{}' has {} bytes, over the limit of {}", name, text->size(), kTextBytesMax));
  }
  return text;
}

// A UUID, or "" for null and where there is none.
Result<std::string> uuid_or_none(const Value& object, std::string_view name) {
  auto text = text_or_none(object, name);
  if (text.ok() && !text->empty() && !looks_like_uuid(*text)) {
    return wrong(fmt::format("'{}' is '{}', not a UUID", name, printable_excerpt(*text, 60)));
  }
  return text;
}

Result<std::string> need_uuid(const Value& object) {
  auto uuid = uuid_or_none(object, "uuid");
  if (uuid.ok() && uuid->empty()) return wrong("'uuid' is missing");
  return uuid;
}

Result<std::optional<bool>> managed_of(const Value& value) {
  if (value.IsNull()) return std::optional<bool>();
  if (value.IsBool()) return std::optional<bool>(value.GetBool());
  if (!value.IsString()) return wrong("'managed' is neither a boolean nor a text");
  const auto read = bool_from_string({value.GetString(), value.GetStringLength()});
  if (!read.ok()) return read.error().wrap("'managed'");
  return std::optional<bool>(*read);
}

Result<PciAddress> handle_address(const Value& info) {
  std::string domain, bus, device, function;
  FirstError error;
  error.or_set(domain, json::get_string(info, "domain"));
  error.or_set(bus, json::get_string(info, "bus"));
  error.or_set(device, json::get_string(info, "device"));
  error.or_set(function, json::get_string(info, "function"));
  if (!error.status().ok()) return error.status().error();
  return pci_address_of_parts(domain, bus, device, function);
}

// {} of an ARQ that is not bound; else the PCI function, `managed` from 2.4 on, and what a driver
// adds (physical_network, asked_type).
Status read_handle_info(const Value& info, Arq& arq) {
  if (info.IsNull()) return Ok{};
  if (!info.IsObject()) return wrong("it is not an object");
  if (info.ObjectEmpty()) return Ok{};
  const auto address = handle_address(info);
  if (!address.ok()) return address.error();
  arq.address = *address;
  rapidjson::Document other(rapidjson::kObjectType);
  for (const auto& member : info.GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    if (name == "domain" || name == "bus" || name == "device" || name == "function") continue;
    if (name == "managed") {
      auto managed = managed_of(member.value);
      if (!managed.ok()) return std::move(managed).error();
      arq.managed = *managed;
      continue;
    }
    if (!member.value.IsString()) continue;
    other.AddMember(Value(member.name, other.GetAllocator()),
                    Value(member.value, other.GetAllocator()), other.GetAllocator());
  }
  if (!other.ObjectEmpty()) arq.other_info = json::to_text(other);
  if (arq.other_info.size() > kOtherInfoBytesMax) {
    return wrong(fmt::format("what it says beside the address has {} bytes, over the limit of {}",
                             arq.other_info.size(), kOtherInfoBytesMax));
  }
  return Ok{};
}

Status read_texts(const Value& value, Arq& arq) {
  FirstError error;
  error.or_set(arq.project_id, text_or_none(value, "project_id"));
  error.or_set(arq.device_profile_name, text_or_none(value, "device_profile_name"));
  error.or_set(arq.instance_uuid, text_or_none(value, "instance_uuid"));
  error.or_set(arq.attach_handle_type, text_or_none(value, "attach_handle_type"));
  error.or_set(arq.attach_handle_uuid, text_or_none(value, "attach_handle_uuid"));
  error.or_set(arq.created_at, text_or_none(value, "created_at"));
  error.or_set(arq.updated_at, text_or_none(value, "updated_at"));
  error.or_set(arq.device_rp_uuid, uuid_or_none(value, "device_rp_uuid"));
  return error.status();
}

// Reads one ARQ as far as it concerns the host; nothing: it does not.
Result<std::optional<Arq>> read_arq(const Value& value, const HostNames& names, WallMs now) {
  if (!value.IsObject()) return wrong("it is not an object");
  Arq arq;
  arq.heard_at = now;
  auto hostname = text_or_none(value, "hostname");
  if (!hostname.ok()) return std::move(hostname).error();
  if (!hostname->empty() && !names.has(*hostname)) return std::optional<Arq>();
  arq.hostname = *std::move(hostname);
  auto uuid = need_uuid(value);
  if (!uuid.ok()) return std::move(uuid).error();
  arq.uuid = *std::move(uuid);
  const auto in_words = json::get_string(value, "state");
  if (!in_words.ok()) return in_words.error();
  const auto state = parse_arq_state(*in_words);
  if (!state.ok()) return state.error().wrap("'state'");
  arq.state = *state;
  if (arq.hostname.empty() && !arq.holds_device()) return std::optional<Arq>();
  if (auto texts = read_texts(value, arq); !texts.ok()) return std::move(texts).error();
  if (const Value* group = json::find(value, "device_profile_group_id");
      group != nullptr && group->IsInt64()) {
    arq.device_profile_group_id = group->GetInt64();
  }
  if (const Value* info = json::find(value, "attach_handle_info")) {
    auto read = read_handle_info(*info, arq);
    if (!read.ok()) return read.error().wrap("'attach_handle_info'");
  }
  if (arq.state == ArqState::bound && !arq.address && arq.device_rp_uuid.empty()) {
    return wrong("it is Bound, and names neither a PCI address nor a provider");
  }
  return std::optional<Arq>(std::move(arq));
}

// Reads one device of `host`; nothing: it is another's.
Result<std::optional<DeviceAnswer>> read_device(const Value& value, std::string_view host,
                                                bool with_status) {
  DeviceAnswer device;
  auto hostname = json::get_string(value, "hostname");
  if (!hostname.ok()) return std::move(hostname).error();
  if (!same_host(*hostname, host)) return std::optional<DeviceAnswer>();
  device.hostname = *std::move(hostname);
  FirstError error;
  error.or_set(device.uuid, need_uuid(value));
  error.or_set(device.type, text_or_none(value, "type"));
  error.or_set(device.status, text_or_none(value, "status"));
  if (!error.status().ok()) return error.status().error();
  if (device.status.empty() && with_status) {
    return wrong(
        "'status' is missing, which microversion 2.3 has; does something on the way take the "
        "header OpenStack-API-Version out?");
  }
  if (!device.status.empty() && device.status != "enabled" && device.status != "maintaining") {
    return wrong(fmt::format("'status' is '{}'; enabled and maintaining are known",
                             printable_excerpt(device.status, 40)));
  }
  if (const auto board = json::maybe_string(value, "std_board_info")) {
    device.address = board_address(*board);
  }
  return std::optional<DeviceAnswer>(std::move(device));
}

// Reads one deployable as far as it concerns `host`; nothing: it does not.
Result<std::optional<DeployableAnswer>> read_deployable(const Value& value, std::string_view host) {
  DeployableAnswer deployable;
  const auto name = json::get_string(value, "name");
  if (!name.ok()) return name.error();
  if (name->size() <= host.size() || (*name)[host.size()] != '_' ||
      !same_host(std::string_view(*name).substr(0, host.size()), host)) {
    return std::optional<DeployableAnswer>();
  }
  const auto address = parse_pci_address(std::string_view(*name).substr(host.size() + 1));
  if (!address.ok()) return std::optional<DeployableAnswer>();
  deployable.address = *address;
  FirstError error;
  error.or_set(deployable.provider, uuid_or_none(value, "rp_uuid"));
  error.or_set(deployable.device_uuid, uuid_or_none(value, "device_uuid"));
  error.or_set(deployable.device_id, json::get_int(value, "device_id"));
  return error.or_value(std::optional<DeployableAnswer>(std::move(deployable)));
}

// Applies `read` to each element of the list `name`, and leaves out those that do not concern us.
// Its errors say which element it was.
template <typename T, typename Read>
Result<std::vector<T>> read_list(std::string_view body, std::string_view name, CyborgLimits limits,
                                 Read read) {
  const auto document = json::parse(body, limits.body_bytes);
  if (!document.ok()) return document.error().wrap("Cyborg's answer");
  const Value* list = json::find(*document, name);
  if (list == nullptr || !list->IsArray()) {
    return wrong(fmt::format("Cyborg's answer: '{}': a list is needed", name));
  }
  if (list->Size() > limits.rows) {
    return Error{Errc::limit, fmt::format("Cyborg's answer: '{}' has {} elements, over the limit "
                                          "of {}",
                                          name, list->Size(), limits.rows)};
  }
  std::vector<T> rows;
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    Result<std::optional<T>> row = read((*list)[i]);
    if (!row.ok()) {
      const std::string uuid = json::maybe_string((*list)[i], "uuid").value_or("without a uuid");
      return row.error().wrap(
          fmt::format("Cyborg's answer: '{}'[{}] ({})", name, i, printable_excerpt(uuid, 40)));
    }
    if (*row) rows.push_back(**std::move(row));
  }
  return rows;
}

}  // namespace

Result<std::vector<Arq>> parse_arqs(std::string_view body, const HostNames& names, WallMs now,
                                    CyborgLimits limits) {
  return read_list<Arq>(body, "arqs", limits,
                        [&](const Value& value) { return read_arq(value, names, now); });
}

Result<std::vector<DeviceAnswer>> parse_devices(std::string_view body, std::string_view host,
                                                bool with_status, CyborgLimits limits) {
  return read_list<DeviceAnswer>(body, "devices", limits, [&](const Value& value) {
    return read_device(value, host, with_status);
  });
}

Result<std::vector<DeployableAnswer>> parse_deployables(std::string_view body,
                                                        std::string_view host,
                                                        CyborgLimits limits) {
  return read_list<DeployableAnswer>(body, "deployables", limits, [&](const Value& value) {
    return read_deployable(value, host);
  });
}

std::optional<PciAddress> board_address(std::string_view std_board_info) {
  const auto board = parse_json_or_python(std_board_info, kBoardInfoBytesMax);
  if (!board.ok()) return std::nullopt;
  for (const std::string_view name : {"pci_address", "address"}) {
    const auto text = json::maybe_string(*board, name);
    if (!text) continue;
    if (const auto address = parse_pci_address(*text); address.ok()) return *address;
  }
  return std::nullopt;
}

}  // namespace reclaim::placement
