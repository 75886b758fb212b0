// Makes a record durable in the store: one save at a time of a device, tried again while Redis is
// away, and settled by a read where a save conflicts. What this worker knows comes from the drive,
// Placement and its ledger: it is never given up for what Redis says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "handlers/conductor/context.h"
#include "handlers/conductor/lock_keeper.h"

namespace reclaim {

// Tells what is done with a change that cannot be saved.
enum class IfUnsaved : std::uint8_t {
  given_up,   // the next survey finds the same again
  try_again,  // it was said once
};

// A change of a device's record, on its way into the store.
struct RecordChange {
  Record next;
  JournalEntry entry;
  IfUnsaved if_unsaved = IfUnsaved::given_up;
  std::function<void()> saved;  // `next` is durable, and the device's record
};

// Thread: the loop's.
class RecordWriter final {
 public:
  // `settled`: a save has ended, or was given up: what waits in the device's inbox is next.
  RecordWriter(const ConductorContext& context, DeviceTable& devices, LockKeeper& locks,
               std::function<void(const PciAddress& address)> settled)
      : context_(context), devices_(devices), locks_(locks), settled_(std::move(settled)) {}

  // A change of the device was decided on, and events wait from now on, until let_go() or the end
  // of a save.
  void hold(const PciAddress& address);
  // Holds the device, and shows the record that it is going to have: from now on it goes by that.
  void decide(const PciAddress& address, const Record& next);
  void let_go(const PciAddress& address);
  // Saves a change. Of a device that is being cleaned each save is tried again; but a hand-over is
  // decided again, because what Placement said right before it is old by then, and nothing is
  // written to Placement that would be refused for it.
  void save(const PciAddress& address, RecordChange change);
  // Saves what changed of a device that stays in its stage; why and detail are the journal's.
  void save_note(
      const Record& noted, std::string trigger, std::string why, std::string detail,
      IfUnsaved if_unsaved, std::function<void()> saved = [] {});
  // Shown at once, and written when the write before has ended; one that is lost harms nothing.
  void show_progress(const PciAddress& address, std::uint64_t epoch, nvme::EraseProgress progress,
                     const std::string& message = {});
  // Compares with what is in the store: a device at rest whose record is not there any more, or is
  // an older one, is saved with the next survey.
  void compare(const std::vector<Record>& stored);
  [[nodiscard]] std::int64_t backoff(const PciAddress& address);

 private:
  void save_failed(const PciAddress& address, RecordChange change, const Error& error);
  void settle_conflict(const PciAddress& address, RecordChange change);
  void save_again(const PciAddress& address, RecordChange change);
  void decide_again(const PciAddress& address, const std::string& why);
  void settle_later(const PciAddress& address, RecordChange change);
  void overwrite(const PciAddress& address, const Record& stored, RecordChange change);
  void lose_lock(const PciAddress& address);

  const ConductorContext& context_;
  DeviceTable& devices_;
  LockKeeper& locks_;
  std::function<void(const PciAddress& address)> settled_;
};

}  // namespace reclaim
