// The link's life: attempts, connections, losses, the goodbye. Reading and writing:
// amqp_link_io.cpp.
#include "listener/amqp/link.h"

#include <fmt/core.h>

#include <algorithm>

#include "listener/amqp/retry.h"

namespace reclaim::listener {
namespace {

constexpr int kGoodbyeTimeoutMs = 2'000;
constexpr int kFirstQueueLookMs = 1'000;         // after the connection
constexpr std::int64_t kStopPatienceMs = 3'000;  // more than a goodbye takes
constexpr std::size_t kNameBytesMax = 255;       // AMQP's short strings

Status check_names(const AmqpOptions& options) {
  std::vector<std::string> names = options.exchanges;
  names.insert(names.end(), {options.queue, options.dead_letter_queue});
  names.insert(names.end(), options.routing_keys.begin(), options.routing_keys.end());
  names.insert(names.end(), options.watched_queues.begin(), options.watched_queues.end());
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kNameBytesMax) {
      return Error{Errc::invalid,
                   fmt::format("'{:.40}' cannot be the name of an exchange, routing key or "
                               "queue: 1 to {} bytes are accepted",
                               name, kNameBytesMax)};
    }
  }
  if (options.queue == options.dead_letter_queue) {
    return Error{Errc::invalid,
                 fmt::format("queue '{}' cannot be its own dead-letter queue", options.queue)};
  }
  return Ok{};
}

Status check_options(const AmqpOptions& options) {
  const auto bad = [](const char* what) { return Error{Errc::invalid, what}; };
  if (options.hosts.empty()) return bad("no RabbitMQ host is given");
  for (const AmqpHost& host : options.hosts) {
    if (host.host.empty()) return bad("a RabbitMQ host has an empty name");
    if (host.port < 1 || host.port > 65535) {
      return Error{Errc::invalid, fmt::format("port {} of RabbitMQ host {} is not within 1..65535",
                                              host.port, host.host)};
    }
  }
  if (options.prefetch < 1 || options.prefetch > 65535)
    return bad("prefetch is not within 1..65535");
  if (options.heartbeat_s < 0 || options.heartbeat_s > 65535) {
    return bad("the heartbeat is not within 0..65535 seconds");
  }
  if (options.connect_timeout_ms < 1 || options.ack_batch < 1 || options.ack_delay_ms < 1 ||
      options.reconnect_interval_ms < 1 || options.reconnect_backoff_ms < 0 ||
      options.reconnect_max_ms < options.reconnect_interval_ms ||
      options.exchange_wait_max_ms < 1 || options.queue_look_ms < 1) {
    return bad("a timeout, interval or batch of the RabbitMQ link is below its minimum");
  }
  if (options.message_ttl_ms < 1 || options.queue_length_max < 1 || options.queue_expires_ms < 0 ||
      options.dead_letter_ttl_ms < 1 || options.dead_letter_length_max < 1 ||
      options.body_bytes_max < 1 || options.dead_letter_bytes_max < 1) {
    return bad("a bound of a RabbitMQ queue is below 1");
  }
  if (options.login == AmqpLogin::external && options.tls.cert_file.empty()) {
    return bad("login by certificate (EXTERNAL) needs ssl and ssl_cert_file");
  }
  return check_names(options);
}

std::string address_of(const AmqpHost& host) {
  return host.host.find(':') == std::string::npos ? fmt::format("{}:{}", host.host, host.port)
                                                  : fmt::format("[{}]:{}", host.host, host.port);
}

}  // namespace

Result<std::unique_ptr<AmqpLink>> AmqpLink::create(uv_loop_t* loop, AmqpOptions options,
                                                   Logger& logger, AmqpCallbacks callbacks) {
  const Status valid = check_options(options);
  if (!valid) return valid.error();
  CHECK(callbacks.on_delivery != nullptr);
  return std::unique_ptr<AmqpLink>(
      new AmqpLink(loop, std::move(options), logger, std::move(callbacks)));
}

AmqpLink::AmqpLink(uv_loop_t* loop, AmqpOptions options, Logger& logger, AmqpCallbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      logger_(logger),
      callbacks_(std::move(callbacks)),
      assembler_(options_.body_bytes_max),
      // The seed is of the host and process, which the name tells: listeners that restart together
      // spread out.
      random_(static_cast<std::minstd_rand::result_type>(
          std::hash<std::string>{}(options_.connection_name))),
      first_host_(random_() % options_.hosts.size()),
      retry_timer_(loop),
      more_timer_(loop),
      tick_timer_(loop),
      write_timer_(loop),
      watch_timer_(loop),
      queue_timer_(loop),
      mailbox_(loop, [this](Attempt attempt) { on_attempt(std::move(attempt)); }) {
  errand_->mailbox = &mailbox_;
}

// Neither a name lookup nor a connect can be called back.
AmqpLink::~AmqpLink() {
  errand_->cancelled = true;
  {
    const std::lock_guard lock(errand_->mutex);
    errand_->mailbox = nullptr;
  }
  if (thread_.joinable()) thread_.detach();
}

void AmqpLink::start() {
  CHECK(!thread_busy_ && connection_ == nullptr && !stopping_);
  if (options_.tls.enabled && options_.tls.ca_file.empty() && !warned_unverified_) {
    warned_unverified_ = true;
    logger_.warning(log_name::kAmqp,
                    "TLS to RabbitMQ without ssl_ca_file: the broker's identity is not verified");
  }
  begin_attempt();
}

void AmqpLink::begin_attempt() {
  const std::size_t index = host_for_attempt(options_.hosts.size(), first_host_, attempts_);
  ++attempts_;
  state_.host = address_of(options_.hosts[index]);
  thread_busy_ = true;
  thread_ = std::thread(
      [errand = errand_, options = options_, index, old = std::move(closing_)]() mutable {
        if (old != nullptr) close_politely(std::move(old), kGoodbyeTimeoutMs);
        errand->post(Attempt{connect_and_consume(options, index, errand->cancelled)});
      });
}

void AmqpLink::on_attempt(Attempt attempt) {
  thread_.join();
  thread_busy_ = false;
  if (!attempt.outcome) return finish_stop();
  Result<AmqpConsuming>& outcome = *attempt.outcome;
  if (stopping_) {
    if (!outcome) return finish_stop();
    connection_ = std::move(outcome->connection);
    state_.connected = true;
    return stop(std::move(on_stopped_));
  }
  if (outcome) return connected(std::move(*outcome));
  ++counters_.connect_failures;
  ++failures_;
  state_.last_error = outcome.error().what;
  logger_.warning(log_name::kAmqp, state_.last_error);
  tell_state();
  retry_later();
}

void AmqpLink::connected(AmqpConsuming consuming) {
  connection_ = std::move(consuming.connection);
  ++counters_.connects;
  ++state_.incarnation;
  state_.connected = true;
  state_.blocked = false;
  state_.last_error.clear();
  state_.missing_exchanges = consuming.missing_exchanges;
  connected_at_ms_ = uv_now(loop_);
  full_since_ms_ = 0;
  window_.reset();
  assembler_.reset();
  logger_.info(log_name::kAmqp, fmt::format("consuming from queue '{}' of RabbitMQ at {}",
                                            options_.queue, state_.host));
  if (consuming.queue_existed) {
    logger_.debug(log_name::kAmqp, "the queue existed and is used as it is");
  }
  for (const std::string& exchange : state_.missing_exchanges) {
    logger_.warning(log_name::kAmqp,
                    fmt::format("exchange '{}' does not exist yet; looking for it again and "
                                "again",
                                exchange));
  }
  if (!state_.missing_exchanges.empty()) {
    watch_.emplace(options_, connection_.get(), state_.missing_exchanges);
    watch_timer_.after(watch_->pause_ms(), [this] { look_for_exchanges(); });
  }
  if (!options_.watched_queues.empty()) {
    queue_watch_.emplace(options_, connection_.get(), queue_memory_);
    queue_timer_.after(std::min(kFirstQueueLookMs, options_.queue_look_ms),
                       [this] { look_at_queues(); });
  }
  const int heartbeat_s = amqp_get_heartbeat(connection_.get());
  const std::uint64_t tick_ms =
      heartbeat_s > 0 ? std::max<std::uint64_t>(250, static_cast<std::uint64_t>(heartbeat_s) * 250)
                      : 15'000;
  tick_timer_.start(tick_ms, tick_ms, [this] { pump(); });
  poll_ = std::make_unique<uv::Poll>(loop_, amqp_get_sockfd(connection_.get()),
                                     [this](int, int) { pump(); });
  poll_->watch(UV_READABLE);
  tell_state();
  // Deliveries may stand in the connection's own buffers, which no poll tells of.
  more_timer_.after(0, [this] { pump(); });
}

void AmqpLink::drop_connection(bool polite) {
  poll_.reset();
  watch_.reset();
  queue_watch_.reset();
  for (uv::Timer* timer :
       {&more_timer_, &tick_timer_, &write_timer_, &watch_timer_, &queue_timer_}) {
    timer->stop();
  }
  if (polite) closing_ = std::move(connection_);
  connection_.reset();
  outgoing_.clear();
  window_.reset();
  assembler_.reset();
  state_.connected = false;
  state_.blocked = false;
}

void AmqpLink::fail(const Error& error, bool polite) {
  const bool lasted =
      uv_now(loop_) - connected_at_ms_ > static_cast<std::uint64_t>(options_.reconnect_interval_ms);
  state_.last_error = fmt::format("RabbitMQ at {}: {}{}", state_.host, error.what,
                                  queue_watch_ ? queue_watch_->last_words() : "");
  drop_connection(polite);
  ++counters_.disconnects;
  logger_.warning(log_name::kAmqp, state_.last_error);
  // A broker that takes us and throws us out at once is a failing one.
  failures_ = lasted ? (polite ? 0 : 1) : failures_ + 1;
  tell_state();
  retry_later();
}

void AmqpLink::retry_later() {
  const std::int64_t delay_ms =
      retry_delay_ms(options_, failures_, static_cast<std::uint32_t>(random_()));
  retry_timer_.after(delay_ms, [this] { begin_attempt(); });
}

void AmqpLink::stop(Once<> on_stopped) {
  on_stopped_ = std::move(on_stopped);
  stopping_ = true;
  errand_->cancelled = true;
  if (connection_ != nullptr) {
    if (has_room(kSmallFrameBytes)) (void)send_ack();
    drop_connection(true);
    thread_busy_ = true;
    thread_ = std::thread([errand = errand_, old = std::move(closing_)]() mutable {
      close_politely(std::move(old), kGoodbyeTimeoutMs);
      errand->post(Attempt{});
    });
  }
  if (thread_busy_) {
    retry_timer_.after(kStopPatienceMs, [this] { stop_without_it(); });
  } else {
    retry_timer_.after(0, [this] { finish_stop(); });
  }
}

void AmqpLink::stop_without_it() {
  logger_.warning(log_name::kAmqp,
                  fmt::format("RabbitMQ at {} does not answer; stopping without it: see that it "
                              "runs, and that no firewall drops what is sent there",
                              state_.host));
  finish_stop();
}

void AmqpLink::finish_stop() {
  retry_timer_.stop();
  state_.connected = false;
  const Once<> done = std::move(on_stopped_);
  if (done) done();
}

void AmqpLink::tell_state() {
  if (callbacks_.on_state) callbacks_.on_state(state_);
}

}  // namespace reclaim::listener
