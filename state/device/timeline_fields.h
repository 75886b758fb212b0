// Names the fields of a mark of the timeline (state/base/fields.h).
#pragma once

#include "state/base/fields.h"
#include "state/device/timeline.h"

namespace reclaim {

template <typename Visit>
void visit_fields(Visit& visit, field::Of<StageMark> auto& mark) {
  visit.text("stage", mark.stage, parse_stage);
  visit("at", mark.at);
}

}  // namespace reclaim
