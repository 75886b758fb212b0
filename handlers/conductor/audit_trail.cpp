#include "handlers/conductor/audit_trail.h"

namespace reclaim {
namespace {

bool tenancy_begins(const Record& before, const Update& update) {
  const Trigger on = update.row->on;
  if (!begins_tenancy(on) && on != Trigger::released_taken) return false;
  // What is in error is looked at again and again while an instance has it.
  return before.stage != Stage::error || before.instance != update.record.instance ||
         before.tenancy_seen_at.ms == 0;
}

}  // namespace

AuditEntry audit_entry(AuditEvent event, const Record& record, std::string detail) {
  AuditEntry entry;
  entry.event = event;
  entry.host = record.host;
  entry.address = to_string(record.address);
  entry.serial = record.serial;
  entry.instance = record.instance;
  entry.project = record.project;
  entry.user = record.user;
  entry.migration = record.migration;
  entry.detail = std::move(detail);
  entry.at = record.updated_at;
  return entry;
}

std::vector<AuditEntry> audit_of(const Record& before, const Update& update,
                                 const std::string& detail) {
  std::vector<AuditEntry> entries;
  const Record& after = update.record;
  if (!after.cleanable()) return entries;
  const std::string why(update.row->why);
  const Trigger on = update.row->on;
  const bool passed_on = on == Trigger::passed_on;
  if (before.stage == Stage::allocated && (after.stage != Stage::allocated || passed_on)) {
    entries.push_back(audit_entry(AuditEvent::tenancy_ended, before, why));
    entries.back().at = after.updated_at;
  }
  if (tenancy_begins(before, update)) {
    entries.push_back(audit_entry(AuditEvent::tenancy_seen, after, why));
  }
  if (on == Trigger::reserved_dropped && before.stage != Stage::available) {
    entries.push_back(audit_entry(AuditEvent::released_elsewhere, after, why));
  }
  if (update.effect == EffectKind::reserve) {
    entries.push_back(audit_entry(AuditEvent::reserved_again, after, why));
  }
  if (on == Trigger::operator_enrol) {
    entries.push_back(audit_entry(AuditEvent::enrolled, after, why));
  }
  if (after.stage == Stage::error && before.stage != Stage::error) {
    entries.push_back(audit_entry(AuditEvent::quarantined, after, detail.empty() ? why : detail));
  }
  return entries;
}

}  // namespace reclaim
