#include "nvme/erase/erase.h"

#include <fmt/core.h>

#include "nvme/erase/format_erase.h"
#include "nvme/erase/sanitize_erase.h"
#include "nvme/erase/zero_erase.h"

namespace reclaim::nvme {

Result<EraseEvidence> erase_drive(DriveContext& drive, const EraseRequest& request,
                                  const ReportProgress& on_progress, StopFlag& stop) {
  const bool is_zeroing =
      request.method == EraseMethod::write_zeroes || request.method == EraseMethod::overwrite;
  const bool marked = !request.mark.empty();
  if (request.adopt_ours && !is_sanitize(request.method) && !(is_zeroing && marked)) {
    return Error{Errc::not_found,
                 fmt::format("{} leaves no trace in the drive to adopt: it begins again",
                             to_string(request.method))};
  }
  // A sanitize reaches everything, whatever the kernel makes of it; the others write by its disks,
  // or format what a clean step should have put right.
  if (!is_sanitize(request.method)) {
    if (auto whole = drive.claim.whole(); !whole) {
      const Errc code = request.adopt_ours ? Errc::not_found : whole.error().code;
      return Error{code, whole.error().what, whole.error().raw};
    }
  }
  switch (request.method) {
    case EraseMethod::sanitize_crypto:
    case EraseMethod::sanitize_block:
      return erase_by_sanitize(drive, request, on_progress, stop);
    case EraseMethod::write_zeroes:
    case EraseMethod::overwrite:
      return erase_by_zeroing(drive, request, on_progress, stop);
    case EraseMethod::format_crypto:
    case EraseMethod::format_user_data:
      return erase_by_format(drive, request, on_progress, stop);
  }
  return Error{Errc::invalid, "this is not an erase method"};
}

}  // namespace reclaim::nvme
