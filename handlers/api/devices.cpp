#include "handlers/api/devices.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "handlers/api/json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/device/tagged_device.h"

namespace reclaim::api {
namespace {

constexpr std::array<std::string_view, 5> kStates{"available", "allocated", "pending_cleaning",
                                                  "cleaning", "error"};
constexpr std::array<std::string_view, 2> kStatuses{"enabled", "maintaining"};
constexpr std::size_t kDeviceBytes = 480;  // about what one takes in a list
// A tenth of a millisecond, about.
constexpr std::size_t kDevicesAPiece = 256;
constexpr std::size_t kFindingsBytesMax = 1U << 20U;

// "2026-05-15T10:23:45Z", as the specification's examples have it; null: not known.
void put_time(JsonWriter& writer, std::string_view key, WallMs at) {
  put_key(writer, key);
  if (at.ms <= 0) {
    writer.Null();
  } else {
    put(writer, to_iso8601(at).substr(0, 19) + "Z");
  }
}

// A JSON text inside the JSON, written as Python's json.dumps does.
std::string std_board_info(const Device& device) {
  return fmt::format(R"({{"product_id": "{}", "pci_address": "{}"}})",
                     printable_excerpt(device.product_id, 40), device.address);
}

// What a writer put between the braces of one object.
std::string members_of(const rapidjson::StringBuffer& buffer) {
  const std::string text = text_of(buffer);
  return text.substr(1, text.size() - 2);
}

// `link`: all of the self link's URL but the UUID, as JSON without the quote at its end.
void append_device(std::string& out, const Device& device, Microversion version,
                   const std::string& link) {
  out += device.json_head;
  if (version >= kVersionStatus) {
    out += R"(,"status":")";
    out += device.status;
    out += '"';
  }
  if (version >= kVersionDeviceState) {
    out += R"(,"device_state":")";
    out += to_string(device.state);
    out += '"';
  }
  out += ',';
  out += device.json_times;
  out += R"(,"links":[{"href":)";
  out += link;
  out += device.uuid;
  out += R"(","rel":"self"}]})";
}

std::string link_of(const std::string& base_url) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  put(writer, base_url + "/v2/devices/");
  std::string text = text_of(buffer);
  text.pop_back();
  return text;
}

bool passes(const DeviceFilter& filter, const Device& device) {
  const auto is = [](const std::optional<std::string>& wanted, std::string_view value) {
    return !wanted || *wanted == value;
  };
  return is(filter.type, device.type) && is(filter.vendor, device.vendor_id) &&
         is(filter.hostname, device.host) && is(filter.status, device.status) &&
         is(filter.device_state, to_string(device.state));
}

template <typename Accepted>
Status check_word(const std::optional<std::string>& value, std::string_view name,
                  const Accepted& accepted) {
  if (!value || std::find(accepted.begin(), accepted.end(), *value) != accepted.end()) return Ok{};
  return Error{Errc::invalid,
               fmt::format("{} = '{}'; accepted are {}", name, printable_excerpt(*value, 40),
                           fmt::join(accepted, ", "))};
}

// "nvme.sanitize_crypto" as {"interface": "nvme", "step": "sanitize_crypto"}.
void put_running_step(JsonWriter& writer, std::string_view name) {
  put_key(writer, "clean_step");
  if (name.empty()) {
    writer.Null();
    return;
  }
  const std::size_t dot = name.find('.');
  const bool dotted = dot != std::string_view::npos;
  writer.StartObject();
  put_member_or_null(writer, "interface", dotted ? name.substr(0, dot) : std::string_view());
  put_member(writer, "step", dotted ? name.substr(dot + 1) : name);
  writer.EndObject();
}

// What is in Redis as a JSON text; an empty object when there is none that can be read.
void put_json(JsonWriter& writer, std::string_view key, const std::string& text) {
  put_key(writer, key);
  const auto parsed = json::parse(text, kFindingsBytesMax);
  if (parsed && parsed->IsObject()) {
    parsed->Accept(writer);
  } else {
    writer.StartObject();
    writer.EndObject();
  }
}

// Only of a device that has tags, or that a policy by role is for.
void put_roles(JsonWriter& writer, const Record& record) {
  if (!record.tags.empty()) put_json(writer, "tagged_device", tagged_device(record));
  if (record.policies.empty()) return;
  put_key(writer, "policies");
  writer.StartArray();
  for (const std::string& name : record.policies) put(writer, name);
  writer.EndArray();
}

std::string seconds(std::int64_t ms) {
  return fmt::format("{} s", ms / 1'000);
}

// Who has it, and what is to be done. An ARQ that was merely heard of may have ended unheard, and
// only somebody on the host can tell.
std::string why_allocated(const Record& record) {
  const bool by_arq = record.flow == Flow::cyborg && !record.arq.empty();
  const std::string arq =
      by_arq ? fmt::format(" by accelerator request {}", record.arq) : std::string();
  if (by_arq && record.consumer().empty()) {
    return fmt::format(
        "is allocated{}, of which Placement shows no allocation: it is cleaned automatically once "
        "its unbinding is reported; if that request is gone for good, run `reclaim device clean "
        "{}` on the host",
        arq, to_string(record.address));
  }
  return fmt::format(
      "is allocated{}{}: it is cleaned automatically once it is free; delete the instance or "
      "detach the device",
      record.instance.empty() ? "" : fmt::format(" to instance {}", record.instance), arq);
}

std::optional<Fault> why_state_forbids(const Record& record) {
  const std::string who =
      fmt::format("The device at {} of host {}", to_string(record.address), record.host);
  const std::string because =
      record.waiting_for.empty() ? "" : fmt::format("; it waits: {}", record.waiting_for);
  if (!record.damage.empty()) return Fault{409, fmt::format("{}: {}", who, record.damage)};
  switch (device_state(record.stage)) {
    case DeviceState::error:
      return std::nullopt;
    case DeviceState::available:
      return Fault{409, fmt::format("{} is available: it is clean already", who)};
    case DeviceState::allocated:
      return Fault{409, fmt::format("{} {}", who, why_allocated(record))};
    case DeviceState::pending_cleaning:
      if (record.clean_start == CleanStart::awaited) return std::nullopt;
      return Fault{409, fmt::format("{} is pending_cleaning: it is going to be cleaned, and needs "
                                    "no further order{}",
                                    who, because)};
    case DeviceState::cleaning:
      return Fault{
          409,
          fmt::format("{} is cleaning{}: look at its cleaning/steps, or abort it on its "
                      "host with `reclaim device abort`",
                      who,
                      record.clean_step.empty() ? ""
                                                : fmt::format(" ({}, {:.0f} %)", record.clean_step,
                                                              record.progress_percent))};
  }
  return Fault{500, "a device in a state that does not exist"};
}

}  // namespace

Result<DeviceFilter> parse_device_filter(const Parameters& parameters, Microversion version) {
  DeviceFilter filter;
  struct Name {
    std::string_view name;
    std::optional<std::string>& value;
  };
  std::vector<Name> names{
      {"type", filter.type}, {"vendor", filter.vendor}, {"hostname", filter.hostname}};
  if (version >= kVersionDeviceState) {
    names.push_back({"status", filter.status});
    names.push_back({"device_state", filter.device_state});
  }
  for (const auto& [name, value] : parameters) {
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&, &name = name](const Name& n) { return n.name == name; });
    if (known == names.end()) {
      std::vector<std::string_view> accepted;
      accepted.reserve(names.size());
      for (const Name& one : names) accepted.push_back(one.name);
      return Error{
          Errc::invalid,
          fmt::format("Unknown argument: '{}'; accepted at microversion {} are {}",
                      printable_excerpt(name, 40), to_string(version), fmt::join(accepted, ", "))};
    }
    if (known->value) {
      return Error{Errc::invalid, fmt::format("{} is given twice", known->name)};
    }
    // Cyborg's reading: an empty filter is none.
    if (!value.empty()) known->value = value;
  }
  if (auto status = check_word(filter.device_state, "device_state", kStates); !status) {
    return status.error();
  }
  if (auto status = check_word(filter.status, "status", kStatuses); !status) {
    return status.error();
  }
  return filter;
}

void render(Device& device) {
  rapidjson::StringBuffer head;
  JsonWriter writer(head);
  writer.StartObject();
  put_member(writer, "uuid", device.uuid);
  put_member(writer, "type", device.type);
  put_member(writer, "vendor", device.vendor_id);
  put_member(writer, "model", device.product_id);
  put_member(writer, "std_board_info", std_board_info(device));
  put_key(writer, "vendor_board_info");
  writer.Null();
  put_member(writer, "hostname", device.host);
  writer.EndObject();
  device.json_head = "{" + members_of(head);

  rapidjson::StringBuffer times;
  JsonWriter times_writer(times);
  times_writer.StartObject();
  put_time(times_writer, "created_at", device.created_at);
  put_time(times_writer, "updated_at", device.updated_at);
  times_writer.EndObject();
  device.json_times = members_of(times);
}

DeviceList::DeviceList(Devices devices, DeviceFilter filter, Microversion version,
                       const std::string& base_url)
    : devices_(std::move(devices)),
      filter_(std::move(filter)),
      version_(version),
      link_(link_of(base_url)) {}

bool DeviceList::go_on() {
  // Room is taken by the list that is being made, not by those that wait.
  if (next_ == 0 && filter_.all()) {
    std::size_t count = 0;
    for (const HostDevices& of_host : devices_) count += of_host->size();
    body_.reserve(count * kDeviceBytes);
  }
  for (std::size_t seen = 0; seen < kDevicesAPiece && next_ < devices_.size(); ++next_) {
    const HostDevices of_host = std::move(devices_[next_]);
    seen += of_host->size();
    for (const Device& device : *of_host) {
      if (!passes(filter_, device)) continue;
      if (body_.back() == '}') body_ += ',';
      append_device(body_, device, version_, link_);
    }
  }
  if (next_ < devices_.size()) return true;
  body_ += "]}";
  return false;
}

std::string device_body(const Device& device, Microversion version, const std::string& base_url) {
  std::string body;
  append_device(body, device, version, link_of(base_url));
  return body;
}

std::string steps_body(const Record& record) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  put_member(writer, "device_uuid", record.uuid);
  put_member(writer, "device_state", to_string(device_of(record).state));
  put_member(writer, "stage", to_string(record.stage));
  put_roles(writer, record);
  put_key(writer, "steps");
  writer.StartArray();
  for (const CleanStep& step : record.plan) {
    writer.StartObject();
    put_member(writer, "interface", step.interface);
    put_member(writer, "step", step.step);
    put_key(writer, "priority");
    writer.Int(step.priority);
    put_json(writer, "args", step.args);
    writer.EndObject();
  }
  writer.EndArray();
  put_running_step(writer, record.clean_step);
  put_key(writer, "progress_percent");
  writer.Double(record.progress_percent);
  put_key(writer, "progress_eta_s");
  if (record.progress_eta_s < 0) {
    writer.Null();
  } else {
    writer.Int64(record.progress_eta_s);
  }
  put_member_or_null(writer, "progress_message", record.progress_message);
  put_time(writer, "started_at", record.cleaning_started_at);
  put_json(writer, "findings", record.findings);
  put_member_or_null(writer, "waiting_for", record.waiting_for);
  put_member_or_null(writer, "last_error", record.last_error);
  writer.EndObject();
  return text_of(buffer);
}

namespace {

std::optional<Fault> why_no_worker(const Fleet::Found& found, WallMs now,
                                   std::int64_t heartbeat_max_ms) {
  const std::int64_t age_ms = now.ms - found.host.heartbeat_at.ms;
  if (found.host.heartbeat_at.ms > 0 && age_ms <= heartbeat_max_ms) return std::nullopt;
  const std::string last = found.host.heartbeat_at.ms <= 0
                               ? std::string("no heartbeat, or too long ago")
                               : fmt::format("last heartbeat {} ago", seconds(age_ms));
  return Fault{400, fmt::format("No worker on host {} can clean it: {}, and {} are the limit; "
                                "start reclaim there, then ask again",
                                found.record.host, last, seconds(heartbeat_max_ms))};
}

}  // namespace

std::optional<Fault> why_not_clean(const Fleet::Found& found, WallMs now,
                                   std::int64_t heartbeat_max_ms) {
  const Record& record = found.record;
  if (!record.cleanable()) {
    return Fault{400, fmt::format("The device at {} of host {} is of type {}, which does not "
                                  "support cleaning; NVME does, and what [devices] device_spec "
                                  "lists",
                                  to_string(record.address), record.host, record.type)};
  }
  if (auto fault = why_state_forbids(record)) return fault;
  return why_no_worker(found, now, heartbeat_max_ms);
}

std::optional<Fault> why_not_unhold(const Fleet::Found& found, WallMs now,
                                    std::int64_t heartbeat_max_ms) {
  const Record& record = found.record;
  if (!record.clean_step.starts_with("hold.")) {
    return Fault{409, fmt::format("The device at {} of host {} is {} and waits at no hold",
                                  to_string(record.address), record.host,
                                  to_string(device_state(record.stage)))};
  }
  return why_no_worker(found, now, heartbeat_max_ms);
}

}  // namespace reclaim::api
