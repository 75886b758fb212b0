#include "listener/amqp_settings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace reclaim::listener {
namespace {

// The options of a link to the bus at `url`; the rest of them is the notifications'.
AmqpOptions options_at(const config::TransportUrl& url, const config::Settings& settings) {
  AmqpOptions out = settings.amqp;
  out.hosts = url.hosts;
  out.vhost = url.virtual_host;
  out.connection_name = fmt::format("reclaim:{}:{}", settings.host, getpid());
  return out;
}

}  // namespace

AmqpOptions amqp_options(const config::Settings& settings) {
  AmqpOptions out = options_at(settings.rabbit.url, settings);
  std::vector<std::string> topics = settings.topics;
  for (const std::string& topic : settings.drain) {
    if (std::find(topics.begin(), topics.end(), topic) == topics.end()) topics.push_back(topic);
  }
  out.watched_queues = notification_keys(topics);
  out.drained_queues = notification_keys(settings.drain);
  return out;
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
