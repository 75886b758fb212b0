// Tells why a device that changes its state is reserved: what nobody offered but Reclaim itself is
// no incident. Pure.
#pragma once

#include <cstdint>

#include "state/device/machine.h"

namespace reclaim {

enum class WhyReserved : std::uint8_t {
  offered,  // somebody else offers it
  ordered,  // it is in the pool, and an operator has it cleaned
  unfit,    // it is in the pool, and its policy cannot be satisfied by it
  unknown,  // it is in the pool, and nobody knows what is on it
};

// `on`: what a row of the table that reserves it has as its trigger.
[[nodiscard]] inline WhyReserved why_reserved(Trigger on) {
  if (on == Trigger::policy_unsatisfied) return WhyReserved::unfit;
  if (on == Trigger::unknown_offered) return WhyReserved::unknown;
  return is_said_once(on) ? WhyReserved::ordered : WhyReserved::offered;
}

}  // namespace reclaim
