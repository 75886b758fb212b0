// Looks at queues of Nova's notifier, by passive declares on a channel of its own: how many
// messages wait there, and how many consumers they have. Never waits: it sends one small method at
// a time and goes on when the answer comes in. A queue that is not there closes the channel (404),
// which is no error.
//
// One that [listener] drain names is emptied (queue.purge) where two looks in a row found no
// consumer. It is not consumed: so the number of its consumers is that of the others, a reader that
// comes is in nobody's way, and what Reclaim has read from its own queue does not come again.
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "listener/amqp/connection.h"
#include "listener/amqp/options.h"
#include "state/base/bus_queue.h"

namespace reclaim::listener {

// The memory that outlives a connection.
struct AmqpQueueMemory {
  std::set<std::string> without_reader;  // at the look before
  // Asked to be emptied, and no answer came. A stream refuses with the connection's end, and no
  // declare tells what it is: it is asked once.
  std::set<std::string> unanswered;
};

class AmqpQueueWatch final {
 public:
  AmqpQueueWatch(const AmqpOptions& options, amqp_connection_state_t connection,
                 AmqpQueueMemory& memory);

  // Starts a round, unless one is under way. The caller has seen that the socket has room.
  [[nodiscard]] Status look();

  enum class Progress { working, done };
  // A method that came in on kQueueChannel. `done`: found() is of this round.
  [[nodiscard]] Result<Progress> on_method(const amqp_method_t& method);
  // The queues that exist, as the last whole round found them, and left them.
  [[nodiscard]] const std::vector<BusQueue>& found() const { return found_; }
  // The number of messages that the last whole round took out of queues.
  [[nodiscard]] std::uint64_t drained() const { return drained_; }
  // The reason why a queue could not be looked at or emptied, other than that it is not there.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Follows the error of a connection that ends now; empty: no queue was asked to be emptied.
  [[nodiscard]] std::string last_words() const;

 private:
  enum class Step { idle, opening, declaring, purging };

  [[nodiscard]] const std::string& name() const { return options_.watched_queues[queue_]; }
  [[nodiscard]] Status send(amqp_method_number_t id, void* method);
  [[nodiscard]] Status open();
  [[nodiscard]] Status declare();
  [[nodiscard]] Status purge();
  [[nodiscard]] Result<Progress> declared(const amqp_queue_declare_ok_t& answer);
  [[nodiscard]] Result<Progress> purged(const amqp_queue_purge_ok_t& answer);
  [[nodiscard]] Result<Progress> closed(const amqp_channel_close_t& close);
  [[nodiscard]] Result<Progress> next_queue();
  [[nodiscard]] Result<Progress> working(const Status& sent) const;

  const AmqpOptions& options_;
  amqp_connection_state_t connection_;
  AmqpQueueMemory& memory_;
  Step step_ = Step::idle;
  bool open_ = false;
  std::size_t queue_ = 0;
  std::vector<BusQueue> found_;
  std::uint64_t drained_ = 0;
  std::string trouble_;
};

}  // namespace reclaim::listener
