// Cyborg and its tenants: ARQs that bind and unbind, notifications of them that get lost, late or
// out of order, an agent that reports its inventory again, and an administrator's switch. Today's
// Cyborg does not reserve what it binds; the specification's does.
#include <fmt/core.h>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// A survey and what it takes. Longer where answers are late or lost: a survey asks one thing after
// another, and each answer may take two minutes (Faults::delay_ms).
constexpr std::int64_t kReserveWithinMs = 100'000;
constexpr std::int64_t kReserveWithinAtWorstMs = 600'000;
constexpr int kTriesMax = 40;

bool ends(const std::string& event) {
  return event.ends_with(".unbind.end") || event.ends_with(".delete.end");
}

}  // namespace

void World::draw_cyborg(Slot& slot, Drive& drive) {
  slot.cyborg = true;
  slot.provider_name = fmt::format("compute-1_{}", to_string(slot.address));
  placement::CyborgDevice& device = cyborg.device(slot.address);
  device.uuid = to_string(slot.address);
  device.address = slot.address;
  device.status = "enabled";
  bool registered = true;
  if (!options_.scripted) {
    slot.ours = !rng.chance(0.1);
    const bool specified = conductor_options.cyborg_owner == CyborgOwner::agent;
    slot.reserves = rng.chance(specified ? 0.9 : 0.3);
    if (rng.chance(0.1)) {
      slot.is_drive = false;
      slot.managed = true;
      drive = Drive{};
      drive.address = slot.address;
      drive.class_code = 0x030200;
    }
    registered = !conductor_options.registers() || !slot.is_drive || !slot.ours || !slot.managed ||
                 rng.chance(0.3);
  }
  if (!registered) {
    slot.unregistered = true;
    if (rng.chance(0.5)) drive.signatures = {"gpt partition table"};
    return;
  }
  Provider& provider = placement.create(slot.provider_name, false, true);
  if (options_.scripted || !rng.chance(0.3)) return;
  // Somebody reserved it before we came, and nobody saw a tenancy: held.
  provider.inventory.reserved = 1;
  provider.offered = Offered::no;
  slot.reserved_by_hand = slot.like_a_hand = true;
  slot.held = slot.is_drive;  // by its first record already
  if (slot.is_drive) write_media(drive, next_tenancy_++, rng.next() | 1U);
  slot.had_data = true;
}

// `reserved` is written by somebody else than us: from now on he answers for it.
void World::offer(Slot& slot, Provider& provider, std::int64_t reserved) {
  placement.set_reserved_by(reserved == 0 ? Offered::by_cyborg : Offered::no, provider.row.uuid,
                            reserved);
  slot.unreserved_since_ms = 0;
  slot.like_a_hand = reserved != 0 && provider.consumers.empty();
  if (reserved == 0) slot.held = slot.reserved_by_hand = false;
  slot.unreserved_ms = 0;
  if (reserved == 0) note_unreserved(slot);
}

void World::cyborg_binds(Slot& slot) {
  Provider* provider = provider_of(slot);
  slot.arq = fmt::format("arq-{}", next_arq_++);
  slot.bound = true;
  cyborg.changing();
  Arq& arq = cyborg.arq(slot.arq);
  arq.uuid = slot.arq;
  arq.state = ArqState::bound;
  arq.hostname = "compute-1";
  arq.instance_uuid = slot.by_hand ? "" : slot.consumer;
  arq.attach_handle_type = "PCI";
  arq.address = slot.address;
  if (rng.chance(0.5)) arq.managed = slot.managed;
  if (provider != nullptr) arq.device_rp_uuid = provider->row.uuid;
  arq.updated_at = to_iso8601(WallMs{scheduler.now_ms() / 1000 * 1000});
  if (slot.reserves && provider != nullptr) {
    offer(slot, *provider, 1);
    slot.taken_ms = 0;
  }
  say(fmt::format("cyborg: {} binds {}", slot.arq, to_string(slot.address)));
  if (!quiet_ && moment_ > 0 && rng.chance(0.1)) redis_goes_away(rng.between(1'000, 300'000));
  notify_arq(slot, "accelerator_request.bind.start");
  notify_arq(slot, "accelerator_request.bind.end");
  if (!slot.by_hand) slot.phase = Phase::building;
}

void World::cyborg_unbinds(Slot& slot) {
  if (!slot.bound) return;
  slot.bound = false;
  slot.unbound_at = scheduler.now().wall;
  say(fmt::format("cyborg: {} is unbound from {}", slot.arq, to_string(slot.address)));
  cyborg.changing();
  notify_arq(slot, "accelerator_request.unbind.start");
  Arq& arq = cyborg.arq(slot.arq);
  arq = Arq{};  // wiped
  arq.uuid = slot.arq;
  arq.state = ArqState::unbound;
  arq.updated_at = to_iso8601(WallMs{scheduler.now_ms() / 1000 * 1000});
  notify_arq(slot, "accelerator_request.unbind.end");
  notify_arq(slot, "accelerator_request.delete.end");
  cyborg.remove(slot.arq);
  agent_asks_to_clean(slot);
  // The specification's conductor gives what is not a drive back at once.
  Provider* provider = provider_of(slot);
  if (!slot.is_drive && provider != nullptr) offer(slot, *provider, 0);
}

// Somebody binds it by Cyborg's API, and Nova and Placement know nothing of it. Cyborg's API does
// not ask whether the device is reserved, so that it may be in the middle of a cleaning.
void World::cyborg_binds_by_hand(Slot& slot) {
  const Provider* provider = provider_of(slot);
  if (!slot.cyborg || slot.bound || slot.phase != Phase::none || provider == nullptr) return;
  const Record* saved = store.last_saved(slot.address);
  const bool at_work = saved != nullptr && is_busy(saved->stage);
  if (provider->inventory.reserved != 0 && !at_work) return;
  slot.by_hand = true;
  slot.bound_heard = 0;
  cyborg_binds(slot);
  scheduler.outside(rng.between(1'000, 300'000), [this, address = slot.address, arq = slot.arq] {
    Slot& again = slot_at(address);
    if (again.arq == arq) cyborg_unbinds(again);
  });
}

void World::notify_arq(Slot& slot, const std::string& event) {
  if (!notifier_) return;
  Arq arq = cyborg.arq(slot.arq);
  if (options_.scripted) return;  // the test tells by itself
  const int copies = rng.chance(faults.arq_lost) ? 0 : (rng.chance(faults.arq_twice) ? 2 : 1);
  for (int i = 0; i < copies; ++i) {
    const std::int64_t delay_ms =
        rng.chance(faults.arq_late) ? rng.between(0, 240'000) : rng.between(0, 500);
    scheduler.outside(delay_ms, [this, address = slot.address, event, arq] {
      hand_over(slot_at(address), event, arq, 0);
    });
  }
}

// What comes while no worker runs waits in the host's stream.
void World::hand_over(const Slot& slot, const std::string& event, const Arq& arq, int tries) {
  if (!conductor || !started) {
    if (tries >= kTriesMax) return;
    return scheduler.outside(5'000, [this, address = slot.address, event, arq, tries] {
      hand_over(slot_at(address), event, arq, tries + 1);
    });
  }
  say(fmt::format("the worker hears {} of {}", event, arq.uuid));
  Slot& heard = slot_at(slot.address);
  // A binding that is heard of is a tenancy, however late: no hold goes before it.
  if (!ends(event)) heard.held = heard.reserved_by_hand = false;
  if (heard.arq == arq.uuid) {
    heard.bound_heard = event.ends_with(".bind.end") ? incarnation_ : 0;
  }
  Kick kick;
  kick.reason = event;
  kick.arq = encode_arq(arq);
  kick.delays_s = ends(event) ? std::vector<int>{0, 5, 30} : std::vector<int>{0};
  conductor->take(kick);
}

void World::tell_arq(Slot& slot, const std::string& event) {
  hand_over(slot, event, cyborg.arq(slot.arq), 0);
}

// The agent's report, each minute: where it finds its inventory changed, it writes it again, and
// knows nothing of `reserved`.
void World::cyborg_periodic() {
  if (quiet_) return;
  for (Slot& slot : slots) {
    Provider* provider = provider_of(slot);
    if (!slot.cyborg || provider == nullptr || slot.maintaining ||
        !rng.chance(faults.agent_rewrites)) {
      continue;
    }
    say(fmt::format("cyborg: its agent reports {} with reserved = 0", to_string(slot.address)));
    const bool was_offered = provider->inventory.reserved == 0;
    if (!was_offered) offer(slot, *provider, 0);
  }
  scheduler.outside(60'000, [this] { cyborg_periodic(); });
}

void World::switch_maintaining(Slot& slot, bool on) {
  Provider* provider = provider_of(slot);
  if (!slot.cyborg || provider == nullptr || slot.maintaining == on) return;
  if (on && (slot.phase != Phase::none || slot.bound)) return;
  say(fmt::format("cyborg: {} is {}", to_string(slot.address), on ? "maintaining" : "enabled"));
  cyborg.changing();
  slot.maintaining = on;
  cyborg.device(slot.address).status = on ? "maintaining" : "enabled";
  Slot& hit = switched_slot(slot);
  if (Provider* its = provider_of(hit)) offer(hit, *its, on ? 1 : 0);
}

// What the worker found at work when it started, it must not go on with by itself.
void World::note_interrupted() {
  if (conductor_options.interrupted_cleaning == InterruptedCleaning::resume) return;
  for (const Record& record : conductor->records()) {
    Slot& slot = slot_at(record.address);
    const bool at_work = record.stage == Stage::pending_cleaning || is_busy(record.stage);
    const bool may_be_released =
        record.stage == Stage::releasing || record.stage == Stage::confirming;
    if (record.flow == Flow::cyborg && at_work && !may_be_released && !record.provider.empty()) {
      slot.interrupted = true;
    }
  }
}

// -------------------------------------------------------------------------------------------------
// Checks.

// The worker has written a provider's `reserved`.
void World::check_written(const Provider& provider) {
  Slot* slot = slot_of_provider(provider.row.uuid);
  if (slot == nullptr) return;
  // In a scripted world it may have been ours before.
  if (!slot->ours && !slot->was_ours && !options_.scripted) {
    return fail(to_string(slot->address) + " is not ours, and was written");
  }
  const auto line = disk.entries.find(slot->address);
  const bool noted = line != disk.entries.end() && line->second.dirty;
  const Record* last = last_known(slot->address);
  const bool at_rest = last == nullptr || last->stage == Stage::available || slot->maintained;
  slot->ours_taken_out = provider.inventory.reserved != 0 && at_rest && !slot->reserved_by_hand;
  slot->reserved_unnoted =
      provider.inventory.reserved != 0 && !noted && disk.unwritten.contains(slot->address);
  if (!slot->cyborg) return;
  const std::int64_t unreserved_ms = std::exchange(slot->unreserved_ms, 0);
  if (unreserved_ms != 0 && provider.inventory.reserved == 1) {
    unreserved_windows_ms.push_back(scheduler.now_ms() - unreserved_ms);
  }
  const bool by_bind = line != disk.entries.end() && line->second.reserved_at_bind;
  if (!slot->is_drive && !by_bind) {
    return fail(to_string(slot->address) + " is not a drive, and was written");
  }
  if (slot->taken_ms != 0 && provider.inventory.reserved == 1) {
    windows_ms.push_back(scheduler.now_ms() - std::exchange(slot->taken_ms, 0));
  }
}

// What is allocated must be reserved soon: when its tenant leaves, nobody else will do it.
void World::check_bound(Slot& slot, const Provider* provider) {
  const bool is_to_be = slot.is_drive || conductor_options.reserve_all_types;
  const bool taken = slot.cyborg && slot.ours && is_to_be && provider != nullptr &&
                     !provider->consumers.empty() && provider->inventory.reserved == 0;
  check_ends(taken, slot.unreserved_since_ms, prompt_ ? kReserveWithinMs : kReserveWithinAtWorstMs,
             fmt::format("{} is allocated", to_string(slot.address)));
}

// By an ARQ without an allocation, that the worker now running has heard of.
bool World::is_bound_by_hand(const Slot& slot) const {
  return slot.cyborg && slot.bound && slot.by_hand && slot.bound_heard == incarnation_;
}

std::string World::check_cyborg_touch(const Slot& slot, const Drive& drive) {
  if (!slot.cyborg) return "";
  if (slot.interrupted) return ": after a restart, and no operator said so";
  if (is_bound_by_hand(slot)) return ": an ARQ binds it";
  if (!drive.signatures.empty() && !slot.enrolled && !slot.given) {
    return ": it has what somebody may miss, and nobody enrolled it";
  }
  if (cyborg_api_ && slot.maintaining && cyborg.told_maintaining(slot.address) &&
      store.last_saved(slot.address)->cyborg_status == "maintaining") {
    return ": Cyborg has it under maintenance";
  }
  return "";
}

std::string World::unsettled_cyborg(const Slot& slot, const Record& record,
                                    const Provider& provider) const {
  if (slot.bound) return "its ARQ still binds it";
  if (!slot.is_drive) {
    if (record.stage != Stage::available) return std::string(to_string(record.stage));
    // What is no hand's says why it is reserved. The ledger knows what is ours.
    const auto line = disk.entries.find(slot.address);
    const bool is_ours = line != disk.entries.end() && line->second.reserved_at_bind;
    const bool silent = record.waiting_for.empty() && (is_ours || !slot.like_a_hand);
    return provider.inventory.reserved != 0 && silent ? "reserved, free and silent" : "";
  }
  return record.flow == Flow::cyborg ? "" : "it is taken for Nova's";
}

}  // namespace reclaim::sim
