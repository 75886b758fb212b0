// What the conductor does between two surveys for devices that wait: those that are not clean are
// watched for being offered, those that wait for a lane start when one is free, and orders of which
// this run cannot judge yet wait for its first survey.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::size_t kOrdersWaitingMax = 256;

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
  reserve(address, provider);
}

void Conductor::lane_is_free() {
  const bool one_waits = std::any_of(devices_.begin(), devices_.end(), [](const auto& entry) {
    const Device& device = entry.second;
    return device.waits_for_lane && device.record.stage == Stage::pending_cleaning;
  });
  if (one_waits) want_survey(0);
}

// An order that a survey of this run has to be asked about: is the device clean, which drive is
// there? True: it is kept until then.
bool Conductor::waits_for_survey(const Order& order) {
  if (order.order != "clean" && order.order != "enrol") return false;
  const auto address = parse_pci_address(order.address);
  if (!address) return false;
  const Device* device = find(*address);
  if (device == nullptr) {
    if (counters_.surveys > counters_.surveys_failed) return false;
  } else {
    const Stage stage = device->record.stage;
    const bool asks = stage == Stage::available || (order.order == "enrol" && !is_busy(stage));
    if (device->surveyed || device->quarantined || !asks) return false;
  }
  const bool asked_before =
      std::any_of(orders_waiting_.begin(), orders_waiting_.end(), [&order](const Order& other) {
        return other.order == order.order && other.address == order.address;
      });
  if (asked_before) return true;
  if (orders_waiting_.size() == kOrdersWaitingMax) {
    answer_order(orders_waiting_.front(),
                 "too many orders wait for the first survey; issue it again");
    orders_waiting_.pop_front();
  }
  ports_.log.info(kLog, fmt::format("order {} of {} waits for the first survey", order.order,
                                    to_string(*address)));
  orders_waiting_.push_back(order);
  return true;
}

void Conductor::carry_out_orders() {
  for (const Order& order : std::exchange(orders_waiting_, {})) take(order);
}

}  // namespace reclaim
