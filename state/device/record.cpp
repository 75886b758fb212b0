#include "state/device/record.h"

#include <fmt/core.h>

#include "state/base/enum_names.h"
#include "state/base/fields.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

constexpr auto kFlows = enum_names<Flow::cyborg>("nova", "cyborg");
constexpr auto kStarts = enum_names<CleanStart::ordered>("automatic", "awaited", "ordered");
constexpr auto kSources = enum_names<InstanceSource::arq>("not_seen", "allocation", "arq");

// What was written together is read together.
void check(field::TextReader& reader, const Fields& fields, const Record& record) {
  if (reader.problem()) return;
  if (const std::string& state = fields.at("device_state");
      state != to_string(device_state(record.stage))) {
    return reader.fail(
        Error{Errc::invalid, fmt::format("field 'device_state' is '{}', but stage '{}' "
                                         "means '{}'; both were written together, so "
                                         "one was changed by hand",
                                         printable_excerpt(state), to_string(record.stage),
                                         to_string(device_state(record.stage)))});
  }
  if (record.epoch > kStoredEpochMax) {
    return reader.wrong("epoch", fields.at("epoch"), fmt::format("at most {}", kStoredEpochMax));
  }
  if (!record.cleanable() && record.stage != Stage::available && record.stage != Stage::allocated) {
    reader.fail(Error{
        Errc::invalid,
        fmt::format(
            "field 'stage' is '{}', but a device of another type than {} that no device_spec entry "
            "lists is available or allocated",
            to_string(record.stage), kTypeNvme)});
  }
  if (record.is_drive() && record.by_steps) {
    reader.wrong("by_steps", fields.at("by_steps"), fmt::format("false of type {}", kTypeNvme));
  }
}

// A record of a version that did not tell where a tenancy's name is from.
void believe_older_tenancy(Record& record) {
  if (record.stage == Stage::allocated && !record.instance.empty()) {
    record.instance_source = InstanceSource::allocation;
  } else {
    // It kept the name of a tenancy that was over: whose this is cannot be told.
    record.instance.clear();
    record.request_id.clear();
  }
}

}  // namespace

std::string_view to_string(Flow flow) {
  return kFlows[flow];
}

Result<Flow> parse_flow(std::string_view text) {
  if (const auto flow = kFlows.find(text)) return *flow;
  return Error{Errc::invalid, fmt::format("'{}' is not a flow; {} are", printable_excerpt(text),
                                          kFlows.list(" and "))};
}

std::string_view to_string(CleanStart start) {
  return kStarts[start];
}

Result<CleanStart> parse_clean_start(std::string_view text) {
  if (const auto start = kStarts.find(text)) return *start;
  return Error{Errc::invalid,
               fmt::format("'{}' is none of {}", printable_excerpt(text), kStarts.list(" and "))};
}

std::string_view to_string(InstanceSource source) {
  return kSources[source];
}

Result<InstanceSource> parse_instance_source(std::string_view text) {
  if (const auto source = kSources.find(text)) return *source;
  return Error{Errc::invalid,
               fmt::format("'{}' is none of {}", printable_excerpt(text), kSources.list(" and "))};
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Record> auto& record) {
  using enum field::Rule;
  visit("host", record.host);
  visit.text("address", record.address, parse_pci_address);
  visit("uuid", record.uuid);
  visit.text("flow", record.flow, parse_flow);
  visit("type", record.type, younger);
  visit("by_steps", record.by_steps, younger);
  visit("vendor_id", record.vendor_id);
  visit("product_id", record.product_id);
  visit("model", record.model);
  visit("serial", record.serial);
  visit("firmware", record.firmware);
  visit("capacity_bytes", record.capacity_bytes);
  visit("hardware", record.hardware, younger);
  visit("boot_id", record.boot_id, younger);
  visit("found_serial", record.found.serial, younger);
  visit("found_model", record.found.model, younger);
  visit("found_hardware", record.found.hardware, younger);
  visit.text("tags", record.tags, decode_words, younger, encode_words);
  visit.text("policies", record.policies, decode_words, younger, encode_words);
  visit("provider", record.provider);
  visit("provider_name", record.provider_name);
  visit("resource_class", record.resource_class);
  visit.derived("device_state", to_string(device_state(record.stage)));
  visit.text("stage", record.stage, parse_stage);
  visit("epoch", record.epoch);
  visit("created_at", record.created_at, younger);
  visit("stage_since", record.stage_since);
  visit("updated_at", record.updated_at);
  visit("held", record.held);
  visit("maintenance", record.maintenance);
  visit("waiting_for", record.waiting_for);
  visit("last_error", record.last_error);
  visit("instance", record.instance);
  visit.text("instance_source", record.instance_source, parse_instance_source, younger);
  visit("request_id", record.request_id);
  visit("tenancy_seen_at", record.tenancy_seen_at);
  visit("arq", record.arq, younger);
  visit("managed", record.managed, younger);
  visit("cyborg_status", record.cyborg_status, younger);
  visit.text("clean_start", record.clean_start, parse_clean_start, younger);
  visit.text("plan", record.plan, decode_plan, required, encode_plan);
  visit("step_index", record.step_index, younger);
  visit("clean_step", record.clean_step);
  visit.percent("progress", record.progress_percent);
  visit("progress_eta_s", record.progress_eta_s);
  visit("progress_message", record.progress_message, younger);
  visit("erases", record.erases);
  visit("attempts", record.attempts);
  visit("cleaning_started_at", record.cleaning_started_at);
  visit("erase_begun", record.erase_begun);
  visit("planned_stop", record.planned_stop);
  visit("cleaning_nonce", record.cleaning_nonce, younger);
  visit("baseline", record.baseline);
  visit("evidence", record.evidence);
  visit("verification", record.verification);
  visit("verified_at", record.verified_at);
  visit("findings", record.findings, younger);
  visit("enrolment", record.enrolment, younger);
  visit("accepted", record.accepted, younger);
  visit("certificate_id", record.certificate_id);
  visit("certificate_at", record.certificate_at);
  visit("certificate_pending", record.certificate_pending, younger);
  visit("certified_host_reads", record.certified_host_reads);
  visit("certified_host_writes", record.certified_host_writes);
}

Fields encode_record(const Record& record) {
  return field::to_texts(record);
}

Result<Record> decode_record(const Fields& fields) {
  Record record;
  field::TextReader reader(fields);
  visit_fields(reader, record);
  check(reader, fields, record);
  if (reader.problem()) return *reader.problem();
  if (!fields.contains("instance_source")) believe_older_tenancy(record);
  return record;
}

}  // namespace reclaim
