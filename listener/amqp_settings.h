// The settings of the bus in the link's own words. Pure. Thread: any.
#pragma once

#include "config/settings.h"
#include "listener/amqp/options.h"
#include "listener/amqp/rpc_server.h"

namespace reclaim::listener {

[[nodiscard]] AmqpOptions amqp_options(const config::Settings& settings);
// The options of [notifications]; without a transport_url of its own the bus is that of the RPC.
[[nodiscard]] NotifierOptions notifier_options(const config::Settings& settings);
// The options of [cyborg] listen_rpc.
[[nodiscard]] RpcServerOptions rpc_server_options(const config::Settings& settings);

}  // namespace reclaim::listener
