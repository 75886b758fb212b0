// Worlds in which nobody looks at the right moment: builds that fail before their guest, tenants
// who leave no write, workers that are away for hours; and Cyborg's agent, which un-reserves what
// it is told is clean.
#include <fmt/core.h>

#include <utility>

#include "handlers/survey/admission.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// Cyborg has not reserved it, its tenant is gone, and the worker has not noticed yet.
constexpr std::int64_t kLeftWithinMs = 600'000;
constexpr std::int64_t kAgentLooksMs = 30'000;

const char* by_whom(const Slot& slot, Offered offered) {
  if (!slot.ours) return "never ours";
  switch (offered) {
    case Offered::by_cyborg:
      return "by Cyborg, which wrote 0";
    case Offered::left:
      return "left unreserved by Cyborg, and not reserved yet";
    case Offered::by_operator:
      return "by an operator's hand";
    case Offered::counts_anew:
      return "its provider came back to the generation that it had";
    case Offered::former:
      return "by a late release of its former provider";
    case Offered::untold:
      return "no counter of the unmanaged drive told of its tenant";
    case Offered::exchanged:
      return "its drive was exchanged";
    default:
      return slot.had_tenants ? "by a provider that Nova made anew" : "as it was found";
  }
}

}  // namespace

// What a tenant left is on it, for the next to find.
bool World::is_dirty(const Slot& slot) {
  const Drive& drive = drive_of(slot);
  return drive.owner != 0 || drive.hidden_owner != 0 || drive.changed_by != 0 || drive.locked;
}

bool World::is_unwatched() const {
  const bool is_plain = options_.seed >= kUnwatchedFrom && options_.seed < kFloodsFrom;
  return is_brief() || (!options_.scripted && is_plain);
}

bool World::is_brief() const {
  return !options_.scripted && options_.seed >= kBriefFrom && options_.seed < kUnfitFrom;
}

void World::draw_unwatched() {
  // Placement answers as late as a life is long.
  if (is_brief()) faults.slow = 0.1 + 0.06 * static_cast<double>(rng.below(10));
  if (rng.chance(0.4)) conductor_options.cyborg_owner = CyborgOwner::agent;
  conductor_options.agent_door = !conductor_options.manage_providers && rng.chance(0.3);
  conductor_options.first_sight = FirstSight::clean;
  // A bind's reservation that is made after its tenancy has tests of its own.
  conductor_options.reserve_all_types = rng.chance(0.5) && faults.put_lost_late == 0;
}

// Commands of an administrator's, which no counter of the drive counts.
void World::guest_writes_nothing(Slot& slot) {
  Drive& drive = drive_of(slot);
  if (rng.chance(0.5)) drive.host_reads += 5;
  drive.version += 1;
  switch (rng.below(8)) {
    case 0:
      say(fmt::format("guest: locks {}", to_string(slot.address)));
      drive.locked = true;
      break;
    case 1:
    case 2:
      say(fmt::format("guest: formats {}", to_string(slot.address)));
      if (drive.kind != Kind::keeps_data) drive.content = drive.owner = 0;
      break;
    case 3:
    case 4:
      say(fmt::format("guest: deletes the namespaces of {}", to_string(slot.address)));
      drive.hidden_owner = slot.tenancy;
      drive.content = rng.next() | 1U;  // what is read where they are brought back
      break;
    default:
      say(fmt::format("guest: has {} load firmware of its own", to_string(slot.address)));
      drive.changed_by = slot.tenancy;
      break;
  }
}

// Nova tells of it with the instance's name, while it takes back what the build had claimed.
void World::tell_of_the_failed_build(const std::string& instance) {
  if (rng.chance(0.3)) return;
  scheduler.outside(rng.chance(0.1) ? rng.between(0, 90'000) : rng.between(0, 500),
                    [this, instance] {
                      if (!conductor || !started) return;
                      Kick kick;
                      kick.reason = "instance.create.error";
                      kick.instance = instance;
                      kick.host = conductor_options.host;
                      kick.delays_s = {0, 5, 30};
                      conductor->take(kick);
                    });
}

// While Nova, Cyborg and their tenants go on.
void World::worker_is_away() {
  const std::int64_t for_ms = rng.between(kHourMs / 2, 3 * kHourMs);
  say(fmt::format("the worker is away for {} minutes", for_ms / kMinuteMs));
  kill_worker();
  away_until_ms_ = scheduler.now_ms() + for_ms;
  pass(for_ms);
  start_worker();
  pass(rng.between(0, 600'000));
}

// The agent of a Cyborg that has the specification asks for a cleaning when it has unbound a drive,
// and un-reserves what it is told is clean; so does that of [agent_door], which knows no more.
void World::agent_asks_to_clean(const Slot& slot) {
  if (!is_unwatched() || conductor_options.cyborg_owner != CyborgOwner::agent || slot.by_hand ||
      rng.chance(0.2)) {
    return;
  }
  scheduler.outside(rng.between(0, 500),
                    [this, address = slot.address] { command("cleanup_device", address); });
}

void World::agent_looks() {
  scheduler.outside(rng.between(1'000, kAgentLooksMs), [this] { agent_looks(); });
  if (!conductor || !started) return;
  for (const ReportedDrive& told : conductor->drives_for_agent()) {
    Slot& slot = slot_at(told.address);
    // As its driver does: what was seen before says nothing of the tenancy that ended then.
    const bool since = told.looked_at > slot.unbound_at;
    if (since && told.clean && told.handed_over && told.serial == drive_of(slot).serial) {
      agent_unreserves(slot);
    }
  }
  // The door tells of drives alone. What else it has had cleaned nobody has written to since.
  for (const Record& record : conductor->records()) {
    const Provider* provider = provider_of(slot_at(record.address));
    const bool waits = record.handed_over && record.waiting_for == kHandedOver;
    if (record.by_steps && record.stage == Stage::available && waits && provider != nullptr &&
        record.rest == Rest{provider->row.uuid, provider->row.generation, true, true}) {
      agent_unreserves(slot_at(record.address));
    }
  }
}

void World::agent_unreserves(Slot& slot) {
  const Provider* provider = provider_of(slot);
  if (provider == nullptr || provider->inventory.reserved == 0 || !provider->consumers.empty() ||
      slot.maintaining || slot.bound) {
    return;
  }
  // One that counts from the start may have come back to where it was, and asks nothing.
  const bool forgotten = std::exchange(slot.counts_anew, false) && is_dirty(slot);
  if (!forgotten) check_told_clean(slot);
  say(fmt::format("cyborg: its agent un-reserves {}", to_string(slot.address)));
  placement.set_reserved_by(forgotten ? Offered::counts_anew : Offered::by_us, provider->row.uuid,
                            0);
  slot.given = slot.reserved_by_hand = slot.like_a_hand = slot.clean_ordered = false;
  slot.unreserved_since_ms = 0;
}

void World::check_told_clean(const Slot& slot) {
  const Drive& drive = drive_of(slot);
  const std::string where = fmt::format("{} is told as clean", to_string(slot.address));
  if (is_dirty(slot)) return fail(where + ", and has what a tenant left");
  if (drive.running) return fail(where + ", and is being sanitized");
  if (drive.guest != 0) return fail(where + ", and a guest has it");
  if (slot.held) return fail(where + ", and an operator holds it");
}

// An unmanaged drive whose tenant sent commands of an administrator's alone, while no worker ran
// and no word of an ARQ arrived.
bool World::tells_of_nobody(const Slot& slot) {
  const Record* record = last_known(slot.address);
  return !slot.managed && is_dirty(slot) && record != nullptr &&
         record->certified_host_writes == drive_of(slot).host_writes;
}

// Cyborg gives a device back as its tenant left it: that the worker sees, whoever looked meanwhile.
void World::check_left(Slot& slot, const Provider* provider) {
  const Drive& drive = drive_of(slot);
  const bool visible =
      drive.present && !drive.hangs && (!slot.managed || drive.driver == drive.home);
  // What stood on offer at its first sight is believed to be clean, where the options say so.
  const Record* record = last_known(slot.address);
  const bool believed = conductor_options.first_sight == FirstSight::accept && record != nullptr &&
                        record->certificate_id.empty();
  const bool left = !believed && provider != nullptr && provider->offered == Offered::left &&
                    provider->inventory.reserved == 0 && provider->consumers.empty() && slot.ours &&
                    slot.is_drive && visible && !slot.swapped && !slot.displaced &&
                    slot.phase == Phase::none && is_dirty(slot);
  check_ends(left, slot.left_dirty_since_ms, kLeftWithinMs,
             fmt::format("{} is dirty, left unreserved by Cyborg", to_string(slot.address)));
}

// Somebody else than us answers for it.
void World::count_given_dirty(const Slot& slot, Offered offered) {
  if (is_dirty(slot)) given_dirty[by_whom(slot, offered)] += 1;
}

}  // namespace reclaim::sim
