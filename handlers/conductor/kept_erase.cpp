#include "handlers/conductor/kept_erase.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "handlers/conductor/error_facts.h"

namespace reclaim {
namespace {

constexpr std::int64_t kPauseMs = 5'000;  // between two looks
// Nova and Cyborg report their devices each minute. A provider that is not back by then is gone for
// another reason, and its drive is not held for it.
constexpr std::int64_t kProviderMaxMs = 600'000;

bool is_owners(const placement::ProviderRow& row, Flow flow) {
  return flow == Flow::cyborg ? row.owner_cyborg && !row.one_time_use
                              : row.one_time_use && !row.owner_cyborg;
}

std::vector<placement::ProviderRow> rows_of(const placement::Tree& tree,
                                            const PciAddress& address) {
  std::vector<placement::ProviderRow> rows;
  for (const placement::ProviderRow& row : tree.rows) {
    if (address_of_provider(row.name) == address) rows.push_back(row);
  }
  return rows;
}

std::string note_of(const std::string& why) {
  return fmt::format("erased and verified, and kept so until it can be given back: {}", why);
}

}  // namespace

void KeptErase::look_when_due(const PciAddress& address, std::uint64_t epoch) {
  if (!is_withheld(context_.record_of(address))) return look_(address, epoch);
  context_.ports.timers.after(kPauseMs, [this, address, epoch] {
    if (!context_.is_stale(address, epoch)) look_(address, epoch);
  });
}

// The drive's own counters are asked at each look. Another drive that waits for the thread, and an
// operator who wants to work at this one, go first: it is erased again later.
bool KeptErase::may_be_kept(const Record& record, bool for_ever) {
  const PciAddress& address = record.address;
  const LedgerEntry* known = context_.on_ledger(address);
  const bool proven =
      record.is_drive() && !record.evidence.empty() && !record.verification.empty() &&
      known != nullptr && known->dirty && !record.cleaning_nonce.empty() &&
      known->cleaning.nonce == record.cleaning_nonce && known->dirty_since <= erased_at(record);
  if (!proven || !claims_.is_claimed(address) || !locks_.holds(address)) return false;
  if (admissions_.is_one_waiting_for_thread() || admissions_.is_maintenance_due(address)) {
    return false;
  }
  const MonoMs now = context_.ports.clock.now().mono;
  if (for_ever) {
    since_.erase(address);
    return true;
  }
  return now.ms - since_.try_emplace(address, now).first->second.ms <= kProviderMaxMs;
}

void KeptErase::withhold(const PciAddress& address, std::uint64_t epoch, const Reason& reason) {
  const Record& record = context_.record_of(address);
  if (!may_be_kept(record, reason.for_ever)) {
    return context_.answer(address, epoch, reason.otherwise, said(reason.why));
  }
  const std::string note = note_of(reason.why);
  if (record.waiting_for == note) return look_when_due(address, epoch);
  context_.ports.log.warning(log_name::kConductor,
                             fmt::format("{} waits: {}", to_string(address), note));
  context_.answer(address, epoch, Trigger::release_withheld, said(note));
}

void KeptErase::find_provider(const PciAddress& address, std::uint64_t epoch, const Reason& reason,
                              std::function<void()> next) {
  context_.ports.providers.list_tree(
      [this, address, epoch, reason, next = std::move(next)](const Result<placement::Tree>& tree) {
        if (context_.is_stale(address, epoch)) return;
        if (!tree) {
          return context_.answer_later(address, epoch, Trigger::placement_away, said(tree.error()));
        }
        const Record& record = context_.record_of(address);
        const auto rows = rows_of(*tree, address);
        if (rows.size() != 1 || !is_owners(rows.front(), record.flow)) {
          return withhold(address, epoch, reason);
        }
        const placement::ProviderRow& row = rows.front();
        if (row.uuid == record.provider) return next();
        if (!may_be_kept(record, reason.for_ever)) {
          return context_.answer(address, epoch, reason.otherwise, said(reason.why));
        }
        Facts facts = said(note_of(fmt::format("its provider was made anew as {}", row.uuid)));
        facts.provider = row.uuid;
        facts.provider_name = row.name;
        context_.answer(address, epoch, Trigger::provider_anew, std::move(facts));
      });
}

}  // namespace reclaim
