// Lets a device go that was ours and that no device_spec entry matches any more: its record and its
// line in the ledger are struck, and neither Placement nor the device is touched. The ledger's line
// goes first, because a release rests on it: a crash between the two leaves a dirty record, whose
// device stays reserved and whose line is written again, as if nobody had said anything.
//
// From the decision on the record counts as it is going to be (ConductorContext::stays_ours),
// though its writing takes its time or fails: nothing reserves the device or calls it dirty any
// more.
#pragma once

#include <functional>
#include <string>

#include "handlers/conductor/admissions.h"
#include "handlers/conductor/assessor.h"
#include "handlers/conductor/audit_keeper.h"
#include "handlers/conductor/certificate_keeper.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/record_writer.h"
#include "handlers/conductor/write_fence.h"

namespace reclaim {

// The objects of the conductor that have to do with a device that is let go.
struct DisowningHands {
  LedgerGate& ledger;
  CertificateKeeper& certificates;
  RecordWriter& writer;
  WriteFence& fence;
  DriveClaims& claims;
  Admissions& admissions;
  Assessor& assessor;
  AuditKeeper& audits;
};

// Thread: the loop's.
class Disowning final {
 public:
  Disowning(const ConductorContext& context, const DisowningHands& hands)
      : context_(context),
        ledger_(hands.ledger),
        certificates_(hands.certificates),
        writer_(hands.writer),
        fence_(hands.fence),
        claims_(hands.claims),
        admissions_(hands.admissions),
        assessor_(hands.assessor),
        audits_(hands.audits) {}

  // The reason why the device may not be let go now, with what to do; empty: it may.
  [[nodiscard]] std::string why_not(const PciAddress& address) const;
  // Lets go of a device that may be. `said`: who, and why. `done` when its record is durable.
  void begin(const PciAddress& address, const std::string& said, std::function<void()> done);

 private:
  const ConductorContext& context_;
  LedgerGate& ledger_;
  CertificateKeeper& certificates_;
  RecordWriter& writer_;
  WriteFence& fence_;
  DriveClaims& claims_;
  Admissions& admissions_;
  Assessor& assessor_;
  AuditKeeper& audits_;
};

}  // namespace reclaim
