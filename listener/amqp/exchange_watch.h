// Looks for exchanges that were missing when the link connected, on a channel of its own, and binds
// the queue as soon as one is there. Never waits: it sends one small method at a time and goes on
// when the answer comes in. Thread: the loop's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "listener/amqp/connection.h"
#include "listener/amqp/options.h"

namespace reclaim::listener {

class AmqpExchangeWatch final {
 public:
  AmqpExchangeWatch(const AmqpOptions& options, amqp_connection_state_t connection,
                    std::vector<std::string> missing);

  // No round is under way: time for the next look() after pause_ms().
  [[nodiscard]] bool idle() const { return step_ == Step::idle; }
  // Nothing is missing any more.
  [[nodiscard]] bool done() const { return missing_.empty(); }
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }
  // The pause before the next look(): it grows from a second to the maximum.
  [[nodiscard]] std::int64_t pause_ms() const { return pause_ms_; }

  // Starts a round, unless one is under way. The caller has seen that the socket has room.
  [[nodiscard]] Status look();

  enum class Progress { working, bound };
  // A method that came in on kWatchChannel. `bound`: the queue was bound to last_bound().
  [[nodiscard]] Result<Progress> on_method(const amqp_method_t& method);
  [[nodiscard]] const std::string& last_bound() const { return last_bound_; }
  // The reason why the last look was refused, where that was something else than the exchange's
  // absence.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  enum class Step { idle, opening, declaring, binding };

  [[nodiscard]] Status send(amqp_method_number_t id, void* method);
  [[nodiscard]] Status open();
  [[nodiscard]] Status declare();
  [[nodiscard]] Status bind();
  [[nodiscard]] Result<Progress> next_exchange(bool channel_open);
  [[nodiscard]] Result<Progress> closed(const amqp_method_t& method);
  [[nodiscard]] Result<Progress> working(const Status& sent) const;

  const AmqpOptions& options_;
  amqp_connection_state_t connection_;
  std::vector<std::string> missing_;
  Step step_ = Step::idle;
  bool open_ = false;
  std::size_t exchange_ = 0;
  std::size_t key_ = 0;
  std::int64_t pause_ms_ = 1'000;
  std::string last_bound_;
  std::string trouble_;
};

}  // namespace reclaim::listener
