// Locks, claims and opens drives, and closes them: for a cleaning, or only to read the counters of
// an unmanaged drive that says nothing where it stands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "handlers/conductor/context.h"
#include "handlers/conductor/lock_keeper.h"
#include "handlers/survey/cleaning_time.h"

namespace reclaim {

// Thread: the loop's. `epoch`: of the record that asks for it, and that the answer belongs to.
class DriveClaims final {
 public:
  // `thread_free`: a drive that was being cleaned is closed: another one may be begun.
  DriveClaims(const ConductorContext& context, DeviceTable& devices, LockKeeper& locks,
              std::function<void()> thread_free)
      : context_(context), devices_(devices), locks_(locks), thread_free_(std::move(thread_free)) {}

  void take(const PciAddress& address, std::uint64_t epoch);
  // Stops what runs, closes the drive, then gives the lock back: in this order, so that nobody else
  // can begin while a descriptor of ours is open.
  void drop(const PciAddress& address);
  // Stops what runs and closes the drive; the lock stays.
  void close(const PciAddress& address, std::function<void()> closed);

  [[nodiscard]] bool may_peek(const Record& record, const Assessment& assessment,
                              const Sighting& sighting) const;
  // Reads the counters behind all guards of a claim, which compares the serial; nothing is written
  // to the drive. The record stays as it is, so that a crash leaves nothing but a drive to be given
  // back.
  void peek(const PciAddress& address, const placement::ProviderView& view);
  [[nodiscard]] bool is_peeking(const PciAddress& address) { return drives_[address].peeking; }
  // The counters that the last peek read, once: nothing if the provider was written to since the
  // peek began, for somebody may have had the drive behind it. And why it read nothing.
  [[nodiscard]] std::optional<nvme::Counters> take_peeked(
      const PciAddress& address, const std::optional<placement::ProviderView>& view);
  [[nodiscard]] const std::string& peek_refused(const PciAddress& address) {
    return drives_[address].peek_refused;
  }

  // The device has moved from one stage to another: the time of its cleaning runs from the first
  // that works on the drive until it waits for nothing but Placement. When it is over, `overdue`
  // is posted.
  void moved(const PciAddress& address, Stage before, Stage now);
  // The time left for its cleaning, in milliseconds; at least 1.
  [[nodiscard]] std::int64_t left_ms(const PciAddress& address) const;

  // The capabilities that the drive told when this worker claimed it last; nothing: it did not.
  [[nodiscard]] std::optional<nvme::Capabilities> capabilities(const PciAddress& address) const {
    const auto drive = drives_.find(address);
    return drive == drives_.end() ? std::nullopt : drive->second.capabilities;
  }

  // True from the beginning of a claim or a peek until the drive is closed again.
  [[nodiscard]] bool is_open(const PciAddress& address) const {
    const auto drive = drives_.find(address);
    return drive != drives_.end() && drive->second.thread_open;
  }
  [[nodiscard]] bool is_claimed(const PciAddress& address) { return drives_[address].claimed; }
  // The method by which the claimed drive may be erased, by what is configured today.
  [[nodiscard]] std::optional<nvme::EraseMethod> permitted(const PciAddress& address) {
    return drives_[address].permitted;
  }

 private:
  struct Drive {
    bool claimed = false;
    bool thread_open = false;
    bool peeking = false;
    std::optional<nvme::Counters> peeked;
    std::string peeked_of;        // the provider, as it was when the peek began
    std::int64_t peeked_at = -1;  // and its generation
    std::string peek_refused;
    std::optional<nvme::EraseMethod> permitted;
    std::optional<nvme::Capabilities> capabilities;
    CleaningTime time;        // of the cleaning that it is claimed for
    MonoMs until;             // when that is over
    std::uint64_t timer = 0;  // which says so; 0: it does not run
  };

  void claim(const PciAddress& address, std::uint64_t epoch);
  void claimed(const PciAddress& address, std::uint64_t epoch, const DevicePolicy& policy,
               const nvme::ClaimReport& report);
  [[nodiscard]] Status plan_drive(const Record& record, const DevicePolicy& policy,
                                  const std::optional<nvme::Identity>& identity, Facts& facts);
  void plan_function(const Record& record, const DevicePolicy& policy, Facts& facts);
  void lock_commands_in(const Record& record, const DevicePolicy& policy,
                        const nvme::ClaimReport& report, Facts& facts);
  void note_claimed(const nvme::DriveFacts& drive, Facts& facts) const;

  const ConductorContext& context_;
  DeviceTable& devices_;
  LockKeeper& locks_;
  std::function<void()> thread_free_;
  std::map<PciAddress, Drive> drives_;
};

}  // namespace reclaim
