// An unmanaged drive on its way back: its former driver is put back, and the drive is still ours
// though none of its nodes is open any more.
#include "nvme/drive.h"

namespace reclaim::nvme {

Status Drive::restore_driver(StopFlag& stop) {
  // Begun, it is not left in the middle.
  if (stop.requested()) return Error{Errc::cancelled, "stopped before the driver was put back"};
  return claim_.restore_driver();
}

// Nothing of the drive can be read on vfio; that nobody could reach it is what the group tells.
Result<Counters> Drive::still_ours_on_vfio(const Counters& since) const {
  if (auto held = claim_.still_held(); !held) return std::move(held).error();
  return since;
}

}  // namespace reclaim::nvme
