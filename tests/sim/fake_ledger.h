// The local ledger as the simulation has it: durable only after its fsync; a crash loses what was
// not, and a full disk lets a write fail.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "state/ledger/ledger.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"

namespace reclaim::sim {

// The host's disk: what survives the worker.
struct LedgerDisk {
  std::map<PciAddress, LedgerEntry> entries;
  std::map<std::string, std::string> certificates;  // id, JSON
  std::vector<AuditEntry> audit;
  std::set<PciAddress> unwritten;  // the last line of it was refused
  bool full = false;
};

class FakeLedger final : public Ledger {
 public:
  FakeLedger(Scheduler& scheduler, Rng& rng, const Faults& faults, LedgerDisk& disk)
      : scheduler_(scheduler), rng_(rng), faults_(faults), disk_(disk), entries_(disk.entries) {}

  [[nodiscard]] const std::map<PciAddress, LedgerEntry>& entries() const override {
    return entries_;
  }
  void put(const PciAddress& address, const LedgerEntry& entry, Callback<Ok> done) override {
    entries_[address] = entry;
    auto told = [this, address, done = std::move(done)](const Status& kept) {
      if (kept) disk_.unwritten.erase(address);
      if (!kept) disk_.unwritten.insert(address);
      done(kept);
    };
    write(std::move(told), [this, address, entry] {
      disk_.entries[address] = entry;
      if (on_durable) on_durable(address, entry);
    });
  }
  void keep_certificate(const std::string& id, const std::string& json_text,
                        Callback<std::string> done) override {
    auto kept = [done = std::move(done), json_text](Status status) {
      done(status ? Result<std::string>(json_text) : Result<std::string>(status.error()));
    };
    write(std::move(kept), [this, id, json_text] {
      disk_.certificates[id] = json_text;
      if (on_certificate) on_certificate(id, json_text);
    });
  }

  void keep_audit(const AuditEntry& entry, Callback<Ok> done) override {
    disk_.audit.push_back(entry);
    done(Ok{});
  }

  std::function<void(const PciAddress&, const LedgerEntry&)> on_durable;
  std::function<void(const std::string& id, const std::string& json_text)> on_certificate;

 private:
  void write(Callback<Ok> done, std::function<void()> carry_out) {
    scheduler_.answer_in_order(
        line_, faults_.delay_ms(rng_),
        [this, done = std::move(done), carry_out = std::move(carry_out)]() mutable {
          const bool failed = disk_.full || rng_.chance(faults_.ledger_fails);
          if (!failed) carry_out();
          scheduler_.answer_in_order(answers_, faults_.delay_ms(rng_),
                                     [done = std::move(done), failed] {
                                       if (failed) return done(Error{Errc::failed, "disk full"});
                                       done(Ok{});
                                     });
        });
  }

  Scheduler& scheduler_;
  Rng& rng_;
  const Faults& faults_;
  LedgerDisk& disk_;
  std::map<PciAddress, LedgerEntry> entries_;
  std::int64_t line_ = 0;
  std::int64_t answers_ = 0;
};

}  // namespace reclaim::sim
