#include "handlers/conductor/audit_trail.h"

#include <fmt/core.h>

#include "handlers/conductor/why_reserved.h"

namespace reclaim {
namespace {

// Anybody on the bus, and every host by a kick, can say that an accelerator request binds a device
// for an instance that never was. Its word keeps the device; it is not sealed as a tenancy.
bool is_only_said(const Record& record) {
  return record.instance_source == InstanceSource::arq;
}

bool tenancy_begins(const Record& before, const Update& update) {
  if (update.only_said || is_only_said(update.record)) return false;
  if (is_shown_at_last(before, update.record)) return true;
  const Trigger on = update.row->on;
  if (!begins_tenancy(on) && on != Trigger::released_taken) return false;
  // A device in error is looked at again and again while an instance has it.
  return before.stage != Stage::error || before.instance != update.record.instance ||
         is_only_said(before) || before.tenancy_seen_at.ms == 0;
}

}  // namespace

AuditEntry audit_entry(AuditEvent event, const Record& record, std::string detail) {
  AuditEntry entry;
  entry.event = event;
  entry.host = record.host;
  entry.address = to_string(record.address);
  entry.serial = record.serial;
  if (!is_only_said(record)) entry.instance = record.instance;
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
  if (before.stage == Stage::allocated && !is_only_said(before) &&
      (after.stage != Stage::allocated || passed_on)) {
    entries.push_back(audit_entry(AuditEvent::tenancy_ended, before, why));
    entries.back().at = after.updated_at;
  }
  if (tenancy_begins(before, update)) {
    entries.push_back(audit_entry(AuditEvent::tenancy_seen, after, why));
  }
  if (is_offered_dirty(to_string(before.stage), to_string(on))) {
    entries.push_back(audit_entry(AuditEvent::released_elsewhere, after, why));
  }
  if (update.effect == EffectKind::reserve && why_reserved(on) == WhyReserved::offered) {
    entries.push_back(audit_entry(AuditEvent::reserved_again, after, why));
  }
  if (on == Trigger::operator_enrol) {
    entries.push_back(audit_entry(AuditEvent::enrolled, after,
                                  detail.empty() ? why : fmt::format("{}: {}", why, detail)));
  }
  if (on == Trigger::operator_retire) {
    entries.push_back(
        audit_entry(AuditEvent::retired, after, fmt::format("{}; {}", after.retired, detail)));
  }
  if (after.stage == Stage::error && before.stage != Stage::error) {
    entries.push_back(audit_entry(AuditEvent::quarantined, after, detail.empty() ? why : detail));
  }
  return entries;
}

}  // namespace reclaim
