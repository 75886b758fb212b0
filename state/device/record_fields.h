// What a record tells of itself (state/base/fields.h): for what writes it, reads it, and shows it.
#pragma once

#include "state/base/fields.h"
#include "state/device/record.h"

namespace reclaim {

// Those of a cleaning, from what begins it to what certifies it.
template <typename Visit>
void visit_cleaning_fields(Visit& visit, field::Of<Record> auto& record) {
  using enum field::Rule;
  visit.text("clean_start", record.clean_start, parse_clean_start, younger);
  visit.text("plan", record.plan, decode_plan, required, encode_plan);
  visit.text("steps_offered", record.steps_offered, decode_plan, younger, encode_plan);
  visit.text("steps_ordered", record.steps_ordered, decode_plan, younger, encode_plan);
  visit("step_index", record.step_index, younger);
  visit("clean_step", record.clean_step);
  visit.percent("progress", record.progress_percent);
  visit("progress_eta_s", record.progress_eta_s);
  visit("progress_message", record.progress_message, younger);
  visit("erases", record.erases);
  visit("attempts", record.attempts);
  visit("cleaning_started_at", record.cleaning_started_at);
  visit.text("timeline", record.timeline, decode_timeline, younger, encode_timeline);
  visit("erase_begun", record.erase_begun);
  visit("planned_stop", record.planned_stop);
  visit("cleaning_nonce", record.cleaning_nonce, younger);
  visit("baseline", record.baseline);
  visit("evidence", record.evidence);
  visit("verification", record.verification);
  visit("verified_at", record.verified_at);
  visit("release_generation", record.release_generation, younger);
  visit("findings", record.findings, younger);
  visit("enrolment", record.enrolment, younger);
  visit("accepted", record.accepted, younger);
  visit("certificate_id", record.certificate_id);
  visit("certificate_at", record.certificate_at);
  visit("certificate_pending", record.certificate_pending, younger);
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
  visit("mac_address", record.mac, younger);
  visit.text("tags", record.tags, decode_words, younger, encode_words);
  visit.text("policies", record.policies, decode_words, younger, encode_words);
  visit("provider", record.provider);
  visit("provider_name", record.provider_name);
  visit("resource_class", record.resource_class);
  visit("rest_provider", record.rest.provider, younger);
  visit("rest_generation", record.rest.generation, younger);
  visit("rest_reserved", record.rest.reserved, younger);
  visit("rest_unburned", record.rest.unburned, younger);
  visit.derived("device_state", to_string(device_state(record.stage)));
  visit.text("stage", record.stage, parse_stage);
  visit("epoch", record.epoch);
  visit("created_at", record.created_at, younger);
  visit("stage_since", record.stage_since);
  visit("updated_at", record.updated_at);
  visit("held", record.held);
  visit("maintenance", record.maintenance);
  visit("retired", record.retired, younger);
  visit("handed_over", record.handed_over, younger);
  visit("waiting_for", record.waiting_for);
  visit("last_error", record.last_error);
  visit("instance", record.instance);
  visit.text("instance_source", record.instance_source, parse_instance_source, younger);
  visit("migration", record.migration, younger);
  visit("project", record.project, younger);
  visit("user", record.user, younger);
  visit("unseen_from", record.unseen.from, younger);
  visit("unseen_until", record.unseen.until, younger);
  visit.text("heard", record.heard, decode_words, younger, encode_words);
  visit("request_id", record.request_id);
  visit("tenancy_seen_at", record.tenancy_seen_at);
  visit("arq", record.arq, younger);
  visit("managed", record.managed, younger);
  visit("cyborg_status", record.cyborg_status, younger);
  visit("cyborg_uuid", record.cyborg_uuid, younger);
  visit_cleaning_fields(visit, record);
}

}  // namespace reclaim
