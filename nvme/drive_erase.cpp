// The erase of a claimed drive, by its method.
#include <fmt/core.h>

#include "nvme/drive.h"

namespace reclaim::nvme {

Result<EraseEvidence> Drive::erase(const EraseRequest& request,
                                   const std::function<void(EraseProgress)>& on_progress,
                                   StopFlag& stop) {
  if (request.adopt_ours && !is_sanitize(request.method)) {
    return Error{Errc::not_found,
                 fmt::format("{} leaves no trace in the drive to adopt: it begins anew",
                             to_string(request.method))};
  }
  // A sanitize reaches everything, whatever the kernel makes of it; the others write by its disks,
  // or format what a clean step should have put right.
  if (!is_sanitize(request.method)) {
    if (auto whole = claim_.whole(); !whole) return std::move(whole).error();
  }
  switch (request.method) {
    case EraseMethod::sanitize_crypto:
    case EraseMethod::sanitize_block:
      return sanitize(request, on_progress, stop);
    case EraseMethod::write_zeroes:
    case EraseMethod::overwrite:
      return zero(request, on_progress, stop);
    case EraseMethod::format_crypto:
    case EraseMethod::format_user_data:
      return format(request, on_progress, stop);
  }
  return Error{Errc::invalid, "this is no erase method"};
}

}  // namespace reclaim::nvme
