// Nova and its tenants: allocate, burn, boot, write, leave; and the periodic that re-creates a
// provider unreserved when its device was away for a moment.
#include <fmt/core.h>

#include "tests/sim/world.h"

namespace reclaim::sim {

void World::nova_allocates(Slot& slot) {
  Provider* provider = provider_of(slot);
  const std::string consumer =
      next_instance.empty() ? fmt::format("instance-{}", next_tenancy_) : next_instance;
  if (provider == nullptr || !placement.allocate(provider->row.uuid, consumer)) return;
  slot.tenancy = next_tenancy_++;
  slot.consumer = slot.instance = consumer;
  if (has_tenants()) {
    placement.is_of_project(consumer, fmt::format("project-{}", rng.below(2)));
  }
  slot.phase = Phase::claimed;
  slot.given = true;
  slot.own_serial.clear();
  slot.by_hand = false;
  slot.taken_ms = scheduler.now_ms();
  slot.unreserved_ms = 0;
  slot.blamed = provider->offered != Offered::by_us;
  say(fmt::format("nova: {} is allocated to {}", to_string(slot.address), consumer));
  life_begins(slot);
  check_given(slot, *provider);
  slot.had_tenants = true;
}

void World::nova_burns(Slot& slot) {
  if (slot.cyborg) cyborg_binds(slot);
  if (slot.cyborg) return;
  if (Provider* provider = provider_of(slot)) {
    placement.set_reserved_by(Offered::no, provider->row.uuid, 1);
  }
  slot.phase = Phase::building;
}

void World::nova_boots(Slot& slot) {
  if (!slot.is_drive) {
    slot.phase = Phase::running;
    return;
  }
  Drive& drive = drive_of(slot);
  if (slot.own_serial.empty()) slot.own_serial = drive.serial;
  drive.driver = "vfio-pci";
  drive.disk += 1;
  drive.guest = slot.tenancy;
  if (drives) drives->breaks(slot.address);
  slot.phase = Phase::running;
  say(fmt::format("nova: a guest of {} runs on {}", slot.consumer, to_string(slot.address)));
  if (drive.running) return;  // it is being sanitized: the guest cannot write
  const bool writes = is_brief() && options_.seed >= kBriefWritersFrom;
  if (!writes && is_unwatched() && drive.is_nvme() && rng.chance(0.4)) {
    return guest_writes_nothing(slot);
  }
  if (writes || options_.scripted || rng.chance(0.85)) {
    write_media(drive, slot.tenancy, rng.next() | 1U);
    slot.had_data = true;
    if (!options_.scripted && rng.chance(0.3) && drive.is_nvme()) {
      drive.hidden_owner = slot.tenancy;
    }
    if (!options_.scripted && rng.chance(0.02)) drive.locked = true;
  } else if (rng.chance(0.5)) {
    drive.host_reads += 5;
  }
}

void World::rebind_later(const PciAddress& address, std::int64_t delay_ms) {
  scheduler.outside(delay_ms, [this, address] {
    Drive& drive = hardware.drives.at(address);
    if (drive.guest != 0 || !drive.driver.empty()) return;
    drive.driver = "nvme";
    drive.host_reads += 3;  // the kernel looks for partitions
    // A hold that was not seen before that cannot be told from a tenancy.
    Slot& slot = slot_at(address);
    const Record* stored = store.stored(address);
    if (stored == nullptr || !stored->held) slot.held = false;
  });
}

void World::guest_leaves(Slot& slot) {
  if (!slot.is_drive) return;
  Drive& drive = drive_of(slot);
  drive.guest = 0;
  if (!slot.managed) return;  // it stays where it was
  drive.driver.clear();
  if (!options_.scripted) {
    const std::int64_t at_most = is_brief() ? 200 : 15'000;
    rebind_later(slot.address, rng.chance(0.1) ? rng.between(0, 120'000) : rng.between(0, at_most));
  }
}

void World::nova_deallocates(Slot& slot) {
  if (Provider* provider = provider_of(slot)) {
    placement.deallocate(provider->row.uuid, slot.consumer);
    if (slot.cyborg && provider->inventory.reserved == 0) provider->offered = Offered::left;
  }
  if (has_tenants()) placement.delete_consumer(slot.instance);
  life_ends(slot);
  slot.taken_ms = 0;
  say(fmt::format("nova: {} leaves {}", slot.consumer, to_string(slot.address)));
  slot.phase = Phase::none;
}

void World::nova_ends(Slot& slot) {
  Drive& drive = drive_of(slot);
  if (rng.chance(0.1) && !drive.running && slot.is_drive)
    write_media(drive, slot.tenancy, rng.next() | 1U);
  Provider* provider = provider_of(slot);
  if (has_tenants()) {
    if (nova_moves(slot)) return;
  } else if (!slot.cyborg && rng.chance(0.1) && provider != nullptr) {
    // A migration: the allocation goes by another name from now on.
    const std::string migration = fmt::format("migration-{}", slot.tenancy);
    placement.hand_over(provider->row.uuid, slot.consumer, migration);
    slot.consumer = migration;
    return;
  }
  tell_of_the_end(slot.consumer);
  if (rng.chance(0.12)) {
    nova_deallocates(slot);
    slot.phase = Phase::ghost;
    notify(false);
    return tell_life(slot, Life::ends);
  }
  guest_leaves(slot);
  // Nova deletes the ARQ before the allocation, and only logs where that fails.
  if (slot.cyborg && !rng.chance(0.05)) cyborg_unbinds(slot);
  slot.phase = Phase::unplugged;
}

// A notification: mostly one, sometimes none, sometimes several, sometimes late.
void World::notify(bool mark_allocated) {
  const int copies = rng.chance(0.15) ? 0 : (rng.chance(0.15) ? 2 : 1);
  for (int i = 0; i < copies; ++i) {
    scheduler.outside(rng.chance(0.1) ? rng.between(0, 90'000) : rng.between(0, 500),
                      [this, mark_allocated] {
                        if (!mark_allocated) return kick({0, 5, 30});
                        mark("instance.create.end", kicks_of_others_ ? kElsewhere : "");
                      });
  }
}

void World::tell_of_the_end(const std::string& instance) {
  if (!names_ends() || rng.chance(0.1)) return;
  scheduler.outside(rng.between(0, 500),
                    [this, instance] { mark("instance.delete.start", instance); });
}

void World::nova_tick(std::size_t index) {
  Slot& slot = slots.at(index);
  std::int64_t next_ms = rng.between(1'000, 60'000);
  switch (slot.phase) {
    case Phase::none:
      if (quiet_) return;
      if (rng.chance(0.6) && !slot.bound) nova_allocates(slot);
      if (slot.phase == Phase::claimed) next_ms = rng.between(0, 3'000);
      break;
    case Phase::claimed:
      nova_burns(slot);
      notify(true);
      tell_life(slot, Life::begins);
      next_ms = rng.between(0, 5'000);
      break;
    case Phase::building:
      if (rng.chance(is_unwatched() ? 0.3 : 0.1) || !drive_of(slot).present ||
          drive_of(slot).driver.empty() || drive_of(slot).taken_over ||
          (drives && drives->holds_group(slot.address))) {
        if (is_unwatched()) tell_of_the_failed_build(slot.instance);
        cyborg_unbinds(slot);
        nova_deallocates(slot);  // the build failed
        notify(false);
        tell_life(slot, Life::fails);
        break;
      }
      nova_boots(slot);
      next_ms = quiet_ ? 1'000 : rng.between(1'000, has_tenants() ? 600'000 : 200'000);
      break;
    case Phase::running:
      nova_ends(slot);
      next_ms = rng.between(0, 3'000);
      if (slot.phase == Phase::ghost && rng.chance(0.5)) next_ms = rng.between(0, 120'000);
      if (has_tenants() && slot.phase == Phase::running && !quiet_)
        next_ms = rng.between(0, 200'000);
      break;
    case Phase::unplugged:
      if (has_tenants() && nova_passes_on(slot)) break;
      nova_deallocates(slot);
      notify(false);
      tell_life(slot, Life::ends);
      break;
    case Phase::ghost:
      if (rng.chance(0.5) && !drive_of(slot).running && slot.is_drive) {
        write_media(drive_of(slot), slot.tenancy, rng.next() | 1U);
        slot.had_data = true;
      }
      guest_leaves(slot);
      cyborg_unbinds(slot);
      slot.phase = Phase::none;
      break;
  }
  if (is_brief() && slot.phase != Phase::none && rng.chance(0.7)) next_ms = rng.between(0, 200);
  scheduler.outside(next_ms, [this, index] { nova_tick(index); });
}

void World::nova_periodic() {
  for (Slot& slot : slots) {
    const Drive& drive = drive_of(slot);
    Provider* provider = provider_of(slot);
    slot.missed = drive.present ? 0 : slot.missed + 1;
    if (provider == nullptr) {
      if (!drive.present || slot.unregistered || slot.unreported) continue;
      say(fmt::format("nova: provider of {} created again, unreserved", to_string(slot.address)));
      placement.create(slot.provider_name, !slot.cyborg, slot.cyborg);
      slot.counts_anew = slot.cyborg;
      if (slot.cyborg) note_unreserved(slot);
      continue;
    }
    if (slot.missed > 0 && !slot.unregistered && placement.remove(provider->row.uuid)) {
      say(fmt::format("nova: {} is gone, its provider deleted", to_string(slot.address)));
      slot.held = slot.reserved_by_hand = false;
      slot.unreserved_ms = 0;
      continue;
    }
    const bool burn = !slot.cyborg && !provider->consumers.empty() &&
                      provider->inventory.reserved == 0 && slot.phase != Phase::claimed;
    if (burn) placement.set_reserved_by(Offered::no, provider->row.uuid, 1);
    if (touches_ && rng.chance(0.1)) {
      placement.touch(provider->row.uuid);
      // A hold that was not seen before that cannot be told from a build that failed.
      const Record* stored = store.stored(slot.address);
      if (!slot.cyborg && (stored == nullptr || !stored->held)) slot.held = false;
    }
  }
  scheduler.outside(60'000, [this] { nova_periodic(); });
}

}  // namespace reclaim::sim
