#include "tests/exhaustive/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace reclaim::exhaustive {
namespace {

constexpr std::int64_t kRestMs = 130'000;  // two periodic surveys
constexpr std::int64_t kForgetMs = 60'000;
constexpr std::uint64_t kSwappedOwner = 1'000;  // of what stands on a drive that is put in

// Numbers in a text for people decide nothing.
std::string masked(std::string text) {
  for (char& c : text) {
    if (c >= '0' && c <= '9') c = '#';
  }
  return text;
}

// What a record says, with names and counters told by whether they are those of now.
// Of how many writes it is, as far as any judgement counts them.
std::string said(const Rest& rest, const placement::ProviderRow& provider) {
  constexpr std::int64_t kCounted = 4;
  if (rest.generation < 0) return "-";
  return fmt::format("{}{}{}", rest.provider == provider.uuid, rest.reserved,
                     std::clamp<std::int64_t>(provider.generation - rest.generation, -1, kCounted));
}

std::string said(const Record& record, const sim::Drive& drive, const sim::Slot& slot,
                 const placement::ProviderRow& provider) {
  const std::string& serial = record.serial;
  std::string text =
      fmt::format("{}{}|{}{}{}{}{}{}|{}|{}|{}{}{}|{}|{}|{}|{}|", record.damage.empty(),
                  static_cast<int>(record.stage), record.held, record.maintenance,
                  record.erase_begun, record.planned_stop, record.accepted, record.managed,
                  masked(record.waiting_for), masked(record.last_error), serial.empty(),
                  serial == drive.serial, record.provider == provider.uuid,
                  record.instance.empty() ? 0 : (record.instance == slot.consumer ? 1 : 2),
                  record.step_index, record.clean_step, std::min(record.erases, 4U));
  for (const CleanStep& step : record.plan) text += step.step + ",";
  for (const std::string* const kept :
       {&record.baseline, &record.evidence, &record.verification, &record.enrolment,
        &record.certificate_id, &record.certificate_pending}) {
    text += kept->empty() ? '-' : '+';
  }
  text += masked(record.findings) + said(record.rest, provider);
  text += record.certified_host_reads == drive.host_reads ? 'r' : '-';
  text += record.certified_host_writes == drive.host_writes ? 'w' : '-';
  return text;
}

// What counts by its order, and what by whether it is the same: all that a state says of either.
struct Told {
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> epochs;
  std::vector<std::string> names;
};

void tell(const Record& record, Told& told) {
  for (const WallMs at : {record.tenancy_seen_at, record.cleaning_started_at, record.verified_at,
                          record.certificate_at}) {
    told.times.push_back(at.ms);
  }
  told.epochs.push_back(static_cast<std::int64_t>(record.epoch));
  told.names.insert(told.names.end(), {record.cleaning_nonce, record.baseline,
                                       record.certificate_id, record.certificate_pending});
}

void tell(const LedgerEntry& entry, Told& told) {
  for (const WallMs at :
       {entry.dirty_since, entry.certificate_at, entry.ordered_at, entry.maintenance_until}) {
    told.times.push_back(at.ms);
  }
  told.epochs.push_back(static_cast<std::int64_t>(entry.epoch));
  // The world's digest of a baseline is its text.
  told.names.insert(told.names.end(), {entry.cleaning.nonce, entry.cleaning.baseline_digest,
                                       entry.certificate_id, entry.certificate_pending});
}

std::string said(const LedgerEntry& entry, const sim::Drive& drive,
                 const placement::ProviderRow& provider) {
  return fmt::format("{}{}{}{}|{}{}{}|{}{}|", entry.dirty, entry.error, entry.maintenance,
                     entry.accepted, entry.serial.empty(), entry.serial == drive.serial,
                     entry.provider == provider.uuid, entry.enrolled_serial == drive.serial,
                     entry.enrolment.empty()) +
         fmt::format("{}{}|", entry.host_reads == drive.host_reads,
                     entry.host_writes == drive.host_writes) +
         masked(entry.cleaning.findings) + said(entry.rest, provider);
}

// Their order, and which are the same.
std::string ranks(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  for (const std::int64_t at : times) {
    text += fmt::format("{},", std::lower_bound(sorted.begin(), sorted.end(), at) - sorted.begin());
  }
  return text;
}

// Which of them are the same, and which are empty.
std::string sameness(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += name.empty()
                ? "-,"
                : fmt::format("{},", std::find(names.begin(), names.end(), name) - names.begin());
  }
  return text;
}

// How soon, not to the millisecond; and how many, not beyond a few.
std::string soon(const std::vector<std::int64_t>& pending_ms) {
  constexpr std::array<std::int64_t, 5> kWithin{50, 1'000, 10'000, 60'000, 600'000};
  std::array<int, kWithin.size() + 1> counts{};
  for (const std::int64_t ms : pending_ms) {
    const auto* const at = std::lower_bound(kWithin.begin(), kWithin.end(), ms);
    int& count = counts.at(static_cast<std::size_t>(at - kWithin.begin()));
    count = std::min(count + 1, 3);
  }
  std::string text;
  for (const int count : counts) text += static_cast<char>('0' + count);
  return text;
}

// FNV-1a, twice with different beginnings.
Digest digest_of(std::string_view text) {
  Digest digest{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  for (const char c : text) {
    digest.high = (digest.high ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    digest.low = (digest.low ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ULL;
    digest.low ^= digest.low >> 29U;
  }
  return digest;
}

sim::WorldOptions options_of(bool trace) {
  sim::WorldOptions options;
  options.scripted = true;
  options.trace = trace;
  return options;
}

}  // namespace

std::string_view to_string(Happening happening) {
  constexpr std::array<std::string_view, kHappeningCount> kNames{
      "the worker dies and comes back",
      "the answer to the PUT on its way is lost",
      "the PUT whose answer was lost is made",
      "the answer to the next record is lost",
      "Redis forgets its last minute",
      "a tenancy begins",
      "the tenancy ends",
      "another drive is put in",
      "an operator reserves by hand",
      "an operator un-reserves by hand",
      "the provider's generation moves",
      "an operator says abort",
      "an operator says clean",
      "the host loses its power, and Redis all since the erase was recorded",
      "somebody else writes the record",
      "the worker comes back to a record put back: erasing",
      "the worker comes back to a record put back: releasing",
      "the worker comes back to a record put back: available"};
  return kNames.at(static_cast<std::size_t>(happening));
}

std::size_t counts_as(Happening happening) {
  return happening < Happening::forge ? 1 : 2;
}

Model::Model(Start start, bool trace) : world_(options_of(trace)) {
  world_.placement.keep_late = [this](const placement::ProviderView& view, std::int64_t reserved,
                                      std::function<void()> make) {
    world_.faults.put_lost_late = 0;
    lost_ = LostPut{view.generation, reserved, std::move(make)};
  };
  world_.placement.on_written =
      [this, checks = world_.placement.on_written](const sim::Provider& written) {
        written_ = true;
        checks(written);
      };
  world_.placement.on_release_asked =
      [this, checks = world_.placement.on_release_asked](const placement::ProviderView& view) {
        release_at_ = view.generation;
        checks(view);
      };
  world_.store.on_saved = [this, checks = world_.store.on_saved](const Record& record,
                                                                 const JournalEntry& entry) {
    world_.faults.store_lost_done = 0;
    keep(record);
    checks(record, entry);
  };
  world_.start_worker();
  hear_worker();
  world_.pass(1'000);
  tenancy();
  if (start == Start::again) {
    world_.pass(kRestMs);
    CHECK(world_.releases == 1);
    tenancy();
  }
  seen_ = seen();
  moved_ms_ = world_.scheduler.now_ms();
}

void Model::tenancy() {
  world_.tenancy_begins();
  world_.kick({0});
  world_.pass(1'000);
  verified_ = false;
  world_.tenancy_ends();
  world_.kick({0});
}

// What may be put back later, and of which cleaning: one is over with its release.
void Model::keep(const Record& record) {
  const bool kept = record.stage == Stage::available || record.stage == Stage::releasing ||
                    (record.stage == Stage::erasing && record.erase_begun);
  if (record.stage == Stage::erasing) erase_saved_ms_ = world_.scheduler.now_ms();
  if (kept) of_cleaning_.insert_or_assign(record.stage, record);
  if (record.stage == Stage::available && of_cleaning_.contains(Stage::releasing)) {
    of_releases_ = std::exchange(of_cleaning_, {});
  }
}

void Model::hear_worker() {
  if (!world_.drives || heard_ == world_.scheduler.worker()) return;
  heard_ = world_.scheduler.worker();
  written_ = false;
  world_.drives->on_verified = [this, checks = world_.drives->on_verified](const sim::Drive& of) {
    verified_ = true;
    checks(of);
  };
  world_.drives->on_touch = [this, checks = world_.drives->on_touch](const PciAddress& at,
                                                                     const char* what) {
    verified_ = false;
    if (drive().guest != 0) broken_ = fmt::format("{}: a guest has the drive", what);
    if (!provider().consumers.empty() && !slot().blamed) {
      broken_ = fmt::format("{}: an instance has it in Placement", what);
    }
    checks(at, what);
  };
}

void Model::step() {
  (void)world_.scheduler.step(world_.scheduler.now_ms() + 24 * 3'600'000LL);
  steps_ += 1;
  hear_worker();
}

bool Model::rests() {
  return !broken().empty() || world_.scheduler.now_ms() - moved_ms_ > kRestMs;
}

Model::Seen Model::seen() {
  const PciAddress& address = slot().address;
  const Record* stored = world_.store.stored(address);
  const auto ledger = world_.disk.entries.find(address);
  const bool noted = ledger != world_.disk.entries.end();
  const sim::Proof proof = world_.drives ? world_.drives->proof(address) : sim::Proof{};
  return {stored == nullptr ? -1 : static_cast<std::int64_t>(stored->epoch),
          provider().row.generation,
          provider().inventory.reserved,
          static_cast<std::int64_t>(provider().consumers.size()),
          static_cast<std::int64_t>(drive().version),
          drive().running.has_value() ? 1 : 0,
          drive().sstat,
          static_cast<std::int64_t>(drive().guest),
          world_.drives && world_.drives->claimed(address) ? 1 : 0,
          world_.store.granted(address) ? 1 : 0,
          lost_.has_value() ? 1 : 0,
          world_.started ? 1 : 0,
          (proof.erased ? 1 : 0) + (proof.verified ? 2 : 0),
          static_cast<std::int64_t>(proof.steps.size()),
          noted && ledger->second.dirty ? 1 : 0,
          noted ? static_cast<std::int64_t>(ledger->second.certificate_at.ms) : 0,
          static_cast<std::int64_t>(world_.disk.certificates.size()),
          world_.placement.requests().set_reserved};
}

bool Model::moved() {
  const Seen now = seen();
  if (now == seen_) return false;
  put_sent_ = now.back() != seen_.back();
  seen_ = now;
  moved_ms_ = world_.scheduler.now_ms();
  return true;
}

bool Model::busy() {
  const Record* stored = world_.store.stored(slot().address);
  return stored != nullptr && is_busy(stored->stage);
}

// None is pulled in the very moment of its release, which may be that of a worker that died: until
// the one that runs has gone on to the next cleaning, or has come to rest.
bool Model::releases() {
  const PciAddress& address = slot().address;
  const Record* saved = world_.store.last_saved(address);
  for (const Record* last : {saved, world_.store.stored(address)}) {
    if (last != nullptr && (last->stage == Stage::releasing || last->stage == Stage::confirming)) {
      return true;
    }
  }
  const bool goes_on = saved != nullptr && is_busy(saved->stage);
  return release_at_ == provider().row.generation && !goes_on && !rests();
}

bool Model::restorable(Stage stage) {
  const Record* stored = world_.store.stored(slot().address);
  const auto kept = of_releases_.find(stage);
  return world_.conductor != nullptr && kept != of_releases_.end() &&
         (stored == nullptr || *stored != kept->second);
}

bool Model::can(Happening happening) {
  const Record* stored = world_.store.stored(slot().address);
  const bool free = provider().consumers.empty() && slot().phase == sim::Phase::none;
  const bool armed = world_.faults.put_lost_late + world_.faults.store_lost_done > 0;
  switch (happening) {
    case Happening::crash:
      return world_.conductor != nullptr;
    case Happening::lose_put:
      return put_sent_ && !armed && !lost_;
    case Happening::land_put:
      return lost_.has_value();
    case Happening::lose_answer:
      return world_.started && !armed;
    case Happening::forget:
      return stored != nullptr;
    case Happening::begin:
      return free && provider().inventory.reserved == 0;
    case Happening::end:
      return slot().phase == sim::Phase::running;
    case Happening::swap:
      return free && !releases();
    case Happening::reserve:
      return free && provider().inventory.reserved == 0;
    case Happening::unreserve:
      return free && provider().inventory.reserved != 0;
    case Happening::touch:
      return busy();
    case Happening::abort:
      return world_.started && busy();
    case Happening::clean:
      return world_.started && stored != nullptr && stored->stage == Stage::error;
    case Happening::lose_power:
      return put_sent_ && !armed && !lost_;
    case Happening::forge:
      return world_.started && stored != nullptr && stored->damage.empty();
    case Happening::restore_erasing:
      return restorable(Stage::erasing);
    case Happening::restore_releasing:
      return restorable(Stage::releasing);
    case Happening::restore_available:
      return restorable(Stage::available);
  }
  return false;
}

void Model::let(Happening happening) {
  const PciAddress address = slot().address;
  const std::string uuid = provider().row.uuid;
  switch (happening) {
    case Happening::crash:
      world_.kill_worker();
      come_back();
      break;
    case Happening::lose_put:
      world_.faults.put_lost_late = 1;
      break;
    case Happening::land_put: {
      const auto make = std::move(lost_->make);
      lost_.reset();
      make();
      break;
    }
    case Happening::lose_answer:
      world_.faults.store_lost_done = 1;
      break;
    case Happening::forget:
      slot().held = false;
      (void)world_.store.lose_last(kForgetMs);
      break;
    case Happening::begin:
      verified_ = verified_ && provider().offered == sim::Offered::by_us;
      world_.tenancy_begins();
      if (drive().guest != 0) verified_ = false;
      break;
    case Happening::end:
      world_.tenancy_ends();
      world_.kick({0, 5, 30});
      break;
    case Happening::swap:
      swap();
      break;
    case Happening::reserve:
      reserve();
      break;
    case Happening::unreserve:
      slot().held = slot().reserved_by_hand = false;
      world_.placement.set_reserved_by(sim::Offered::by_operator, uuid, 0);
      break;
    case Happening::touch:
      world_.placement.touch(uuid);
      // Before a survey saw the hold, it cannot be told from a build that failed.
      if (const Record* stored = world_.store.stored(address); stored == nullptr || !stored->held) {
        slot().held = false;
      }
      break;
    case Happening::abort:
      world_.command("abort", address);
      break;
    case Happening::clean:
      world_.command("clean", address);
      break;
    case Happening::lose_power:
      world_.faults.put_lost_late = 1;
      world_.kill_worker();
      slot().held = false;
      (void)world_.store.lose_last(world_.scheduler.now_ms() - erase_saved_ms_);
      come_back();
      break;
    case Happening::forge:
      forge();
      break;
    case Happening::restore_erasing:
      restore(Stage::erasing);
      break;
    case Happening::restore_releasing:
      restore(Stage::releasing);
      break;
    case Happening::restore_available:
      restore(Stage::available);
      break;
  }
}

void Model::come_back() {
  world_.start_worker();
  hear_worker();
}

// With the epoch of the one that stands there, so that no write over it is refused for that: it
// says that the drive is verified, or, of one at work, that it is given back.
void Model::forge() {
  Record record = *world_.store.stored(slot().address);
  record.stage = busy() ? Stage::available : Stage::verifying;
  record.erase_begun = true;
  record.evidence = record.verification = "{}";
  record.damage = "not written by this host's worker";  // so that the digest tells it
  world_.store.forge(record);
}

void Model::restore(Stage stage) {
  world_.kill_worker();
  slot().held = false;
  world_.store.put_back(of_releases_.at(stage));
  come_back();
}

// As the simulation's operator does; the worker knows the serial of the drive before, or it does
// not.
void Model::swap() {
  const PciAddress address = slot().address;
  const Record* known = world_.store.stored(address);
  const auto noted = world_.disk.entries.find(address);
  const bool learnt = known != nullptr && !known->serial.empty() && world_.started &&
                      noted != world_.disk.entries.end() && !noted->second.serial.empty();
  sim::Drive next;
  next.address = address;
  next.serial = fmt::format("SWAPPED{}", ++swaps_);
  sim::write_media(next, kSwappedOwner + swaps_, kSwappedOwner + swaps_);
  drive() = next;
  verified_ = false;
  if (world_.drives) world_.drives->breaks(address);
  slot().swapped = learnt;
  if (!learnt) slot().expected_serial = next.serial;
  slot().held = slot().reserved_by_hand = false;
  if (provider().inventory.reserved == 0) provider().offered = sim::Offered::by_operator;
}

// The worker can know it for a hold where nothing says that a tenant was there since the release,
// and where it is the only write since the last survey.
void Model::reserve() {
  const Record* stored = world_.store.stored(slot().address);
  const auto noted = world_.disk.entries.find(slot().address);
  const bool plain = provider().offered == sim::Offered::by_us && world_.started &&
                     stored != nullptr && stored->stage == Stage::available &&
                     !stored->certificate_id.empty() && noted != world_.disk.entries.end() &&
                     !noted->second.dirty && drive().owner == 0;
  const bool only_write =
      plain && stored->rest == Rest{provider().row.uuid, provider().row.generation, false};
  world_.placement.set_reserved_by(sim::Offered::no, provider().row.uuid, 1);
  slot().reserved_by_hand = plain;
  slot().held = only_write && stored->certified_host_reads == drive().host_reads &&
                stored->certified_host_writes == drive().host_writes;
}

Digest Model::digest() {
  const PciAddress& address = slot().address;
  const placement::ProviderRow& row = provider().row;
  const Record* stored = world_.store.stored(address);
  Told told;
  std::string text =
      fmt::format("{}{}{}{}|", world_.conductor != nullptr, world_.started, written_, put_sent_);
  if (stored != nullptr) {
    text += said(*stored, drive(), slot(), row);
    tell(*stored, told);
  }
  for (const Record& record :
       world_.conductor ? world_.conductor->records() : std::vector<Record>{}) {
    text += '|' + said(record, drive(), slot(), row);
    tell(record, told);
  }
  const auto add_entry = [&](const std::map<PciAddress, LedgerEntry>& entries) {
    const auto it = entries.find(address);
    if (it == entries.end()) return;
    text += '|' + said(it->second, drive(), row);
    tell(it->second, told);
  };
  add_entry(world_.disk.entries);
  if (world_.ledger) add_entry(world_.ledger->entries());
  const sim::Drive& of = drive();
  const sim::Proof proof = world_.drives ? world_.drives->proof(address) : sim::Proof{};
  const bool claimed = world_.drives && world_.drives->claimed(address);
  text += fmt::format("|{}{}{}{}|", provider().inventory.reserved, provider().consumers.size(),
                      static_cast<int>(provider().offered), lost_.has_value());
  if (lost_)
    text += fmt::format("{}{}", lost_->generation == provider().row.generation, lost_->reserved);
  text += fmt::format("|{}{}{}{}{}{}{}{}{}|", of.owner != 0, of.content == 0, of.canary != 0,
                      of.running.has_value(), of.sstat, of.global_data_erased, of.driver,
                      of.guest != 0, verified_);
  text += fmt::format("{}{}{}{}{}{}{}|", claimed, claimed && world_.drives->intact(address),
                      proof.erased, proof.verified, proof.step_failed, proof.steps.size(),
                      proof.version == of.version);
  text += fmt::format("{}{}{}|", world_.store.granted(address), world_.store.locked(address),
                      static_cast<int>(slot().phase));
  text += fmt::format("{}{}{}{}{}|{}{}|", slot().held, slot().reserved_by_hand, slot().swapped,
                      slot().blamed, slot().expected_serial == of.serial,
                      world_.faults.put_lost_late > 0, world_.faults.store_lost_done > 0);
  for (const auto& [stage, record] : of_releases_) tell(record, told);
  return digest_of(text + ranks(told.times) + '|' + ranks(told.epochs) + '|' +
                   sameness(told.names) + '|' + soon(world_.scheduler.pending_ms()));
}

std::string Model::broken() {
  if (!broken_.empty()) return broken_;
  if (world_.failure) return *world_.failure;
  const bool offered_by_us = provider().inventory.reserved == 0 && provider().consumers.empty() &&
                             provider().offered == sim::Offered::by_us;
  if (!offered_by_us) return "";
  if (drive().owner != 0) return "released, and a tenant's data is on it";
  if (!verified_) return "released, and not erased and verified since a tenant last had it";
  if (drive().running || drive().canary != 0) return "released, and being erased";
  return "";
}

}  // namespace reclaim::exhaustive
