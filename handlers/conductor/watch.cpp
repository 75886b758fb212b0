// What the conductor does between two surveys for devices that wait: those that are not clean are
// watched for being offered, those that wait for a lane start when one is free, and orders that
// this run cannot judge yet wait for its first survey.
#include <algorithm>

#include "handlers/conductor/conductor.h"

namespace reclaim {
namespace {

// Not clean, and the conductor is not about to read or write its provider by itself.
bool is_left_to_others(const Record& record) {
  const Stage stage = record.stage;
  return record.cleanable() && (stage == Stage::pending_cleaning || stage == Stage::error ||
                                stage == Stage::guarding || may_last_long(stage));
}

}  // namespace

bool Conductor::is_watched(const Device& device) const {
  if (not_ours_) return false;
  if (!device.quarantined) return is_left_to_others(device.record);
  const auto entry = ports_.ledger.entries().find(device.record.address);
  return entry != ports_.ledger.entries().end() && entry->second.dirty && !device.other_kind;
}

std::vector<Watched> Conductor::to_be_watched() const {
  std::vector<Watched> out;
  for (const auto& [address, device] : devices_) {
    if (!is_watched(device)) continue;
    const Record& record = device.record;
    for (const std::string& provider : device.providers) {
      out.push_back({address, provider, record.provider_name});
    }
    if (device.providers.empty() && !record.provider.empty()) {
      out.push_back({address, record.provider, record.provider_name});
    }
  }
  return out;
}

void Conductor::found_on_offer(const PciAddress& address, const std::string& provider) {
  const Device* device = find(address);
  if (stopping_ || device == nullptr || !is_watched(*device)) return;
  reserver_.reserve(address, provider);
}

void Conductor::lane_is_free() {
  const bool one_waits = std::any_of(devices_.begin(), devices_.end(), [](const auto& entry) {
    const Device& device = entry.second;
    return device.waits_for_lane && device.record.stage == Stage::pending_cleaning;
  });
  if (one_waits) want_survey(0);
}

bool Conductor::waits_for_survey(const Order& order, const PciAddress& address) const {
  if (order.order != "clean" && order.order != "enrol") return false;
  const auto found = devices_.find(address);
  if (found == devices_.end()) return counters_.surveys == counters_.surveys_failed;
  const Device& device = found->second;
  const Stage stage = device.record.stage;
  const bool asks = stage == Stage::available || (order.order == "enrol" && !is_busy(stage));
  return !device.surveyed && !device.quarantined && asks;
}

}  // namespace reclaim
