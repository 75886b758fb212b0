// A claimed drive and what is done to it: baseline, erase, verification. Every method blocks; they
// end early when their StopFlag says so. Thread: the lane's. Owns the claim.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "nvme/controller/admin_state.h"
#include "nvme/controller/controller_state.h"
#include "nvme/controller/facts.h"
#include "nvme/controller/format.h"
#include "nvme/controller/namespace_layout.h"
#include "nvme/controller/residue.h"
#include "nvme/controller/sanitize.h"
#include "nvme/erase/rate_limit.h"
#include "nvme/erase/sweep.h"
#include "nvme/host/claim.h"
#include "nvme/options.h"
#include "nvme/stop_flag.h"
#include "nvme/verify/block_io.h"
#include "nvme/verify/sampling.h"
#include "nvme/verify/verdict.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim::nvme {

class Drive final {
 public:
  // `clock` and `log` outlive the drive. `host_rate`: of zeroing all drives of the host together.
  Drive(Options options, Claim claim, const Clock& clock, Logger& log,
        std::shared_ptr<RateLimit> host_rate = nullptr)
      : options_(std::move(options)),
        claim_(std::move(claim)),
        clock_(clock),
        log_(log),
        host_rate_(std::move(host_rate)) {}

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

  // See Drives::restore_driver. Defined in drive_binding.cpp.
  [[nodiscard]] Status restore_driver(StopFlag& stop);

  // Waits for a sanitize that runs already, reads the samples, looks at the guards once more, then
  // writes the canaries, flushes and reads them back. The canaries come last, so that from then on
  // Global Data Erased is clear until an erase sets it. Errc::failed: the drive cannot be read or
  // written, with the remedy; Errc::refused: a guard; Errc::cancelled: stopped.
  [[nodiscard]] Result<Baseline> take_baseline(StopFlag& stop);

  // See Drives::erase. With adopt_ours and no sanitize of ours running or done: Errc::not_found,
  // and nothing is sent; zeroing and formatting always begin anew. A sanitize needs no baseline:
  // without a canary it has to move the drive's log to be believed.
  [[nodiscard]] Result<EraseEvidence> erase(const EraseRequest& request,
                                            const std::function<void(EraseProgress)>& on_progress,
                                            StopFlag& stop);

  // See Drives::verify. Reads that fail right after the erase are tried again for a bounded while.
  [[nodiscard]] Result<VerifyReport> verify(const Baseline& baseline, const EraseEvidence& evidence,
                                            const std::function<void(EraseProgress)>& on_progress,
                                            StopFlag& stop);

  // See Drives::still_ours; where verification relied on Global Data Erased, it must still be set,
  // too.
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
  [[nodiscard]] Result<ControllerState> controller_state(const Patience& patience) const;
  [[nodiscard]] Patience patience_of(const StepRequest& request, const StopFlag& stop) const;
  [[nodiscard]] Status reset_surface(const ResidueReset& reset) const;
  [[nodiscard]] bool holds_all(const ControllerState& layout) const;
  [[nodiscard]] Status change_layout(const LayoutPlan& plan, const ControllerState& layout,
                                     const Patience& patience, StopFlag& stop);
  [[nodiscard]] Status remove_namespaces(const LayoutPlan& plan, const ControllerState& layout,
                                         const Patience& patience);
  [[nodiscard]] Status make_namespace(const NamespaceToMake& make, const Patience& patience);

  // One sanitize under way.
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

  using Report = std::function<void(EraseProgress)>;

  // drive_sanitize.cpp
  [[nodiscard]] bool can_sanitize() const;
  [[nodiscard]] Result<Counters> still_ours_on_vfio(const Counters& since) const;
  [[nodiscard]] Result<SanitizeLog> sanitize_log() const;
  [[nodiscard]] Result<EraseEvidence> sanitize(const EraseRequest& request,
                                               const Report& on_progress, StopFlag& stop);
  // Until no sanitize runs, whoever began it; Errc::failed at `deadline`.
  [[nodiscard]] Result<SanitizeLog> wait_while_sanitizing(MonoMs deadline,
                                                          std::int64_t stall_timeout_ms,
                                                          StopFlag& stop);
  [[nodiscard]] bool told_apart(const Run& run, const SanitizeLog& log) const;
  // Whether verification reads every canary of this cleaning, and fails where it cannot: an erase
  // that the log alone does not show to be ours is found out then, if it was not.
  [[nodiscard]] bool canaries_decide() const;
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

  // drive_zero.cpp
  [[nodiscard]] Result<EraseEvidence> zero(const EraseRequest& request, const Report& on_progress,
                                           StopFlag& stop);
  [[nodiscard]] Status zero_chunk(EraseMethod method, Place chunk, std::span<const std::byte> zeros,
                                  StopFlag& stop);

  // drive_format.cpp
  [[nodiscard]] Result<EraseEvidence> format(const EraseRequest& request, const Report& on_progress,
                                             StopFlag& stop);
  [[nodiscard]] Result<std::vector<NamespaceFormat>> namespace_formats() const;
  [[nodiscard]] Status no_hidden_namespaces() const;
  [[nodiscard]] Status format_one(const NamespaceFormat& command, EraseMethod method,
                                  MonoMs deadline, bool first, StopFlag& stop);

  // drive.cpp
  // Waits for a sanitize that runs; Errc::failed where a failed one bars reading.
  [[nodiscard]] Status wait_until_readable(StopFlag& stop);
  [[nodiscard]] Result<Sample> read_sample(const Place& place);
  [[nodiscard]] Result<Sample> write_canary(const Place& place);

  // drive_verify.cpp
  [[nodiscard]] Status reread_all(const Baseline& baseline, Judge& judge, StopFlag& stop);
  [[nodiscard]] Result<Reading> reread(const Sample& sample, const Judge& judge, MonoMs deadline,
                                       StopFlag& stop);
  [[nodiscard]] Status read_further(Judge& judge, const Report& on_progress, StopFlag& stop);
  void survey_chunk(const Place& chunk, AlignedBuffer& buffer, Judge& judge, std::mutex& mutex);

  Options options_;
  Claim claim_;
  const Clock& clock_;
  Logger& log_;
  std::shared_ptr<RateLimit> host_rate_;
  bool relies_on_global_data_erased_ = true;  // of the last verification
};

}  // namespace reclaim::nvme
