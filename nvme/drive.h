// A claimed drive and what is done to it: baseline, erase, verification. Every method blocks; they
// end early when their StopFlag says so. Thread: the lane's. Owns the claim.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "nvme/claim.h"
#include "nvme/controller_state.h"
#include "nvme/facts.h"
#include "nvme/namespace_layout.h"
#include "nvme/options.h"
#include "nvme/sampling.h"
#include "nvme/sanitize.h"
#include "nvme/stop_flag.h"
#include "nvme/surfaces.h"
#include "nvme/verdict.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim::nvme {

class Drive final {
 public:
  // `clock` and `log` outlive the drive.
  Drive(Options options, Claim claim, const Clock& clock, Logger& log)
      : options_(std::move(options)), claim_(std::move(claim)), clock_(clock), log_(log) {}

  [[nodiscard]] const Claim& claim() const { return claim_; }
  // What the claim learnt, counters included.
  [[nodiscard]] DriveFacts facts() const;

  // See Drives::run_step. Defined in drive_steps.cpp.
  [[nodiscard]] Result<StepReport> run_step(const StepRequest& request,
                                            const std::function<void(EraseProgress)>& on_progress,
                                            StopFlag& stop);

  // The drive as it stands, as text (encode_controller_state); Errc::failed where it cannot be read
  // in full. Does not write to it.
  [[nodiscard]] Result<std::string> enrolment() const;

  // See Drives::restore_driver.
  [[nodiscard]] Status restore_driver(StopFlag& stop);

  // Waits for a sanitize that runs already, reads the samples, looks at the guards once more, then
  // writes the canaries, flushes and reads them back. The canaries come last, so that from then on
  // Global Data Erased is clear until an erase sets it. Errc::failed: the drive cannot be read or
  // written, with the remedy; Errc::refused: a guard; Errc::cancelled: stopped.
  [[nodiscard]] Result<Baseline> take_baseline(StopFlag& stop);

  // See Drives::erase. With adopt_ours and no sanitize of ours running or done: Errc::not_found,
  // and nothing is sent.
  [[nodiscard]] Result<EraseEvidence> erase(const EraseRequest& request,
                                            const std::function<void(EraseProgress)>& on_progress,
                                            StopFlag& stop);

  // See Drives::verify. Reads that fail right after the erase are tried again for a bounded while.
  [[nodiscard]] Result<VerifyReport> verify(const Baseline& baseline, const EraseEvidence& evidence,
                                            const std::function<void(EraseProgress)>& on_progress,
                                            StopFlag& stop);

  // See Drives::still_ours; Global Data Erased must still be set, too.
  [[nodiscard]] Result<Counters> still_ours(const Counters& since);

 private:
  // drive_health.cpp, drive_state.cpp, drive_namespaces.cpp: the clean steps.
  [[nodiscard]] Result<StepReport> check_health(const StepRequest& request);
  [[nodiscard]] Result<StepReport> recover_sanitize(
      const StepRequest& request, const std::function<void(EraseProgress)>& on_progress,
      StopFlag& stop);
  [[nodiscard]] Result<StepReport> reset_controller_state(const StepRequest& request,
                                                          StopFlag& stop);
  [[nodiscard]] Result<StepReport> reset_namespaces(const StepRequest& request, StopFlag& stop);
  // The baseline of a request, which has to be of this drive; nothing where there is none.
  [[nodiscard]] Result<std::optional<ControllerState>> enrolled(const StepRequest& request) const;
  [[nodiscard]] Result<ControllerState> controller_state() const;
  [[nodiscard]] Status reset_surface(const SurfaceReset& reset) const;
  [[nodiscard]] bool holds_all(const ControllerState& layout) const;
  [[nodiscard]] Status change_layout(const LayoutPlan& plan, const ControllerState& layout,
                                     StopFlag& stop);
  [[nodiscard]] Status remove_namespaces(const LayoutPlan& plan, const ControllerState& layout);
  [[nodiscard]] Status make_namespace(const NamespaceToMake& make);

  // One erase under way.
  struct Run {
    EraseRequest request;
    std::uint32_t cdw10 = 0;
    MonoMs begun;
    bool sent = false;     // from here on, what goes wrong is unknown
    bool adopted = false;  // not sent by us now, but found
    bool seen_running = false;
    std::int64_t unsettled_since_ms = -1;  // the log contradicts the accepted command since then
    SanitizeLog before;                    // right before our command
  };

  [[nodiscard]] Result<SanitizeLog> sanitize_log() const;
  // Until no sanitize runs, whoever began it; Errc::failed at `deadline`.
  [[nodiscard]] Result<SanitizeLog> wait_while_sanitizing(MonoMs deadline,
                                                          std::int64_t stall_timeout_ms,
                                                          StopFlag& stop);
  [[nodiscard]] Result<Sample> read_sample(const Place& place);
  [[nodiscard]] Result<Sample> write_canary(const Place& place);
  [[nodiscard]] Status adopt(Run& run);
  [[nodiscard]] Status send(Run& run, StopFlag& stop);
  [[nodiscard]] Status read_back_lost_command(Run& run, const Error& lost);
  [[nodiscard]] std::optional<Result<EraseEvidence>> judge_reading(
      Run& run, const SanitizeLog& log, StallWatch& watch,
      const std::function<void(EraseProgress)>& on_progress);
  [[nodiscard]] Result<EraseEvidence> poll(Run& run,
                                           const std::function<void(EraseProgress)>& on_progress,
                                           StopFlag& stop);
  [[nodiscard]] EraseEvidence evidence_of(const Run& run, const SanitizeLog& log) const;
  [[nodiscard]] Result<Reading> reread(const Sample& sample, MonoMs deadline, StopFlag& stop);

  Options options_;
  Claim claim_;
  const Clock& clock_;
  Logger& log_;
};

}  // namespace reclaim::nvme
