#include "listener/broker_check.h"

#include <fmt/core.h>

#include <atomic>
#include <optional>
#include <utility>

#include "listener/amqp/connector.h"
#include "listener/amqp/topology.h"
#include "listener/amqp_settings.h"

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

// Nothing: it is not there.
Result<std::optional<BusQueue>> look_at_queue(amqp_connection_state_t connection,
                                              const std::string& name) {
  (void)amqp_channel_open(connection, kConsumeChannel);
  const Status opened = check_reply(connection, amqp_get_rpc_reply(connection));
  if (!opened) return opened.error();
  const amqp_queue_declare_ok_t* answer =
      amqp_queue_declare(connection, kConsumeChannel, bytes(name), 1, 0, 0, 0, amqp_empty_table);
  const Status found = check_reply(connection, amqp_get_rpc_reply(connection));
  if (!found && found.error().code == Errc::not_found) return std::optional<BusQueue>();
  if (!found) return found.error().wrap(fmt::format("queue '{}'", name));
  BusQueue queue{name, answer->message_count, answer->consumer_count};
  (void)amqp_channel_close(connection, kConsumeChannel, AMQP_REPLY_SUCCESS);
  return std::optional(std::move(queue));
}

// Logs in at each host in turn and looks for the exchanges; `made_by` says where they come from.
Status check_bus(const AmqpOptions& options, std::string_view made_by) {
  const std::atomic<bool> cancelled{false};
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    auto connection = connect_and_log_in(options, i, cancelled);
    if (!connection) return std::move(connection).error();
    for (const std::string& exchange : options.exchanges) {
      const Status found = look_for_exchange(connection->get(), exchange);
      if (!found) return found.error().wrap(fmt::format("exchange '{}' {}", exchange, made_by));
    }
    close_politely(std::move(connection).value(), kGoodbyeMs);
  }
  return Ok{};
}

// Looks at the bus of the notifications, whose exchange need not be there.
Result<std::string> check_notifications(const NotifierOptions& options) {
  AmqpOptions bus = options.amqp;
  bus.exchanges.clear();
  const Status logged_in = check_bus(bus, "");
  if (!logged_in) return logged_in.error();
  bus.exchanges = {options.exchange};
  const Status found = check_bus(bus, "");
  if (found) return fmt::format(", '{}' of the notifications there", options.exchange);
  if (found.error().code != Errc::not_found) return found.error();
  return fmt::format(", '{}' is made with the first notification", options.exchange);
}

}  // namespace

Result<std::vector<BusQueue>> look_at_queues(const config::Settings& settings) {
  const AmqpOptions options = amqp_options(settings);
  const std::atomic<bool> cancelled{false};
  Result<AmqpConnection> connection = Error{Errc::invalid, "no RabbitMQ host is given"};
  for (std::size_t i = 0; i < options.hosts.size() && !connection; ++i) {
    connection = connect_and_log_in(options, i, cancelled);
  }
  if (!connection) return std::move(connection).error();
  std::vector<BusQueue> out;
  for (const std::string& name : options.watched_queues) {
    auto queue = look_at_queue(connection->get(), name);
    if (!queue) return std::move(queue).error();
    if (*queue) out.push_back(**std::move(queue));
  }
  close_politely(std::move(connection).value(), kGoodbyeMs);
  return out;
}

Result<std::string> check_broker(const config::Settings& settings) {
  const AmqpOptions options = amqp_options(settings);
  const Status bus =
      check_bus(options, "([listener] exchanges); its service makes it when it starts");
  if (!bus) return bus.error();
  std::string found =
      fmt::format("logged in to each host, vhost '{}', exchanges there", options.vhost);
  if (settings.notify.driver != NotificationDriver::noop) {
    auto told = check_notifications(notifier_options(settings));
    if (!told) return told.error().wrap("[notifications]");
    found += *told;
  }
  if (!settings.listen_rpc) return found;
  RpcServerOptions rpc = rpc_server_options(settings);
  rpc.amqp.exchanges = {rpc.exchange};
  const Status rpc_bus =
      check_bus(rpc.amqp, "([cyborg] rpc_exchange); Cyborg's services make it when they start");
  if (!rpc_bus) return rpc_bus.error().wrap("[cyborg] listen_rpc");
  return found + fmt::format(", and '{}' of Cyborg's RPC", rpc.exchange);
}

}  // namespace reclaim::listener
