#include "handlers/accepted_drive.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/controller/hardware_identity.h"
#include "state/base/log.h"

namespace reclaim {

bool is_drive_serial(std::string_view text) {
  constexpr std::size_t kBytesMax = 20;
  return !text.empty() && text.size() <= kBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool names_a_drive(const std::string& serial, const std::string& hardware, bool by_steps) {
  if (!serial.empty()) return true;
  // An identity that somebody has edited so that it cannot be read tells nothing.
  const auto named = nvme::decode_hardware(hardware);
  return named && (!named->serial_number.empty() || (by_steps && !named->slot.empty()));
}

Result<FoundDrive> drive_to_accept(const Record& record, const std::string& serial,
                                   std::string_view serial_by) {
  FoundDrive drive = record.found;
  if (!serial.empty() && !is_drive_serial(serial)) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is no serial of a drive, which has 1 to 20 printable characters "
                             "of ASCII: give the one that is printed on it: {}",
                             printable_excerpt(serial), serial_by)};
  }
  if (!is_drive_serial(drive.serial)) drive.serial = drive.model = "";
  if (!serial.empty() && serial != drive.serial) {
    // The model is of the drive that was seen, if that is another.
    if (!drive.serial.empty()) drive = FoundDrive{};
    drive.serial = serial;
    return drive;
  }
  if (names_a_drive(drive.serial, drive.hardware, record.by_steps)) return drive;
  return Error{Errc::invalid,
               fmt::format("no drive identity can be read in {}: neither a "
                           "serial nor a Device Serial Number. Look at it, and give the serial "
                           "that is printed on it: {}",
                           to_string(record.address), serial_by)};
}

}  // namespace reclaim
