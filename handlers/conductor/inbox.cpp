// The conductor's inbox: one event at a time through the reducer, its record made durable, and only
// then the effect carried out. What happens when the record cannot be written is here too.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/conductor.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::int64_t kLookAgainMs = 1'000;  // something moved: a survey tells what
constexpr std::int64_t kGuardsAgainMs = 2'500;
constexpr std::uint32_t kWaitsDoubledMax = 8;

bool wants_ledger_line(const Record& record) {
  return record.stage != Stage::available && record.cleanable();
}

bool is_said_once(std::string_view trigger) {
  return trigger.starts_with("operator_") || trigger.starts_with("restarted_");
}

// These begin something; the others end it.
bool goes_on(EffectKind effect) {
  return effect != EffectKind::none && effect != EffectKind::drop && effect != EffectKind::finish &&
         effect != EffectKind::reserve;
}

}  // namespace

void Conductor::post(const PciAddress& address, Event event) {
  Device* device = find(address);
  if (device == nullptr || device->quarantined || stopping_) return;
  // What ends a cleaning from outside stops the drive's lane at once, not only when it is recorded.
  const Row* row = find_row(device->record.stage, event.trigger);
  if (event.epoch == 0 && row != nullptr && row->effect == EffectKind::drop) {
    ports_.drives.stop(address);
  }
  device->inbox.push_back(std::move(event));
  pump(address);
}

// An order "clean" from before the device was given back. A device in the pool is cleaned only
// while it is reserved and the reason is unknown.
bool Conductor::is_over(const Device& device, const Event& event) {
  return event.trigger == Trigger::operator_clean && device.record.stage == Stage::available &&
         !device.unsure;
}

void Conductor::pump(const PciAddress& address) {
  Device& device = devices_.at(address);
  while (!device.saving && !device.inbox.empty() && !stopping_) {
    const Event event = std::move(device.inbox.front());
    device.inbox.pop_front();
    if (is_over(device, event)) {
      ports_.log.warning(kLog,
                         fmt::format("{}: 'clean' was ordered before it was given back: it is "
                                     "available, and nothing is done",
                                     to_string(address)));
      continue;
    }
    auto update = step(device.record, event, ports_.clock.now().wall);
    if (!update) {
      counters_.stale_events += 1;
      ports_.log.debug(kLog, fmt::format("{}: {} means nothing in {}", to_string(address),
                                         to_string(event.trigger), to_string(device.record.stage)));
      continue;
    }
    certificates_.forget_kept(update->record);
    update->record.found = device.found;
    if (update->effect == EffectKind::finish) {
      // Written before the release was asked for.
      const LedgerEntry* known = context_.on_ledger(address);
      CHECK(known != nullptr);
      update->record.certificate_pending = known->certificate_pending;
      forget_tenancy(update->record);
    }
    JournalEntry entry{to_string(address),
                       std::string(to_string(device.record.stage)),
                       std::string(to_string(event.trigger)),
                       std::string(to_string(update->record.stage)),
                       std::string(update->row->why),
                       event.facts.detail,
                       update->record.updated_at};
    const auto persist = [this, address, update = *update, entry, before = device.record,
                          detail = event.facts.detail] {
      save(address, update.record, entry, [this, address, update, before, detail] {
        transitioned(address, before, update, detail);
      });
    };
    begin_save(device);
    device.in_work = event;
    device.unsaved = update->record;
    if (wants_ledger_line(update->record)) {
      ledger_.mark_dirty_then(address, update->record, event.trigger, persist);
    } else {
      persist();
    }
  }
  if (!device.saving) settle_certificate(address);
  if (!device.saving) settle_maintenance(address);
}

// Whether the ledger lacked the line of a dirty device, or has an older one than what may have come
// since: nothing else that moves would write it again.
bool Conductor::write_missing_line(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (device.record.stage == Stage::available || !device.record.cleanable() ||
      ledger_.is_dirty_durable(address) || device.saving) {
    return false;
  }
  begin_save(device);
  ledger_.mark_dirty_then(address, device.record, Trigger::dirty_seen, [this, address] {
    settle_save(devices_.at(address));
    pump(address);
  });
  return true;
}

void Conductor::save_note(const Record& noted, std::string trigger, std::string why,
                          std::string detail, std::function<void()> saved) {
  Record next = noted;
  next.epoch += 1;
  next.updated_at = ports_.clock.now().wall;
  const std::string stage(to_string(next.stage));
  JournalEntry entry{
      to_string(next.address), stage,          std::move(trigger), stage, std::move(why),
      std::move(detail),       next.updated_at};
  save(noted.address, std::move(next), std::move(entry), std::move(saved));
}

void Conductor::save(const PciAddress& address, Record next, JournalEntry entry,
                     std::function<void()> saved) {
  Device& device = devices_.at(address);
  begin_save(device);
  device.unsaved = next;
  const LockToken lock = locks_.of(address);
  ports_.store.save(next, lock, entry, [this, address, next, entry, saved](Result<Ok> result) {
    if (stopping_) return;
    if (!result) return save_failed(address, next, entry, result.error(), saved);
    Device& now = devices_.at(address);
    settle_save(now);
    now.persisted = true;
    now.retry_ms = 0;
    now.record = next;
    saved();
    pump(address);
    if (std::exchange(now.look_again, false)) want_survey(kLookAgainMs);
  });
}

void Conductor::save_failed(const PciAddress& address, Record next, JournalEntry entry,
                            const Error& error, std::function<void()> saved) {
  Device& device = devices_.at(address);
  if (error.code == Errc::conflict) return settle_conflict(address, next, entry, saved);
  const bool told = is_said_once(entry.trigger) || entry.trigger.starts_with("maintenance_") ||
                    entry.trigger.starts_with("certificate_");
  device.may_be_saved = device.may_be_saved || error.code == Errc::unknown;
  if (!is_busy(device.record.stage) && !device.may_be_saved && !told) {
    // Nothing is under way: the next survey finds the same again. An operator says it only once,
    // and a start comes only once.
    settle_save(device);
    std::erase_if(device.inbox,
                  [](const Event& event) { return !is_said_once(to_string(event.trigger)); });
    ports_.log.warning(kLog, fmt::format("{}: the record cannot be written", to_string(address)),
                       {{"why", error.what}});
    return pump(address);
  }
  // Persist first, then act: until the record is durable nothing more is done.
  ports_.log.warning(
      kLog, fmt::format("{}: the record cannot be written, trying again", to_string(address)),
      {{"why", error.what}});
  ports_.timers.after(backoff(address), [this, address, next, entry, saved] {
    if (!stopping_) save(address, next, entry, saved);
  });
}

// Our write landed although the answer was lost; or the lock expired while Redis was away; or
// somebody else wrote. Only reading tells.
void Conductor::settle_conflict(const PciAddress& address, Record next, JournalEntry entry,
                                std::function<void()> saved) {
  ports_.store.load(
      options_.host, [this, address, next, entry, saved](Result<std::vector<Record>> records) {
        if (stopping_) return;
        Device& device = devices_.at(address);
        if (!records) return settle_later(address, next, entry, saved);
        const auto stored = std::find_if(records->begin(), records->end(),
                                         [&](const Record& r) { return r.address == address; });
        const bool readable = stored != records->end() && stored->damage.empty();
        if (readable && same_but_progress(*stored, next)) {
          settle_save(device);
          device.persisted = true;
          device.record = next;
          saved();
          return pump(address);
        }
        if (stored != records->end() && (!readable || stored->epoch >= next.epoch)) {
          return overwrite(address, *stored, next, entry, saved);
        }
        // One that is not listed is not loaded: whatever refuses ours is in the way, unseen.
        if (stored == records->end()) {
          ports_.store.discard(options_.host, address, [](Result<Ok> /*discarded*/) {});
        }
        // Who writes as fast as we do is not to keep the two of us busy.
        ports_.timers.after(backoff(address), [this, address, next, entry, saved] {
          if (!stopping_) save_again(address, next, entry, saved);
        });
      });
}

void Conductor::save_again(const PciAddress& address, Record next, JournalEntry entry,
                           std::function<void()> saved) {
  if (!is_busy(devices_.at(address).record.stage)) return save(address, next, entry, saved);
  locks_.reacquire(address, [this, address, next, entry, saved](bool ours) {
    if (ours) return save(address, next, entry, saved);
    lose_lock(address);
  });
}

// Another holder has the lock, and what was being saved is not: its event comes again after this.
void Conductor::lose_lock(const PciAddress& address) {
  Device& device = devices_.at(address);
  locks_.lose(address);
  if (device.in_work && device.in_work->epoch == 0) device.inbox.push_front(*device.in_work);
  device.inbox.push_front(Event{Trigger::lock_lost, 0, {}});
  settle_save(device);
  pump(address);
}

void Conductor::begin_save(Device& device) const {
  if (!device.saving) device.saving_since = ports_.clock.now().mono;
  device.saving = true;
}

void Conductor::settle_save(Device& device) {
  device.saving = device.may_be_saved = false;
  device.in_work.reset();
  device.unsaved.reset();
}

void Conductor::settle_later(const PciAddress& address, Record next, JournalEntry entry,
                             std::function<void()> saved) {
  ports_.timers.after(backoff(address), [this, address, next, entry, saved] {
    if (!stopping_) settle_conflict(address, next, entry, saved);
  });
}

// A worker that died since, or somebody else, wrote the record. What this one knows comes from the
// drive, Placement and its ledger: it is never given up for what Redis says.
void Conductor::overwrite(const PciAddress& address, const Record& stored, Record next,
                          JournalEntry entry, std::function<void()> saved) {
  ports_.log.error(kLog, fmt::format("{}: somebody else wrote its record in Redis: it is not taken "
                                     "over but written again; find out who has this Redis's "
                                     "password",
                                     to_string(address)));
  // In one step, so that no crash finds no record at all.
  if (is_of_this_host(stored)) {
    next.epoch = stored.epoch + 1;
    return save(address, next, entry, saved);
  }
  ports_.store.discard(options_.host, address,
                       [this, address, next, entry, saved](Result<Ok> discarded) {
                         if (stopping_) return;
                         if (!discarded) return settle_later(address, next, entry, saved);
                         save(address, next, entry, saved);
                       });
}

void Conductor::transitioned(const PciAddress& address, const Record& before, const Update& update,
                             const std::string& detail) {
  counters_.transitions += 1;
  devices_.at(address).admitting = devices_.at(address).unsure = false;
  watch_.attend();
  const Record& record = update.record;
  const std::string line =
      fmt::format("{} {} -> {} ({}): {}{}{}", to_string(address), to_string(before.stage),
                  to_string(record.stage), to_string(update.row->on), update.row->why,
                  detail.empty() ? "" : "; ", detail);
  const bool bad = record.stage == Stage::error || update.row->on == Trigger::policy_unsatisfied;
  ports_.log.write(bad ? LogLevel::error : LogLevel::info, kLog, line,
                   {{"request_id", record.request_id}, {"instance", record.instance}});
  if ((record.stage == Stage::error) != (before.stage == Stage::error)) {
    if (record.stage == Stage::error) counters_.errors += 1;
    LedgerEntry entry = ports_.ledger.entries().at(address);
    entry.error = record.stage == Stage::error;
    if (!record.serial.empty() && entry.enrolled_serial.empty()) entry.serial = record.serial;
    ledger_.put(address, entry, [this](Status kept) {
      if (!kept)
        ports_.log.error(kLog, "the ledger cannot be written", {{"why", kept.error().what}});
    });
  }
  if (update.row->on == Trigger::released || update.row->on == Trigger::released_taken) {
    arqs_.bury(address, record.provider, std::exchange(devices_.at(address).arqs_over, {}));
    save_arqs();
  }
  audit(address, audit_of(before, update, detail));
  // A restart's error is owed by what it found being released, and by nothing after that.
  const bool interrupted = before.stage == Stage::confirming && devices_.at(address).interrupted;
  if (record.stage != Stage::releasing && record.stage != Stage::confirming) {
    devices_.at(address).interrupted = false;
  }
  // Whoever waits in the inbox to end the cleaning goes first: nothing more is begun.
  if (!goes_on(update.effect) || !ends_are_waiting(address)) carry_out(address, update.effect);
  if (record.stage == Stage::pending_cleaning) {
    if (before.stage == Stage::available || before.stage == Stage::allocated) {
      schedule_.settle(record.instance);
      try_admit(address);
      if (update.row->on == Trigger::unregistered_seen) want_survey(kLookAgainMs);
    } else if (before.stage == Stage::error || update.row->on == Trigger::operator_enrol) {
      want_survey(0);
    } else if (update.row->on == Trigger::guards_wait || update.row->on == Trigger::lock_refused) {
      // libvirt and udev take their seconds; what lasts longer is looked at less and less often.
      const auto waits = static_cast<std::int64_t>(std::min(record.attempts, kWaitsDoubledMax));
      want_survey(std::min(kGuardsAgainMs << waits, options_.survey_interval_ms));
    } else if (interrupted) {
      // It was interrupted, and what it was interrupted in did not happen.
      post(address, Event{Trigger::restarted_error, 0, {}});
    } else if (update.row->on == Trigger::look_changed ||
               update.row->on == Trigger::placement_changed ||
               update.row->on == Trigger::restarted_resume) {
      want_survey(kLookAgainMs);
    }
  }
}

// The chain takes them in the background; what it cannot take is said, and holds up nothing.
void Conductor::audit(const PciAddress& address, const std::vector<AuditEntry>& entries) {
  std::string told;
  for (const AuditEntry& entry : entries) {
    told += fmt::format("{} {}; ", to_string(entry.event), entry.instance);
  }
  if (told.empty() || std::exchange(devices_.at(address).audit_told, told) == told) return;
  for (const AuditEntry& entry : entries) {
    ports_.ledger.keep_audit(entry, [this, address, event = entry.event](Status kept) {
      if (!kept) {
        ports_.log.error(kLog,
                         fmt::format("{}: the audit journal lacks that it is {}",
                                     to_string(address), to_string(event)),
                         {{"why", kept.error().what}});
      }
    });
  }
}

bool Conductor::ends_are_waiting(const PciAddress& address) const {
  const Device& device = devices_.at(address);
  return std::any_of(device.inbox.begin(), device.inbox.end(), [&device](const Event& event) {
    const Row* row = find_row(device.record.stage, event.trigger);
    return event.epoch == 0 && row != nullptr &&
           (row->effect == EffectKind::drop || row->on == Trigger::lock_lost);
  });
}

std::int64_t Conductor::backoff(const PciAddress& address) {
  Device& device = devices_.at(address);
  device.retry_ms = std::clamp(device.retry_ms * 2, options_.retry_min_ms, options_.retry_max_ms);
  return device.retry_ms;
}

}  // namespace reclaim
