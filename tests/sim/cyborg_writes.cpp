// What Cyborg 17 writes to Placement by itself, as it was seen on a running one: for its agent's
// report of each minute, and for an administrator's switch, which may hit another device. Of
// `reserved` it knows nothing: whatever it writes is written with 0.
#include <fmt/core.h>

#include <utility>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kReportMs = 60'000;
constexpr std::int64_t kTraitsLateMs = 100;  // it is on offer that long before its traits are there

}  // namespace

bool World::cyborg_writes() const {
  return !options_.scripted && options_.seed >= kCyborgWritesFrom && options_.seed < kTenantsFrom;
}

// Mostly nothing has changed, and nothing is written.
void World::cyborg_reports() {
  if (quiet_) return;
  scheduler.outside(kReportMs, [this] { cyborg_reports(); });
  for (Slot& slot : slots) {
    Provider* provider = provider_of(slot);
    if (provider == nullptr || slot.unregistered || !rng.chance(0.2)) continue;
    switch (rng.below(4)) {
      case 0:
        // The DELETE of what is allocated ends the whole report.
        if (!provider->consumers.empty()) return;
        cyborg_drops(slot);
        break;
      case 1: {
        if (!provider->consumers.empty()) break;  // its class is in use: 409
        placement::Inventory& inventory = provider->inventory;
        inventory.resource_class =
            inventory.resource_class == "CUSTOM_SSD" ? "CUSTOM_PCI" : "CUSTOM_SSD";
        say(fmt::format("cyborg: {} has class {} now", to_string(slot.address),
                        inventory.resource_class));
        offer(slot, *provider, 0);
        break;
      }
      case 2:
        say(fmt::format("cyborg: num_accelerators of {} changed", to_string(slot.address)));
        offer(slot, *provider, 0);
        break;
      default:
        placement.touch(provider->row.uuid);  // its traits are written again
        break;
    }
  }
}

// The agent does not see it any more: its provider goes, reserved or not.
void World::cyborg_drops(Slot& slot) {
  const Provider* provider = provider_of(slot);
  if (provider == nullptr || !placement.remove(provider->row.uuid)) return;
  say(fmt::format("cyborg: {} is not reported, its provider deleted", to_string(slot.address)));
  slot.unreported = true;
  slot.held = slot.reserved_by_hand = false;
  slot.unreserved_ms = 0;
  scheduler.outside(rng.between(1, 6) * kReportMs,
                    [this, address = slot.address] { cyborg_reports_again(slot_at(address)); });
}

// As a new one: the same UUID, and reserved = 0.
void World::cyborg_reports_again(Slot& slot) {
  if (!std::exchange(slot.unreported, false) || provider_of(slot) != nullptr) return;
  say(fmt::format("cyborg: {} is reported again, reserved = 0", to_string(slot.address)));
  Provider& provider = placement.create(slot.provider_name, false, true);
  provider.row.owner_cyborg = false;
  scheduler.outside(kTraitsLateMs, [this, address = slot.address] {
    Provider* made = provider_of(slot_at(address));
    if (made == nullptr || made->row.owner_cyborg) return;
    made->row.owner_cyborg = true;
    made->row.generation += 1;
  });
  note_unreserved(slot);
}

// `enable` and `disable` look a deployable up by the device's id, and so may find another's.
Slot& World::switched_slot(Slot& slot) {
  if (!cyborg_writes() || rng.chance(0.5)) return slot;
  Slot& hit = slots.at(rng.below(slots.size()));
  if (&hit != &slot) say(fmt::format("cyborg: and hits {}", to_string(hit.address)));
  return hit;
}

// The window begins where the worker runs and knows that the device is dirty.
void World::note_unreserved(Slot& slot) {
  const Record* saved = store.last_saved(slot.address);
  const Provider* provider = provider_of(slot);
  const bool dirty = saved != nullptr && saved->stage != Stage::available &&
                     saved->stage != Stage::allocated && saved->cleanable();
  if (!dirty || !slot.ours || !slot.is_drive || !started || placement.away() ||
      provider == nullptr || !provider->consumers.empty()) {
    return;
  }
  slot.unreserved_ms = scheduler.now_ms();
}

}  // namespace reclaim::sim
