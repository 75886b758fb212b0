// One method tried on a claimed drive, and the erase at the end of a qualification. In stages,
// because between them the caller looks whether the drive is still nobody's. Blocking; thread: the
// drive's.
#pragma once

#include <functional>
#include <string_view>

#include "nvme/drive_context.h"
#include "nvme/qualify/judgement.h"
#include "nvme/qualify/qualification.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// `doing` is what is being done, in a few words.
using ReportTrial = std::function<void(std::string_view doing, const EraseProgress&)>;

// Collects what the claimed drive says of itself.
[[nodiscard]] Result<DriveSays> ask_drive(const DriveContext& drive);

// The rules of the claim during trials: they put up with what a model may be known to break, which
// the trial sees all the same. They do not put up with blocks that cannot be read, so that an erase
// may go by the media where the log does not tell; the trial reads all of them itself.
[[nodiscard]] Rules rules_for_trials();

// Waits for a sanitize that runs, which an interrupted run may have left.
[[nodiscard]] Status settle(const DriveContext& drive, StopFlag& stop);

// True if the drive's log shows a sanitize that runs or failed: its media cannot be read then.
[[nodiscard]] Result<bool> is_barred_by_sanitize(const DriveContext& drive);

// The functions below destroy, each in a stage of its own, so that the caller can look before each.
// Errc::cancelled: stopped, the trial is to start over. Any other error is the trial's failure, but
// Errc::refused, which tells that the drive may be another's.

// Runs another sanitize where the last one failed, which lifts that, and erases.
[[nodiscard]] Status lift_failed_sanitize(DriveContext& drive, EraseMethod method,
                                          const ReportTrial& report, StopFlag& stop);
// Writes the newest of `patterns` and reads it back.
[[nodiscard]] Status prepare_trial(DriveContext& drive, Trial& trial,
                                   const std::vector<Pattern>& patterns, const ReportTrial& report,
                                   StopFlag& stop);
// Erases, changes the power state, resets, and reads every block. Errors as above, and
// Errc::unknown where it was stopped in the middle.
[[nodiscard]] Status run_trial(DriveContext& drive, Trial& trial,
                               const std::vector<Pattern>& patterns, const ReportTrial& report,
                               StopFlag& stop);

// Writes the pattern once more before the last erase, and takes the baseline. The claim has the
// rules that were chosen.
[[nodiscard]] Result<Baseline> prepare_last_erase(DriveContext& drive, const Pattern& pattern,
                                                  const ReportTrial& report, StopFlag& stop);
// Erases and verifies at the end as a cleaning does.
[[nodiscard]] Result<LastErase> erase_at_end(DriveContext& drive, EraseMethod method,
                                             const Baseline& baseline, const ReportTrial& report,
                                             StopFlag& stop);

}  // namespace reclaim::nvme
