// Which way a drive is erased: the policy matrix of the Cyborg specification ("Cleanup policy"),
// rows by the operator's clear_action and clear_strategy, columns by what the drive can. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "nvme/facts.h"
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
// Errc::refused where the drive cannot do what the policy asks for, or this version cannot yet.
[[nodiscard]] Result<EraseMethod> choose_method(const Policy& policy,
                                                const Capabilities& capabilities);

}  // namespace reclaim::nvme
