// Judges what a tenant may have left in a controller: what is as it should be, what is to be reset,
// and what quarantines the drive. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "nvme/controller/facts.h"
#include "nvme/rules.h"

namespace reclaim::nvme {

// One thing to be put right. What it is named in the report is `surface`.
struct ResidueReset {
  enum class Kind : std::uint8_t {
    write_protect,  // feature 84h of `nsid` to 0
    reservation,    // register and clear those of `nsid`
    feature,        // `feature` of `nsid` to `value`, saved where `save`
    self_test,      // abort it
    block_sid,      // until the next power cycle
  };
  Kind kind = Kind::self_test;
  std::string surface;
  std::uint32_t nsid = 0;
  std::uint8_t feature = 0;
  std::uint32_t value = 0;
  bool save = false;
  friend bool operator==(const ResidueReset&, const ResidueReset&) = default;
};

struct ResidueJudgement {
  // The surfaces that were looked at, the untouched too, and those that were not. A surface that is
  // to be reset is told as if it were already.
  std::vector<StepFinding> findings;
  std::vector<ResidueReset> resets;     // possible where nothing quarantines the drive
  std::vector<std::string> quarantine;  // sentences: surface, what was found, what to do
  // True if all that quarantines the drive is a lock or an owner of TCG Opal that came since: a
  // revert by PSID may put it right.
  bool revertible = false;
};

// `enrolled` is nullptr where the drive has no baseline yet: then only what is wrong by itself is
// found, and a finding says so. Without a baseline, what a tenant may have left for ever and an
// operator may have set as well (an owned SID, a programmed RPMB key) quarantines the drive unless
// `accept_found`. What lies in memory past the blocks is cleared by a sanitize, by its
// specification, and by no other `method`. Namespaces' layout is namespace_layout.h's.
[[nodiscard]] ResidueJudgement judge_surfaces(const ControllerState& now,
                                              const ControllerState* enrolled, const Rules& rules,
                                              EraseMethod method, bool accept_found = false);

// True if the SID was blocked and is not any more, so that a tenant could own and lock the drive.
[[nodiscard]] bool lost_block(const OpalState& before, const OpalState& now);

}  // namespace reclaim::nvme
