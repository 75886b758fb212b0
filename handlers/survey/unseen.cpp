#include "handlers/survey/unseen.h"

#include <fmt/core.h>

namespace reclaim {
namespace {

// The kernel and udev read no more than this when a driver is bound: partition tables and
// signatures, at both ends of each namespace.
constexpr std::uint64_t kTakeOverReadsMax = 1'000;

// Nova burns what it gives away of a one-time-use device, and nobody burns any other.
bool is_unburned(const Sighting& sighting) {
  return sighting.rows.size() != 1 || !sighting.rows.front().one_time_use ||
         sighting.rows.front().owner_cyborg;
}

std::int64_t writes_of_a_tenancy(bool was_reserved, bool is_burned, bool is_reserved) {
  return (was_reserved ? 1 : 0) + 1 + (is_burned ? 1 : 0) + (is_burned != is_reserved ? 1 : 0);
}

bool is_made_anew(const Rest& rest, const placement::ProviderView& view) {
  return rest.provider != view.uuid || view.generation < rest.generation;
}

// The kernel reads a managed drive when it gets it back from a guest, whatever that did. Nobody
// reads an unmanaged one, so that little is known of a guest who did not either.
bool shows_no_tenant(const Record& record, const Rest& rest, const Sighting& sighting) {
  if (!sighting.drive || !sighting.drive->counters || !record.certified_host_reads ||
      !record.certified_host_writes) {
    return false;
  }
  const nvme::Counters& now = *sighting.drive->counters;
  if (now.host_writes != *record.certified_host_writes) return false;
  if (!sighting.peeked) {
    // Nova makes the provider anew of a device that was away, and the kernel reads what comes back.
    return now.host_reads == *record.certified_host_reads || sighting.view->uuid != rest.provider;
  }
  return !is_made_anew(rest, *sighting.view) && now.host_reads >= *record.certified_host_reads &&
         now.host_reads - *record.certified_host_reads <= kTakeOverReadsMax;
}

}  // namespace

Rest rest_of(const Sighting& sighting) {
  const placement::ProviderView& view = *sighting.view;
  return Rest{view.uuid, view.generation, view.burned(), is_unburned(sighting)};
}

Rest last_rest(const Record& record, const LedgerEntry* ledger) {
  const bool is_on_record = record.rest.generation >= 0 || ledger == nullptr;
  return is_on_record ? record.rest : ledger->rest;
}

bool may_have_had_a_tenant(const Rest& rest, const Sighting& sighting) {
  const placement::ProviderView& view = *sighting.view;
  if (rest.generation < 0) return false;
  if (is_made_anew(rest, view)) return true;
  const bool is_burned = !rest.unburned && !is_unburned(sighting);
  return view.generation - rest.generation >=
         writes_of_a_tenancy(rest.reserved, is_burned, view.burned());
}

bool may_be_reserved_again(const Record& record, const placement::ProviderView& view) {
  const Rest& rest = record.rest;
  return record.handed_over && rest.reserved && view.burned() && rest.provider == view.uuid &&
         view.generation - rest.generation >= 2;
}

bool is_in_question(const Record& record, const LedgerEntry* ledger, const Sighting& sighting) {
  const Rest rest = last_rest(record, ledger);
  return may_have_had_a_tenant(rest, sighting) && !shows_no_tenant(record, rest, sighting);
}

bool is_told_by_a_claim(const Record& record, const Sighting& sighting) {
  return record.is_drive() && !record.serial.empty() && record.certified_host_writes &&
         sighting.is_drive() && !sighting.drive->identity && !sighting.drive->counters &&
         sighting.drive->driver != "nvme";
}

void assess_in_question(Assessment& out, const Record& record, const LedgerEntry* ledger,
                        const Sighting& sighting) {
  const Rest rest = last_rest(record, ledger);
  std::string may_have = fmt::format(
      "an instance may have had it unseen: its provider was at generation {} when it was last seen "
      "in the pool, and is at {}",
      rest.generation, sighting.view->generation);
  if (is_told_by_a_claim(record, sighting) && !is_made_anew(rest, *sighting.view)) {
    out.take_out = out.unsure = true;
    out.waiting_for = may_have + "; it is reserved until its counters tell";
    return;
  }
  out.reserve = true;
  out.trigger = Trigger::reserved_dropped;
  out.facts.detail = std::move(may_have);
}

void assess_failed_build(Assessment& out, const Record& record, const HostView& host) {
  std::string why = fmt::format(
      "reserved and free, and its provider was written to more often than by one hand since "
      "generation {}: a build that failed, if no operator reserved it",
      record.rest.generation);
  if (!host.failed_builds_wait) {
    out.trigger = Trigger::dirty_seen;
    out.facts.detail = std::move(why);
    return;
  }
  out.unsure = true;
  out.waiting_for = why + std::string(kCleanInDoubt);
}

}  // namespace reclaim
