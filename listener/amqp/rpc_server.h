// RpcServer: what Cyborg's conductor asks of this host's cyborg-agent, heard through a queue of our
// own beside the agent's, so that a live agent loses nothing. A cleanup_device becomes a kick on
// this host's stream. Calls are answered only with `serve`, for a host without an agent.
//
// Thread: the loop's. Owns a link to RabbitMQ of its own and the requests that wait for Redis.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "listener/amqp/link.h"
#include "listener/amqp/redeliveries.h"
#include "listener/amqp/rpc_feed.h"
#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/timers.h"
#include "state/device/in_hand.h"
#include "state/device/store.h"

namespace reclaim::listener {

class RpcServer final {
 public:
  // Errc::invalid for options that cannot work. The references must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<RpcServer>> create(uv_loop_t* loop,
                                                                 RpcServerOptions options,
                                                                 Store& store, InHand& marks,
                                                                 Timers& timers, Logger& log);
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  void start();
  // Stops as AmqpLink::stop() does.
  void stop(Once<> on_stopped);

  [[nodiscard]] const RpcFeedCounters& counters() const { return feed_.counters(); }
  [[nodiscard]] const AmqpState& state() const { return link_->state(); }

 private:
  RpcServer(const RpcServerOptions& options, Store& store, InHand& marks, Timers& timers,
            Logger& log);
  void read(const AmqpDelivery& delivery);

  RpcFeed feed_;
  Redeliveries redeliveries_;
  std::unique_ptr<AmqpLink> link_;
};

}  // namespace reclaim::listener
