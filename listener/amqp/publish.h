// Publishing with the broker's confirmations: a connection of its own for each batch, because what
// is told is some messages an hour and a host need hold no second connection for them. Blocks; runs
// on the notifier's thread. Each step is bounded by connect_timeout_ms.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "listener/amqp/options.h"
#include "state/base/result.h"

namespace reclaim::listener {

struct OutgoingMessage {
  std::string id;                         // of the outbox
  std::vector<std::string> routing_keys;  // to each of which it goes
  std::string body;
};

struct PublishOutcome {
  std::size_t confirmed = 0;   // this many, from the first on, the broker has taken for good
  std::size_t unrouted = 0;    // copies that no queue was bound for
  std::optional<Error> error;  // why it ended before the last
};

// `cancelled` is looked at between the steps, and several times a second while it waits.
[[nodiscard]] PublishOutcome publish_confirmed(const NotifierOptions& options,
                                               std::size_t host_index,
                                               const std::vector<OutgoingMessage>& messages,
                                               const std::atomic<bool>& cancelled);

}  // namespace reclaim::listener
