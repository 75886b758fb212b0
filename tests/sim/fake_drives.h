// The host's drives as the simulation has them. A Drive is hardware: whose data it holds, what its
// sanitize log says, whether it lies. FakeDrives is one worker's hand on them: claims, drive
// threads, and the guards of the host; it dies with its worker, a running sanitize does not.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nvme/drives.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"

namespace reclaim::sim {

enum class Kind : std::uint8_t {
  healthy,
  gde_stuck,   // Global Data Erased is always set, whatever was written since
  keeps_data,  // says it erased, and did not
  fails,       // the sanitize ends in failure
  stalls,      // the sanitize never ends
};

constexpr std::uint64_t kWholeBytes = 1U << 30U;  // of a drive with one namespace over all of it

struct Sanitize {
  nvme::EraseMethod method = nvme::EraseMethod::sanitize_crypto;
  std::int64_t started_ms = 0;
  std::int64_t ends_ms = 0;
};

struct Drive {
  PciAddress address;
  std::string serial;
  nvme::HardwareIdentity hardware;  // its slot is the bay it is in
  Kind kind = Kind::healthy;
  std::uint64_t content = 0;       // what its blocks hold; 0: blank
  std::uint64_t owner = 0;         // the tenancy that this is the data of; 0: nobody's
  std::uint64_t hidden_owner = 0;  // the same, of what is in a namespace nobody sees
  bool locked = false;             // a surface that a tenant left and nobody can reset
  std::uint64_t changed_by = 0;    // the tenancy that left one which can be reset
  std::uint64_t canary = 0;
  std::uint64_t version = 0;  // moves with each change of the media
  std::uint64_t disk = 1;     // the kernel's number of it: another one after each other driver
  std::uint64_t host_reads = 100;
  std::uint64_t host_writes = 100;

  std::optional<Sanitize> running;
  std::optional<nvme::EraseMethod> last_method;
  std::uint16_t sstat = 0;
  bool global_data_erased = false;

  bool present = true;
  bool hangs = false;  // answers nothing when it is looked at
  std::string driver = "nvme";
  std::string home = "nvme";  // the driver it stands on at rest; of unmanaged ones vfio-pci
  bool taken_over = false;    // by us, from the one it stands on at rest
  nvme::Capabilities capabilities{3, 8, 0, 0};
  std::uint64_t guest = 0;  // tenancy whose guest has it in hand
  bool guarded = false;     // mounted, in use by something of the host
  std::int64_t sanitize_ms = 5'000;
  std::int64_t verify_ms = 0;             // that reading it back takes
  bool unfit = false;                     // its SMART log says that it is worn out
  bool retired = false;                   // its operator said so, and the ledger has it
  std::int64_t hot_until_ms = 0;          // and too hot until then
  std::optional<Errc> steps_end_with;     // instead of being carried out
  std::optional<Errc> command_ends_with;  // an operator's step, so
  bool command_writes = false;            // an operator's step writes to the media
  std::uint32_t class_code = 0x010802;    // another one: no drive
  [[nodiscard]] bool is_nvme() const { return class_code == 0x010802; }
  std::vector<std::string> signatures;  // of what somebody once wrote to it
  std::string reverted;                 // what a revert by PSID ended, of the next step that looks
  std::string enrolled_as;              // its enrolment, where it is not the usual one
  std::string left_as;                  // the one that its next verification tells
};

// A drive's media is changed by somebody of the host or a guest.
void write_media(Drive& drive, std::uint64_t owner, std::uint64_t content);
// Lets a sanitize whose time has come end.
void settle_sanitize(Drive& drive, std::int64_t now_ms, Rng& rng);

// What a drive thread answers after stop().
Error cancelled();

class Hardware final {
 public:
  std::map<PciAddress, Drive> drives;
  bool discovery_hangs = false;    // looks at the host's drives never end
  std::int64_t looks_take_ms = 0;  // until what they saw when they began is told
  // A zeroing tells marks: in scripted worlds that want it, and in those of kEndsToldFrom. What a
  // mark proves is decided in nvme/, whose tests have media, counters and a kernel; here it is the
  // number of changes that the media has seen, and the kernel's disk.
  bool marks_zeroing = false;
  // The commands of operators' steps, path and content; one that is not here is not acceptable.
  std::map<std::string, std::string> commands;
  std::set<std::string> required_commands;  // no baseline before each of these succeeded
  // What cleans a device that is no drive, and shows that it is clean.
  std::set<std::string> cleaning_commands;
};

// What one claim has shown so far.
struct Proof {
  bool erased = false;
  bool verified = false;
  bool step_failed = false;
  bool unfit = false;                     // and said so when it was verified
  std::set<std::string> steps;            // that were run
  std::set<std::string> commands_before;  // operators' steps that succeeded, by path
  std::set<std::string> commands_after;   // the same, after the verification
  std::uint64_t version = 0;              // of the media when it was verified
};

class FakeDrives final : public nvme::Drives {
 public:
  // Puts back what an earlier worker had taken over.
  FakeDrives(Scheduler& scheduler, Rng& rng, const Faults& faults, Hardware& hardware);

  void discover(const std::set<PciAddress>& others,
                Callback<std::vector<nvme::DriveFacts>> done) override;
  void find_signatures(const PciAddress& address, Callback<std::vector<std::string>> done) override;
  void claim(const nvme::ClaimRequest& request, Callback<nvme::ClaimReport> done) override;
  void inspect(const nvme::ClaimRequest& request,
               Callback<std::vector<nvme::GuardFinding>> done) override;
  void claim_function(const nvme::PciClaimRequest& request,
                      Callback<nvme::ClaimReport> done) override;
  void inspect_function(const nvme::PciClaimRequest& request,
                        Callback<std::vector<nvme::GuardFinding>> done) override;
  void run_function_step(const PciAddress& address, const nvme::PciStepRequest& request,
                         Callback<nvme::StepReport> done) override;
  void read_enrolment(const PciAddress& address, Callback<std::string> done) override;
  void run_step(const PciAddress& address, const nvme::StepRequest& request,
                std::function<void(nvme::EraseProgress)> on_progress,
                Callback<nvme::StepReport> done) override;
  void run_command(const PciAddress& address, const nvme::Command& command,
                   std::function<void(nvme::CommandProgress)> on_progress,
                   Callback<nvme::CommandReport> done) override;
  void take_baseline(const PciAddress& address, Callback<nvme::Baseline> done) override;
  void erase(const PciAddress& address, const nvme::EraseRequest& request,
             std::function<void(nvme::EraseProgress)> on_progress,
             Callback<nvme::EraseEvidence> done) override;
  void verify(const PciAddress& address, const nvme::Baseline& baseline,
              const nvme::EraseEvidence& evidence,
              std::function<void(nvme::EraseProgress)> on_progress,
              Callback<nvme::VerifyReport> done) override;
  void restore_driver(const PciAddress& address, Callback<Ok> done) override;
  void still_ours(const PciAddress& address, const nvme::Counters& since,
                  Callback<nvme::Counters> done) override;
  void stop(const PciAddress& address) override;
  void drop(const PciAddress& address, Once<> done) override;

  std::function<void(const nvme::Command&)> on_command;  // it is run now
  std::int64_t next_last_answer_late_ms = 0;             // of still_ours, once
  bool drops_hang = false;                               // none is answered
  // The world's side. The open descriptors of the address are dead from now on.
  void breaks(const PciAddress& address);
  [[nodiscard]] bool claimed(const PciAddress& address) const;
  [[nodiscard]] bool intact(const PciAddress& address) const;
  [[nodiscard]] Proof proof(const PciAddress& address) const;
  // A canary or an erase reaches the drive now.
  std::function<void(const PciAddress&, const char* what)> on_touch;
  // Right before a claim looks at the drive.
  std::function<void(const PciAddress&)> on_claim;
  // Its vfio group is ours: no guest can be started on it.
  [[nodiscard]] bool holds_group(const PciAddress& address) const;
  // What must never be asked of a drive.
  std::function<void(const PciAddress&, const char* what)> on_broken;
  // No other drive was put there since the first one, or an operator enrolled it.
  std::function<bool(const PciAddress&)> is_accepted;
  // A verification passed.
  std::function<void(const Drive&)> on_verified;

 private:
  struct DriveThread {
    bool claimed = false;
    bool broken = false;
    bool restored = false;  // on its former driver again, the group held
    std::string serial;
    std::optional<nvme::Counters> counters;  // when it was claimed: told until it is dropped
    Proof proof;
    bool busy = false;
    std::uint64_t asked = 0;         // operations ever asked for
    std::uint64_t stopped_upto = 0;  // of these, all up to here were told to stop
    std::deque<Once<>> queue;
  };
  struct Erasing;

  // Runs `what` when the drive thread is free; it ends by calling `finish`.
  void on_thread(const PciAddress& address, Once<std::uint64_t> what);
  void finish(const PciAddress& address, Once<> answer);
  [[nodiscard]] bool stopped(const PciAddress& address, std::uint64_t op) const;
  [[nodiscard]] std::optional<Error> guard(const Drive* drive, const DriveThread& thread) const;
  [[nodiscard]] Drive* find(const PciAddress& address);
  void verify_when_read(const PciAddress& address, std::uint64_t op, std::int64_t until_ms,
                        const nvme::Baseline& baseline, bool sanitized,
                        Callback<nvme::VerifyReport> done);
  void baseline_when_idle(const PciAddress& address, std::uint64_t op, std::int64_t deadline_ms,
                          Callback<nvme::Baseline> done);
  void step_when_idle(const PciAddress& address, std::uint64_t op, const nvme::StepRequest& request,
                      std::int64_t deadline_ms, Callback<nvme::StepReport> done);
  void end_command(const PciAddress& address, std::uint64_t op, const nvme::Command& command,
                   Callback<nvme::CommandReport> done);
  void put_back(const PciAddress& address);
  [[nodiscard]] static std::string mark_of(const Drive& drive, bool ended);
  void go_on_zeroing(const std::shared_ptr<Erasing>& job);
  void overwrite_to_end(const std::shared_ptr<Erasing>& job);
  void end_zeroing(const std::shared_ptr<Erasing>& job);
  void begin_erase(const std::shared_ptr<Erasing>& job);
  void poll_erase(const std::shared_ptr<Erasing>& job);
  void end_erase(const std::shared_ptr<Erasing>& job, Result<nvme::EraseEvidence> result);

  Scheduler& scheduler_;
  Rng& rng_;
  const Faults& faults_;
  Hardware& hardware_;
  std::vector<Callback<std::vector<nvme::DriveFacts>>> hung_;  // looks that never end
  std::vector<Once<>> hung_drops_;
  std::map<PciAddress, DriveThread> drive_threads_;
};

}  // namespace reclaim::sim
