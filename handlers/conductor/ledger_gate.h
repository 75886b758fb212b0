// Writes what the ledger has of each device, and knows whether it stands on stable storage: nothing
// is done for a dirty device before that, and only a release whose certificate is sealed strikes
// its line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "handlers/conductor/context.h"

namespace reclaim {

// Thread: the loop's.
class LedgerGate final {
 public:
  explicit LedgerGate(const ConductorContext& context) : context_(context) {}

  // Puts the line with the epoch of the record that is in Redis now, so that an older one is known
  // for what it is.
  void put(const PciAddress& address, LedgerEntry entry, std::function<void(Status)> done);
  // The line that says a device is dirty since `since`.
  [[nodiscard]] LedgerEntry dirty_entry(const Record& record, WallMs since) const;
  // The line that says a device is dirty since now, and since after its last erasure.
  [[nodiscard]] LedgerEntry dirty_now(const Record& record) const;
  // Calls `next` once the ledger says that `record`, which `on` makes, is dirty.
  void mark_dirty_then(const PciAddress& address, const Record& record, Trigger on,
                       std::function<void()> next);
  // Calls `next` once the ledger knows that the device was on offer, or cannot be written.
  void note_offered(const PciAddress& address, std::function<void()> next);
  // The certificate is sealed: the device is clean, unless it came to be dirty since.
  void strike(const PciAddress& address, const std::string& certificate_id);

  // Calls `next` once the ledger remembers nothing of the device but when an order for it was
  // issued that accepted something. Tried until it is written.
  void let_go(const PciAddress& address, std::function<void()> next);

  [[nodiscard]] bool is_dirty_durable(const PciAddress& address) const;
  void set_dirty_durable(const PciAddress& address, bool durable) {
    lines_[address].dirty_durable = durable;
  }

 private:
  struct Line {
    // The dirty line stands on stable storage. The ledger shows a line before it is durable, so
    // that what is durable is remembered here.
    bool dirty_durable = false;
    std::uint64_t strikes = 0;  // times it was struck: tells an older write's answer
  };

  void forget_retirement(const PciAddress& enrolled_at, const std::string& serial);
  void strike_later(const PciAddress& address, const std::string& certificate_id);

  const ConductorContext& context_;
  std::map<PciAddress, Line> lines_;
};

}  // namespace reclaim
