// Tells what an order means for a device as its record stands: whether it is pointless, whether it
// was carried out, whether what it began has come to rest. Pure; thread: any.
#pragma once

#include <optional>

#include "state/base/result.h"
#include "state/device/order.h"
#include "state/device/record.h"

namespace reclaim::cli {

// Refuses at once an order that the worker would ignore; nothing: it may be issued.
[[nodiscard]] std::optional<Error> refusal_of(OrderKind order, bool with_steps,
                                              const Record& record);

// True if the record shows what the order asks for. That it moved is not enough: a cleaning moves
// it by itself, and who set maintenance must not believe in it before it stands there.
[[nodiscard]] bool has_acted(OrderKind order, const Record& before, const Record& now);

// A worker that took the order carries it out only when what the device does now is over.
[[nodiscard]] bool comes_later(OrderKind order, const Record& now);

// The order to retire it is carried out: it is erased, certified and kept.
[[nodiscard]] bool is_erased_and_retired(const Record& record);

// The state of a device that has acted. It rests when nothing goes on that the order began, or has
// to wait for. One that waits for an operator rests.
enum class Rest { not_yet, well, error };
[[nodiscard]] Rest rest_of(OrderKind order, const Record& before, const Record& now);

}  // namespace reclaim::cli
