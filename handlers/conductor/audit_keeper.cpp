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

void AuditKeeper::keep(const PciAddress& address, const std::vector<AuditEntry>& entries) {
  if (is_told_again(address, entries)) return;
  for (const AuditEntry& entry : entries) keep_or_count(address, entry);
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
  const MonoMs now = context_.ports.clock.now().mono;
  const Kind kind{address, entry.event};
  auto minute = minutes_.find(kind);
  if (minute != minutes_.end() && now.ms - minute->second.began.ms >= kMinuteMs) {
    tell(minute->second);
    minutes_.erase(minute);
    minute = minutes_.end();
  }
  if (minute == minutes_.end()) minute = minutes_.emplace(kind, Minute{now, 0, 0, {}}).first;
  if (minute->second.kept == kOfAKindMax) return count(minute->second, entry);
  minute->second.kept += 1;
  seal(entry);
}

void AuditKeeper::count(Minute& minute, const AuditEntry& entry) {
  if (minute.counted == 0) {
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: the audit journal has {} entries '{}' of it within a minute: the others "
                    "of this minute are counted in one; see in the log whose they are",
                    entry.address, kOfAKindMax, to_string(entry.event)));
  }
  minute.counted += 1;
  minute.last = entry;
}

void AuditKeeper::tell(const Minute& minute) {
  if (minute.counted == 0) return;
  AuditEntry entry = minute.last;
  entry.detail = fmt::format("{} more within a minute, the last: {}", minute.counted, entry.detail);
  seal(entry);
}

void AuditKeeper::tell_counted() {
  const MonoMs now = context_.ports.clock.now().mono;
  std::erase_if(minutes_, [&](const auto& each) {
    const bool is_over = now.ms - each.second.began.ms >= kMinuteMs;
    if (is_over) tell(each.second);
    return is_over;
  });
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
