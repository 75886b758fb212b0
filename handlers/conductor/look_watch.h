// Watches whether the looks at each device count. A look comes to nothing where the device's record
// moved while the survey was reading, or where what it remembered has to be read afresh. After such
// a one the orders for the device wait for the next, so that nobody keeps the worker from seeing
// who has it by giving many. A device that had no look that counted for long is told of.
#pragma once

#include <map>
#include <set>

#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/record_writer.h"

namespace reclaim {

// Thread: the loop's.
class LookWatch final {
 public:
  LookWatch(const ConductorContext& context, LedgerGate& ledger, RecordWriter& writer)
      : context_(context), ledger_(ledger), writer_(writer) {}

  void counted(const PciAddress& address);
  void came_to_nothing(const PciAddress& address) { owed_.insert(address); }
  // The next look at it counts, if nobody moves its record meanwhile.
  [[nodiscard]] bool is_owed(const PciAddress& address) const;

  // Tells, with each survey that went through, of what is at rest: an ERROR and its `waiting_for`,
  // once until a look counts again, after three intervals of surveys.
  void tell();

 private:
  struct Blind {
    MonoMs since;
    bool told = false;
  };
  void tell(const PciAddress& address, std::int64_t for_ms);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  RecordWriter& writer_;
  std::set<PciAddress> owed_;
  std::map<PciAddress, Blind> blind_;
};

}  // namespace reclaim
