#include "listener/broker_check.h"

#include <fmt/core.h>

#include <atomic>
#include <utility>

#include "listener/amqp_connector.h"
#include "listener/amqp_settings.h"
#include "listener/amqp_topology.h"

namespace reclaim::listener {
namespace {

constexpr int kGoodbyeMs = 2'000;

Status look_for_exchange(amqp_connection_state_t connection, const std::string& exchange) {
  (void)amqp_channel_open(connection, kConsumeChannel);
  const Status opened = check_reply(connection, amqp_get_rpc_reply(connection));
  if (!opened) return opened;
  (void)amqp_exchange_declare(connection, kConsumeChannel, bytes(exchange), bytes("topic"), 1, 0, 0,
                              0, amqp_empty_table);
  const Status found = check_reply(connection, amqp_get_rpc_reply(connection));
  if (!found) return found;
  (void)amqp_channel_close(connection, kConsumeChannel, AMQP_REPLY_SUCCESS);
  return Ok{};
}

}  // namespace

Result<std::string> check_broker(const config::Settings& settings) {
  const AmqpOptions options = amqp_options(settings);
  const std::atomic<bool> cancelled{false};
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    auto connection = connect_and_log_in(options, i, cancelled);
    if (!connection) return std::move(connection).error();
    for (const std::string& exchange : options.exchanges) {
      const Status found = look_for_exchange(connection->get(), exchange);
      if (!found) {
        return found.error().wrap(fmt::format(
            "exchange '{}' ([listener] exchanges); Nova makes it when it starts", exchange));
      }
    }
    close_politely(std::move(connection).value(), kGoodbyeMs);
  }
  return fmt::format("{} hosts logged in to, vhost '{}', exchanges there", options.hosts.size(),
                     options.vhost);
}

}  // namespace reclaim::listener
