// The link to RabbitMQ: one connection on the libuv loop that consumes a queue, reconnects for
// ever, and acks what its owner has settled. Connecting happens on a thread of its own
// (amqp_connector); everything else, and every callback, on the loop's thread.
//
// What bounds the loop's time: reading stops after 2 ms and goes on in the next round; writing only
// ever happens when the socket has room for what is written (acks and heartbeats of some 20 bytes,
// now and then a bounded dead letter or answer), so that librabbitmq, whose writes would wait,
// never has to.
//
// Deliveries wait in RabbitMQ when the owner settles none: the prefetch bound fills up, that is
// all. There is no need to pause.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "listener/amqp/ack_window.h"
#include "listener/amqp/assembler.h"
#include "listener/amqp/connection.h"
#include "listener/amqp/connector.h"
#include "listener/amqp/exchange_watch.h"
#include "listener/amqp/options.h"
#include "listener/amqp/queue_watch.h"
#include "state/base/bus_queue.h"
#include "state/base/callback.h"
#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/uv.h"

namespace reclaim::listener {

struct AmqpState {
  bool connected = false;  // a consumer is registered
  bool blocked = false;  // the broker takes no publishing just now: dead letters and answers wait,
                         // acks do not
  std::string host;      // "HOST:PORT" of the connection, or of the last attempt
  std::string last_error;  // of the last failed attempt or lost connection; empty when connected
  std::uint64_t incarnation = 0;               // counts connections
  std::vector<std::string> missing_exchanges;  // looked for again and again
};

struct AmqpCounters {
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t redelivered = 0;
  std::uint64_t oversized = 0;
  std::uint64_t acked = 0;
  std::uint64_t ack_frames = 0;
  std::uint64_t acks_dropped = 0;  // of an older incarnation, or settled twice
  std::uint64_t dead_lettered = 0;
  std::uint64_t answered = 0;
  std::uint64_t connects = 0;
  std::uint64_t connect_failures = 0;
  std::uint64_t disconnects = 0;
  std::uint64_t drained = 0;  // messages taken unread out of [listener] drain's queues
  std::uint64_t cancels = 0;  // the broker took the consumer away (queue deleted, leader moved)
};

struct AmqpCallbacks {
  // Must not destroy or stop the link; may settle this or any other delivery at once.
  std::function<void(const AmqpDelivery&)> on_delivery;
  // Called after every change of state(). Optional.
  std::function<void(const AmqpState&)> on_state;
  // Called after every look at `watched_queues`, with those that exist. Optional.
  std::function<void(const std::vector<BusQueue>&)> on_queues = {};
};

// Connection, channel and consumer are one state of librabbitmq, and so one class: what it calls,
// what it is sent and each way of its end are a method each. What has state of its own is beside
// it: connector, assembler, ack window, exchange watch, queue watch.
class AmqpLink final {
 public:
  // Errc::invalid for options that cannot work. `logger` must outlive the link.
  [[nodiscard]] static Result<std::unique_ptr<AmqpLink>> create(uv_loop_t* loop,
                                                                AmqpOptions options, Logger& logger,
                                                                AmqpCallbacks callbacks);
  // Closes without a word, which stop() first avoids. A thread that still waits for the broker is
  // left behind: it touches nothing of the link's any more, and ends when its step times out.
  ~AmqpLink();
  AmqpLink(const AmqpLink&) = delete;
  AmqpLink& operator=(const AmqpLink&) = delete;

  void start();
  // Sends the acks that are due, says goodbye on a thread and then calls back, once, from the loop;
  // of a broker that does not answer, and of a connection that is not made yet, after 3 seconds.
  // No delivery comes after this call. What was not settled is delivered again to somebody else.
  void stop(Once<> on_stopped);

  // The delivery is dealt with. Sent to the broker in batches; dropped if the connection it came
  // over is gone, since the broker will deliver it again.
  void ack(std::uint64_t tag, std::uint64_t incarnation);
  // The delivery cannot be used: its body, cleaned of `_context_*` and bounded, goes to the
  // dead-letter queue together with `why`, then it is acked. Over the same channel, so that the
  // broker reads them in this order and a lost connection loses neither.
  void dead_letter(const AmqpDelivery& delivery, std::string_view why);
  // Puts a delivery into the dead-letter queue without reading the body: only its first bytes are
  // kept.
  void dead_letter_unread(const AmqpDelivery& delivery, std::string_view why);
  // The delivery is dealt with and its sender waits for an answer: `body` goes to `queue`, through
  // the default exchange, then the delivery is acked. A connection lost before that loses no
  // answer: the delivery comes again. A queue that is gone takes nothing, and nobody waits there.
  void answer(std::uint64_t tag, std::uint64_t incarnation, const std::string& queue,
              std::string body);

  [[nodiscard]] const AmqpState& state() const { return state_; }
  [[nodiscard]] const AmqpCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t outstanding() const { return window_.outstanding(); }

 private:
  static constexpr std::size_t kSmallFrameBytes = 2'048;

  // A message of ours that settles a delivery.
  struct Outgoing {
    std::uint64_t tag = 0;
    std::string queue;
    std::string body;
    bool is_dead_letter = false;
    std::string why;  // of a dead letter, as the next two
    std::string exchange;
    std::string routing_key;
  };
  struct Attempt {
    std::optional<Result<AmqpConsuming>> outcome;  // nothing: the goodbye is said
  };
  // The part that a thread shares with its link, which may go before it.
  struct Errand {
    void post(Attempt attempt) {
      const std::lock_guard lock(mutex);
      if (mailbox != nullptr) mailbox->post(std::move(attempt));
    }

    std::atomic<bool> cancelled{false};
    std::mutex mutex;
    uv::Mailbox<Attempt>* mailbox = nullptr;  // none: the link is gone
  };

  AmqpLink(uv_loop_t* loop, AmqpOptions options, Logger& logger, AmqpCallbacks callbacks);

  void put_aside(const AmqpDelivery& delivery, std::string_view why, std::string body);
  void begin_attempt();
  void on_attempt(Attempt attempt);
  void connected(AmqpConsuming consuming);
  void fail(const Error& error, bool polite);
  void drop_connection(bool polite);
  void retry_later();
  void finish_stop();
  void stop_without_it();

  void pump();
  [[nodiscard]] Status read_frames();
  [[nodiscard]] Status on_frame(const amqp_frame_t& frame);
  [[nodiscard]] Status on_connection_method(const amqp_method_t& method);
  [[nodiscard]] Status on_consume_method(const amqp_method_t& method);
  [[nodiscard]] Status on_watch_method(const amqp_method_t& method);
  [[nodiscard]] Status on_queue_method(const amqp_method_t& method);
  [[nodiscard]] Status deliver();

  [[nodiscard]] bool has_room(std::size_t frame_bytes) const;
  void look_for_exchanges();
  void look_at_queues();
  void write_later();
  void write_what_is_due();
  [[nodiscard]] Status publish_what_waits();
  [[nodiscard]] Status publish(const Outgoing& message);
  [[nodiscard]] Status send_ack();
  void tell_state();
  [[nodiscard]] std::size_t ack_batch() const;

  uv_loop_t* loop_;
  const AmqpOptions options_;
  Logger& logger_;
  AmqpCallbacks callbacks_;
  AmqpState state_;
  AmqpCounters counters_;

  AmqpConnection connection_;
  AmqpConnection closing_;  // the one to say goodbye to before the next attempt
  AmqpAssembler assembler_;
  AckWindow window_;
  std::optional<AmqpExchangeWatch> watch_;
  AmqpQueueMemory queue_memory_;
  std::optional<AmqpQueueWatch> queue_watch_;  // none: no connection, or nothing to look at
  std::deque<Outgoing> outgoing_;              // bounded by the prefetch
  bool pumping_ = false;
  bool cancelled_by_broker_ = false;  // why the frames just read ended the connection
  std::uint64_t connected_at_ms_ = 0;
  std::uint64_t full_since_ms_ = 0;  // when the socket was first found without room; 0: it has some
  bool warned_unverified_ = false;

  Once<> on_stopped_;
  bool stopping_ = false;
  std::uint64_t attempts_ = 0;
  std::uint32_t failures_ = 0;
  std::minstd_rand random_;
  std::size_t first_host_ = 0;

  std::unique_ptr<uv::Poll> poll_;
  uv::Timer retry_timer_;
  uv::Timer more_timer_;   // goes on reading in the next round
  uv::Timer tick_timer_;   // heartbeats
  uv::Timer write_timer_;  // acks that are due, and what found no room
  uv::Timer watch_timer_;
  uv::Timer queue_timer_;
  uv::Mailbox<Attempt> mailbox_;
  const std::shared_ptr<Errand> errand_ = std::make_shared<Errand>();
  std::thread thread_;  // of the attempt or the goodbye under way; joined when its message arrives
  bool thread_busy_ = false;
};

}  // namespace reclaim::listener
