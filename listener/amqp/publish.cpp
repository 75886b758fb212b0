#include "listener/amqp/publish.h"

#include <fmt/core.h>
#include <uv.h>

#include <algorithm>
#include <utility>

#include "listener/amqp/connector.h"
#include "listener/amqp/topology.h"

namespace reclaim::listener {
namespace {

constexpr amqp_channel_t kChannel = kConsumeChannel;  // what check_reply() answers on
constexpr int kGoodbyeMs = 2'000;
constexpr std::uint64_t kLookMs = 200;  // how long a wait lasts before `cancelled` is looked at
constexpr std::uint64_t kNsPerMs = 1'000'000;

class Publishing final {
 public:
  Publishing(amqp_connection_state_t connection, const NotifierOptions& options,
             const std::atomic<bool>& cancelled)
      : connection_(connection), options_(options), cancelled_(cancelled) {}

  // A channel that confirms, and the exchange.
  [[nodiscard]] Status prepare() {
    if (Status opened = open(); !opened) return opened;
    Status found = declare(true);
    if (!found && found.error().code == Errc::not_found) {
      if (Status opened = open(); !opened) return opened;
      found = declare(false);
    }
    if (!found) return found.error().wrap(fmt::format("exchange '{}'", options_.exchange));
    (void)amqp_confirm_select(connection_, kChannel);
    const Status confirms = answer();
    return confirms ? confirms : confirms.error().wrap("asking for confirmations");
  }

  // One message to all its topics, and the broker's word for each.
  [[nodiscard]] Status publish(const OutgoingMessage& message) {
    if (cancelled_) return given_up();
    for (const std::string& key : message.routing_keys) {
      if (Status sent = send(message, key); !sent) return sent;
    }
    return wait_for_confirmations();
  }

  [[nodiscard]] std::size_t unrouted() const { return unrouted_; }

 private:
  [[nodiscard]] static Status given_up() {
    return Error{Errc::cancelled, "publishing was given up"};
  }
  [[nodiscard]] Status answer() {
    const Status status = check_reply(connection_, amqp_get_rpc_reply(connection_));
    amqp_maybe_release_buffers(connection_);
    return status;
  }
  [[nodiscard]] Status open() {
    (void)amqp_channel_open(connection_, kChannel);
    return answer();
  }
  [[nodiscard]] Status declare(bool passive) {
    (void)amqp_exchange_declare(connection_, kChannel, bytes(options_.exchange), bytes("topic"),
                                passive ? 1 : 0, options_.amqp.durable ? 1 : 0, 0, 0,
                                amqp_empty_table);
    return answer();
  }

  [[nodiscard]] Status send(const OutgoingMessage& message, const std::string& key) {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG |
                        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_PRIORITY_FLAG;
    properties.content_type = amqp_cstring_bytes("application/json");
    properties.content_encoding = amqp_cstring_bytes("utf-8");
    properties.delivery_mode = 2;
    properties.priority = 0;
    // Mandatory: what no queue is bound for comes back before it is confirmed.
    const int status = amqp_basic_publish(connection_, kChannel, bytes(options_.exchange),
                                          bytes(key), 1, 0, &properties, bytes(message.body));
    if (status != AMQP_STATUS_OK) return library_error(status);
    ++sent_;
    return Ok{};
  }

  [[nodiscard]] Status wait_for_confirmations() {
    const std::uint64_t until_ns =
        uv_hrtime() + static_cast<std::uint64_t>(options_.amqp.connect_timeout_ms) * kNsPerMs;
    while (confirmed_ < sent_) {
      if (cancelled_) return given_up();
      const std::uint64_t now_ns = uv_hrtime();
      if (now_ns >= until_ns) {
        return Error{Errc::unknown,
                     blocked_ ? "the broker takes no messages just now: see its alarms of memory "
                                "and disk"
                              : "the broker did not confirm in time"};
      }
      const std::uint64_t left_ms = std::min(kLookMs, (until_ns - now_ns) / kNsPerMs + 1);
      const timeval timeout{0, static_cast<suseconds_t>(left_ms) * 1000};
      amqp_frame_t frame{};
      const int result = amqp_simple_wait_frame_noblock(connection_, &frame, &timeout);
      if (result == AMQP_STATUS_TIMEOUT) continue;
      if (result != AMQP_STATUS_OK) return library_error(result);
      Status handled = check_channel(frame, kChannel);
      if (handled) handled = on_frame(frame);
      amqp_maybe_release_buffers(connection_);
      if (!handled) return handled;
    }
    return Ok{};
  }

  // The header and the body of a message that came back are passed over.
  [[nodiscard]] Status on_frame(const amqp_frame_t& frame) {
    if (frame.frame_type != AMQP_FRAME_METHOD) return Ok{};
    const amqp_method_t& method = frame.payload.method;
    switch (method.id) {
      case AMQP_BASIC_ACK_METHOD:
        confirmed_ =
            std::max(confirmed_, static_cast<amqp_basic_ack_t*>(method.decoded)->delivery_tag);
        return Ok{};
      case AMQP_BASIC_NACK_METHOD:
        return Error{Errc::refused, "the broker refused a message: is one of its queues full?"};
      case AMQP_BASIC_RETURN_METHOD:
        ++unrouted_;
        return Ok{};
      case AMQP_CONNECTION_BLOCKED_METHOD:
        blocked_ = true;
        return Ok{};
      case AMQP_CONNECTION_UNBLOCKED_METHOD:
        blocked_ = false;
        return Ok{};
      case AMQP_CHANNEL_CLOSE_METHOD:
      case AMQP_CONNECTION_CLOSE_METHOD:
        return answer_close(connection_, kChannel, method);
      default:
        return Ok{};
    }
  }

  amqp_connection_state_t connection_;
  const NotifierOptions& options_;
  const std::atomic<bool>& cancelled_;
  std::uint64_t sent_ = 0;       // copies
  std::uint64_t confirmed_ = 0;  // the highest delivery tag that was
  std::size_t unrouted_ = 0;
  bool blocked_ = false;
};

}  // namespace

PublishOutcome publish_confirmed(const NotifierOptions& options, std::size_t host_index,
                                 const std::vector<OutgoingMessage>& messages,
                                 const std::atomic<bool>& cancelled) {
  PublishOutcome outcome;
  Result<AmqpConnection> connected = connect_and_log_in(options.amqp, host_index, cancelled);
  if (!connected) {
    outcome.error = std::move(connected).error();
    return outcome;
  }
  AmqpConnection connection = std::move(connected).value();
  Publishing publishing(connection.get(), options, cancelled);
  Status status = publishing.prepare();
  for (std::size_t i = 0; status && i < messages.size(); ++i) {
    status = publishing.publish(messages[i]);
    if (status) outcome.confirmed = i + 1;
  }
  outcome.unrouted = publishing.unrouted();
  if (!status) {
    const AmqpHost& host = options.amqp.hosts[host_index];
    outcome.error = status.error().wrap(fmt::format("RabbitMQ at {}:{}", host.host, host.port));
    return outcome;
  }
  close_politely(std::move(connection), kGoodbyeMs);
  return outcome;
}

}  // namespace reclaim::listener
