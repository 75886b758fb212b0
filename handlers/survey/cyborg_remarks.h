// Remarks on a device of Cyborg's besides where it stands: that it was never seen before, that
// Cyborg has leaked an ARQ on it, that a switch of Cyborg's did not hit the device it was meant
// for. None of it makes anybody touch a drive that would not be touched otherwise. Pure.
#pragma once

#include <string_view>

#include "handlers/survey/admission.h"
#include "handlers/survey/survey.h"
#include "state/device/record.h"

namespace reclaim {

// The note of a leaked ARQ begins so: it is no doubt of the device's own state.
inline constexpr std::string_view kLeakedArq = "leaked: ARQ ";
// The note of a switch gone astray begins so.
inline constexpr std::string_view kSwitchAstray = "Cyborg's switch went astray: ";

// A device on offer that nobody knows anything of: it is reserved and cleaned before its first
// tenant ([nvme] enrol_first_sight = clean). Its first sight may be a later one than that of its
// record: its provider could not be read, or it was disowned since.
void clean_at_first_sight(Assessment& out, const Record& base, const Sighting& sighting);

void remark_on_cyborg(Assessment& out, const Record& base, const Sighting& sighting);

// Cyborg calls exactly this device maintaining, and Placement offers it: its `disable` looks a
// deployable up by the device's id (openstack/cyborg 17.0.0), and may have hit another one.
[[nodiscard]] bool is_disable_astray(const Sighting& sighting);

}  // namespace reclaim
