#include "handlers/conductor/record_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/error_facts.h"
#include "state/base/check.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

// True if the change says of Placement what was read right before, and is old by the next try.
bool is_dated(const RecordChange& change) {
  return change.entry.trigger == to_string(Trigger::handed_over);
}

}  // namespace

void RecordWriter::save_note(const Record& noted, std::string trigger, std::string why,
                             std::string detail, IfUnsaved if_unsaved,
                             std::function<void()> saved) {
  // A note is not written over a decision that is being written.
  const auto& decided = devices_.at(noted.address).unsaved;
  CHECK(!decided || *decided == noted);
  Record next = noted;
  next.epoch += 1;
  next.updated_at = context_.ports.clock.now().wall;
  const std::string stage(to_string(next.stage));
  JournalEntry entry{
      to_string(next.address), stage,          std::move(trigger), stage, std::move(why),
      std::move(detail),       next.updated_at};
  save(noted.address, {std::move(next), std::move(entry), if_unsaved, std::move(saved)});
}

void RecordWriter::save(const PciAddress& address, RecordChange change) {
  decide(address, change.next);
  const auto answered = [this, address, change](Result<Ok> result) {
    if (context_.stopping) return;
    if (!result) return save_failed(address, change, result.error());
    Device& now = devices_.at(address);
    let_go(address);
    now.persisted = true;
    now.retry_ms = 0;
    now.record = change.next;
    change.saved();
    settled_(address);
    if (std::exchange(now.look_again, false)) context_.want_survey(kLookAgainMs);
  };
  context_.ports.store.save(change.next, locks_.of(address), change.entry, answered);
}

void RecordWriter::save_failed(const PciAddress& address, RecordChange change, const Error& error) {
  Device& device = devices_.at(address);
  if (error.code == Errc::conflict) return settle_conflict(address, change);
  device.may_be_saved = device.may_be_saved || error.code == Errc::unknown;
  if (is_dated(change)) {
    if (device.may_be_saved) return settle_later(address, std::move(change));
    return decide_again(address, error.what);
  }
  if (!is_busy(device.record.stage) && !device.may_be_saved &&
      change.if_unsaved == IfUnsaved::given_up) {
    // Nothing is under way: the next survey finds the same again. An operator says it only once,
    // and a start comes only once.
    let_go(address);
    std::erase_if(device.inbox, [](const Event& event) { return !is_said_once(event.trigger); });
    context_.ports.log.warning(log_name::kConductor,
                               fmt::format("{}: the record cannot be written", to_string(address)),
                               {{"why", error.what}});
    return settled_(address);
  }
  // Persist first, then act: until the record is durable nothing more is done.
  context_.ports.log.warning(
      log_name::kConductor,
      fmt::format("{}: the record cannot be written, trying again", to_string(address)),
      {{"why", error.what}});
  context_.ports.timers.after(context_.backoff(address), [this, address, change] {
    if (!context_.stopping) save(address, change);
  });
}

// Our write landed although the answer was lost; or the lock expired while Redis was away; or
// somebody else wrote. Only reading tells.
void RecordWriter::settle_conflict(const PciAddress& address, RecordChange change) {
  context_.ports.store.load(context_.options.host, [this, address,
                                                    change](Result<std::vector<Record>> records) {
    if (context_.stopping) return;
    Device& device = devices_.at(address);
    if (!records) return settle_later(address, change);
    const auto stored = std::find_if(records->begin(), records->end(),
                                     [&](const Record& r) { return r.address == address; });
    const bool readable = stored != records->end() && stored->damage.empty();
    if (readable && same_but_progress(*stored, change.next)) {
      let_go(address);
      device.persisted = true;
      device.record = change.next;
      change.saved();
      return settled_(address);
    }
    if (is_dated(change)) return decide_again(address, "another client wrote its record in Redis");
    if (stored != records->end() && (!readable || stored->epoch >= change.next.epoch)) {
      return overwrite(address, *stored, change);
    }
    // One that is not listed is not loaded: whatever refuses ours is in the way, unseen.
    if (stored == records->end()) {
      context_.ports.store.discard(context_.options.host, address, [](Result<Ok> /*discarded*/) {});
    }
    // A writer as fast as we are is not to keep the two of us busy.
    context_.ports.timers.after(context_.backoff(address), [this, address, change] {
      if (!context_.stopping) save_again(address, change);
    });
  });
}

void RecordWriter::decide_again(const PciAddress& address, const std::string& why) {
  const std::uint64_t epoch = context_.record_of(address).epoch;
  let_go(address);
  context_.answer_later(address, epoch, Trigger::release_conflict,
                        said(fmt::format("its record could not be written at once: {}", why)));
  settled_(address);
}

void RecordWriter::save_again(const PciAddress& address, RecordChange change) {
  if (!is_busy(context_.record_of(address).stage)) return save(address, change);
  locks_.reacquire(address, [this, address, change](bool ours) {
    if (ours) return save(address, change);
    lose_lock(address);
  });
}

void RecordWriter::settle_later(const PciAddress& address, RecordChange change) {
  context_.ports.timers.after(context_.backoff(address), [this, address, change] {
    if (!context_.stopping) settle_conflict(address, change);
  });
}

// A worker that died since, or somebody else, wrote the record. What this one knows comes from the
// drive, Placement and its ledger: it is never given up for what Redis says.
void RecordWriter::overwrite(const PciAddress& address, const Record& stored, RecordChange change) {
  context_.ports.log.error(
      log_name::kConductor,
      fmt::format("{}: another client wrote its record in Redis; it is rewritten from what "
                  "this worker knows; find out who has this Redis's password",
                  to_string(address)));
  // It is written over in one step, so that no crash finds no record at all.
  if (is_of_this_host(stored)) {
    change.next.epoch = stored.epoch + 1;
    return save(address, change);
  }
  context_.ports.store.discard(context_.options.host, address,
                               [this, address, change](Result<Ok> discarded) {
                                 if (context_.stopping) return;
                                 if (!discarded) return settle_later(address, change);
                                 save(address, change);
                               });
}

// Another holder has the lock, and what was being saved is not: its event comes again after this.
void RecordWriter::lose_lock(const PciAddress& address) {
  Device& device = devices_.at(address);
  locks_.lose(address);
  if (device.in_work && device.in_work->epoch == 0) device.inbox.push_front(*device.in_work);
  device.inbox.push_front(Event{Trigger::lock_lost, 0, {}});
  let_go(address);
  settled_(address);
}

void RecordWriter::hold(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (!device.saving) device.saving_since = context_.ports.clock.now().mono;
  device.saving = true;
}

void RecordWriter::decide(const PciAddress& address, const Record& next) {
  hold(address);
  devices_.at(address).unsaved = next;
}

void RecordWriter::let_go(const PciAddress& address) {
  Device& device = devices_.at(address);
  device.saving = device.may_be_saved = false;
  device.in_work.reset();
  device.unsaved.reset();
}

void RecordWriter::show_progress(const PciAddress& address, std::uint64_t epoch,
                                 nvme::EraseProgress progress, const std::string& message) {
  Device& device = devices_.at(address);
  if (device.record.epoch != epoch) return;
  device.record.progress_percent = progress.percent;
  device.record.progress_eta_s = progress.eta_s;
  device.record.progress_message = message;
  if (device.progress_in_flight) return;
  device.progress_in_flight = true;
  context_.ports.store.save_progress(device.record, [this, address](Result<Ok> /*saved*/) {
    devices_.at(address).progress_in_flight = false;
  });
}

// Redis may have lost its last writes, or all of them, or have taken one that a dead worker had
// sent: what is there is what operators see and what the next worker begins with. Of a device
// at rest this worker knows best.
void RecordWriter::compare(const std::vector<Record>& stored) {
  std::map<PciAddress, const Record*> by_address;
  for (const Record& record : stored) by_address[record.address] = &record;
  for (auto& [address, device] : devices_) {
    if (!device.persisted || device.saving || is_busy(device.record.stage)) continue;
    const auto found = by_address.find(address);
    if (found != by_address.end() && same_but_progress(*found->second, device.record)) continue;
    context_.ports.log.warning(
        log_name::kConductor,
        fmt::format("{}: record in Redis was out of date; rewritten", to_string(address)));
    device.persisted = false;
    if (found == by_address.end()) continue;
    if (is_of_this_host(*found->second)) {
      device.record.epoch = std::max(device.record.epoch, found->second->epoch);
    } else {
      // Should this be lost, the write finds out and settles it.
      context_.ports.store.discard(context_.options.host, address, [](Result<Ok> /*discarded*/) {});
    }
  }
}

std::int64_t RecordWriter::backoff(const PciAddress& address) {
  Device& device = devices_.at(address);
  device.retry_ms =
      std::clamp(device.retry_ms * 2, context_.options.retry_min_ms, context_.options.retry_max_ms);
  return device.retry_ms;
}

}  // namespace reclaim
