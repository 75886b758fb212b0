// What Nova's notifications tell of its instances' lives, where it names them: late, sometimes
// lost, and kept by the bus while no worker runs.
#include <fmt/core.h>

#include <utility>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr const char* kUuidElsewhere = "ffffffff-0000-4000-8000-000000000000";

std::string uuid_of(std::uint64_t tenancy) {
  return fmt::format("00000000-0000-4000-8000-{:012}", tenancy);
}

}  // namespace

void World::life_begins(const Slot& slot) {
  if (names_ends()) lives_[uuid_of(slot.tenancy)] = {scheduler.now_ms(), 0};
}

void World::life_ends(const Slot& slot) {
  if (names_ends()) lives_[uuid_of(slot.tenancy)].until_ms = scheduler.now_ms();
}

void World::tell_life(const Slot& slot, Life life) {
  if (!names_ends()) return;
  Kick kick;
  kick.reason = "life";
  kick.instance = uuid_of(slot.tenancy);
  kick.life = life;
  kick.host = conductor_options.host;
  kick.sent_at = scheduler.now().wall;
  kick.mark_allocated = life == Life::begins;
  kick.delays_s = {0};
  if (!rng.chance(0.1)) bring_later(kick);
  if (!kicks_of_others_) return;
  // The payload names this host, and the life is another one's.
  kick.instance = kUuidElsewhere;
  kick.host = "compute-2";
  bring_later(kick);
}

void World::bring_later(const Kick& kick) {
  scheduler.outside(rng.chance(0.1) ? rng.between(0, 90'000) : rng.between(0, 500), [this, kick] {
    waiting_.push_back(kick);
    bring_waiting();
  });
}

void World::bring_waiting() {
  if (!conductor || !started) return;
  for (const Kick& kick : std::exchange(waiting_, {})) conductor->take(kick);
}

// Who is named lived here, and in the gap in which somebody whom nobody saw may have had the
// device.
void World::check_heard(const Record& record) {
  const bool unseen = record.unseen.until.ms != 0;
  if (unseen && record.instance_source != InstanceSource::not_seen) {
    return fail(to_string(record.address) + " has a tenant, and a gap in which nobody saw one");
  }
  if (!unseen && !record.heard.empty()) return fail("heard of without a gap: " + record.heard[0]);
  if (options_.scripted) return;
  const std::int64_t offset_ms = scheduler.now().wall.ms - scheduler.now_ms();
  for (const std::string& instance : record.heard) {
    const auto life = lives_.find(instance);
    if (life == lives_.end()) return fail(instance + " is heard of, and never lived here");
    // Once it was set, the wall clock tells the order of two events no more.
    if (scheduler.is_wall_clock_set()) continue;
    const bool began = life->second.from_ms <= record.unseen.until.ms - offset_ms;
    const bool ended =
        life->second.until_ms != 0 && life->second.until_ms >= record.unseen.from.ms - offset_ms;
    if (!began || !ended) return fail(instance + " is heard of, and did not live in the gap");
  }
}

}  // namespace reclaim::sim
