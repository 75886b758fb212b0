#include "handlers/conductor/ledger_gate.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "state/ledger/trust.h"

namespace reclaim {
void LedgerGate::put(const PciAddress& address, LedgerEntry entry,
                     std::function<void(Status)> done) {
  const Device& device = context_.devices.at(address);
  if (device.persisted) entry.epoch = std::max(entry.epoch, device.record.epoch);
  context_.ports.ledger.put(address, entry, std::move(done));
}

LedgerEntry LedgerGate::dirty_entry(const Record& record, WallMs since) const {
  const LedgerEntry* known = context_.on_ledger(record.address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  const Device& device = context_.devices.at(record.address);
  // A record or line that was remembered may be of an earlier boot, and so may a tenancy that
  // nobody saw.
  const bool first_seen = known == nullptr && !device.persisted && !device.quarantined;
  if (first_seen) entry.first_boot_id = context_.options.boot_id;
  entry.dirty = true;
  entry.dirty_since = since;
  // A record that cannot be read does not say what kind of device it is of.
  if (!device.quarantined) entry.by_steps = record.by_steps;
  if (!record.serial.empty()) entry.serial = record.serial;
  if (!record.provider.empty()) entry.provider = record.provider;
  if (!record.boot_id.empty()) {
    entry.hardware = record.hardware;
    entry.boot_id = record.boot_id;
  }
  if (!record.enrolment.empty()) entry.enrolment = record.enrolment;
  return entry;
}

LedgerEntry LedgerGate::dirty_now(const Record& record) const {
  return dirty_entry(record,
                     std::max(context_.ports.clock.now().wall, WallMs{erased_at(record).ms + 1}));
}

// The ledger forgets a former baseline only together with a record that does: when enrolled. The
// record is being saved all the while.
void LedgerGate::mark_dirty_then(const PciAddress& address, const Record& record, Trigger on,
                                 std::function<void()> next) {
  const bool enrolled = on == Trigger::operator_enrol;
  const bool retired = on == Trigger::operator_retire;
  const LedgerEntry* known = context_.on_ledger(address);
  Line& line = lines_[address];
  // A line that an earlier release has not struck yet is older than its certificate, and would be
  // struck by it: new dirt needs a newer line. So does each tenancy, for Redis may lose the record
  // that tells it.
  const bool stands =
      known != nullptr && line.dirty_durable && is_dirty_since(*known, record.certificate_at);
  if (!enrolled && !retired && !begins_tenancy(on) && stands) return next();
  // An erase that may be running still is one of the drive that is retired.
  LedgerEntry entry = retired && stands ? *known : dirty_now(record);
  if (retired) entry.retired = record.retired;
  // Another tenant's data, or another drive: nothing that was begun before is this drive's erase.
  if (enrolled || begins_tenancy(on)) {
    entry.cleaning = CleaningOnLedger{};
    entry.accepted = enrolled;
  }
  if (enrolled) {
    entry.enrolled_serial = entry.serial = record.serial;
    entry.enrolment.clear();
    entry.certificate_id.clear();
    entry.retired.clear();
    forget_retirement(address, record.serial);
  }
  const auto answered = [this, address, record, on, next,
                         strikes = line.strikes](const Status& kept) {
    if (kept) {
      Line& now = lines_[address];
      now.dirty_durable = now.strikes == strikes;
      return next();
    }
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: the ledger cannot be written, nothing is done with it",
                    to_string(address)),
        {{"why", kept.error().what}});
    context_.ports.timers.after(context_.backoff(address),
                                context_.stopping.unless_begun([this, address, record, on, next] {
                                  mark_dirty_then(address, record, on, next);
                                }));
  };
  put(address, entry, context_.stopping.unless_begun(answered));
}

// Strikes the retirement of a drive that an operator enrols elsewhere. The lines are written in the
// order asked for: the enrolment's own comes after these.
void LedgerGate::forget_retirement(const PciAddress& enrolled_at, const std::string& serial) {
  std::vector<PciAddress> retired_at;
  for (const auto& [address, entry] : context_.ports.ledger.entries()) {
    const bool is_the_drive = !serial.empty() && serial_of(entry) == serial;
    if (address != enrolled_at && is_the_drive && !entry.retired.empty()) {
      retired_at.push_back(address);
    }
  }
  for (const PciAddress& address : retired_at) {
    LedgerEntry entry = *context_.on_ledger(address);
    entry.retired.clear();
    context_.ports.ledger.put(address, entry, [](const Status& /*kept*/) {});
  }
}

// Somebody may have had what was on offer, and what we reserve is not an operator's hold. Once it
// is reserved nobody sees that any more, so the ledger knows it first. If the ledger cannot be
// written the device is reserved all the same.
void LedgerGate::note_offered(const PciAddress& address, std::function<void()> next) {
  const Record& record = context_.record_of(address);
  const LedgerEntry* line = context_.on_ledger(address);
  WallMs known_since;
  WallMs since = std::max(context_.ports.clock.now().wall, WallMs{erased_at(record).ms + 1});
  if (line != nullptr) {
    if (line->dirty && is_dirty_durable(address)) known_since = line->dirty_since;
    since =
        std::max({since, WallMs{line->dirty_since.ms + 1}, WallMs{line->certificate_at.ms + 1}});
  }
  const bool known = known_since > record.certificate_at &&
                     (!record.erase_begun || known_since > record.cleaning_started_at);
  if (is_busy(record.stage) || known || !context_.stays_ours(address)) return next();
  const auto answered = [this, address, next = std::move(next),
                         strikes = lines_[address].strikes](const Status& kept) {
    set_dirty_durable(address, kept.ok() && lines_[address].strikes == strikes);
    if (!kept) {
      context_.ports.log.error(
          log_name::kConductor,
          fmt::format("{}: the ledger cannot be written, it is reserved all the same",
                      to_string(address)),
          {{"why", kept.error().what}});
    }
    next();
  };
  put(address, dirty_entry(record, since), context_.stopping.unless_begun(answered));
}

void LedgerGate::strike(const PciAddress& address, const std::string& certificate_id) {
  const Record& record = context_.record_of(address);
  const LedgerEntry* known = context_.on_ledger(address);
  if (record.stage != Stage::available || record.certificate_id != certificate_id ||
      known == nullptr) {
    return;
  }
  // Newer dirt than the certificate's: a tenancy whose record Redis has lost.
  if (is_dirty_since(*known, record.certificate_at)) return;
  // The change that is being recorded now may be the next tenancy: its dirt must stay remembered.
  const Device& device = context_.devices.at(address);
  if (device.saving || !device.inbox.empty()) return strike_later(address, certificate_id);
  LedgerEntry entry = *known;
  entry.dirty = false;
  entry.error = false;
  entry.serial = record.serial;
  entry.provider = record.provider;
  entry.enrolment = record.enrolment;
  entry.hardware = record.hardware;
  entry.boot_id = record.boot_id;
  entry.first_boot_id.clear();
  entry.certificate_id = record.certificate_id;
  entry.certificate_at = record.certificate_at;
  entry.host_reads = record.certified_host_reads;
  entry.host_writes = record.certified_host_writes;
  entry.rest = record.rest;
  entry.handed_over = record.handed_over;
  entry.accepted = false;
  entry.cleaning = CleaningOnLedger{};
  entry.certificate_pending.clear();
  Line& line = lines_[address];
  line.dirty_durable = false;
  line.strikes += 1;
  const auto answered = [this, address, certificate_id](const Status& struck) {
    if (struck) return;
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: its ledger line cannot be struck, trying again", to_string(address)),
        {{"why", struck.error().what}});
    strike_later(address, certificate_id);
  };
  put(address, entry, context_.stopping.unless_begun(answered));
}

void LedgerGate::let_go(const PciAddress& address, std::function<void()> next) {
  const LedgerEntry* known = context_.on_ledger(address);
  LedgerEntry entry;
  if (known != nullptr) entry.ordered_at = known->ordered_at;
  Line& line = lines_[address];
  line.dirty_durable = false;
  line.strikes += 1;
  const auto answered = [this, address, next = std::move(next)](const Status& kept) {
    if (kept) return next();
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: its ledger line cannot be struck, trying again", to_string(address)),
        {{"why", kept.error().what}});
    context_.ports.timers.after(
        context_.backoff(address),
        context_.stopping.unless_begun([this, address, next] { let_go(address, next); }));
  };
  put(address, entry, context_.stopping.unless_begun(answered));
}

void LedgerGate::strike_later(const PciAddress& address, const std::string& certificate_id) {
  context_.ports.timers.after(context_.backoff(address),
                              context_.stopping.unless_begun([this, address, certificate_id] {
                                strike(address, certificate_id);
                              }));
}

bool LedgerGate::is_dirty_durable(const PciAddress& address) const {
  const auto line = lines_.find(address);
  return line != lines_.end() && line->second.dirty_durable;
}

}  // namespace reclaim
