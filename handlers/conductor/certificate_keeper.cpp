#include "handlers/conductor/certificate_keeper.h"

#include <fmt/core.h>

namespace reclaim {
// Certificate first, then the ledger's line, so that a crash in between leaves the line standing.
void CertificateKeeper::keep(const Record& record) {
  const PciAddress address = record.address;
  if (sealing_.contains(address) || !is_owed(record)) return;
  const auto shown = decode_certificate(record.certificate_pending);
  if (!shown) {
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: the certificate in its record cannot be read", to_string(address)),
        {{"why", shown.error().what}});
    return;
  }
  // Sealed is what this host's ledger has, never what Redis says.
  const LedgerEntry* known = context_.on_ledger(address);
  const std::string text = known != nullptr ? known->certificate_pending : std::string();
  const auto certificate = decode_certificate(text);
  if (!certificate || certificate->id != shown->id) {
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: the certificate {} in its record is not sealed: this host's ledger "
                    "does not know it, or it was sealed before",
                    to_string(address), printable_excerpt(shown->id)));
    kept_ids_[address] = shown->id;
    return;
  }
  sealing_.insert(address);
  context_.ports.ledger.keep_certificate(
      certificate->id, text,
      context_.stopping.unless_begun(
          [this, address, certificate = *certificate](Result<std::string> kept) {
            sealing_.erase(address);
            if (!kept) {
              context_.ports.log.error(
                  log_name::kConductor,
                  fmt::format("{}: its certificate cannot be kept; tried again with the next "
                              "survey",
                              to_string(address)),
                  {{"why", kept.error().what}});
              return;
            }
            context_.ports.store.save_certificate(certificate, *kept, [this](Result<Ok> saved) {
              if (!saved) {
                context_.ports.log.warning(log_name::kConductor, "certificate kept as a file only",
                                           {{"why", saved.error().what}});
              }
            });
            kept_ids_[address] = certificate.id;
            kept_(address, certificate.id);
          }));
}

bool CertificateKeeper::is_owed(const Record& record) const {
  if (record.certificate_pending.empty()) return false;
  Record rest = record;
  forget_kept(rest);
  return !rest.certificate_pending.empty();
}

void CertificateKeeper::forget_kept(Record& record) const {
  const auto kept = kept_ids_.find(record.address);
  if (kept == kept_ids_.end() || record.certificate_pending.empty()) return;
  const auto pending = decode_certificate(record.certificate_pending);
  if (pending && pending->id == kept->second) record.certificate_pending.clear();
}

std::optional<Record> CertificateKeeper::settle(const Record& record) {
  if (!kept_ids_.contains(record.address)) return std::nullopt;
  Record next = record;
  forget_kept(next);
  kept_ids_.erase(record.address);
  if (next.certificate_pending == record.certificate_pending) return std::nullopt;
  return next;
}

}  // namespace reclaim
