#include "state/device/hold.h"

#include <fmt/core.h>

namespace reclaim {

std::string hold_id(const Record& record) {
  return fmt::format("{} {} {}", record.clean_step, record.step_index,
                     to_iso8601(record.cleaning_started_at));
}

}  // namespace reclaim
