#include "state/device/record.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "state/base/log.h"

namespace reclaim {
namespace {

Error bad(std::string_view name, std::string_view text, std::string_view accepted) {
  return Error{Errc::invalid, fmt::format("field '{}' is '{}', {} is needed", name,
                                          printable_excerpt(text, 80), accepted)};
}

template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc{} && end == text.data() + text.size() && !text.empty();
}

std::string time_text(WallMs at) {
  return at.ms == 0 ? std::string() : to_iso8601(at);
}

std::string_view bool_text(bool value) {
  return value ? "true" : "false";
}

std::string optional_text(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : std::string();
}

// Reads fields one after the other and keeps the first thing that is wrong, so that decode_record
// reads like the list of fields it is.
class FieldReader final {
 public:
  explicit FieldReader(const Fields& fields) : fields_(fields) {}

  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

  void text(std::string_view name, std::string& out) {
    if (const std::string* value = need(name)) out = *value;
  }

  template <typename Number>
  void number(std::string_view name, Number& out) {
    const std::string* value = need(name);
    if (value != nullptr && !parse_number(*value, out)) fail(bad(name, *value, "a whole number"));
  }

  void optional_number(std::string_view name, std::optional<std::uint64_t>& out) {
    const std::string* value = need(name);
    if (value == nullptr || value->empty()) return;
    std::uint64_t parsed = 0;
    if (!parse_number(*value, parsed)) {
      fail(bad(name, *value, "a whole number or nothing"));
      return;
    }
    out = parsed;
  }

  void flag(std::string_view name, bool& out) {
    const std::string* value = need(name);
    if (value == nullptr) return;
    if (*value != "true" && *value != "false") fail(bad(name, *value, "true or false"));
    out = *value == "true";
  }

  void time(std::string_view name, WallMs& out) {
    const std::string* value = need(name);
    if (value == nullptr || value->empty()) return;
    const Result<WallMs> at = from_iso8601(*value);
    if (at.ok()) {
      out = *at;
    } else {
      fail(bad(name, *value, "a time like 2026-11-20T21:22:44.123Z"));
    }
  }

  void percent(std::string_view name, double& out) {
    const std::string* value = need(name);
    if (value != nullptr && (!parse_number(*value, out) || !(out >= 0 && out <= 100))) {
      fail(bad(name, *value, "a number from 0.0 to 100.0"));
    }
  }

  // A field with a parser of its own.
  template <typename T, typename Parse>
  void parsed(std::string_view name, T& out, Parse parse) {
    const std::string* value = need(name);
    if (value == nullptr) return;
    Result<T> result = parse(*value);
    if (result.ok()) {
      out = *std::move(result);
    } else {
      fail(result.error().wrap(fmt::format("field '{}'", name)));
    }
  }

  // For what the first layout lacks.
  [[nodiscard]] bool has(std::string_view name) const {
    return fields_.contains(std::string(name));
  }

  void fail(Error error) {
    if (!problem_) problem_ = std::move(error);
  }

 private:
  const std::string* need(std::string_view name) {
    const auto it = fields_.find(std::string(name));
    if (it != fields_.end()) return &it->second;
    fail(Error{Errc::invalid, fmt::format("field '{}' is missing", name)});
    return nullptr;
  }

  const Fields& fields_;
  std::optional<Error> problem_;
};

void read_identity(FieldReader& reader, Record& record) {
  reader.text("host", record.host);
  reader.parsed("address", record.address, parse_pci_address);
  reader.text("uuid", record.uuid);
  reader.parsed("flow", record.flow, parse_flow);
  reader.text("vendor_id", record.vendor_id);
  reader.text("product_id", record.product_id);
  reader.text("model", record.model);
  reader.text("serial", record.serial);
  reader.text("firmware", record.firmware);
  reader.number("capacity_bytes", record.capacity_bytes);
  reader.text("provider", record.provider);
  reader.text("provider_name", record.provider_name);
  reader.text("resource_class", record.resource_class);
  if (reader.has("type")) reader.text("type", record.type);
  if (reader.has("hardware")) reader.text("hardware", record.hardware);
  if (reader.has("boot_id")) reader.text("boot_id", record.boot_id);
  if (reader.has("found_serial")) reader.text("found_serial", record.found.serial);
  if (reader.has("found_model")) reader.text("found_model", record.found.model);
  if (reader.has("found_hardware")) reader.text("found_hardware", record.found.hardware);
}

void read_life(FieldReader& reader, Record& record) {
  reader.parsed("stage", record.stage, parse_stage);
  std::string state;
  reader.text("device_state", state);
  if (!reader.problem() && state != to_string(device_state(record.stage))) {
    reader.fail(
        Error{Errc::invalid, fmt::format("field 'device_state' is '{}', but stage '{}' "
                                         "stands for '{}'; both were written together, so "
                                         "somebody changed one by hand",
                                         printable_excerpt(state, 80), to_string(record.stage),
                                         to_string(device_state(record.stage)))});
  }
  reader.number("epoch", record.epoch);
  if (!reader.problem() && record.epoch > kStoredEpochMax) {
    reader.fail(
        bad("epoch", std::to_string(record.epoch), fmt::format("at most {}", kStoredEpochMax)));
  }
  if (reader.has("created_at")) reader.time("created_at", record.created_at);
  reader.time("stage_since", record.stage_since);
  reader.time("updated_at", record.updated_at);
  reader.flag("held", record.held);
  reader.flag("maintenance", record.maintenance);
  reader.text("waiting_for", record.waiting_for);
  reader.text("last_error", record.last_error);
  reader.text("instance", record.instance);
  reader.text("request_id", record.request_id);
  if (reader.has("instance_source")) {
    reader.parsed("instance_source", record.instance_source, parse_instance_source);
  } else if (record.stage == Stage::allocated && !record.instance.empty()) {
    record.instance_source = InstanceSource::allocation;
  } else {
    // Older versions kept the name of a tenancy that was over: whose this is cannot be told.
    record.instance.clear();
    record.request_id.clear();
  }
  reader.time("tenancy_seen_at", record.tenancy_seen_at);
  if (reader.has("arq")) reader.text("arq", record.arq);
  if (reader.has("managed")) reader.flag("managed", record.managed);
  if (reader.has("cyborg_status")) reader.text("cyborg_status", record.cyborg_status);
}

void read_cleaning(FieldReader& reader, Record& record) {
  reader.parsed("plan", record.plan, decode_plan);
  reader.text("clean_step", record.clean_step);
  reader.percent("progress", record.progress_percent);
  reader.number("progress_eta_s", record.progress_eta_s);
  reader.number("erases", record.erases);
  reader.number("attempts", record.attempts);
  reader.time("cleaning_started_at", record.cleaning_started_at);
  reader.flag("erase_begun", record.erase_begun);
  reader.flag("planned_stop", record.planned_stop);
  reader.text("baseline", record.baseline);
  reader.text("evidence", record.evidence);
  reader.text("verification", record.verification);
  reader.time("verified_at", record.verified_at);
  if (reader.has("cleaning_nonce")) reader.text("cleaning_nonce", record.cleaning_nonce);
  if (reader.has("step_index")) reader.number("step_index", record.step_index);
  if (reader.has("findings")) reader.text("findings", record.findings);
  if (reader.has("enrolment")) reader.text("enrolment", record.enrolment);
  if (reader.has("accepted")) reader.flag("accepted", record.accepted);
  reader.text("certificate_id", record.certificate_id);
  reader.time("certificate_at", record.certificate_at);
  if (reader.has("certificate_pending")) {
    reader.text("certificate_pending", record.certificate_pending);
  }
  reader.optional_number("certified_host_reads", record.certified_host_reads);
  reader.optional_number("certified_host_writes", record.certified_host_writes);
}

std::string percent_text(double percent) {
  const double bounded = std::isfinite(percent) ? std::min(100.0, std::max(0.0, percent)) : 0.0;
  return fmt::format("{:.1f}", bounded);
}

}  // namespace

std::string_view to_string(Flow flow) {
  return flow == Flow::nova ? "nova" : "cyborg";
}

Result<Flow> parse_flow(std::string_view text) {
  if (text == "nova") return Flow::nova;
  if (text == "cyborg") return Flow::cyborg;
  return Error{Errc::invalid,
               fmt::format("'{}' is no flow; nova and cyborg are", printable_excerpt(text, 80))};
}

std::string_view to_string(InstanceSource source) {
  switch (source) {
    case InstanceSource::not_seen:
      return "not_seen";
    case InstanceSource::allocation:
      return "allocation";
    case InstanceSource::arq:
      return "arq";
  }
  return "not_seen";
}

Result<InstanceSource> parse_instance_source(std::string_view text) {
  for (const InstanceSource source :
       {InstanceSource::not_seen, InstanceSource::allocation, InstanceSource::arq}) {
    if (to_string(source) == text) return source;
  }
  return Error{Errc::invalid, fmt::format("'{}' is none of not_seen, allocation and arq",
                                          printable_excerpt(text, 80))};
}

Fields encode_record(const Record& record) {
  return Fields{
      {"host", record.host},
      {"address", to_string(record.address)},
      {"uuid", record.uuid},
      {"flow", std::string(to_string(record.flow))},
      {"type", record.type},
      {"vendor_id", record.vendor_id},
      {"product_id", record.product_id},
      {"model", record.model},
      {"serial", record.serial},
      {"firmware", record.firmware},
      {"capacity_bytes", std::to_string(record.capacity_bytes)},
      {"hardware", record.hardware},
      {"boot_id", record.boot_id},
      {"found_serial", record.found.serial},
      {"found_model", record.found.model},
      {"found_hardware", record.found.hardware},
      {"provider", record.provider},
      {"provider_name", record.provider_name},
      {"resource_class", record.resource_class},
      {"device_state", std::string(to_string(device_state(record.stage)))},
      {"stage", std::string(to_string(record.stage))},
      {"epoch", std::to_string(record.epoch)},
      {"created_at", time_text(record.created_at)},
      {"stage_since", time_text(record.stage_since)},
      {"updated_at", time_text(record.updated_at)},
      {"held", std::string(bool_text(record.held))},
      {"maintenance", std::string(bool_text(record.maintenance))},
      {"waiting_for", record.waiting_for},
      {"last_error", record.last_error},
      {"instance", record.instance},
      {"instance_source", std::string(to_string(record.instance_source))},
      {"request_id", record.request_id},
      {"tenancy_seen_at", time_text(record.tenancy_seen_at)},
      {"arq", record.arq},
      {"managed", std::string(bool_text(record.managed))},
      {"cyborg_status", record.cyborg_status},
      {"plan", encode_plan(record.plan)},
      {"step_index", std::to_string(record.step_index)},
      {"clean_step", record.clean_step},
      {"progress", percent_text(record.progress_percent)},
      {"progress_eta_s", std::to_string(record.progress_eta_s)},
      {"erases", std::to_string(record.erases)},
      {"attempts", std::to_string(record.attempts)},
      {"cleaning_started_at", time_text(record.cleaning_started_at)},
      {"erase_begun", std::string(bool_text(record.erase_begun))},
      {"planned_stop", std::string(bool_text(record.planned_stop))},
      {"cleaning_nonce", record.cleaning_nonce},
      {"baseline", record.baseline},
      {"evidence", record.evidence},
      {"verification", record.verification},
      {"verified_at", time_text(record.verified_at)},
      {"findings", record.findings},
      {"enrolment", record.enrolment},
      {"accepted", std::string(bool_text(record.accepted))},
      {"certificate_id", record.certificate_id},
      {"certificate_at", time_text(record.certificate_at)},
      {"certificate_pending", record.certificate_pending},
      {"certified_host_reads", optional_text(record.certified_host_reads)},
      {"certified_host_writes", optional_text(record.certified_host_writes)},
  };
}

Result<Record> decode_record(const Fields& fields) {
  FieldReader reader(fields);
  Record record;
  read_identity(reader, record);
  read_life(reader, record);
  read_cleaning(reader, record);
  if (reader.problem()) return *reader.problem();
  if (!record.cleanable() && record.stage != Stage::available && record.stage != Stage::allocated) {
    return Error{Errc::invalid, fmt::format("field 'stage' is '{}', but what is no {} is available "
                                            "or allocated",
                                            to_string(record.stage), kTypeNvme)};
  }
  return record;
}

}  // namespace reclaim
