// Worlds in which somebody sends, many times a second and for minutes, what anybody may send:
// orders of maintenance, kicks, what was heard of an ARQ already. The worker sees who has a device
// all the same.
#include <fmt/core.h>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kSeenWithinMs = 150'000;
constexpr std::int64_t kSeenWithinAtWorstMs = 900'000;

}  // namespace

bool World::has_floods() const {
  return !options_.scripted && options_.seed >= kFloodsFrom && options_.seed < kBriefFrom;
}

void World::flood_begins() {
  if (quiet_) return;
  const std::size_t at = rng.below(slots.size());
  const auto kind = static_cast<Flood>(rng.below(3));
  say(fmt::format("a flood of {} for {} begins",
                  kind == Flood::orders  ? "orders"
                  : kind == Flood::kicks ? "kicks"
                                         : "ARQs",
                  to_string(slots.at(at).address)));
  flood_goes_on(at, kind, rng.between(15, 300), scheduler.now_ms() + rng.between(10'000, 120'000));
}

void World::flood_goes_on(std::size_t at, Flood kind, std::int64_t apart_ms,
                          std::int64_t until_ms) {
  if (quiet_) return;
  if (scheduler.now_ms() >= until_ms) {
    if (rng.chance(0.7)) scheduler.outside(rng.between(0, 300'000), [this] { flood_begins(); });
    return;
  }
  send_of_flood(slots.at(at), kind);
  scheduler.outside(rng.between(1, 2 * apart_ms), [this, at, kind, apart_ms, until_ms] {
    flood_goes_on(at, kind, apart_ms, until_ms);
  });
}

void World::send_of_flood(Slot& slot, Flood kind) {
  if (kind == Flood::orders) {
    return command(rng.chance(0.5) ? "maintenance_on" : "maintenance_off", slot.address);
  }
  if (kind == Flood::arqs && slot.cyborg && slot.bound) {
    return hand_over(slot, "accelerator_request.bind.end", cyborg.arq(slot.arq), 0);
  }
  kick({0});
}

// An instance runs, and the device is in the pool by its record.
void World::check_seen(Slot& slot) {
  const Record* record = store.last_saved(slot.address);
  const bool unseen = has_floods() && conductor && started && !store.away() && !disk.full &&
                      slot.ours && slot.is_drive && slot.phase == Phase::running &&
                      record != nullptr && record->stage == Stage::available;
  check_ends(unseen, slot.unseen_since_ms, prompt_ ? kSeenWithinMs : kSeenWithinAtWorstMs,
             fmt::format("{} has {}, unseen", slot.instance, to_string(slot.address)));
}

}  // namespace reclaim::sim
