#include "handlers/conductor/look_watch.h"

#include <fmt/core.h>

#include <string>

namespace reclaim {
namespace {

constexpr std::int64_t kIntervalsMissing = 3;

}  // namespace

void LookWatch::counted(const PciAddress& address) {
  owed_.erase(address);
  blind_.erase(address);
}

// True if a look is owed to a device that is not being cleaned: a cleaning reads for itself.
bool LookWatch::is_owed(const PciAddress& address) const {
  return owed_.contains(address) && !is_busy(context_.record_of(address).stage);
}

void LookWatch::tell() {
  const MonoMs now = context_.ports.clock.now().mono;
  for (const auto& [address, device] : context_.devices) {
    if (device.quarantined || is_busy(device.record.stage)) {
      blind_.erase(address);
      continue;
    }
    Blind& blind = blind_.try_emplace(address, Blind{now}).first->second;
    const std::int64_t for_ms = now.ms - blind.since.ms;
    if (blind.told || for_ms <= kIntervalsMissing * context_.options.survey_interval_ms) continue;
    blind.told = true;
    tell(address, for_ms);
  }
}

void LookWatch::tell(const PciAddress& address, std::int64_t for_ms) {
  const Device& device = context_.devices.at(address);
  const std::string why = fmt::format(
      "no look at it has counted for {} s, and who has it may go unseen: `reclaim watch` shows "
      "what moves its record, and the log what cannot be written; restart the worker if nothing "
      "does",
      for_ms / 1000);
  context_.ports.log.error(log_name::kConductor, fmt::format("{}: {}", to_string(address), why));
  const bool older = device.record.cleanable() && device.record.stage != Stage::available &&
                     !ledger_.is_dirty_durable(address);
  if (device.saving || older) return;
  Record next = device.record;
  if (!next.held || next.waiting_for.empty()) next.waiting_for = why;
  writer_.save_note(next, "noted", "surveys do not see it", why, IfUnsaved::given_up);
}

}  // namespace reclaim
