#include "handlers/conductor/inbox.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace reclaim {
namespace {

bool wants_ledger_line(const Record& record) {
  return record.stage != Stage::available && record.cleanable();
}

}  // namespace

void Inbox::post(const PciAddress& address, Event event) {
  const auto found = devices_.find(address);
  if (found == devices_.end() || found->second.quarantined || context_.stopping) return;
  Device& device = found->second;
  // An event that ends a cleaning from outside stops the drive's thread at once, not only when it
  // is recorded.
  const Row* row = find_row(device.record.stage, event.trigger);
  if (event.epoch == 0 && row != nullptr && row->effect == EffectKind::drop) {
    context_.ports.drives.stop(address);
  }
  device.inbox.push_back(std::move(event));
  pump(address);
}

void Inbox::pump(const PciAddress& address) {
  Device& device = devices_.at(address);
  while (!device.saving && !device.inbox.empty() && !context_.stopping) {
    Event event = std::move(device.inbox.front());
    device.inbox.pop_front();
    if (hooks_.is_over(address, event)) {
      context_.ports.log.warning(
          log_name::kConductor,
          fmt::format("{}: 'clean' was ordered before it was given back: it is "
                      "available, and nothing is done",
                      to_string(address)));
      continue;
    }
    hooks_.add_heard(address, event);
    auto update = step(device.record, event, context_.ports.clock.now().wall);
    if (!update) {
      stale_events_ += 1;
      context_.ports.log.debug(
          log_name::kConductor,
          fmt::format("{}: {} means nothing in {}", to_string(address), to_string(event.trigger),
                      to_string(device.record.stage)));
      continue;
    }
    certificates_.forget_kept(update->record);
    update->record.found = device.found;
    if (update->effect == EffectKind::finish || update->effect == EffectKind::certify) {
      // Written before the release was asked for, or the drive was found unfit.
      const LedgerEntry* known = context_.on_ledger(address);
      CHECK(known != nullptr);
      update->record.certificate_pending = known->certificate_pending;
    }
    // A tenancy that the record has after a release that nobody saw is the next one.
    if (update->effect == EffectKind::finish && event.trigger != Trigger::released_unseen) {
      forget_tenancy(update->record);
    }
    JournalEntry entry{to_string(address),
                       std::string(to_string(device.record.stage)),
                       std::string(to_string(event.trigger)),
                       std::string(to_string(update->record.stage)),
                       std::string(update->row->why),
                       event.facts.detail,
                       update->record.updated_at};
    RecordChange change{
        update->record, entry,
        is_said_once(event.trigger) ? IfUnsaved::try_again : IfUnsaved::given_up,
        [this, address, update = *update, before = device.record, detail = event.facts.detail] {
          hooks_.transitioned(address, before, update, detail);
        }};
    const auto persist = [this, address, change] { writer_.save(address, change); };
    writer_.hold(address);
    device.in_work = event;
    device.unsaved = update->record;
    if (wants_ledger_line(update->record)) {
      ledger_.mark_dirty_then(address, update->record, event.trigger, persist);
    } else {
      persist();
    }
  }
  hooks_.at_rest(address);
}

bool Inbox::write_missing_line(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (device.record.stage == Stage::available || !device.record.cleanable() ||
      ledger_.is_dirty_durable(address) || device.saving) {
    return false;
  }
  writer_.hold(address);
  ledger_.mark_dirty_then(address, device.record, Trigger::dirty_seen, [this, address] {
    writer_.let_go(address);
    pump(address);
  });
  return true;
}

bool Inbox::ends_are_waiting(const PciAddress& address) const {
  const Device& device = devices_.at(address);
  return std::any_of(device.inbox.begin(), device.inbox.end(), [&device](const Event& event) {
    const Row* row = find_row(device.record.stage, event.trigger);
    return event.epoch == 0 && row != nullptr &&
           (row->effect == EffectKind::drop || row->on == Trigger::lock_lost);
  });
}

}  // namespace reclaim
