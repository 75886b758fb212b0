#include "state/certificate/succession.h"

#include <fmt/core.h>

#include <string_view>

#include "state/ledger/audit.h"

namespace reclaim {
namespace {

// True if the text is the entry as `certificate endorse` and `revoke` seal it, or did with schema
// 1.
bool has_key_form(const AuditEntry& entry, std::string_view text) {
  AuditEntry plain = entry;
  plain.project.clear();
  plain.user.clear();
  plain.migration.clear();
  if (entry.event == AuditEvent::key_revoked) {
    plain.public_key.clear();
  } else {
    plain.key_id.clear();
    plain.from_sequence = 0;
  }
  return encode_audit(plain) == text || encode_audit(plain, 1) == text;
}

}  // namespace

Status Succession::check_key(const Sealed& sealed) const {
  const auto found = revoked_.find(sealed.key_id);
  if (found != revoked_.end() && sealed.sequence >= found->second.from) {
    return Error{Errc::refused, fmt::format("is signed with key {}, which entry {} revokes from "
                                            "entry {} on: {}",
                                            sealed.key_id, found->second.entry, found->second.from,
                                            found->second.reason)};
  }
  if (const auto entry = retired_by(sealed.key_id)) {
    return Error{Errc::refused, fmt::format("is signed with key {}, in whose place entry {} put "
                                            "another: it may sign nothing behind that",
                                            sealed.key_id, *entry)};
  }
  return Ok{};
}

Status Succession::take(const Sealed& sealed) {
  if (Status may = check_key(sealed); !may) return may;
  if (!current_.empty() && current_ != sealed.key_id) {
    retired_.emplace(current_, sealed.sequence);
    // A key that was to follow and did not counts no more either.
    if (!next_.empty() && next_ != sealed.key_id) retired_.emplace(next_, sealed.sequence);
    next_.clear();
  }
  current_ = sealed.key_id;
  return sealed.kind == SealedKind::audit ? take_audit(sealed) : Ok{};
}

std::optional<std::uint64_t> Succession::retired_by(const std::string& key_id) const {
  const auto over = retired_.find(key_id);
  return over == retired_.end() ? std::nullopt : std::optional(over->second);
}

Status Succession::take_audit(const Sealed& sealed) {
  const auto entry = decode_audit(sealed.content);
  if (!entry.ok()) return entry.error();
  const bool revokes = entry->event == AuditEvent::key_revoked;
  if (!revokes && entry->event != AuditEvent::key_endorsed) return Ok{};
  // An entry that decides over keys is read by other tools too: it has one form.
  if (!has_key_form(*entry, sealed.content)) {
    return Error{Errc::refused, "it tells of a key in another form than Reclaim's"};
  }
  if (revokes) {
    if (entry->key_id.empty() || entry->from_sequence == 0) {
      return Error{Errc::refused, "it revokes a key and does not say which, or from where on"};
    }
    Revocation said{entry->from_sequence, sealed.sequence, entry->detail};
    const auto [known, added] = revoked_.try_emplace(entry->key_id, said);
    if (!added && said.from < known->second.from) known->second = std::move(said);
    return Ok{};
  }
  auto next = PublicKey::parse(entry->public_key);
  if (!next.ok()) return next.error().wrap("the key that it endorses is not a public key");
  if (const auto pem = next->pem(); !pem.ok() || *pem != entry->public_key) {
    return Error{Errc::refused, "it tells of a key in another form than Reclaim's"};
  }
  if (next->id() == sealed.key_id) return Ok{};
  retired_.emplace(sealed.key_id, sealed.sequence);
  retired_.erase(next->id());
  next_ = next->id();
  keys_.push_back(*std::move(next));
  return Ok{};
}

}  // namespace reclaim
