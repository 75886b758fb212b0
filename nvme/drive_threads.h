// Drives for real: one drive thread for each drive that is claimed, one thread for
// discovery, one for looks at a single drive (signatures, inspection), a mailbox back to the loop.
// An ioctl may hold a drive thread for minutes; libuv's shared pool would then be blocked for
// everybody, so it is never used here. Thread: the loop's, but for what runs inside the drive
// threads. Owns the threads and, through them, every descriptor of a claimed drive.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "nvme/drives.h"
#include "nvme/erase/rate_limit.h"
#include "nvme/host/discovery.h"
#include "nvme/options.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/uv.h"

namespace reclaim::nvme {

class JobThread;

class DriveThreads final : public Drives {
 public:
  // `loop`, `clock` and `log` outlive the object.
  // `may_be_asked`: see Discovery; called on its thread.
  DriveThreads(uv_loop_t* loop, Options options, const Clock& clock, Logger& log,
               MayBeAsked may_be_asked = nullptr);
  // Tells every job to end and joins the threads; a drive thread inside an ioctl ends after that
  // one, at the latest with its timeout. Callbacks not delivered by then are dropped: whoever wants
  // them drops the drives first and runs the loop until `done`.
  ~DriveThreads() override;
  DriveThreads(const DriveThreads&) = delete;
  DriveThreads& operator=(const DriveThreads&) = delete;

  // Replaces the rule by which devices may be asked, from the next look on.
  void replace_may_be_asked(MayBeAsked may_be_asked);

  // Drives that a worker before left taken over are given back to their vfio drivers, on a thread
  // of its own. For the worker's start: a tool that only looks leaves them as they are.
  void give_back_drives_left();

  void discover(const std::set<PciAddress>& others,
                Callback<std::vector<DriveFacts>> done) override;
  void find_signatures(const PciAddress& address, Callback<std::vector<std::string>> done) override;
  void claim(const ClaimRequest& request, Callback<ClaimReport> done) override;
  void inspect(const ClaimRequest& request, Callback<std::vector<GuardFinding>> done) override;
  void claim_function(const PciClaimRequest& request, Callback<ClaimReport> done) override;
  void inspect_function(const PciClaimRequest& request,
                        Callback<std::vector<GuardFinding>> done) override;
  void run_function_step(const PciAddress& address, const PciStepRequest& request,
                         Callback<StepReport> done) override;
  void read_enrolment(const PciAddress& address, Callback<std::string> done) override;
  void run_step(const PciAddress& address, const StepRequest& request,
                std::function<void(EraseProgress)> on_progress, Callback<StepReport> done) override;
  void run_command(const PciAddress& address, const Command& command,
                   std::function<void(CommandProgress)> on_progress,
                   Callback<CommandReport> done) override;
  void take_baseline(const PciAddress& address, Callback<Baseline> done) override;
  void erase(const PciAddress& address, const EraseRequest& request,
             std::function<void(EraseProgress)> on_progress, Callback<EraseEvidence> done) override;
  void verify(const PciAddress& address, const Baseline& baseline, const EraseEvidence& evidence,
              std::function<void(EraseProgress)> on_progress, Callback<VerifyReport> done) override;
  void restore_driver(const PciAddress& address, Callback<Ok> done) override;
  void still_ours(const PciAddress& address, const Counters& since,
                  Callback<Counters> done) override;
  void stop(const PciAddress& address) override;
  void drop(const PciAddress& address, Once<> done) override;

  // The drive threads that exist now, those that are ending included.
  [[nodiscard]] std::size_t threads() const { return drive_threads_.size(); }

 private:
  struct DriveThread;
  using Message = Once<>;

  [[nodiscard]] DriveThread* usable(const PciAddress& address);
  void close(DriveThread& thread);
  void ended(const PciAddress& address);
  template <typename T>
  void fail_later(Callback<T> done, Error error);
  template <typename T, typename Work>
  void on_thread(JobThread& thread, std::size_t jobs_max, Error full, Callback<T> done, Work work);
  template <typename T, typename Member, typename Work>
  void on_thread(const PciAddress& address, Member member, Callback<T> done, Work work);
  template <typename Make>
  void claim_with(const PciAddress& address, const std::vector<std::string>& commands,
                  Callback<ClaimReport> done, Make make);
  void look_at_commands(const std::vector<std::string>& commands,
                        std::vector<GuardFinding>& findings) const;

  Options options_;
  const Clock& clock_;
  Logger& log_;
  uv::Mailbox<Message> mailbox_;
  std::shared_ptr<RateLimit> host_rate_;  // of all drive threads together
  std::map<PciAddress, std::unique_ptr<DriveThread>> drive_threads_;
  std::unique_ptr<Discovery> discovery_;  // used on the thread of scan_ alone
  std::unique_ptr<JobThread> scan_;
  std::unique_ptr<JobThread> aside_;     // what may hang holds up no survey
  std::unique_ptr<JobThread> recovery_;  // of drives left taken over; there was none when null
};

}  // namespace reclaim::nvme
