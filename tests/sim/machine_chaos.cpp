// What happens to the machine itself: reboots that renumber its slots, drives that change places or
// stop answering; and what somebody with the fleet's Redis password writes there.
#include <fmt/core.h>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// A dirty drive that came to an address which is on offer is reserved within this time.
constexpr std::int64_t kDisplacedWithinMs = 600'000;
// After that no release that was asked for is made any more (fake_placement.cpp).
constexpr std::int64_t kReleaseOverMs = 250'000;
constexpr std::size_t kOldRecordsMax = 200;

// By its Device Serial Number, that the ledger would find again elsewhere.
bool is_on_line(const Drive& drive, const LedgerEntry* line) {
  const std::string& number = drive.hardware.serial_number;
  return line != nullptr && !number.empty() && line->hardware.find(number) != std::string::npos;
}

}  // namespace

// Nobody pulls a drive while its release is on its way: what comes late speaks of the slot, and no
// worker could call it back while the host is off (docs/safety.md).
bool World::is_in_release(const Slot& slot) const {
  for (const Record* last : {store.last_saved(slot.address), store.stored(slot.address)}) {
    if (last != nullptr && (last->stage == Stage::releasing || last->stage == Stage::confirming)) {
      return true;
    }
  }
  return slot.release_asked_ms != 0 && scheduler.now_ms() - slot.release_asked_ms < kReleaseOverMs;
}

// Two drives can change places: nobody's guest has either.
bool World::may_move(const Slot& slot) {
  return slot.ours && slot.is_drive && !slot.by_steps && !slot.unregistered &&
         !is_in_release(slot) && drive_of(slot).present && drive_of(slot).signatures.empty();
}

void World::change_places(Slot& a, Slot& b, bool renumbered) {
  say(fmt::format("host: the drives of {} and {} change places", to_string(a.address),
                  to_string(b.address)));
  Drive& at_a = drive_of(a);
  Drive& at_b = drive_of(b);
  for (Slot* slot : {&a, &b}) {
    const Drive& former = slot == &a ? at_a : at_b;
    const LedgerEntry* line =
        disk.entries.contains(slot->address) ? &disk.entries.at(slot->address) : nullptr;
    const Record* known = store.stored(slot->address);
    const bool learnt =
        known != nullptr && !known->serial.empty() && line != nullptr && !line->serial.empty();
    // Of an unmanaged drive only its hardware tells, or that nobody can tell since the reboot.
    const bool noted = line != nullptr && !line->boot_id.empty();
    if (!slot->displaced) slot->home_serial = former.serial;
    // What was never seen before begins with the drive that is found.
    slot->displaced = known != nullptr || line != nullptr;
    slot->tellable = slot->managed ? learnt : noted && (renumbered || is_on_line(former, line));
    slot->swapped = learnt;
    // Where the drive comes back untouched, the hold is known again.
    slot->held = false;
    slot->displaced_dirty_since_ms = 0;
    // A drive that was on record when another was put there may be the one that comes back.
    if (learnt && (line->serial == known->serial || line->enrolled_serial == known->serial)) {
      slot->expected_serial = known->serial;
    }
    if (!learnt) slot->expected_serial.clear();
    Provider* provider = provider_of(*slot);
    if (provider != nullptr && provider->inventory.reserved == 0) {
      provider->offered = Offered::exchanged;
    }
  }
  std::swap(at_a, at_b);
  std::swap(at_a.address, at_b.address);
  // A bay stays where it is; when addresses are given again, it is its drive's still.
  if (!renumbered) std::swap(at_a.hardware.slot, at_b.hardware.slot);
  // Home again, as far as the worker can know, whatever was done to it elsewhere.
  for (Slot* slot : {&a, &b}) {
    if (drive_of(*slot).serial == slot->home_serial) slot->displaced = false;
  }
}

// Two drives of the running host are pulled, and put into each other's bay.
void World::exchange_drives(Slot& slot) {
  Slot& other = slots.at(rng.below(slots.size()));
  const auto rests = [this](const Slot& each) {
    return may_move(each) && each.phase == Phase::none && drive_of(each).guest == 0;
  };
  if (&other == &slot || other.managed != slot.managed || !rests(slot) || !rests(other)) return;
  change_places(slot, other, false);
  if (!drives) return;
  drives->breaks(slot.address);
  drives->breaks(other.address);
}

// All guests stop, every device is bound to the driver of its boot, and bus numbers may be others.
// What Nova had allocated stays allocated, and its guests are started again where their domain
// says.
void World::host_reboots() {
  if (!conductor) return;
  say("host: it reboots");
  std::vector<Slot*> movable;
  for (Slot& slot : slots) {
    if (may_move(slot)) movable.push_back(&slot);
  }
  kill_worker();
  if (rng.chance(0.5)) store_forgets();
  if (rng.chance(0.2)) scheduler.shift_wall_clock(rng.between(-600'000, 86'400'000));
  conductor_options.boot_id = fmt::format("boot-{}", ++boots_);
  for (Slot& slot : slots) {
    Drive& drive = drive_of(slot);
    drive.guest = 0;
    drive.taken_over = drive.guarded = drive.hangs = false;
    drive.present = true;
    drive.driver = drive.home;
    drive.disk += 1;
    if (slot.phase == Phase::running) slot.phase = Phase::building;
    if (slot.phase == Phase::ghost) {
      cyborg_unbinds(slot);
      slot.phase = Phase::none;
    }
  }
  for (std::size_t i = 0; i + 1 < movable.size(); ++i) {
    Slot& other = *movable.at(i + 1);
    if (rng.chance(0.6) && movable.at(i)->managed == other.managed) {
      change_places(*movable.at(i), other, true);
    }
  }
  restart_worker_later(rng.between(5'000, 120'000));
}

// It answers no command for a while, not even a look.
void World::drive_hangs(const PciAddress& address) {
  say(fmt::format("host: {} does not answer any more", to_string(address)));
  hardware.drives.at(address).hangs = true;
  if (drives) drives->breaks(address);
  scheduler.outside(rng.between(1'000, 300'000),
                    [this, address] { hardware.drives.at(address).hangs = false; });
}

// No survey ends any more; its alarm lets an operator start the worker again.
void World::discovery_hangs() {
  if (hardware.discovery_hangs) return;
  say("host: looks at the drives do not end any more");
  hardware.discovery_hangs = true;
  scheduler.outside(rng.between(10'000, 400'000), [this] {
    hardware.discovery_hangs = false;
    if (!conductor) return;
    kill_worker();
    restart_worker_later(rng.between(0, 5'000));
  });
}

// Somebody with the fleet's Redis password, but without this host's key: he invents a record, or
// puts one back that this host wrote once.
void World::stranger_writes(const Slot& slot) {
  const Record* stored = store.stored(slot.address);
  if (stored == nullptr || store.away()) return;
  certificates_owed_.clear();
  hold_is_forgotten(slot_at(slot.address));
  if (rng.chance(0.5) && !old_records_.empty()) {
    const Record& old = old_records_.at(rng.below(old_records_.size()));
    say(fmt::format("somebody puts back an old record of {}: {}, epoch {}", to_string(old.address),
                    to_string(old.stage), old.epoch));
    hold_is_forgotten(slot_at(old.address));
    return store.put_back(old);
  }
  say(fmt::format("somebody forges the record of {}", to_string(slot.address)));
  Record forged = *stored;
  forged.stage = rng.chance(0.5) ? Stage::available : Stage::looking;
  forged.epoch += static_cast<std::uint64_t>(rng.between(0, 5));
  store.forge(forged);
  scheduler.outside(rng.between(1'000, 200'000), [this, address = slot.address] {
    slot_at(address).held = false;
    certificates_owed_.clear();
    remove_forged();
  });
}

void World::hold_is_forgotten(Slot& slot) {
  slot.held = false;
  slot.like_a_hand = true;
}

// Where a start found one, the device waits until an operator has removed it. What a running worker
// finds it has to write again by itself.
void World::remove_forged() {
  if (!conductor || !started) return;
  for (const Record& record : conductor->records()) {
    if (record.damage.empty()) continue;
    store.mend(record.address, true);
    if (store.stored(record.address) == nullptr) hold_is_forgotten(slot_at(record.address));
  }
  forget_displaced();
}

// Where neither Redis nor the ledger tells of a drive at an address, the one found there is its
// drive: both forgot, or an operator let the device go, which leaves no more than an epoch.
void World::forget_displaced() {
  for (Slot& slot : slots) {
    if (store.stored(slot.address) != nullptr) continue;
    const auto line = disk.entries.find(slot.address);
    if (line == disk.entries.end()) {
      slot.displaced = false;
    } else if (!slot.swapped || !line->second.serial.empty() ||
               !line->second.enrolled_serial.empty() || line->second.dirty) {
      continue;
    }
    if (std::exchange(slot.swapped, false)) slot.expected_serial.clear();
  }
}

void World::remember_record(const Record& record) {
  if (old_records_.size() < kOldRecordsMax) return old_records_.push_back(record);
  old_records_.at(rng.below(kOldRecordsMax)) = record;
}

// Nobody loses a drive that his instance owns because another stands in its place.
std::string World::living_owner(const Slot& slot, const Drive& drive) const {
  if (!slot.displaced) return "";
  for (const Slot& other : slots) {
    const bool lives = other.phase != Phase::none && other.phase != Phase::ghost;
    // What he wrote to another's, after a reboot had put it there, goes with that one.
    if (&other == &slot || !lives || drive.serial != other.own_serial) continue;
    if (drive.owner == other.tenancy || drive.hidden_owner == other.tenancy) return other.consumer;
  }
  return "";
}

// A dirty drive that stands where a clean one was is not a device of the pool.
bool World::offers_another(const Slot& slot) {
  const Provider* provider = provider_of(slot);
  const Drive& drive = drive_of(slot);
  const bool visible =
      drive.present && !drive.hangs && (!slot.managed || drive.driver == drive.home);
  return slot.displaced && slot.tellable && visible && provider != nullptr &&
         provider->inventory.reserved == 0 && provider->consumers.empty() &&
         slot.phase == Phase::none && (drive.owner != 0 || drive.hidden_owner != 0);
}

void World::check_displaced(Slot& slot) {
  check_ends(
      offers_another(slot), slot.displaced_dirty_since_ms, kDisplacedWithinMs,
      fmt::format("{} is offered with another, dirty drive than its own", to_string(slot.address)));
}

}  // namespace reclaim::sim
