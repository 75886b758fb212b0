// The media of a sanitized drive, read before it is deallocated: what a block that is told to be
// deallocated reads as shows nothing of what it was made of. A drive with VERS has a state for that
// (NVM Express Base 2.1, 8.1.24.3.6). Blocking; thread: the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/erase/sanitize_erase.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// True if an erase that has this baseline can ask the drive for its media verification: it says so,
// the rules of the claim want the media read, every disk is what the drive says, and no block has
// metadata.
[[nodiscard]] bool can_show_media(const DriveContext& drive, const Baseline& baseline);
// True if the drive is in its media verification, by our command or a tenant's. Without VERS it is
// not.
[[nodiscard]] bool shows_media(const DriveContext& drive, const SanitizeLog& log);

// Reads every place of the baseline once, in that state. What is read has no promise: the pattern
// of an erase, noise, or another each time. So only what equals a digest of the baseline says
// anything: Errc::failed, with where. Errc::cancelled: stopped. The report counts places that the
// drive does not let us read; they are not an error.
[[nodiscard]] Result<SanitizedMedia> read_sanitized_media(const DriveContext& drive,
                                                          const Baseline& baseline, MonoMs deadline,
                                                          StopFlag& stop);

// Sends the command that ends the state. Errc::failed: the drive refuses it, with the remedy;
// Errc::busy or unknown: the log has to tell.
[[nodiscard]] Status leave_media_verification(const DriveContext& drive);

}  // namespace reclaim::nvme
