// How a record of this host is authenticated in Redis, where others may write: the field `mac` is
// an HMAC by the host's key over every other field but the figures of a running step, host,
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

  // Whose records these are; those of other hosts are neither sealed nor checked here.
  [[nodiscard]] const std::string& host() const { return host_; }

  // The record's fields with `mac` among them.
  [[nodiscard]] Fields seal(const Record& record) const;

  enum class SealCheck : std::uint8_t {
    fits,
    unsealed,  // no `mac`, and the key was made in this very start: an older version wrote it
    forged,    // not what this host's worker wrote
  };
  [[nodiscard]] SealCheck judge(const Fields& fields) const;

  // From now on a record without a `mac` is forged: this worker has written its own.
  void expect_sealed() { older_possible_ = false; }

 private:
  std::string host_;
  MacKey key_;
  bool older_possible_ = key_.newly_made();
};

}  // namespace reclaim
