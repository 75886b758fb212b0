#include "handlers/accepted_drive.h"

#include <fmt/core.h>

#include "nvme/controller/hardware_identity.h"

namespace reclaim {

bool names_a_drive(const std::string& serial, const std::string& hardware, bool by_steps) {
  if (!serial.empty()) return true;
  // What somebody has edited so that it cannot be read tells nothing.
  const auto named = nvme::decode_hardware(hardware);
  return named && (!named->serial_number.empty() || (by_steps && !named->slot.empty()));
}

Result<FoundDrive> drive_to_accept(const Record& record, const std::string& serial,
                                   std::string_view serial_by) {
  FoundDrive drive = record.found;
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
