#include "handlers/survey/hold.h"

#include <fmt/core.h>

#include "handlers/survey/taken.h"
#include "handlers/survey/unseen.h"

namespace reclaim {

namespace {

// Nova's tracker looks at a host once a minute ([DEFAULT] update_resources_interval), a loaded one
// later.
constexpr std::int64_t kLateWriteMs = 10LL * 60 * 1000;

// True if dirt that the ledger knows is of the device here. The drive's dirt under another address
// does not end a hold that was recognised at this one: it stays reserved, and is cleaned when the
// hold is over.
bool dirt_is_of_here(const LedgerEntry* ledger, const Record& record, const Sighting& sighting) {
  if (ledger == nullptr || !ledger->dirty || outlives(record, *ledger)) return false;
  return !(record.held && sighting.standing.brought_dirt);
}

bool is_reserved_late(const Record& record, WallMs now) {
  if (record.flow != Flow::nova) return false;
  if (record.held) return record.waiting_for.starts_with(kReservedLate);
  return now.ms - record.certificate_at.ms <= kLateWriteMs;
}

}  // namespace

Hold operator_hold(const Record& record, const LedgerEntry* ledger, const Sighting& sighting) {
  const bool counted = record.certified_host_reads && record.certified_host_writes;
  if (record.certificate_id.empty() || (record.is_drive() && !counted) ||
      record.tenancy_seen_at > record.certificate_at) {
    return Hold::dirty;
  }
  if (dirt_is_of_here(ledger, record, sighting)) return Hold::dirty;
  if (!record.is_drive()) return Hold::unknown;  // it counts nothing that a tenant would move
  if (sighting.drive && sighting.drive->identity && !record.serial.empty() &&
      sighting.drive->identity->serial != record.serial) {
    return Hold::dirty;
  }
  if (!sighting.drive || !sighting.drive->counters) return Hold::unknown;
  const nvme::Counters& counters = *sighting.drive->counters;
  if (counters.host_writes != *record.certified_host_writes) return Hold::dirty;
  if (record.held) return Hold::held;
  // Only the writes tell after a claim's look: taking over reads, and nobody's data comes by
  // reading.
  const bool unread = sighting.peeked || counters.host_reads == *record.certified_host_reads;
  return unread ? Hold::held : Hold::dirty;
}

bool missed_tenancy(const Record& record, const Sighting& sighting) {
  return sighting.ended && sighting.ended->held_at > record.certificate_at;
}

bool is_proven(const Arq& arq) {
  return arq.allocation_seen || arq.listed;
}

Hold cyborg_hold(const Record& record, const LedgerEntry* ledger, const Sighting& sighting) {
  if (dirt_is_of_here(ledger, record, sighting)) return Hold::dirty;
  if (record.tenancy_seen_at.ms != 0 && record.tenancy_seen_at > record.certificate_at) {
    return Hold::dirty;
  }
  if (!record.held && missed_tenancy(record, sighting) && is_proven(*sighting.ended)) {
    return Hold::dirty;
  }
  if (sighting.drive && sighting.drive->identity && !record.serial.empty() &&
      sighting.drive->identity->serial != record.serial) {
    return Hold::dirty;
  }
  if (!record.certified_host_writes) return Hold::held;
  if (!sighting.drive || !sighting.drive->counters) return Hold::unknown;
  return sighting.drive->counters->host_writes == *record.certified_host_writes ? Hold::held
                                                                                : Hold::dirty;
}

std::string doubt_of_hold(const Record& record, const LedgerEntry* ledger, const Sighting& sighting,
                          WallMs now) {
  if (sighting.holder || missed_tenancy(record, sighting)) {
    const bool binds = sighting.holder.has_value();
    return fmt::format(
        "reserved, and ARQ {} {}, as its notification says, but no allocation was seen",
        binds ? sighting.holder->uuid : sighting.ended->uuid, binds ? "binds it" : "bound it");
  }
  if (record.certificate_id.empty()) {
    return "reserved without a tenancy that was seen, and never cleaned by this worker";
  }
  if (may_be_reserved_again(record, *sighting.view)) {
    return "reserved since it was left to Cyborg's agent to un-reserve, and its provider was "
           "written to meanwhile, so that somebody may have reserved it again";
  }
  if (may_have_had_a_tenant(last_rest(record, ledger), sighting)) {
    return "reserved, and its provider was written to more often than by one hand, so that an "
           "instance may have had it unseen";
  }
  if (is_reserved_late(record, now)) return std::string(kReservedLate);
  return {};
}

}  // namespace reclaim
