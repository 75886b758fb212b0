#include "handlers/conductor/audit_keeper.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
// More than operators order of one device, and few enough for the disk.
constexpr std::size_t kOfAKindMax = 30;

bool is_of_an_offer(const AuditEntry& entry) {
  return entry.event == AuditEvent::released_elsewhere || entry.event == AuditEvent::reserved_again;
}

}  // namespace

void AuditKeeper::keep(const PciAddress& address, const std::vector<AuditEntry>& entries,
                       bool by_proven_order) {
  if (!by_proven_order && is_told_again(address, entries)) return;
  for (const AuditEntry& entry : entries) {
    by_proven_order ? seal(entry) : keep_or_count(address, entry);
  }
}

// Whoever un-reserves a device every second is told of once.
bool AuditKeeper::is_told_again(const PciAddress& address, const std::vector<AuditEntry>& entries) {
  if (entries.empty() || !std::all_of(entries.begin(), entries.end(), is_of_an_offer)) return false;
  std::string told;
  for (const AuditEntry& entry : entries) {
    told += fmt::format("{} {}; ", to_string(entry.event), entry.instance);
  }
  return std::exchange(told_[address], told) == told;
}

void AuditKeeper::keep_or_count(const PciAddress& address, const AuditEntry& entry) {
  const Kind kind{address, entry.event};
  const MonoMs now = context_.ports.clock.now().mono;
  Minute& minute = minutes_.try_emplace(kind, Minute{now}).first->second;
  // The minute of a kind that is counted ends with its timer.
  if (!minute.is_counting && now.ms - minute.began.ms >= kMinuteMs) minute = Minute{now};
  if (minute.kept < kOfAKindMax) {
    minute.kept += 1;
    return seal(entry);
  }
  if (!std::exchange(minute.is_counting, true)) {
    context_.ports.timers.after(minute.began.ms + kMinuteMs - now.ms, [this, kind] {
      if (!context_.stopping) tell_counted(kind);
    });
    return begin_to_count(entry);
  }
  minute.counted += 1;
  minute.last = entry;
}

// Tells the journal at once that the rest is counted: the count itself is lost if the worker is
// killed before the minute is over, but not that there was one.
void AuditKeeper::begin_to_count(AuditEntry entry) {
  context_.ports.log.error(
      log_name::kConductor,
      fmt::format("{}: the audit journal has {} entries '{}' of it within a minute: the others "
                  "of this minute are counted in one; see in the log whose they are",
                  entry.address, kOfAKindMax + 1, to_string(entry.event)));
  entry.detail += "; the others of this minute are only counted";
  seal(entry);
}

void AuditKeeper::tell_counted(const Kind& kind) {
  const auto minute = minutes_.extract(kind);
  if (minute) tell(minute.mapped());
}

void AuditKeeper::tell(const Minute& minute) {
  if (minute.counted == 0) return;
  AuditEntry entry = minute.last;
  entry.detail = fmt::format("{} more within a minute, the last: {}", minute.counted, entry.detail);
  seal(entry);
}

void AuditKeeper::tell_all_counted() {
  for (const auto& [kind, minute] : std::exchange(minutes_, {})) tell(minute);
}

void AuditKeeper::seal(const AuditEntry& entry) {
  context_.ports.ledger.keep_audit(
      entry, [this, address = entry.address, event = entry.event](Status kept) {
        if (kept) return;
        context_.ports.log.error(
            log_name::kConductor,
            fmt::format("{}: the audit journal lacks that it is {}", address, to_string(event)),
            {{"why", kept.error().what}});
      });
}

}  // namespace reclaim
