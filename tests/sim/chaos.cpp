// What goes wrong on a host and around it, and what its operator does.
#include <fmt/core.h>

#include "tests/sim/world.h"

namespace reclaim::sim {

void World::chaos_tick() {
  if (quiet_) return;
  Slot& slot = slots.at(rng.below(slots.size()));
  if (has_unfit()) health_trouble(slot);
  switch (rng.below(5)) {
    case 0:
      worker_trouble();
      break;
    case 1:
      service_trouble();
      break;
    case 2:
      host_trouble(slot);
      break;
    case 3:
      operator_acts(slot);
      break;
    default:
      break;  // nothing goes wrong
  }
  scheduler.outside(rng.between(1'000, is_brief() ? 8'000 : 60'000), [this] { chaos_tick(); });
}

// Most faults do no harm at most times. Here they come when a record has just been written: what
// follows from it is about to be done, and its answers are on their way.
void World::chaos_at(const Record& record) {
  if (quiet_) return;
  const PciAddress address = record.address;
  const Stage stage = record.stage;
  const bool behind = stage == Stage::verifying || stage == Stage::concluding ||
                      stage == Stage::restoring || stage == Stage::looking;
  if (names_ends() && behind && rng.chance(0.15)) {
    return scheduler.outside(rng.between(0, 40), [this, address] {
      if (!quiet_ && conductor) worker_dies_behind_an_erase(slot_at(address));
    });
  }
  if (!rng.chance(moment_)) return;
  if (!own_steps.empty() && rng.chance(0.2)) {
    return scheduler.outside(rng.between(0, 3'000), [this, address] {
      if (!quiet_) own_steps_trouble(slot_at(address));
    });
  }
  if (stage == Stage::available) {
    // What follows a release takes its time.
    return scheduler.outside(rng.between(0, 60'000), [this, address] {
      if (quiet_) return;
      if (rng.chance(0.5)) return operator_holds(slot_at(address));
      power_failure();
    });
  }
  scheduler.outside(
      rng.chance(0.8) ? rng.between(0, 40) : rng.between(0, 1'000), [this, address, stage] {
        if (quiet_) return;
        Slot& slot = slot_at(address);
        switch (rng.below(8)) {
          case 0:
            return worker_trouble();
          case 1:
            return service_trouble();
          case 2:
            return host_trouble(slot);
          case 3:
            return operator_acts(slot);
          case 4:
            placement.touch(provider_of(slot) == nullptr ? "" : provider_of(slot)->row.uuid);
            return kick({0});
          case 5:
            if (slot.cyborg) return cyborg_binds_by_hand(slot);
            [[fallthrough]];
          default:
            return command(stage == Stage::error || rng.chance(0.2) ? "clean" : "abort", address);
        }
      });
}

void World::worker_trouble() {
  if (!conductor) return;
  if (rng.chance(0.3)) {
    stop_worker();
    // systemd does not wait for ever.
    scheduler.outside(90'000, [this, which = incarnation_] {
      if (which == incarnation_ && conductor && !started) kill_worker();
      restart_worker_later(0);
    });
    return;
  }
  if (rng.chance(0.15)) return host_reboots();
  kill_worker();
  if (rng.chance(0.25)) store_forgets();  // the whole host lost its power
  restart_worker_later(rng.chance(0.7) ? rng.between(0, 5'000) : rng.between(0, 150'000));
}

void World::store_forgets() {
  certificates_owed_.clear();
  if (rng.chance(0.1)) {
    say("redis loses everything");
    store.lose_everything();
    forget_displaced();
    for (Slot& slot : slots) hold_is_forgotten(slot);
    return;
  }
  const std::size_t lost = store.lose_last(rng.between(1, 30'000));
  say(fmt::format("redis loses its last {} writes", lost));
  forget_displaced();
  for (Slot& slot : slots) {
    // Without the certificate the hold is not known; nor without the hold itself, once the kernel
    // has read.
    const Record* stored = store.stored(slot.address);
    const bool told_by_reads = stored != nullptr && !slot.cyborg && !stored->held;
    if (stored == nullptr || stored->stage != Stage::available || stored->certificate_id.empty() ||
        (told_by_reads && stored->certified_host_reads != drive_of(slot).host_reads)) {
      slot.held = false;
    }
  }
}

void World::service_trouble() {
  const std::int64_t for_ms = rng.chance(0.8) ? rng.between(100, 30'000) : rng.between(0, 300'000);
  switch (rng.below(6)) {
    case 5:
      say("cyborg's API goes away");
      cyborg.set_away(true);
      scheduler.outside(for_ms, [this] { cyborg.set_away(false); });
      break;
    case 0:
      redis_goes_away(for_ms);
      break;
    case 1:
      store_forgets();
      break;
    case 2:
      say("placement goes away");
      placement.set_away(true);
      scheduler.outside(for_ms, [this] {
        placement.set_away(false);
        say("placement is back");
      });
      break;
    case 3:
      say("the ledger's disk is full");
      disk.full = true;
      scheduler.outside(for_ms, [this] { disk.full = false; });
      break;
    default:
      if (rng.chance(0.1)) {
        const std::int64_t at_most_ms = rng.chance(0.5) ? 600'000 : 86'400'000;
        scheduler.shift_wall_clock(rng.between(-600'000, at_most_ms));
        say("somebody sets the wall clock");
      } else if (rng.chance(0.2)) {
        stranger_writes(slots.at(rng.below(slots.size())));
      } else if (rng.chance(0.2)) {
        damage_a_record(slots.at(rng.below(slots.size())), for_ms);
      }
      break;
  }
}

void World::redis_goes_away(std::int64_t for_ms) {
  say("redis goes away");
  store.set_away(true);
  scheduler.outside(for_ms, [this] {
    store.set_away(false);
    say("redis is back");
  });
}

void World::damage_a_record(const Slot& slot, std::int64_t for_ms) {
  const PciAddress address = slot.address;
  say(fmt::format("somebody edits the record of {} by hand", to_string(address)));
  store.damage(address);
  scheduler.outside(for_ms, [this, address, remove = rng.chance(0.5)] {
    say(fmt::format("an operator {} it", remove ? "removes" : "mends"));
    store.mend(address, remove);
    // Without its record nobody can know that it is held.
    if (remove) hold_is_forgotten(slot_at(address));
    if (remove) certificates_owed_.clear();
    forget_displaced();
  });
}

void World::swap_drive(Slot& slot) {
  Drive& drive = drive_of(slot);
  if (is_in_release(slot)) return;
  if (slot.phase != Phase::none || drive.guest != 0 || !slot.is_drive || slot.by_steps) return;
  say(fmt::format("operator: another drive is put into {}", to_string(slot.address)));
  const Record* known = store.stored(slot.address);
  const bool accepted = known != nullptr && known->accepted;
  const bool learnt = accepted || (known != nullptr && !known->serial.empty() && conductor &&
                                   started && disk.entries.contains(slot.address) &&
                                   !disk.entries.at(slot.address).serial.empty());
  Drive next;
  next.address = drive.address;
  next.serial = fmt::format("S{}", next_serial_++);
  next.sanitize_ms = rng.between(1, 30'000);
  next.home = next.driver = drive.home;
  next.hardware.slot = drive.hardware.slot;
  if (rng.chance(0.7)) next.hardware.serial_number = "dsn-" + next.serial;
  draw_capabilities(next);
  write_media(next, next_tenancy_++, rng.next() | 1U);
  drive = next;
  if (drives) drives->breaks(slot.address);
  slot.swapped = learnt;
  slot.swapped_ms = scheduler.now_ms();
  if (!learnt) slot.expected_serial = next.serial;
  slot.held = false;
  // A hold of an unmanaged drive goes on, and the drive stays out of the pool: what is there is
  // asked about when the hold ends.
  slot.reserved_by_hand = slot.reserved_by_hand && !slot.managed;
  slot.had_data = true;
  if (Provider* provider = provider_of(slot)) {
    if (provider->inventory.reserved == 0) provider->offered = Offered::exchanged;
  }
}

void World::host_trouble(Slot& slot) {
  Drive& drive = drive_of(slot);
  const PciAddress address = slot.address;
  switch (rng.below(5)) {
    case 0:
      if (drive.guest != 0 || slot.phase != Phase::none) return;
      say(fmt::format("host: {} vanishes for a moment", to_string(address)));
      drive.present = false;
      drive.disk += 1;
      if (drives) drives->breaks(address);
      scheduler.outside(rng.between(1'000, 150'000),
                        [this, address] { hardware.drives.at(address).present = true; });
      break;
    case 1:
      if (drive.guest != 0 || !drive.present || !slot.managed) return;
      say(fmt::format("host: the driver of {} is bound again", to_string(address)));
      drive.driver.clear();
      if (drives) drives->breaks(address);
      rebind_later(address, rng.between(0, 20'000));
      break;
    case 2:
      say(fmt::format("host: {} is mounted", to_string(address)));
      drive.guarded = true;
      scheduler.outside(rng.between(1'000, 120'000),
                        [this, address] { hardware.drives.at(address).guarded = false; });
      break;
    case 3:
      if (store.rival_takes(address, rng.between(1'000, 100'000))) {
        say(fmt::format("a rival takes the lock of {}", to_string(address)));
      }
      break;
    default:
      if (rng.chance(0.3)) return swap_drive(slot);
      if (rng.chance(0.3)) return exchange_drives(slot);
      if (rng.chance(0.3)) return drive_hangs(address);
      if (rng.chance(0.1)) discovery_hangs();
      break;
  }
}

// Reserves by hand a device that was released and that nobody has taken since.
void World::operator_holds(Slot& slot) {
  const Provider* provider = provider_of(slot);
  const Record* stored = store.stored(slot.address);
  if (provider == nullptr || !conductor || !started || slot.phase != Phase::none ||
      provider->inventory.reserved != 0 || provider->offered != Offered::by_us ||
      stored == nullptr || stored->stage != Stage::available || stored->certificate_id.empty() ||
      disk.entries[slot.address].dirty || ledger->entries().at(slot.address).dirty ||
      drive_of(slot).owner != 0) {
    return;
  }
  for (const Record& record : conductor->records()) {
    if (record.address == slot.address && record != *stored) return;
  }
  // Where a reservation of the worker's own is not answered, nothing tells his from that one.
  if (ledger->entries().at(slot.address).asked) return;
  say(fmt::format("operator: reserves {} by hand", to_string(slot.address)));
  // His is the only write since the last survey, or it is like a build that failed.
  const bool only_write =
      slot.cyborg || stored->rest == Rest{provider->row.uuid, provider->row.generation, false};
  placement.set_reserved_by(Offered::no, provider->row.uuid, 1);
  slot.reserved_by_hand = slot.like_a_hand = true;
  slot.ours_taken_out = false;
  // Of an unmanaged drive nobody can tell: it is left alone until an operator says `clean`. And
  // what Cyborg lists as bound is a tenancy, whatever else is said of it.
  // And what was handed over is his once it was seen unreserved.
  slot.held = slot.managed && !slot.bound && only_write && !stored->handed_over &&
              stored->certified_host_reads == drive_of(slot).host_reads &&
              stored->certified_host_writes == drive_of(slot).host_writes;
}

// The host loses its power, and the Redis on it its last seconds.
void World::power_failure() {
  say("the power fails");
  certificates_owed_.clear();
  kill_worker();
  store.lose_last(rng.between(1'000, 60'000));
  forget_displaced();
  for (Slot& slot : slots) hold_is_forgotten(slot);
  restart_worker_later(rng.between(5'000, 90'000));
}

// Right after a release the host loses its power, and Redis all since the erase was recorded. While
// the worker is away, the drive's next tenant comes, and often goes: what is in Redis then
// speaks of a life before his.
void World::release_is_forgotten(Slot& slot) {
  if (quiet_ || moment_ == 0 || !rng.chance(0.1)) return;
  scheduler.outside(rng.between(0, 2'000), [this, address = slot.address] {
    if (quiet_) return;
    Slot& released = slot_at(address);
    say(fmt::format("the power fails, and Redis forgets the release of {}", to_string(address)));
    certificates_owed_.clear();
    kill_worker();
    store.lose_last(scheduler.now_ms() - released.erase_recorded_ms);
    forget_displaced();
    for (Slot& each : slots) each.held = false;
    if (released.phase == Phase::none) nova_allocates(released);
    restart_worker_later(rng.between(5'000, 300'000));
  });
}

bool World::names_ends() const {
  return !options_.scripted && options_.seed >= kEndsToldFrom && options_.seed < kUnwatchedFrom;
}

// What was zeroed is zeroed still: unless a tenant comes before the next worker, by a provider that
// is made anew, or somebody of the host writes.
void World::worker_dies_behind_an_erase(Slot& slot) {
  say(fmt::format("the worker dies behind the erase of {}", to_string(slot.address)));
  kill_worker();
  if (rng.chance(0.2)) store_forgets();
  Drive& drive = drive_of(slot);
  const Provider* provider = provider_of(slot);
  const bool free = slot.phase == Phase::none && !slot.cyborg && provider != nullptr;
  if (free && rng.chance(0.2) && placement.remove(provider->row.uuid)) {
    placement.create(slot.provider_name, true, false);
    nova_allocates(slot);
  } else if (drive.guest == 0 && rng.chance(0.1)) {
    write_media(drive, next_tenancy_++, rng.next() | 1U);
  }
  restart_worker_later(rng.between(0, 100'000));
}

void World::operator_acts(Slot& slot) {
  if (has_unfit() && rng.chance(0.1)) return command("retire", slot.address);
  if (has_disowns(options_.seed) && rng.chance(0.4)) {
    return rng.chance(0.6) ? operator_disowns(slot) : operator_names_steps(slot);
  }
  const Provider* provider = provider_of(slot);
  if (!slot.ours && provider != nullptr && provider->consumers.empty() && rng.chance(0.5)) {
    // What is not ours he cleans by a workflow of his own. A hold of his ends with it.
    slot.held = slot.reserved_by_hand = false;
    return placement.set_reserved_by(Offered::by_operator, provider->row.uuid, 0);
  }
  if (slot.cyborg && rng.chance(0.4)) {
    if (rng.chance(0.4)) return cyborg_binds_by_hand(slot);
    return switch_maintaining(slot, !slot.maintaining);
  }
  switch (rng.below(8)) {
    case 0:
      command("abort", slot.address);
      break;
    case 1:
    case 2:
      command("clean", slot.address);
      break;
    case 3:
      command("maintenance_on", slot.address);
      break;
    case 4:
      command("maintenance_off", slot.address);
      break;
    case 5:
      operator_holds(slot);
      break;
    case 6:
      if (slot.swapped || rng.chance(0.5)) command("enrol", slot.address);
      break;
    default:
      kick({0});
      break;
  }
}

void World::unguard_everything() {
  for (const Slot& slot : slots) store.mend(slot.address, false);
  remove_forged();
  store.set_away(false);
  placement.set_away(false);
  cyborg.set_away(false);
  disk.full = false;
  for (Slot& slot : slots) {
    Drive& drive = drive_of(slot);
    drive.guarded = drive.hangs = false;
    drive.present = true;
    if (drive.guest == 0 && slot.managed) drive.driver = "nvme";
    slot.action = nvme::ClearAction::auto_;  // the configuration is mended
    slot.ours = slot.ours || (slot.was_ours && !slot.disowned);
    if (slot.phase == Phase::none) cyborg_unbinds(slot);
    cyborg_reports_again(slot);
    switch_maintaining(slot, false);
    store.rival_gives_back(slot.address);
  }
}

// After the faults: the operator ends maintenance, enrols what was swapped, and lets what is in
// error be tried again, twice.
void World::operator_tidies() {
  unguard_everything();
  if (!conductor) start_worker();
  if (conductor && started) {
    tidy_own_steps();
    // Where the clock was set back, an order is one that was heard before until it has caught up.
    const bool set_back = scheduler.now().wall < last_order_at_;
    for (const Record& record : conductor->records()) {
      Slot& slot = slot_at(record.address);
      const bool marked =
          disk.entries.contains(record.address) && disk.entries.at(record.address).maintenance;
      if (record.maintenance || marked) command("maintenance_off", record.address);
      // Answers of before the quiet may still be minutes late.
      if (set_back || scheduler.now_ms() - quiet_since_ms_ < 300'000) continue;
      const Provider* provider = provider_of(slot);
      if (record.stage == Stage::available && (!slot.managed || slot.by_steps) &&
          !record.waiting_for.empty() && provider != nullptr && provider->inventory.reserved == 1 &&
          slot.phase == Phase::none) {
        command("clean", record.address);
      }
      if (record.waiting_for.find("--enrol") != std::string::npos) {
        command("enrol", record.address);
      }
      // A leaked ARQ whose end nobody heard of.
      const bool bound_by_arq = record.stage == Stage::allocated ||
                                (record.stage == Stage::pending_cleaning &&
                                 record.waiting_for.find("binds it") != std::string::npos);
      if (slot.cyborg && bound_by_arq && !slot.bound && slot.phase == Phase::none &&
          provider != nullptr && provider->consumers.empty()) {
        command("clean", record.address);
      }
      if (record.stage != Stage::error || slot.operator_tries >= 3 || slot.phase != Phase::none ||
          drive_of(slot).guest != 0) {
        continue;
      }
      slot.operator_tries += 1;
      const bool other =
          (!record.serial.empty() && record.serial != drive_of(slot).serial) ||
          record.last_error.find("check it, then issue the order again") != std::string::npos ||
          record.last_error.find("enrol this one") != std::string::npos ||
          record.last_error.find("--enrol` accepts it") != std::string::npos;
      command(other ? "enrol" : "clean", record.address);
    }
  }
  scheduler.outside(45'000, [this] { operator_tidies(); });
}

}  // namespace reclaim::sim
