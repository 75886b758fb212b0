// Tells whose a reservation is that this worker may have made, without a cleaning, for a reason of
// its own. Placement makes a write only at the generation that it names, and moves that by one: so
// what was asked for and not answered is told by a later look. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "placement/providers.h"
#include "state/ledger/ledger.h"

namespace reclaim {

enum class ReservedBy : std::uint8_t {
  others,   // or nobody: there is none of ours, and none will come
  us,       // what ends it may still come
  us_late,  // it is not reserved, and our write may still reserve it
  unknown,  // reserved, and written by somebody else since ours was asked for
};

// `marked`: LedgerEntry says that it is ours, or asked for; `asked`: the write, where its outcome
// is not known.
[[nodiscard]] ReservedBy reserved_by(bool marked, const WriteAsked& asked,
                                     const placement::ProviderView& view);

inline constexpr std::string_view kReservedByWhom =
    "reserved, and the answer to the worker's own write was lost, so that another hand may have "
    "reserved it: left as it is; if no operator reserved it";

}  // namespace reclaim
