// What must never happen, looked at whenever it could; and what must have happened in the end.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// A dirty device that Nova offers again is reserved within this time, while the worker runs and
// Placement answers.
constexpr std::int64_t kReserveWithinMs = 600'000;
constexpr std::int64_t kUnfitWithinMs = 300'000;
// From a survey's look to the write that rests on it.
constexpr std::int64_t kExchangedMs = 30'000;
// Whose tenancy it is, while one worker runs and everything answers promptly.
constexpr std::int64_t kNamedWithinMs = 300'000;

}  // namespace

void World::wire_checks() {
  placement.on_release_asked = [this](const placement::ProviderView& view) {
    check_release_asked(view);
  };
  placement.on_asked = [this](const placement::ProviderView& view) {
    const Slot* slot = slot_of_provider(view.uuid);
    if (slot != nullptr && slot->disowned && !slot->ours) {
      fail(to_string(slot->address) + " was let go, and is written");
    }
  };
  // An operator's reservation made the generation that this write would have made: nothing tells
  // his from the worker's own.
  placement.on_lost = [this](const placement::ProviderView& view) {
    Slot* slot = slot_of_provider(view.uuid);
    if (slot == nullptr) return;
    const Provider* provider = provider_of(*slot);
    const bool crosses = provider != nullptr && !view.burned() &&
                         provider->inventory.reserved != 0 &&
                         provider->row.generation == view.generation + 1;
    if (crosses) slot->held = false;
  };
  placement.on_written = [this](const Provider& provider) { check_written(provider); };
  placement.on_registered = [this](const Provider& provider) {
    const Slot* slot = slot_of_provider(provider.row.uuid);
    if (slot == nullptr || !slot->cyborg || !slot->ours) return fail("registered, and not ours");
    say(to_string(slot->address) + " is registered");
    if (!drive_of(*slot).signatures.empty() && !slot->enrolled && !slot->given) {
      fail(to_string(slot->address) + " is registered, and has what somebody may miss");
    }
  };
  placement.on_released = [this](Provider& provider) { check_released(provider); };
  store.on_saved = [this](const Record& record, const JournalEntry& entry) {
    const auto rests = [](Stage stage) {
      return stage != Stage::pending_cleaning && !is_busy(stage);
    };
    const auto from = parse_stage(entry.from);
    if (rests(record.stage) || (from && rests(*from))) slot_at(record.address).interrupted = false;
    if (record.cleanable() && entry.trigger == "gone_uncleanable") {
      fail(to_string(record.address) + " is a drive, and its tenancy ended as that of none");
    }
    if (entry.trigger == "operator_steps") named_steps(slot_at(record.address));
    if (from && entry.trigger == "operator_enrol") enrolled(slot_at(record.address), *from);
    // The operator was told that it cannot be told from a missed tenancy, and says that it is one.
    const bool ordered = entry.trigger == "operator_clean" || entry.trigger == "operator_steps";
    if (from && *from == Stage::available && ordered && !is_surely_held(record.address)) {
      slot_at(record.address).held = slot_at(record.address).reserved_by_hand = false;
    }
    if (has_tenants()) check_tenant(record, entry);
    check_saved(record);
    check_disowned(record, entry.trigger);
  };
  store.on_refused = [this](const Order& order) {
    const auto address = parse_pci_address(order.address);
    if (order.order != "enrol" || !address) return;
    Slot& slot = slot_at(*address);
    slot.enrols.erase(order.issued_at.ms);
    if (slot.enrols.empty()) slot.ordered_serial.clear();
  };
}

// An enrol that was said before he reserved it may be carried out after; one that was said while he
// holds it is refused. What is in error is not held: he accepts it.
void World::enrolled(Slot& slot, Stage from) {
  const bool before_hold = std::exchange(slot.enrol_before_hold, false);
  if (before_hold || from != Stage::available) slot.held = false;
  slot.swapped = false;
}

// From now on the worker knows which drive is meant.
void World::accepted(Slot& slot, const LedgerEntry& entry) {
  const bool meant = entry.enrolled_serial.empty() || entry.enrolled_serial == slot.ordered_serial;
  if (slot.ordered_serial.empty() || !meant) return;
  slot.expected_serial = std::exchange(slot.ordered_serial, "");
  slot.enrols.clear();
  // What he held is another drive than the one he accepts.
  if (slot.displaced) slot.displaced = slot.held = false;
}

// The worker shows the hold, and no doubt of it.
bool World::is_surely_held(const PciAddress& address) const {
  const auto records = conductor->records();
  return std::any_of(records.begin(), records.end(), [&address](const Record& record) {
    return record.address == address && record.held && record.waiting_for.empty();
  });
}

// A card's step is seen when it ends: an abort may be saved by then, and the worker not know it.
bool World::is_unanswered(const Record& saved) const {
  const auto records = conductor->records();
  return saved.stage == Stage::error &&
         std::any_of(records.begin(), records.end(), [&saved](const Record& record) {
           return record.address == saved.address && record.stage == Stage::preparing;
         });
}

// The promise, second half: nothing destructive reaches a drive that anyone may still use, or that
// is not ours to touch.
void World::check_touch(const PciAddress& address, const char* what) {
  const Slot& slot = slot_at(address);
  const Drive& drive = drive_of(slot);
  const Provider* provider = provider_of(slot);
  const std::string where = fmt::format("{} on {}", what, to_string(address));
  say(fmt::format("drive: {}", where));
  if (conductor_options.observes()) {
    failure = where + ": by a worker that observes";
    return;
  }
  const bool of_function = std::string_view(what) == "clean_function";
  const bool erase = std::string_view(what) == "erase" || of_function;
  if (erase) erases += 1;
  if (of_function != slot.by_steps) return fail(where + ": it is of another kind");
  if (drive.guest != 0) return fail(where + ": a guest has the drive");
  if (provider != nullptr && !provider->consumers.empty() && !slot.blamed) {
    return fail(where + ": " + provider->consumers.front() + " holds it in Placement");
  }
  if (const std::string owner = living_owner(slot, drive); !owner.empty()) {
    return fail(where + ": it holds the data of " + owner + ", whose drive it was");
  }
  if (!slot.ours && !slot.was_ours) {
    return fail(where + ": no device_spec entry matches it");
  }
  if (slot.disowned) return fail(where + ": it was let go");
  if (slot.held) return fail(where + ": an operator holds it");
  // What an operator let go may be struck though its worker ended before it said so: the drive that
  // is found next is its drive.
  const bool another = !slot.expected_serial.empty() && drive.serial != slot.expected_serial;
  if (another && !(slot.disown_ordered && slot.swapped)) {
    return fail(where + ": another drive than the one enrolled");
  }
  // Nobody has told the worker that its release was made: the word for its cleaning stands.
  const Record* known = store.last_saved(slot.address);
  const bool ordered =
      slot.clean_ordered || (known != nullptr && slot.ordered_before == known->certificate_id);
  if (manual && erase && !ordered) return fail(where + ": no operator said so");
  if (std::string_view(what) == "canary") {
    if (std::string why = check_holds(slot, StepStage::before); !why.empty()) {
      return fail(where + ": " + why);
    }
    const Record* planned = store.last_saved(address);
    const std::string named =
        planned == nullptr ? "" : check_named_steps(*planned, drives->proof(address));
    if (!named.empty()) return fail(where + ": " + named);
  }
  if (!store.granted(address)) return fail(where + ": without the lock");
  if (!drives->claimed(address)) return fail(where + ": without a claim");
  if (std::string why = check_cyborg_touch(slot, drive); !why.empty()) return fail(where + why);
  const Record* saved = store.last_saved(address);
  const bool preparing = of_function || std::string_view(what) == "reset_namespaces";
  const Stage wanted = preparing ? Stage::preparing : erase ? Stage::erasing : Stage::baselining;
  if (saved == nullptr || !(saved->stage == wanted || (of_function && is_unanswered(*saved)))) {
    return fail(where + fmt::format(": before the record says so, which stands at {}",
                                    saved == nullptr ? "nothing" : to_string(saved->stage)));
  }
  if (!disk.entries.contains(address) || !disk.entries.at(address).dirty) {
    return fail(where + ": the ledger does not know it is dirty");
  }
  if (saved->maintenance || disk.entries.at(address).maintenance) {
    return fail(where + ": in maintenance");
  }
}

// What the worker saved last, or found when it started.
const Record* World::last_known(const PciAddress& address) const {
  const Record* saved = store.last_saved(address);
  return saved != nullptr ? saved : store.stored(address);
}

// What this worker took out of the pool goes back without a cleaning, when the reason is over.
std::string World::check_given_back(const Slot& slot, const placement::ProviderView& view) const {
  const Record* saved = last_known(slot.address);
  if (!slot.is_drive) return "given back, and it counts nothing";
  if (!view.free()) return "given back while somebody has it";
  const LedgerEntry& line = ledger->entries().at(slot.address);
  if ((saved != nullptr && saved->maintenance) || line.maintenance) return "in maintenance";
  const std::string& certificate = saved != nullptr ? saved->certificate_id : line.certificate_id;
  if (certificate.empty()) return "given back without a certificate";
  if (line.dirty) return "given back, and the ledger calls it dirty";
  if (is_bound_by_hand(slot)) return "an ARQ binds it";
  if (cyborg_api_ && cyborg.told_maintaining(slot.address)) return "Cyborg has it maintaining";
  return {};
}

// The promise, first half, where it is asked for.
void World::check_release_asked(const placement::ProviderView& view) {
  Slot* slot = slot_of_provider(view.uuid);
  if (slot == nullptr) return;  // the provider is gone; the write will fail
  slot->release_asked_ms = scheduler.now_ms();
  const std::string where = fmt::format("release of {}", to_string(slot->address));
  say(where + " is asked for");
  if (!slot->is_drive && !slot->by_steps) {
    const auto line = disk.entries.find(slot->address);
    const bool by_bind = line != disk.entries.end() && line->second.reserved_at_bind;
    if (!by_bind || !view.free()) fail(where + ": not reserved by us, or somebody has it");
    return;  // it is not ours to clean
  }
  const Record* last = last_known(slot->address);
  // Where Redis has lost the record, the ledger speaks for the certificate.
  slot->given_back = slot->ours_taken_out && (last == nullptr || last->stage == Stage::available);
  if (slot->given_back) {
    const std::string why = check_given_back(*slot, view);
    return why.empty() ? void() : fail(where + ": " + why);
  }
  const Proof proof = drives->proof(slot->address);
  if (!drives->claimed(slot->address)) return fail(where + ": without a claim");
  if (!store.granted(slot->address)) return fail(where + ": without the lock");
  if (!proof.erased) return fail(where + ": its erasure was not seen to complete");
  if (!proof.verified) return fail(where + ": its erasure was not verified");
  if (proof.step_failed) return fail(where + ": a clean step failed");
  if (proof.unfit) return fail(where + ": it is unfit");
  if (drive_of(*slot).retired) return fail(where + ": it is retired");
  if (const std::string why = check_own_steps(*slot, proof); !why.empty()) {
    return fail(where + ": " + why);
  }
  if (const Record* saved = store.last_saved(slot->address); saved != nullptr && slot->by_steps) {
    if (const std::string why = check_named_steps(*saved, proof); !why.empty()) {
      return fail(where + ": " + why);
    }
  }
  const Drive& drive = drive_of(*slot);
  if (drive.taken_over) return fail(where + ": without its former driver");
  if (proof.version != drive_of(*slot).version) return fail(where + ": changed since verified");
  if (slot->held) return fail(where + ": an operator holds it");
  if (is_bound_by_hand(*slot)) return fail(where + ": an ARQ binds it");
  if (cyborg_api_ && cyborg.told_maintaining(slot->address)) {
    return fail(where + ": Cyborg says that it is maintaining");
  }
  const Record* saved = store.last_saved(slot->address);
  if (saved == nullptr || saved->stage != Stage::releasing) {
    return fail(where + ": before the record says so");
  }
  if (saved->evidence.empty() || saved->verification.empty()) {
    return fail(where + ": the record has no evidence");
  }
}

// And where it happens, which may be much later.
void World::check_released(Provider& provider) {
  Slot* slot = slot_of_provider(provider.row.uuid);
  if (slot == nullptr || (!slot->is_drive && !slot->by_steps)) return;
  releases += 1;
  slot->release_asked_ms = 0;  // any other that is still on its way is of an older generation
  slot->counts_anew = false;
  slot->given = slot->reserved_by_hand = slot->like_a_hand = false;
  const Record* known = store.last_saved(slot->address);
  slot->ordered_before.reset();
  if (slot->clean_ordered && known != nullptr) slot->ordered_before = known->certificate_id;
  slot->clean_ordered = false;
  const Drive& drive = drive_of(*slot);
  const std::string where = fmt::format("{} was released", to_string(slot->address));
  say(where);
  if (provider.former_was_meant) {
    provider.offered = Offered::former;
    return;
  }
  // Behind the look on which its give-back rests somebody exchanged the drive.
  const bool exchanged =
      slot->swapped_ms != 0 && scheduler.now_ms() - slot->swapped_ms < kExchangedMs;
  if (slot->given_back && exchanged) {
    provider.offered = Offered::exchanged;
    return;
  }
  if (slot->given_back && tells_of_nobody(*slot)) {
    provider.offered = Offered::untold;
    return;
  }
  if (drive.owner != 0) return fail(where + fmt::format(" with data of tenancy {}", drive.owner));
  if (drive.hidden_owner != 0) return fail(where + " with data in a hidden namespace");
  if (drive.locked) return fail(where + " locked by a tenant");
  if (drive.changed_by != 0) return fail(where + " with firmware of a tenant");
  if (drive.running) return fail(where + " while it is being sanitized");
  if (drive.canary != 0) return fail(where + " while it is being cleaned once more");
  if (drive.guest != 0) return fail(where + " while a guest has it");
  if (!provider.consumers.empty()) return fail(where + " while it is allocated");
  if (slot->held) return fail(where + " while an operator holds it");
  release_is_forgotten(*slot);
}

// A tenant is given a drive. Whoever offered it answers for what is on it.
void World::check_given(Slot& slot, const Provider& provider) {
  if (!slot.is_drive) return;
  if (provider.offered != Offered::by_us) return count_given_dirty(slot, provider.offered);
  const Drive& drive = drive_of(slot);
  const std::string where = fmt::format("{} was given to a tenant", to_string(slot.address));
  if (drive.owner != 0) return fail(where + fmt::format(" with data of tenancy {}", drive.owner));
  if (drive.hidden_owner != 0) return fail(where + " with data in a hidden namespace");
  if (drive.locked) return fail(where + " locked by a tenant");
  if (drive.changed_by != 0) return fail(where + " with firmware of a tenant");
  if (drive.taken_over) return fail(where + " while it is on our driver");
  if (drive.running) return fail(where + " while it is being sanitized");
  if (drive.guest != 0) return fail(where + " while another guest has it");
}

void World::check_saved(const Record& record) {
  if (log.enabled) {
    say(fmt::format("redis: {} is {}, epoch {}", to_string(record.address), to_string(record.stage),
                    record.epoch));
  }
  // Every release ends in a certificate, whatever comes between the two.
  if (!record.certificate_id.empty() && !disk.certificates.contains(record.certificate_id)) {
    certificates_owed_.insert(record.certificate_id);
  }
  if (record.handed_over) certificates_handed_over_.insert(record.certificate_id);
  check_heard(record);
  if (!options_.scripted) remember_record(record);
  chaos_at(record);
  Slot& slot = slot_at(record.address);
  if (record.handed_over && record.stage == Stage::available &&
      !disk.certificates.contains(record.certificate_id)) {
    const Drive& drive = drive_of(slot);
    const bool exchanged = !record.serial.empty() && record.serial != drive.serial;
    if (!exchanged &&
        (drive.owner != 0 || drive.hidden_owner != 0 || drive.locked || drive.running)) {
      fail(to_string(record.address) + " is handed over to Cyborg's agent, and is not clean");
    }
  }
  if (!is_busy(record.stage)) slot.approved_by.clear();
  if (record.stage == Stage::allocated) slot.ordered_before.reset();
  if (record.stage == Stage::available) slot.unreserved_ms = 0;
  // As long as it cannot be told from a missed tenancy it is not a hold yet.
  const bool unsure = record.waiting_for.find("cannot be read to tell") != std::string::npos ||
                      record.waiting_for.find("no counters to tell") != std::string::npos ||
                      record.waiting_for.find("cannot be claimed to read") != std::string::npos ||
                      record.waiting_for.find("may have had it unseen") != std::string::npos;
  slot.held = slot.held || (slot.reserved_by_hand && record.held && !unsure && !slot.bound);
  if (record.stage == Stage::guarding && record.cyborg_status == "maintaining") {
    fail(to_string(record.address) + " is admitted though Cyborg has it under maintenance");
  }
  if (record.stage == Stage::erasing) slot.erase_recorded_ms = scheduler.now_ms();
  if (record.stage == Stage::available || !record.cleanable()) return;
  const auto entry = disk.entries.find(record.address);
  if (entry == disk.entries.end() || !entry->second.dirty) {
    fail(fmt::format("{} is recorded as {}, but the ledger does not know it is dirty",
                     to_string(record.address), to_string(record.stage)));
  }
}

void World::check_ledger(const PciAddress& address, const LedgerEntry& entry) {
  const Slot& slot = slot_at(address);
  if (entry.dirty && !slot.ours && (slot.disowned || (!slot.was_ours && !options_.scripted))) {
    return fail(to_string(address) + " is not ours, and the ledger calls it dirty");
  }
  if (const auto pending = decode_certificate(entry.certificate_pending)) {
    certificates_verified_ms_.try_emplace(pending->id, slot_at(address).verified_ms);
  }
  if (entry.accepted) accepted(slot_at(address), entry);
  note_retired(address, entry);
  // The order to clean what may be a hold is on the ledger before it is on the record.
  if (entry.dirty && slot.clean_ordered && !is_surely_held(address)) {
    slot_at(address).held = slot_at(address).reserved_by_hand = false;
  }
  if (entry.dirty) return;
  // Either it recorded the release itself, or it found that somebody had.
  const Record* saved = store.last_saved(address);
  const Record* stored = store.stored(address);
  const auto clean = [](const Record* record) {
    return record != nullptr && record->stage == Stage::available;
  };
  if (saved == nullptr || clean(saved) || clean(stored) || !saved->cleanable()) return;
  if (is_let_go(address)) return;
  fail(fmt::format("{} was struck from the ledger while it is {}", to_string(address),
                   to_string(saved->stage)));
}

void World::check_certificate(const std::string& json_text) {
  const auto certificate = decode_certificate(json_text);
  if (!certificate) return fail("a certificate cannot be read: " + certificate.error().what);
  if (certificate->id.empty() || certificate->evidence.empty() ||
      certificate->verification.empty() || certificate->method.empty()) {
    return fail("a certificate without evidence: " + json_text);
  }
  const bool by_steps = certificate->method == "operator_steps";
  if (by_steps != certificate->sanitization_class.empty()) {
    return fail("a certificate of a class that is not its method's");
  }
  if (!by_steps && certificate->capacity_bytes != kWholeBytes) {
    return fail("a certificate of another size than was verified");
  }
  if (!by_steps && !verified_serials_.contains(certificate->serial)) {
    return fail("a certificate for a drive that never was erased and verified: " +
                certificate->serial);
  }
  const auto verified = certificates_verified_ms_.find(certificate->id);
  const auto address = parse_pci_address(certificate->address);
  if (!certificate->returned()) {
    if (verified == certificates_verified_ms_.end() || !address || by_steps) {
      return fail("a certificate of an erasure that did not happen: " + certificate->id);
    }
    slot_at(*address).withheld_ms = verified->second;
    return;
  }
  // What is left to Cyborg's agent to un-reserve is released by being recorded so, whoever replaces
  // that record; a worker that died may have sent it.
  const Record* stored = address ? store.stored(*address) : nullptr;
  const bool handed_over =
      certificates_handed_over_.contains(certificate->id) ||
      (stored != nullptr && stored->handed_over && stored->certificate_id == certificate->id);
  if (verified == certificates_verified_ms_.end() || !address ||
      (!handed_over && placement.offered_ms(slot_at(*address).provider_name) < verified->second)) {
    fail("a certificate of a release that did not happen: " + certificate->id);
  }
}

// The worker can end it only while it runs, and sees Placement and its drives.
void World::check_ends(bool wrong, std::int64_t& since_ms, std::int64_t limit_ms,
                       const std::string& what) {
  const bool counts = wrong && started && !placement.away() && !hardware.discovery_hangs;
  if (!counts) {
    since_ms = 0;
    return;
  }
  if (since_ms == 0) since_ms = scheduler.now_ms();
  if (scheduler.now_ms() - since_ms > limit_ms) {
    fail(fmt::format("{}, and that has not ended in {} s", what, limit_ms / 1000));
  }
}

// Nova offers a drive again that the ledger knows to be dirty.
void World::check_offered() {
  last_offer_check_ms_ = scheduler.now_ms();
  for (Slot& slot : slots) {
    const Provider* provider = provider_of(slot);
    check_unfit(slot, provider);
    check_bound(slot, provider);
    check_seen(slot);
    check_displaced(slot);
    check_left(slot, provider);
    const bool by_others = provider != nullptr && (provider->offered == Offered::by_nova ||
                                                   provider->offered == Offered::by_cyborg ||
                                                   provider->offered == Offered::left);
    const bool offered = by_others && provider->inventory.reserved == 0 &&
                         provider->consumers.empty() && slot.is_drive &&
                         drive_of(slot).owner != 0 && disk.entries.contains(slot.address) &&
                         disk.entries.at(slot.address).dirty && !slot.swapped;
    check_ends(has_tenants() && prompt_ && is_misnamed(slot), slot.misnamed_since_ms,
               kNamedWithinMs,
               fmt::format("{} has got {}, and the record names another", slot.instance,
                           to_string(slot.address)));
    check_ends(offered, slot.offered_dirty_since_ms, kReserveWithinMs,
               fmt::format("{} is dirty, offered again by Nova", to_string(slot.address)));
  }
}

// What cannot be cleaned as configured is not a device of the pool.
void World::check_unfit(Slot& slot, const Provider* provider) {
  const Drive& drive = drive_of(slot);
  const bool unfit = provider != nullptr && provider->inventory.reserved == 0 &&
                     provider->consumers.empty() && slot.ours && slot.managed && drive.present &&
                     slot.is_drive && !slot.by_steps && drive.driver == drive.home &&
                     !drive.hangs && drive.capabilities.sanicap == 0 &&
                     slot.action == nvme::ClearAction::sanitize;
  check_ends(
      unfit, slot.offered_unfit_since_ms, kUnfitWithinMs,
      fmt::format("{} is offered, though its policy cannot be satisfied", to_string(slot.address)));
}

// -------------------------------------------------------------------------------------------------
// Coming to rest.

std::string World::unsettled() {
  if (!conductor || !started) return "the worker does not run";
  for (const std::string& id : certificates_owed_) {
    if (!disk.certificates.contains(id)) return "a release without its certificate: " + id;
  }
  const auto records = conductor->records();
  for (const Slot& slot : slots) {
    const Record* record = nullptr;
    for (const Record& candidate : records) {
      if (candidate.address == slot.address) record = &candidate;
    }
    const std::string why = unsettled(slot, record);
    if (!why.empty()) return fmt::format("{}: {}", to_string(slot.address), why);
  }
  return "";
}

std::string World::unsettled(const Slot& slot, const Record* record) {
  if (slot.phase != Phase::none) return "a tenant is still there";
  const bool let_go = slot.was_ours && (record == nullptr || !record->cleanable());
  if (slot.cyborg && !slot.ours && !let_go) {
    return record == nullptr ? "" : "it is not ours, and there is a record of it";
  }
  if (record == nullptr) return slot.cyborg && !slot.ours ? "" : "no record";
  if (offers_another(slot)) return "another, dirty drive than its own is on offer";
  if (!slot.ours) {
    const bool shown = record->stage == Stage::available && !record->cleanable();
    return shown ? "" : "it is not ours, and recorded as " + std::string(to_string(record->stage));
  }
  const Record* stored = store.stored(slot.address);
  if (stored == nullptr) return "its record is not in the store";
  if (stored->stage != record->stage) return "its record in the store is another";
  if (drives->claimed(slot.address)) return "it is still claimed";
  if (store.locked(slot.address)) return "its lock is still held";
  const Provider* provider = provider_of(slot);
  if (provider == nullptr) return "no provider";
  const auto entry = disk.entries.find(slot.address);
  const bool dirty = entry != disk.entries.end() && entry->second.dirty;
  const std::string state =
      fmt::format("{} (reserved {}, {}; last error: {}; waits: {})", to_string(record->stage),
                  provider->inventory.reserved, dirty ? "dirty" : "clean", record->last_error,
                  record->waiting_for);
  if (slot.cyborg) {
    if (std::string why = unsettled_cyborg(slot, *record, *provider); !why.empty()) {
      return why + ": " + state;
    }
    if (!slot.is_drive) return "";
  }
  // Which drive stands unmanaged in a slot nothing shows, nor what it counted where its provider
  // has come back to where it was.
  const bool shows_writes =
      slot.managed || (record->serial == drive_of(slot).serial && !slot.counts_anew);
  if (record->stage == Stage::available && provider->inventory.reserved == 0 && shows_writes &&
      record->certified_host_writes &&
      *record->certified_host_writes != drive_of(slot).host_writes) {
    return "it was written to since it was certified, and is offered: " + state;
  }
  if (record->stage == Stage::available && !dirty) {
    if (slot.held) {
      return record->held && provider->inventory.reserved == 1 ? "" : "not shown as held: " + state;
    }
    // Our own reservation looks like an operator's hand, when neither the ledger nor Redis could
    // keep it. What is no hand's says why it is reserved.
    const bool like_a_hold =
        slot.like_a_hand || slot.reserved_unnoted || slot.counts_anew || provider->former_was_meant;
    if (provider->inventory.reserved != 0 &&
        (!record->held || (!like_a_hold && record->waiting_for.empty()))) {
      return "reserved for nothing, or without a word: " + state;
    }
    if (!record->certificate_id.empty() && provider->offered == Offered::by_us &&
        !disk.certificates.contains(record->certificate_id)) {
      return "its certificate was not kept: " + state;
    }
    return "";
  }
  const Kind kind = drive_of(slot).kind;
  const bool can_be_cleaned =
      (kind == Kind::healthy || kind == Kind::gde_stuck) && !drive_of(slot).locked;
  if (can_be_cleaned && (drive_of(slot).unfit || drive_of(slot).retired)) {
    const std::string why = unsettled_unfit(slot, *record);
    return why.empty() ? "" : why + ": " + state;
  }
  if (can_be_cleaned) return state;
  if (provider->inventory.reserved != 1) return "dirty, and offered: " + state;
  return record->stage == Stage::error && slot.operator_tries >= 3 ? "" : state;
}

}  // namespace reclaim::sim
