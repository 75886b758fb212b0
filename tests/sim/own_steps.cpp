// Worlds whose operator has clean steps of his own, holds, and cleanings that he starts himself.
#include <fmt/core.h>

#include "handlers/survey/plan.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kHoldMs = 600'000;
constexpr std::size_t kFunctionSteps = 4;  // built in

OperatorStep own(const char* interface, const char* name, int priority, StepStage stage) {
  OperatorStep step;
  step.interface = interface;
  step.name = name;
  if (!step.is_hold()) step.command = fmt::format("/steps/{}", name);
  step.priority = priority;
  step.stage = stage;
  step.timeout_ms = step.is_hold() ? kHoldMs : step.timeout_ms;
  step.args = "{}";
  return step;
}

}  // namespace

void World::draw_own_steps() {
  if (rng.chance(0.5)) own_steps.push_back(own("a", "early", 95, StepStage::before));
  if (rng.chance(0.5)) own_steps.push_back(own("a", "late", 55, StepStage::before));
  if (rng.chance(0.5)) own_steps.push_back(own("a", "audit", 10, StepStage::after));
  if (rng.chance(0.3)) {
    own_steps.push_back(own("hold", "eyes", rng.chance(0.5) ? 60 : 20,
                            rng.chance(0.5) ? StepStage::before : StepStage::after));
    OperatorStep& hold = own_steps.back();
    hold.priority = hold.stage == StepStage::before ? 60 : 20;
    hold.approvals = static_cast<int>(rng.between(1, 2));
  }
  manual = rng.chance(0.2);
  for (const OperatorStep& step : own_steps) {
    if (step.is_hold()) continue;
    hardware.commands[step.command] = "first";
    if (step.stage == StepStage::before) hardware.required_commands.insert(step.command);
  }
}

// No drive: a network card, say, whose firmware a tenant can change.
void World::draw_function(Slot& slot) {
  if (!rng.chance(0.6) || !slot.is_drive || slot.unregistered) return;
  Drive& drive = drive_of(slot);
  slot.by_steps = true;
  slot.managed = true;
  slot.action = nvme::ClearAction::auto_;
  drive.kind = Kind::healthy;
  drive.class_code = 0x020000;
  drive.driver = drive.home = "nvme";  // its host's own
  drive.signatures.clear();
  if (drive.hardware.empty()) drive.hardware.serial_number = "dsn-" + drive.serial;
  drive.hidden_owner = 0;
  if (hardware.cleaning_commands.empty()) {
    own_steps.push_back(own("card", "reflash", 65, StepStage::before));
    own_steps.back().verifies = true;
    hardware.commands[own_steps.back().command] = "first";
    hardware.required_commands.insert(own_steps.back().command);
    hardware.cleaning_commands.insert(own_steps.back().command);
  }
}

// Something befalls the commands: one is exchanged, or gone for a while, or fails, or writes.
void World::own_steps_trouble(Slot& slot) {
  if (own_steps.empty()) return;
  const OperatorStep& step = own_steps.at(rng.below(own_steps.size()));
  Drive& drive = drive_of(slot);
  switch (rng.below(5)) {
    case 0:
      if (!step.is_hold()) hardware.commands[step.command] = fmt::format("{}", rng.next());
      break;
    case 1:
      if (!step.is_hold()) hardware.commands.erase(step.command);
      break;
    case 2:
      drive.command_ends_with = rng.chance(0.5) ? Errc::failed : Errc::busy;
      break;
    case 3:
      drive.command_writes = rng.chance(0.5);
      break;
    default:
      command("unhold", slot.address, fmt::format("operator-{}", rng.below(3)));
      break;
  }
}

void World::tidy_own_steps() {
  for (const OperatorStep& step : own_steps) {
    if (!step.is_hold()) hardware.commands.try_emplace(step.command, "again");
  }
  for (auto& [address, drive] : hardware.drives) {
    drive.command_ends_with.reset();
    drive.command_writes = false;
  }
  for (const Record& record : conductor->records()) {
    if (record.clean_step.starts_with("hold.")) {
      command("unhold", record.address, fmt::format("operator-{}", rng.below(3)));
    }
    const bool waits = record.stage == Stage::pending_cleaning;
    if (waits && record.clean_start == CleanStart::awaited) command("clean", record.address);
  }
}

// What an operator's word did to a plan that waits at a hold.
void World::note_approval(Slot& slot, const std::string& who) {
  const Record* saved = store.last_saved(slot.address);
  if (saved != nullptr && saved->clean_step.starts_with("hold.")) slot.approved_by.insert(who);
}

// Each hold of the stage was approved in the cleaning that goes on.
std::string World::check_holds(const Slot& slot, StepStage stage) const {
  for (const OperatorStep& step : own_steps) {
    if (!step.is_hold() || step.stage != stage ||
        slot.approved_by.size() >= static_cast<std::size_t>(step.approvals)) {
      continue;
    }
    return fmt::format("{} of {} approvals", slot.approved_by.size(), step.approvals);
  }
  return {};
}

// Each step after the verification was run behind it, and each hold there approved. Those before
// the erase are looked at when the canary is written: an erase is adopted with what came before it.
std::string World::check_own_steps(const Slot& slot, const Proof& proof) const {
  for (const OperatorStep& step : own_steps) {
    const bool here = slot.by_steps || step.stage == StepStage::after;
    const auto& ran = slot.by_steps ? proof.commands_before : proof.commands_after;
    if (!step.is_hold() && step.priority > 0 && here && !ran.contains(step.command)) {
      return fmt::format("{} was not run", step.command);
    }
  }
  if (slot.by_steps && proof.steps.size() != kFunctionSteps) return "a built-in step was not run";
  if (slot.by_steps) {
    if (std::string why = check_holds(slot, StepStage::before); !why.empty()) return why;
  }
  return check_holds(slot, StepStage::after);
}

}  // namespace reclaim::sim
