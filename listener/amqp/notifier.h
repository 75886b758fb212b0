// Notifier: publishes what waits in the outbox, oldest first, and removes from it what the broker
// confirmed: at least once, in order, each time by the same message_id. Nothing waits for it: while
// the broker is away, notifications stay in the outbox, which is bounded.
//
// Thread: the loop's. Owns one thread at a time, which connects and publishes; after stop() a
// thread that still waits for the broker is left behind and touches nothing of the notifier's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "listener/amqp/options.h"
#include "listener/amqp/publish.h"
#include "state/base/callback.h"
#include "state/base/log.h"
#include "state/base/uv.h"
#include "state/device/outbox.h"

namespace reclaim::listener {

struct NotifierCounters {
  std::uint64_t published = 0;  // confirmed by the broker
  std::uint64_t failed = 0;     // attempts that ended before the last message
  std::uint64_t waiting = 0;    // in the outbox when it was last looked at
  std::uint64_t dropped = 0;    // ever, because the outbox was full
  std::uint64_t refused = 0;    // in the outbox, and not posted by this host's worker
  std::uint64_t unrouted = 0;   // copies that no queue was bound for
};

class Notifier final {
 public:
  // Makes of an entry its message on the bus; nothing: this host's worker did not post it.
  using Read = std::function<std::optional<OutgoingMessage>(const OutboxEntry&)>;
  using Publish = std::function<PublishOutcome(std::size_t host_index,
                                               const std::vector<OutgoingMessage>& messages,
                                               const std::atomic<bool>& cancelled)>;

  // `outbox` and `log` outlive the notifier; `publish` is called on its thread, publish_confirmed()
  // where none is given.
  Notifier(uv_loop_t* loop, NotifierOptions options, Outbox& outbox, Read read, Logger& log,
           Publish publish = nullptr);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void start();
  // Something was, or is about to be, posted.
  void wake();
  // Calls back once, from the loop; after 3 seconds where the broker does not answer. What is not
  // confirmed stays in the outbox for the next start.
  void stop(Once<> on_stopped);

  [[nodiscard]] const NotifierCounters& counters() const { return counters_; }

 private:
  // The part that the thread shares with the notifier, which may go before it.
  struct Errand {
    std::atomic<bool> cancelled{false};
    std::mutex mutex;
    uv::Mailbox<PublishOutcome>* mailbox = nullptr;  // none: the notifier is gone
  };

  void look();
  void on_page(Result<OutboxPage> page);
  void publish_next();
  void on_published(PublishOutcome outcome);
  void remove(std::vector<std::string> ids);
  void rest(std::int64_t delay_ms);
  void try_again(const Error& error);
  void finish_stop();

  const NotifierOptions options_;
  Outbox& outbox_;
  const Read read_;
  const Publish publish_;
  Logger& log_;
  NotifierCounters counters_;
  std::vector<OutgoingMessage> batch_;  // being published
  bool busy_ = false;                   // from the look at the outbox to what was removed from it
  bool woken_ = false;                  // meanwhile
  bool stopping_ = false;
  bool told_unrouted_ = false;
  std::uint64_t attempts_ = 0;
  std::uint32_t failures_ = 0;  // in a row
  std::minstd_rand random_;
  std::size_t first_host_ = 0;
  Once<> on_stopped_;
  uv::Timer timer_;
  uv::Timer patience_;
  uv::Mailbox<PublishOutcome> mailbox_;
  const std::shared_ptr<Errand> errand_ = std::make_shared<Errand>();
  std::thread thread_;
};

}  // namespace reclaim::listener
