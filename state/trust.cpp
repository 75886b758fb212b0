#include "state/trust.h"

namespace reclaim {

Record shown_only(Record record, const LedgerEntry* known) {
  record.plan.clear();
  record.step_index = 0;
  record.erase_begun = false;
  record.baseline.clear();
  record.evidence.clear();
  record.verification.clear();
  record.verified_at = WallMs{};
  record.findings.clear();
  record.accepted = false;
  record.certificate_pending.clear();
  record.enrolment = known != nullptr ? known->enrolment : std::string();
  if (known != nullptr && !known->serial.empty()) record.serial = known->serial;
  if (known != nullptr && known->dirty && record.certificate_at >= known->dirty_since) {
    record.certificate_at = WallMs{known->dirty_since.ms - 1};
  }
  record.unproven = false;
  return record;
}

bool is_of_this_host(const Record& stored) {
  return stored.damage.empty() && stored.epoch < kStoredEpochMax;
}

}  // namespace reclaim
