// The steps of a cleaning, from the first clean step to the former driver's return: what the drive
// is asked for, and which trigger its answer is. Of a device that is no drive, there are no others
// than the steps of its plan.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "handlers/conductor/audit_keeper.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/operator_steps.h"
#include "handlers/conductor/record_writer.h"

namespace reclaim {

// Thread: the loop's. `epoch`: of the record that asks for it, and that the answer belongs to.
class CleaningSteps final {
 public:
  CleaningSteps(const ConductorContext& context, LedgerGate& ledger, AuditKeeper& audits,
                RecordWriter& writer, OperatorSteps& own, const DriveClaims& claims)
      : context_(context),
        ledger_(ledger),
        audits_(audits),
        writer_(writer),
        own_(own),
        claims_(claims) {}

  // The step that the record names. Each can be run again, so that an interrupted cleaning begins
  // with the first one.
  void run_step(const PciAddress& address, std::uint64_t epoch);
  void take_baseline(const PciAddress& address, std::uint64_t epoch);
  // Tells, before each erase, whether the one asked for next may be running since before a restart.
  void adopt_next_erase(const PciAddress& address, bool adopting) { adopting_[address] = adopting; }
  void erase(const PciAddress& address, std::uint64_t epoch);
  void verify(const PciAddress& address, std::uint64_t epoch);
  void restore_driver(const PciAddress& address, std::uint64_t epoch);

 private:
  void run_named_step(const PciAddress& address, std::uint64_t epoch);
  void step_answered(const PciAddress& address, std::uint64_t epoch, const std::string& name,
                     const Result<nvme::StepReport>& report);
  void run_function_step(const PciAddress& address, std::uint64_t epoch);
  void step_done(const PciAddress& address, std::uint64_t epoch, Facts facts);
  void note_findings(const PciAddress& address, std::uint64_t epoch, Facts facts);
  void conclude_function(const PciAddress& address, std::uint64_t epoch, Facts facts);
  void note_cleaning(const PciAddress& address, std::uint64_t epoch, Trigger then, Facts facts);
  void keep(const PciAddress& address, std::uint64_t epoch,
            const std::function<void(LedgerEntry&)>& change, const std::function<void()>& then);
  [[nodiscard]] std::string retirement(const PciAddress& address) const;
  void keep_out(const PciAddress& address, std::uint64_t epoch, const std::string& retired,
                const nvme::VerifyReport& report, Facts facts);
  void note_mark(const PciAddress& address, std::uint64_t epoch, const std::string& mark);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  AuditKeeper& audits_;
  RecordWriter& writer_;
  OperatorSteps& own_;
  const DriveClaims& claims_;
  std::map<PciAddress, bool> adopting_;
  std::set<PciAddress> striking_;  // a former release, and the disk may not have that yet
};

}  // namespace reclaim
