// Draws the conclusion of a qualification: whether a model should be used, by which method, and
// with which device_spec entry. Pure; thread: any.
#pragma once

#include <string>
#include <vector>

#include "nvme/qualify/qualification.h"
#include "nvme/rules.h"

namespace reclaim::nvme {

// One trial.
struct TrialJudgement {
  enum class Outcome : std::uint8_t {
    good,    // with `relaxed`, if that is any
    failed,  // it did not erase, and did not say that it had; or it could not be tried
    lied,    // it said that it erased, and had not
  };
  Outcome outcome = Outcome::failed;
  Relaxations relaxed;           // without which a cleaning would refuse it
  std::vector<std::string> why;  // of anything but good without relaxations
  std::vector<std::string> notes;
};
[[nodiscard]] TrialJudgement judge_trial(const Trial& trial, const DriveSays& drive);

// Judges all that was tried, and the last erase where there was one. A drive that lied, or that
// does not keep what is written, is not to be used, whatever else it does well. Undecided: not all
// that the drive can was tried, and nothing of what was tried can be recommended.
[[nodiscard]] Conclusion judge(const Qualification& qualification);

// The rules of the entry that is recommended, or of the least that erases the drive at the end
// where none is. `method` is what a cleaning would choose by them.
struct EntryRules {
  EraseMethod method = EraseMethod::overwrite;
  Rules rules;
};
[[nodiscard]] EntryRules rules_for_last_erase(const Qualification& qualification);

}  // namespace reclaim::nvme
