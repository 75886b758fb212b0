// Admission: what a survey means for one device, and whether it may be cleaned now. Pure: no I/O,
// no clock; every refusal is one line an operator understands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "handlers/options.h"
#include "handlers/survey/survey.h"
#include "state/device/record.h"
#include "state/device/step.h"
#include "state/ledger/ledger.h"

namespace reclaim {

// The facts that hold for the whole host at the time of a survey.
struct HostView {
  std::string host;
  std::string root_uuid;
  std::string compute_id;  // empty: Nova's file is not there
  std::string boot_id;     // of the boot that runs; empty: not known
  std::string problem;     // forbids every cleaning: "another machine claims this host name", …
  // Drives of Cyborg's that nobody knows are cleaned first ([nvme] enrol_first_sight).
  bool clean_first = false;
  bool failed_builds_wait = false;  // [clean] failed_builds
};

// The meaning of a survey for a device: a note on its record, and what is to be done.
struct Assessment : Note {
  // The record to begin with, of a device seen for the first time.
  std::optional<Record> first_seen;
  // The trigger that the state machine is told, if any.
  std::optional<Trigger> trigger;
  // It is offered though it is not clean: reserve it at once, whatever else follows.
  bool reserve = false;
  // Providers that offer it besides, where several stand for its address: these as well.
  std::vector<std::string> reserve_too;
  // The certificate is newer than the ledger's word: the line can be struck.
  bool strike = false;
  // Placement and the device's state contradict each other; both are named. Empty: they do not.
  std::string mismatch;
  // An ARQ or an instance has got what is not clean: to be said loudly.
  std::string alarm;
  // Reserved, and nothing tells a hold from a missed tenancy: an operator may say `clean`.
  bool unsure = false;
  // Free and on offer, while an operator has it in maintenance or somebody may have had it: it is
  // to be reserved.
  bool take_out = false;
  // Taken out for a reason that is over, and its certificate stands: it is to be un-reserved.
  bool give_back = false;
};

inline constexpr std::string_view kMaintaining = "maintaining";
inline constexpr std::string_view kInMaintenance = "in maintenance, set by an operator";
// The note of a device that is reserved still, and may be so by no operator's hand.
inline constexpr std::string_view kMaintenanceOver =
    "its maintenance has ended: the next look gives it back, or tells why not";
inline constexpr std::string_view kHandedOver =
    "clean, and left reserved for Cyborg's agent to un-reserve it: if that does not come, see that "
    "it runs, with reclaim_nvme in enabled_drivers";
inline constexpr std::string_view kCleanedManually =
    "cleaned only when an operator says so: `reclaim device clean` starts it";

// True if its cleaning is an operator's to begin, and he has not yet.
[[nodiscard]] inline bool awaits_operator(const DevicePolicy& policy, const Record& record) {
  return policy.manual && record.clean_start != CleanStart::ordered;
}

// The record a device begins with. Whether it is dirty is decided right after, by the same rules as
// for a device known for long; what the ledger remembers of a lost record comes first.
[[nodiscard]] Record first_record(const Sighting& sighting, const LedgerEntry* ledger,
                                  const HostView& host, WallMs now);

// `record` is null for a device never seen before, `ledger` when nothing is remembered of it.
// Returns nothing for an address that is not ours: no one-time-use provider, none of Cyborg's that
// a device_spec entry matches, no record, no ledger; and for one at which the host shows nothing
// and of which nothing is known. What is not a drive of ours is told as such
// (handlers/survey/device_kind.h).
[[nodiscard]] std::optional<Assessment> assess(const Sighting& sighting, const Record* record,
                                               const LedgerEntry* ledger, const HostView& host,
                                               WallMs now);

// True if a device whose record cannot be written now is on offer, or taken, and has to be
// reserved. `record` as it is to be written.
[[nodiscard]] bool must_be_reserved(const Sighting& sighting, const Record& record,
                                    const LedgerEntry* ledger, const HostView& host, WallMs now);

// The means by which plans are made: what device_spec says of this drive, and what turns that and
// the drive's capabilities into a method.
struct Planning {
  std::optional<DevicePolicy> policy;
  const MethodChoice& choose_method;
  const ConductorOptions& options;
};

// Resolves the policy of a device at rest in the pool, as long as nobody has it. One that its drive
// cannot satisfy takes it out of the pool.
void resolve_policy(Assessment& assessment, const Record& record, const Sighting& sighting,
                    const Planning& planning);

// Notes tags and policies of the device, and the clean steps that may be named for it, for its
// record.
void note_policy(Assessment& assessment, const Record& record, const Sighting& sighting,
                 const Planning& planning);

// May the burned, unallocated device be cleaned now, and with which plan? A whole plan that the
// record has is locked in. Refusal: the reason. Of an unmanaged drive that is not open to us yet
// the plan may lack its erase, which is resolved when it is claimed.
[[nodiscard]] Result<std::vector<CleanStep>> admit(const Sighting& sighting, const Record& record,
                                                   const HostView& host, const Planning& planning);

}  // namespace reclaim
