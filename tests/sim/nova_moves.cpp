// Tenants as Placement shows them: one who moves goes by his migration's name, with nothing of his
// own until the scheduler has found him another place; and one gets a drive that nobody erased
// after the one before, while no worker runs. The two look alike.
#include <fmt/core.h>

#include "handlers/survey/taken.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kScheduledWithinMs = 20'000;

}  // namespace

// A move begins, or one that began is given up. False: neither.
bool World::nova_moves(Slot& slot) {
  Provider* provider = provider_of(slot);
  if (slot.cyborg || provider == nullptr || quiet_ || !rng.chance(0.4)) return false;
  const bool back = slot.consumer != slot.instance;
  const std::string to = back ? slot.instance : fmt::format("migration-{}", moved_from_.size() + 1);
  placement.hand_over(provider->row.uuid, slot.consumer, to);
  placement.leaves_elsewhere(slot.consumer);
  slot.consumer = to;
  say(fmt::format("nova: {} has {} as {}", slot.instance, to_string(slot.address), to));
  if (back) return true;
  moved_from_[to] = slot.instance;
  scheduler.outside(rng.between(0, kScheduledWithinMs),
                    [this, who = slot.instance, address = slot.address] {
                      const Slot& at = slot_at(address);
                      const bool moves = at.instance == who && at.consumer != who;
                      if (moves && at.phase != Phase::none) placement.comes_elsewhere(who);
                    });
  return true;
}

// Its tenant leaves it while no worker runs, and the next gets it as it is: by a provider that Nova
// makes anew, or by an operator who thinks that it is clean.
bool World::nova_passes_on(Slot& slot) {
  Provider* provider = provider_of(slot);
  if (slot.cyborg || provider == nullptr || quiet_ || !slot.is_drive || !rng.chance(0.4)) {
    return false;
  }
  if (rng.chance(0.8)) {
    kill_worker();
    restart_worker_later(rng.between(0, 120'000));
  }
  nova_deallocates(slot);
  if (rng.chance(0.5)) {
    placement.remove(provider->row.uuid);
    placement.create(slot.provider_name, true);
  } else {
    placement.set_reserved_by(Offered::by_operator, provider->row.uuid, 0);
  }
  slot.held = slot.reserved_by_hand = false;
  nova_allocates(slot);
  return true;
}

// A move is no new tenancy, and whoever gets what nobody erased is an alarm.
void World::check_tenant(const Record& record, const JournalEntry& entry) {
  Slot& slot = slot_at(record.address);
  const std::string before = std::exchange(slot.told, record.instance);
  if (std::exchange(slot.told_epoch, record.epoch) == record.epoch) return;  // written once more
  const auto move = moved_from_.find(record.instance);
  const std::string moved = move == moved_from_.end() ? "" : move->second;
  const std::string where = fmt::format("{} of {} is recorded as that of {}",
                                        to_string(record.address), before, record.instance);
  if (entry.trigger == to_string(Trigger::passed_on)) {
    const bool same = record.instance == before || moved == before;
    // Of who is gone again, Placement does not tell any more whose move it was.
    const Provider* provider = provider_of(slot);
    const bool stays = provider != nullptr && !provider->consumers.empty();
    if (same && stays && !before.empty()) return fail(where + ", an alarm for nothing");
    if (entry.detail.find(kNotKnownToBeClean) == std::string::npos) {
      return fail(where + ", and that is no alarm");
    }
  } else if (entry.trigger == "noted" && record.stage == Stage::allocated && !before.empty() &&
             !record.instance.empty() && record.instance != before) {
    fail(where + ", and that is no transition");
  }
}

bool World::is_misnamed(const Slot& slot) const {
  const Record* record = last_known(slot.address);
  if (!slot.ours || record == nullptr || !record->cleanable() || record->stage != Stage::allocated)
    return false;
  if (slot.phase != Phase::building && slot.phase != Phase::running) return false;
  const auto move = moved_from_.find(record->instance);
  const bool of_its_move = move != moved_from_.end() && move->second == slot.instance;
  return !record->instance.empty() && record->instance != slot.instance && !of_its_move;
}

}  // namespace reclaim::sim
