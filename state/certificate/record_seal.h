// RecordSeal: authenticates a record of this host in Redis, where others may write. The field `mac`
// is an HMAC by the host's key over every other field but the figures of a running step, host,
// address and epoch among them. It tells what this host's worker wrote from what somebody else did.
// It does not tell the last record from an earlier one: what a release rests on is in the ledger.
// Pure. Thread: any.
#pragma once

#include <string>

#include "state/certificate/mac_key.h"
#include "state/device/record.h"

namespace reclaim {

class RecordSeal final {
 public:
  RecordSeal(std::string host, MacKey key) : host_(std::move(host)), key_(std::move(key)) {}

  // The host whose records these are; those of other hosts are neither sealed nor checked here.
  [[nodiscard]] const std::string& host() const { return host_; }

  // The record's fields with `mac` among them.
  [[nodiscard]] Fields seal(const Record& record) const;

  // Tells whether this host's worker wrote them.
  [[nodiscard]] bool fits(const Fields& fields) const;

 private:
  std::string host_;
  MacKey key_;
};

}  // namespace reclaim
