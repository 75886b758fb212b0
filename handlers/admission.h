// Admission: what a survey means for one device, and whether it may be cleaned now. Pure: no I/O,
// no clock; every refusal is one line an operator understands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "handlers/options.h"
#include "handlers/survey.h"
#include "state/ledger.h"
#include "state/record.h"
#include "state/step.h"

namespace reclaim {

// What holds for the whole host at the time of a survey.
struct HostView {
  std::string host;
  std::string root_uuid;
  std::string compute_id;  // empty: Nova's file is not there
  std::string problem;     // forbids every cleaning: "another machine claims this host name", …
};

struct Assessment {
  // A device seen for the first time: the record to begin with.
  std::optional<Record> first_seen;
  // What the state machine is told, if anything.
  std::optional<Trigger> trigger;
  Facts facts;
  // It is offered though it is not clean: reserve it at once, whatever else follows.
  bool reserve = false;
  // The certificate is newer than the ledger's word: the line can be struck.
  bool strike = false;
  // Burned, but by an operator's hand.
  bool held = false;
  // Nobody touched the drive, but the host read it: the certificate's read counter moves along.
  std::optional<std::uint64_t> host_reads;
  // Why nothing happens though something should; empty when all is well.
  std::string waiting_for;
};

inline constexpr std::string_view kInMaintenance = "in maintenance: an operator said hands off";

// `record` is null for a device never seen before, `ledger` when nothing is remembered of it.
// Returns nothing for an address that is not ours: no one-time-use provider, no record, no ledger.
[[nodiscard]] std::optional<Assessment> assess(const Sighting& sighting, const Record* record,
                                               const LedgerEntry* ledger, const HostView& host,
                                               WallMs now);

// May the burned, unallocated device be cleaned now, and with which plan? Refusal: the reason.
[[nodiscard]] Result<std::vector<CleanStep>> admit(const Sighting& sighting, const Record& record,
                                                   const HostView& host,
                                                   const std::optional<DevicePolicy>& policy,
                                                   const MethodChoice& choose_method);

}  // namespace reclaim
