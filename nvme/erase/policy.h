// Chooses the method by which a drive is erased: the policy matrix of the Cyborg specification
// ("Discovery and Cleanup Resolution"), rows by the operator's clear_action and clear_strategy,
// columns by what the drive can; and, of our own, clear_action=format. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/rules.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct Policy {
  ClearAction action = ClearAction::auto_;
  ClearStrategy strategy = ClearStrategy::auto_;
};

// `zero` with `crypto` asks for what does not exist; configuration is refused with this error.
[[nodiscard]] Status check_policy(const Policy& policy);

// The method for this drive, or why there is none: Errc::invalid for an impossible policy,
// Errc::refused where the drive cannot do what the policy asks for. Overwriting by the host needs
// nothing of the drive.
[[nodiscard]] Result<EraseMethod> choose_method(const Policy& policy,
                                                const Capabilities& capabilities);

// Checks that the verification that `rules` ask for can judge an erase by `method`: `log` believes
// the drive's own log, which only Sanitize has, and needs Global Data Erased. Errc::invalid
// otherwise.
[[nodiscard]] Status check_verification(const Rules& rules, EraseMethod method);

// The drive's abilities, as the specification names them in Placement: HW_NVME_CES, HW_NVME_BES,
// HW_NVME_WZS, whatever the policy makes of them.
[[nodiscard]] std::vector<std::string> traits(const Capabilities& capabilities);

}  // namespace reclaim::nvme
