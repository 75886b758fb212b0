// Reserves what is offered though it is not clean: PUT reserved = total, with retries that grow
// while it is refused. Towards safety only, so that it waits for no record; but a record that lets
// the device go ends it from the moment it was decided on. Where an instance has got a device that
// is being cleaned, that ends at once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/why_reserved.h"
#include "handlers/conductor/write_fence.h"

namespace reclaim {

// Thread: the loop's.
class Reserver final {
 public:
  Reserver(const ConductorContext& context, LedgerGate& ledger, WriteFence& fence)
      : context_(context), ledger_(ledger), fence_(fence) {}

  // Reserves the device. True on the first try: none is under way, the one before was not refused.
  bool reserve(const PciAddress& address, const std::string& provider,
               WhyReserved why = WhyReserved::offered);
  // Somebody wrote to a provider of the device, which is reserved: where an instance has got it by
  // that, the work on it ends.
  void see_moved(const PciAddress& address, const placement::ProviderView& view);
  // A survey found nothing of the device to reserve: the next refusal is the first again.
  void nothing_to_reserve(const PciAddress& address);
  // The number of times that a device was reserved in the middle of its cleaning.
  [[nodiscard]] std::uint64_t in_cleaning() const { return in_cleaning_; }

 private:
  struct Tries {
    // One PUT at a time to each provider: from the call of reserve until Placement has answered.
    std::set<std::string> under_way;
    std::int64_t retry_ms = 0;  // grows while it is refused; 0: the last try was not
    std::int64_t due_ms = 0;    // when the next try is due by itself; 0: none is
  };

  void put(const PciAddress& address, const std::string& provider, WhyReserved why);
  void tell(const PciAddress& address, const placement::ProviderView& view, WhyReserved why);
  void stop_work(const PciAddress& address, const placement::ProviderView& view);
  void answered(const PciAddress& address, const std::string& provider,
                const Result<placement::ProviderView>& after);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  WriteFence& fence_;
  std::map<PciAddress, Tries> tries_;
  std::uint64_t in_cleaning_ = 0;
};

}  // namespace reclaim
