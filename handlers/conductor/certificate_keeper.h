// Seals and keeps the certificate that a released device's record owes. Asked for again at the
// start and with each survey, wherever the device stands by then, until the ledger has it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "handlers/conductor/context.h"

namespace reclaim {

// Thread: the loop's.
class CertificateKeeper final {
 public:
  // It is sealed: the ledger's line that it answers may go.
  using Kept = std::function<void(const PciAddress& address, const std::string& certificate_id)>;

  CertificateKeeper(const ConductorContext& context, Kept kept)
      : context_(context), kept_(std::move(kept)) {}

  void keep(const Record& record);
  [[nodiscard]] bool is_owed(const Record& record) const;
  // Takes from `record` a certificate that is kept already: it need not be carried on.
  void forget_kept(Record& record) const;
  // The record without the certificate that was kept since it was written, or nothing: it is as it
  // should be.
  [[nodiscard]] std::optional<Record> settle(const Record& record);

 private:
  const ConductorContext& context_;
  Kept kept_;
  std::set<PciAddress> sealing_;  // one at a time of a device: until the ledger has answered
  // Ids that are sealed, or never will be, and that the device's record in Redis may still owe.
  std::map<PciAddress, std::string> kept_ids_;
};

}  // namespace reclaim
