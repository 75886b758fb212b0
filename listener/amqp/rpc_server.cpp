#include "listener/amqp/rpc_server.h"

#include <utility>

namespace reclaim::listener {
namespace {

// Nobody consumes a host's queue once the host is gone, and what would come back after a day is not
// what its conductor still waits for.
constexpr std::int64_t kQueueExpiresMs = 86'400'000;
constexpr std::int64_t kQueueLengthMax = 10'000;
constexpr int kPrefetch = 100;

AmqpOptions rpc_amqp_options(const RpcServerOptions& options) {
  AmqpOptions out = options.amqp;
  const std::string key = options.topic + "." + options.host;
  out.connection_name += ":rpc";
  out.exchanges = {options.exchange};
  out.routing_keys = {key};
  out.queue = "reclaim." + key;
  out.queue_expires_ms = kQueueExpiresMs;
  out.queue_length_max = kQueueLengthMax;
  out.prefetch = kPrefetch;
  out.body_bytes_max = kRpcBodyBytesMax;
  return out;
}

}  // namespace

RpcServer::RpcServer(const RpcServerOptions& options, Store& store, InHand& marks, Timers& timers,
                     Logger& log)
    : feed_(
          store, timers, log, {options.host, options.serve, options.survey_delays_s},
          {[this](std::uint64_t tag, std::uint64_t incarnation) { link_->ack(tag, incarnation); },
           [this](std::uint64_t tag, std::uint64_t incarnation, const std::string& queue,
                  std::string body) { link_->answer(tag, incarnation, queue, std::move(body)); }}),
      redeliveries_(marks, timers, log,
                    {[this](const AmqpDelivery& delivery) { read(delivery); },
                     [this](const AmqpDelivery& delivery, std::string_view why) {
                       link_->dead_letter_unread(delivery, why);
                     }}) {}

RpcServer::~RpcServer() = default;

Result<std::unique_ptr<RpcServer>> RpcServer::create(uv_loop_t* loop, RpcServerOptions options,
                                                     Store& store, InHand& marks, Timers& timers,
                                                     Logger& log) {
  std::unique_ptr<RpcServer> server(new RpcServer(options, store, marks, timers, log));
  AmqpCallbacks callbacks;
  callbacks.on_delivery = [self = server.get()](const AmqpDelivery& delivery) {
    self->redeliveries_.take(delivery);
  };
  auto link = AmqpLink::create(loop, rpc_amqp_options(options), log, std::move(callbacks));
  if (!link) return link.error().wrap("[cyborg] listen_rpc");
  server->link_ = std::move(link).value();
  return server;
}

void RpcServer::read(const AmqpDelivery& delivery) {
  if (delivery.oversized) return link_->dead_letter(delivery, "longer than a request may be");
  feed_.take(delivery.body, delivery.tag, delivery.incarnation,
             [&](std::string_view why) { link_->dead_letter(delivery, why); });
}

void RpcServer::start() {
  link_->start();
}

void RpcServer::stop(Once<> on_stopped) {
  link_->stop(std::move(on_stopped));
}

}  // namespace reclaim::listener
