// Drives that wear out, drives that are too hot for a while, and drives that their operator
// retires: what is not to be given back is erased all the same, certified, and stays reserved.
#include <fmt/core.h>

#include "tests/sim/world.h"

namespace reclaim::sim {

bool World::has_unfit() const {
  return !options_.scripted && options_.seed >= kUnfitFrom;
}

void World::draw_unfit(Drive& drive) {
  drive.unfit = rng.chance(0.3);
}

void World::health_trouble(Slot& slot) {
  Drive& drive = drive_of(slot);
  if (!slot.is_drive || slot.by_steps) return;
  if (rng.chance(0.1)) {
    drive.hot_until_ms = scheduler.now_ms() + rng.between(0, 600'000);
    say(fmt::format("{} is too hot", to_string(slot.address)));
  }
  // It wears out, or its operator puts up with its wear.
  if (rng.chance(0.1)) {
    drive.unfit = !drive.unfit;
    say(fmt::format("{} is {}", to_string(slot.address), drive.unfit ? "worn out" : "fit again"));
  }
}

// From the line on no release of the drive counts, wherever it stands, until a line says that it
// was enrolled.
void World::note_retired(const PciAddress& address, const LedgerEntry& entry) {
  for (auto& [at, drive] : hardware.drives) {
    const bool is_meant = at == address ? entry.serial == drive.serial || entry.serial.empty()
                                        : entry.serial == drive.serial;
    if (!is_meant) continue;
    if (!entry.retired.empty()) drive.retired = true;
    if (entry.retired.empty() && entry.accepted) drive.retired = false;
  }
}

// Of a drive that can be erased, when nothing disturbs it any more.
std::string World::unsettled_unfit(const Slot& slot, const Record& record) {
  const Drive& drive = drive_of(slot);
  const Provider* provider = provider_of(slot);
  if (record.stage != Stage::error || slot.operator_tries < 3)
    return "it is unfit, and not in error";
  if (provider->inventory.reserved != 1) return "it is unfit, and offered";
  if (drive.owner != 0 || drive.hidden_owner != 0) return "it is unfit, and was not erased";
  if (slot.withheld_ms == 0 || slot.withheld_ms != slot.verified_ms) {
    return "it is unfit, and has no certificate of its erasure";
  }
  if (record.last_error.find("erased, not returned") == std::string::npos) {
    return "it is unfit, and does not say so";
  }
  return "";
}

}  // namespace reclaim::sim
