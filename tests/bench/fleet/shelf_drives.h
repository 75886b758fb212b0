// One host's drives as the fleet bench has them: they answer as drives do that can sanitize and
// have nothing wrong, after the times that drives take. What they hold is on the shelf.
//
// Thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "nvme/drives.h"
#include "state/base/uv_timers.h"
#include "tests/bench/fleet/shelf.h"

namespace reclaim::fleet {

inline constexpr std::uint16_t kVendor = 0x144d;
inline constexpr std::uint16_t kProduct = 0xa80a;

// Where the drive of this number is, on every host.
[[nodiscard]] PciAddress address_of(std::size_t drive);

class ShelfDrives final : public nvme::Drives {
 public:
  // `loop` and the disks outlive it; `serials` is what the serial numbers of this host begin with.
  ShelfDrives(uv_loop_t* loop, std::span<Disk> disks, std::string serials, std::int64_t erase_ms);

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

 private:
  struct Erasing;

  // What is known of a drive that is claimed.
  struct Claim {
    bool held = false;
    std::uint64_t asked = 0;         // erases ever asked for
    std::uint64_t stopped_upto = 0;  // of these, all up to here were told to stop
    nvme::Counters counters;         // when it was claimed
  };

  [[nodiscard]] Disk& disk(const PciAddress& address) const;
  [[nodiscard]] std::string serial(const PciAddress& address) const;
  [[nodiscard]] nvme::DriveFacts facts(const PciAddress& address) const;
  // Answers what `work` says after `delay_ms`, or that it is not claimed, or that a guest has it.
  template <typename T, typename Work>
  void of_claimed(const PciAddress& address, std::int64_t delay_ms, Callback<T> done, Work work);
  template <typename T>
  void refuse(Callback<T> done);
  [[nodiscard]] Result<Ok> begin_erase(const Erasing& job);
  void poll_erase(const std::shared_ptr<Erasing>& job);

  UvTimers timers_;
  std::span<Disk> disks_;
  std::string serials_;
  std::int64_t erase_ms_;
  std::map<PciAddress, Claim> claims_;
};

}  // namespace reclaim::fleet
