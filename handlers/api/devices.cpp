#include "handlers/api/devices.h"

#include <fmt/core.h>

#include <algorithm>

#include <functional>

#include "handlers/api/json.h"
#include "handlers/drive_wear.h"
#include "state/base/embedded_json.h"
#include "state/base/log.h"
#include "state/device/tagged_device.h"

namespace reclaim::api {
namespace {

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

// The members that `write` writes between the braces of one object.
std::string members(const std::function<void(JsonWriter&)>& write) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  write(writer);
  writer.EndObject();
  const std::string text = text_of(buffer);
  return text.substr(1, text.size() - 2);
}

std::string link_of(const std::string& base_url) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  put(writer, base_url + "/v2/devices/");
  std::string text = text_of(buffer);
  text.pop_back();
  return text;
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

void put_step(JsonWriter& writer, const CleanStep& step) {
  put_member(writer, "interface", step.interface);
  put_member(writer, "step", step.step);
  put_key(writer, "priority");
  writer.Int(step.priority);
}

void put_number_or_null(JsonWriter& writer, std::string_view key, std::optional<int> number) {
  put_key(writer, key);
  if (number) {
    writer.Int(*number);
  } else {
    writer.Null();
  }
}

// Writes the cleaning of the device itself, from kVersionCleaning on.
void put_cleaning(JsonWriter& writer, const Record& record) {
  put_key(writer, "held");
  writer.Bool(record.held);
  put_running_step(writer, record.clean_step);
  put_key(writer, "progress");
  if (record.clean_step.empty()) {
    writer.Null();
  } else {
    writer.Double(record.progress_percent);
  }
  put_key(writer, "tags");
  writer.StartArray();
  for (const std::string& tag : record.tags) put(writer, tag);
  writer.EndArray();
}

// Writes the drive's wear, from kVersionWear on.
void put_wear(JsonWriter& writer, const Record& record) {
  const DriveWear wear = wear_of(record.findings);
  put_number_or_null(writer, "percentage_used", wear.used_percent);
  put_number_or_null(writer, "available_spare", wear.spare_percent);
}

// Writes what Redis has as a JSON text; an empty object when there is none that can be read.
void put_json(JsonWriter& writer, std::string_view key, const std::string& text) {
  put_key(writer, key);
  const auto parsed = parse_shallow(text, kFindingsBytesMax);
  if (parsed && parsed->IsObject()) {
    put_value(writer, *parsed);
  } else {
    writer.StartObject();
    writer.EndObject();
  }
}

void put_by_hand(JsonWriter& writer) {
  put_key(writer, "by_hand");
  writer.Bool(true);
}

// Writes tags and policies, only of a device that has tags, or that a policy by role is for.
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

// Tells who has it, and what is to be done. An ARQ that was merely heard of may have ended unheard,
// and only somebody on the host can tell.
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

std::optional<Fault> why_state_forbids(const Record& record, bool steps_named) {
  const std::string who =
      fmt::format("The device at {} of host {}", to_string(record.address), record.host);
  const std::string because =
      record.waiting_for.empty() ? "" : fmt::format("; it waits: {}", record.waiting_for);
  if (!record.damage.empty()) return Fault{409, fmt::format("{}: {}", who, record.damage)};
  switch (device_state(record.stage)) {
    case DeviceState::error:
      return std::nullopt;
    case DeviceState::available:
      if (steps_named && !record.held) return std::nullopt;
      if (record.waiting_for.ends_with(kCleanInDoubt)) return std::nullopt;
      return Fault{409, fmt::format("{} is available: it is clean already{}", who,
                                    record.held ? ", and held by an operator" : "")};
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
          fmt::format("{} is cleaning{}: look at its cleaning/steps, or abort it", who,
                      record.clean_step.empty() ? ""
                                                : fmt::format(" ({}, {:.0f} %)", record.clean_step,
                                                              record.progress_percent))};
  }
  return Fault{500, "a device in a state that does not exist"};
}

// The list that Ironic's get_clean_steps() returns: the steps of the plan, without those that an
// operator named.
std::string step_list(const Record& record) {
  std::vector<const CleanStep*> enabled;
  for (const CleanStep& step : record.plan) {
    if (step.priority > 0 && !step.by_hand) enabled.push_back(&step);
  }
  std::stable_sort(enabled.begin(), enabled.end(), [](const CleanStep* a, const CleanStep* b) {
    return a->priority > b->priority;
  });
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartArray();
  for (const CleanStep* step : enabled) {
    writer.StartObject();
    put_step(writer, *step);
    writer.EndObject();
  }
  writer.EndArray();
  return text_of(buffer);
}

std::string cleaning_body(const Record& record) {
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
    put_step(writer, step);
    put_json(writer, "args", step.args);
    if (step.by_hand) put_by_hand(writer);
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

}  // namespace

void render(Device& device, const Record& record) {
  device.json_head = members([&](JsonWriter& writer) {
    put_member(writer, "uuid", device.uuid);
    put_member(writer, "type", device.type);
    put_member(writer, "vendor", device.vendor_id);
    put_member(writer, "model", device.product_id);
    put_member(writer, "std_board_info", std_board_info(device));
    put_key(writer, "vendor_board_info");
    writer.Null();
    put_member(writer, "hostname", device.host);
  });
  device.json_times = members([&](JsonWriter& writer) {
    put_time(writer, "created_at", device.created_at);
    put_time(writer, "updated_at", device.updated_at);
  });
  device.json_cleaning = members([&](JsonWriter& writer) {
    put_member_or_null(writer, "cyborg_uuid", device.cyborg_uuid);
    put_cleaning(writer, record);
  });
  device.json_wear = members([&](JsonWriter& writer) { put_wear(writer, record); });
  device.json_reasons = members([&](JsonWriter& writer) {
    put_member_or_null(writer, "waiting_for", record.waiting_for);
    put_member_or_null(writer, "last_error",
                       record.damage.empty() ? record.last_error : record.damage);
  });
}

DeviceForm device_form(Microversion version, bool reasons, const std::string& base_url) {
  return {version, reasons, link_of(base_url)};
}

void append_device(std::string& out, const Device& device, const DeviceForm& form) {
  out += '{';
  out += device.json_head;
  if (form.version >= kVersionStatus) {
    out += R"(,"status":")";
    out += device.status;
    out += '"';
  }
  if (form.version >= kVersionDeviceState) {
    out += R"(,"device_state":")";
    out += to_string(device.state);
    out += '"';
  }
  if (form.version >= kVersionCleaning) {
    out += ',';
    out += device.json_cleaning;
    if (form.version >= kVersionWear) {
      out += ',';
      out += device.json_wear;
    }
    if (form.reasons) {
      out += ',';
      out += device.json_reasons;
    }
  }
  out += ',';
  out += device.json_times;
  out += R"(,"links":[{"href":)";
  out += form.link;
  out += device.uuid;
  out += R"(","rel":"self"}]})";
}

std::string damaged_member(const std::vector<Damaged>& damaged, const DeviceForm& form) {
  if (damaged.empty() || form.version < kVersionCleaning) return {};
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartArray();
  for (const Damaged& each : damaged) {
    writer.StartObject();
    put_member(writer, "hostname", each.host);
    put_member_or_null(writer, "address", each.address);
    put_member_or_null(writer, "reason", form.reasons ? each.why : "");
    writer.EndObject();
  }
  writer.EndArray();
  return R"(,"damaged":)" + text_of(buffer);
}

std::string body_of(Resource resource, const Record& record, const DeviceForm& form) {
  if (resource == Resource::steps && form.version >= kVersionStepList) return step_list(record);
  if (resource != Resource::device) return cleaning_body(record);
  std::string body;
  append_device(body, device_of(record), form);
  return body;
}

std::optional<Fault> why_no_worker(const Fleet::Found& found, WallMs now,
                                   std::int64_t heartbeat_max_ms) {
  const std::int64_t age_ms = now.ms - found.host.heartbeat_at.ms;
  const bool silent = found.host.heartbeat_at.ms <= 0 || age_ms > heartbeat_max_ms;
  if (!silent && !found.host.stopped) return std::nullopt;
  const std::string last =
      found.host.heartbeat_at.ms <= 0 ? std::string("no heartbeat, or too long ago")
      : found.host.stopped            ? fmt::format("it was stopped {} ago", seconds(age_ms))
                                      : fmt::format("last heartbeat {} ago", seconds(age_ms));
  return Fault{400, fmt::format("No worker on host {} can carry it out: {}, and {} are the limit; "
                                "start reclaim there, then ask again",
                                found.record.host, last, seconds(heartbeat_max_ms))};
}

Fault why_not_of_its_type(const Record& record) {
  return Fault{400, fmt::format("The device at {} of host {} is of type {}, which does not "
                                "support cleaning; NVME does, and what [devices] device_spec "
                                "lists",
                                to_string(record.address), record.host, record.type)};
}

std::optional<Fault> why_not_clean(const Fleet::Found& found, WallMs now,
                                   std::int64_t heartbeat_max_ms, bool steps_named) {
  const Record& record = found.record;
  if (!record.cleanable()) return why_not_of_its_type(record);
  if (auto fault = why_state_forbids(record, steps_named)) return fault;
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
