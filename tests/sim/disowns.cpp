// Worlds whose operator takes device_spec entries away, lets devices go, and names clean steps.
#include <fmt/core.h>

#include <utility>

#include "tests/sim/world.h"

namespace reclaim::sim {

// A step that is run only when it is named.
void World::draw_named_steps() {
  OperatorStep step;
  step.interface = "a";
  step.name = "by_hand";
  step.command = "/steps/by_hand";
  step.args = R"({"level":1})";
  own_steps.push_back(step);
  hardware.commands[step.command] = "first";
}

void World::operator_disowns(Slot& slot) {
  if (slot.ours) {
    if (slot.swapped || slot.displaced || slot.unregistered || !slot.is_drive) return;
    say(fmt::format("operator: removes the entry of {}", to_string(slot.address)));
    slot.ours = false;
    slot.was_ours = true;
    return kick({0});
  }
  if (!slot.was_ours) return;
  if (slot.disowned || rng.chance(0.7)) return command("disown", slot.address);
  say(fmt::format("operator: puts the entry of {} back", to_string(slot.address)));
  slot.ours = true;
  kick({0});
}

void World::operator_names_steps(Slot& slot) {
  std::string steps = R"([{"interface":"a","step":"by_hand","priority":0,"args":{"level":2},)"
                      R"("by_hand":true})";
  const bool more = rng.chance(0.5);
  if (more && slot.by_steps) {
    steps += R"(,{"interface":"pci","step":"reset","priority":0,"args":{},"by_hand":true})";
  } else if (more) {
    steps += R"(,{"interface":"nvme","step":"check_health","priority":0,"args":{},"by_hand":true})";
  }
  command("clean", slot.address, "operator@sim", steps + "]");
}

// As an enrol: what was said before he reserved it may be carried out after.
void World::named_steps(Slot& slot) {
  if (std::exchange(slot.steps_before_hold, false)) slot.held = slot.reserved_by_hand = false;
}

// A line that goes though the device is not clean: it is let go, from this moment on.
bool World::is_let_go(const PciAddress& address) {
  Slot& slot = slot_at(address);
  slot.disowned = slot.disowned || slot.disown_ordered;
  return slot.disown_ordered;
}

// What was let go and is ours again, because a worker ended before its record was durable, or Redis
// has lost that.
void World::note_disowned() {
  for (Slot& slot : slots) {
    const Record* stored = store.stored(slot.address);
    const auto line = disk.entries.find(slot.address);
    // An older one than the line says somebody put back.
    const bool stands = stored != nullptr && stored->cleanable() &&
                        (line == disk.entries.end() || stored->epoch >= line->second.epoch);
    if (stands) slot.disowned = false;
  }
  if (!conductor) return;
  for (const Record& record : conductor->records()) {
    if (record.cleanable()) slot_at(record.address).disowned = false;
  }
}

void World::check_disowned(const Record& record, const std::string& trigger) {
  Slot& slot = slot_at(record.address);
  if (trigger == "disowned") {
    slot.disowned = true;
    // All that was known is struck: the drive that is found there is its drive.
    const bool found = record.serial.empty() || record.serial == drive_of(slot).serial;
    if (found && std::exchange(slot.swapped, false)) slot.expected_serial.clear();
  }
  if (!record.cleanable() || !slot.disowned) return;
  if (!slot.ours) return fail(to_string(record.address) + " was let go, and is recorded as ours");
  slot.disowned = false;
}

// Every step that the plan has by hand was run in the cleaning that it began with.
std::string World::check_named_steps(const Record& record, const Proof& proof) const {
  for (const CleanStep& step : record.plan) {
    for (const OperatorStep& own : own_steps) {
      if (!step.by_hand || own.is_hold() || own.interface != step.interface ||
          own.name != step.step || proof.commands_before.contains(own.command)) {
        continue;
      }
      return fmt::format("{} was named, and not run", own.command);
    }
  }
  return {};
}

}  // namespace reclaim::sim
