// Outbox: the seam to the notifications of a host that wait to be published. The store posts them
// in the same step that writes the record and its journal line; they stay until they are removed,
// so that one whose publishing was not confirmed is published again. One real implementation
// (state/redis/store.h).
//
// Thread: called on the loop's thread, returns at once; callbacks come later, once, on the loop's
// thread. Errors as the Store's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "state/base/callback.h"
#include "state/device/record.h"

namespace reclaim {

// An entry as it is stored: `event`, `priority`, `message` and `mac`. Others may write there: what
// a worker posted is told by its seal (state/certificate/outbox_seal.h).
struct OutboxEntry {
  std::string id;  // the stream's
  Fields fields;
};

struct OutboxPage {
  std::vector<OutboxEntry> entries;  // oldest first
  std::size_t waiting = 0;           // those in `entries` among them
  std::uint64_t dropped = 0;         // ever, because the outbox was full
  std::size_t removed = 0;           // in this reading, because they were too long to be ours
};

class Outbox {
 public:
  virtual ~Outbox() = default;

  // The oldest ones, at most `count_max`.
  virtual void read_outbox(std::size_t count_max, Callback<OutboxPage> done) = 0;
  virtual void remove_from_outbox(const std::vector<std::string>& ids, Callback<Ok> done) = 0;
};

}  // namespace reclaim
