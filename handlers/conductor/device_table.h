// The devices of this host as the conductor knows them: the record of each, what is to become of
// it, and whether it is in the store. Plain data; it forgets no device, so that a late answer
// finds what it belongs to.
//
// Thread: the loop's. Inbox and RecordWriter move a record, the conductor takes one over, the
// survey begins one, and Admissions clears `erase_begun` where the ledger does not know that erase.
// `found` is written by the survey and by the claim. All others read.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "state/base/clock.h"
#include "state/device/record.h"
#include "state/device/step.h"

namespace reclaim {

struct Device {
  Record record;
  FoundDrive found;          // by the last survey, or claim: goes into each record that is saved
  bool persisted = false;    // `record` is in the store
  bool quarantined = false;  // its record in the store cannot be read: shown, never touched

  // One save at a time: from the moment a change is decided on until it is durable. Events wait in
  // the inbox meanwhile.
  bool saving = false;
  MonoMs saving_since;
  std::deque<Event> inbox;
  std::optional<Event> in_work;     // whose outcome is being saved
  std::optional<Record> unsaved;    // what it makes of the record
  bool may_be_saved = false;        // an answer to a write of it was lost: it is not given up
  bool progress_in_flight = false;  // a write of its progress alone
  bool look_again = false;          // a survey came while it was being saved: one more is due
  std::int64_t retry_ms = 0;        // grows with each try, until a record is saved
};

using DeviceTable = std::map<PciAddress, Device>;

}  // namespace reclaim
