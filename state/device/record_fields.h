// Names the fields of a record (state/base/fields.h): for what writes it, reads it, and shows it.
#pragma once

#include "state/base/fields.h"
#include "state/device/record.h"

namespace reclaim {

// The fields of a cleaning, from what begins it to what certifies it.
template <typename Visit>
void visit_cleaning_fields(Visit& visit, field::Of<Record> auto& record) {
  using enum field::Rule;
  visit.text("clean_start", record.clean_start, parse_clean_start);
  visit.text("plan", record.plan, decode_plan, required, encode_plan);
  visit.text("steps_offered", record.steps_offered, decode_plan, required, encode_plan);
  visit.text("steps_ordered", record.steps_ordered, decode_plan, required, encode_plan);
  visit("step_index", record.step_index);
  visit("clean_step", record.clean_step);
  visit.percent("progress", record.progress_percent);
  visit("progress_eta_s", record.progress_eta_s);
  visit("progress_message", record.progress_message);
  visit("erases", record.erases);
  visit("attempts", record.attempts);
  visit("cleaning_started_at", record.cleaning_started_at);
  visit.text("timeline", record.timeline, decode_timeline, required, encode_timeline);
  visit("erase_begun", record.erase_begun);
  visit("planned_stop", record.planned_stop);
  visit("cleaning_nonce", record.cleaning_nonce);
  visit("baseline", record.baseline);
  visit("evidence", record.evidence);
  visit("verification", record.verification);
  visit("verified_at", record.verified_at);
  visit("release_generation", record.release_generation);
  visit("findings", record.findings);
  visit("enrolment", record.enrolment);
  visit("accepted", record.accepted);
  visit("certificate_id", record.certificate_id);
  visit("certificate_at", record.certificate_at);
  visit("certificate_pending", record.certificate_pending);
  visit("certified_host_reads", record.certified_host_reads);
  visit("certified_host_writes", record.certified_host_writes);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Record> auto& record) {
  using enum field::Rule;
  visit("host", record.host);
  visit.text("address", record.address, parse_pci_address);
  visit("uuid", record.uuid);
  visit.text("flow", record.flow, parse_flow);
  visit("type", record.type);
  visit("by_steps", record.by_steps);
  visit("vendor_id", record.vendor_id);
  visit("product_id", record.product_id);
  visit("model", record.model);
  visit("serial", record.serial);
  visit("firmware", record.firmware);
  visit("capacity_bytes", record.capacity_bytes);
  visit("hardware", record.hardware);
  visit("boot_id", record.boot_id);
  visit("found_serial", record.found.serial);
  visit("found_model", record.found.model);
  visit("found_hardware", record.found.hardware);
  visit("mac_address", record.mac);
  visit.text("tags", record.tags, decode_words, required, encode_words);
  visit.text("policies", record.policies, decode_words, required, encode_words);
  visit("provider", record.provider);
  visit("provider_name", record.provider_name);
  visit("resource_class", record.resource_class);
  visit("rest_provider", record.rest.provider);
  visit("rest_generation", record.rest.generation);
  visit("rest_reserved", record.rest.reserved);
  visit("rest_unburned", record.rest.unburned);
  visit.derived("device_state", to_string(device_state(record.stage)));
  visit.text("stage", record.stage, parse_stage);
  visit("epoch", record.epoch);
  visit("created_at", record.created_at);
  visit("stage_since", record.stage_since);
  visit("updated_at", record.updated_at);
  visit("held", record.held);
  visit("maintenance", record.maintenance);
  visit("retired", record.retired);
  visit("handed_over", record.handed_over);
  visit("waiting_for", record.waiting_for);
  visit("last_error", record.last_error);
  visit("instance", record.instance);
  visit.text("instance_source", record.instance_source, parse_instance_source);
  visit("migration", record.migration);
  visit("project", record.project);
  visit("user", record.user);
  visit("unseen_from", record.unseen.from);
  visit("unseen_until", record.unseen.until);
  visit.text("heard", record.heard, decode_words, required, encode_words);
  visit("request_id", record.request_id);
  visit("tenancy_seen_at", record.tenancy_seen_at);
  visit("arq", record.arq);
  visit("managed", record.managed);
  visit("cyborg_status", record.cyborg_status);
  visit("cyborg_uuid", record.cyborg_uuid);
  visit_cleaning_fields(visit, record);
}

}  // namespace reclaim
