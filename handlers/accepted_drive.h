// Tells which drive an order accepts: an `enrol` names one drive, and no other is accepted by it.
// Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "state/base/result.h"
#include "state/device/record.h"

namespace reclaim {

// True if a drive can have this serial: 1 to 20 printable characters of ASCII, as NVM Express has
// it (Base Specification, Identify Controller, SN). Of whatever else Redis or an order says nothing
// is known, and nothing is signed or sealed.
[[nodiscard]] bool is_drive_serial(std::string_view text);

// True if this is enough to say which device an order accepts: a slot alone tells no two drives
// apart, but cards (`by_steps`).
[[nodiscard]] bool names_a_drive(const std::string& serial, const std::string& hardware,
                                 bool by_steps);

// The drive that an `enrol` accepts: the one that the device's worker saw there last, or the one
// with the serial that is given, if any. Errc::invalid: nothing tells it, or the one that is given
// is none; the remedy names `serial_by`, the caller's way to give a serial.
[[nodiscard]] Result<FoundDrive> drive_to_accept(const Record& record, const std::string& serial,
                                                 std::string_view serial_by);

}  // namespace reclaim
