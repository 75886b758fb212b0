#include "listener/amqp_settings.h"

#include <fmt/core.h>
#include <unistd.h>

namespace reclaim::listener {
namespace {

// Of the bus at `url`; the rest of the link's options is the notifications'.
AmqpOptions options_at(const config::TransportUrl& url, const config::Settings& settings) {
  AmqpOptions out = settings.amqp;
  out.hosts = url.hosts;
  out.vhost = url.virtual_host;
  out.connection_name = fmt::format("reclaim:{}:{}", settings.host, getpid());
  return out;
}

}  // namespace

AmqpOptions amqp_options(const config::Settings& settings) {
  return options_at(settings.rabbit.url, settings);
}

NotifierOptions notifier_options(const config::Settings& settings) {
  NotifierOptions out = settings.notifier;
  out.amqp = options_at(settings.rabbit.notifier_url, settings);
  out.amqp.connection_name += ":notifications";
  out.amqp.heartbeat_s = 0;  // each step has a deadline, and none is idle
  return out;
}

RpcServerOptions rpc_server_options(const config::Settings& settings) {
  RpcServerOptions out = settings.rpc;
  out.amqp = options_at(settings.rabbit.rpc_url, settings);
  out.host = settings.host;
  out.survey_delays_s = settings.survey_delays_s;
  return out;
}

}  // namespace reclaim::listener
