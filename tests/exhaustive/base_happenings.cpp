// What may happen in the base.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tests/exhaustive/model.h"

namespace reclaim::exhaustive {
namespace {

constexpr std::int64_t kForgetMs = 60'000;
constexpr std::uint64_t kSwappedOwner = 1'000;  // of what stands on a drive that is put in

}  // namespace

bool Model::is_free() {
  const sim::Provider* other = second();
  return provider().consumers.empty() && slot().phase == sim::Phase::none &&
         (other == nullptr || other->consumers.empty());
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
  // An unmanaged drive goes back by what it said two seconds before.
  const Record* stored = world_.store.stored(address);
  const bool maintained = stored != nullptr && stored->maintenance;
  if (!slot().managed && slot().ours_taken_out && !maintained) return true;
  const bool goes_on = saved != nullptr && is_busy(saved->stage);
  return release_at_ == provider().row.generation && !goes_on && !rests();
}

bool Model::restorable(Stage stage) {
  const Record* stored = world_.store.stored(slot().address);
  const auto kept = of_releases_.find(stage);
  return world_.conductor != nullptr && kept != of_releases_.end() &&
         (stored == nullptr || *stored != kept->second);
}

bool Model::can_of_base(Happening happening) {
  const Record* stored = world_.store.stored(slot().address);
  const bool free = is_free();
  const bool armed = is_armed();
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
      return slot().phase == sim::Phase::running || slot().phase == sim::Phase::building;
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
    default:
      return false;
  }
}

void Model::let_of_base(Happening happening) {
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
    default:
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
  const bool told = known != nullptr && !known->serial.empty() && world_.started &&
                    noted != world_.disk.entries.end() && !noted->second.serial.empty();
  const bool learnt = told || (known != nullptr && known->accepted);
  sim::Drive next;
  next.address = address;
  next.home = next.driver = drive().home;
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
  slot().ours_taken_out = false;
  // Of an unmanaged drive nobody can tell, and an ARQ of which no end was heard may bind it.
  const auto& arqs = world_.store.arqs();
  const bool bound = std::any_of(arqs.begin(), arqs.end(),
                                 [](const auto& known) { return known.second.holds_device(); });
  slot().held = only_write && slot().managed && !bound &&
                stored->certified_host_reads == drive().host_reads &&
                stored->certified_host_writes == drive().host_writes;
}

}  // namespace reclaim::exhaustive
