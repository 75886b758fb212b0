#include "state/redis/options.h"

#include <fmt/core.h>

namespace reclaim {

std::string describe(const RedisAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.host, v6 ? "]" : "", address.port);
}

namespace {

std::string list_of(const std::vector<RedisAddress>& addresses) {
  std::string text;
  for (const RedisAddress& each : addresses) text += (text.empty() ? "" : ", ") + describe(each);
  return text;
}

}  // namespace

std::string describe(const RedisOptions& options) {
  if (!options.unix_socket.empty()) return fmt::format("{}/{}", options.unix_socket, options.db);
  if (!options.cluster.empty()) return "the cluster of " + list_of(options.cluster);
  if (!options.sentinels.empty() && options.host.empty()) {
    return fmt::format("'{}' of the sentinels {}", options.sentinel_service,
                       list_of(options.sentinels));
  }
  const std::string at = describe(RedisAddress{options.host, options.port});
  return options.called == "Redis" ? fmt::format("{}/{}", at, options.db) : at;
}

std::int64_t connect_patience_ms(const RedisOptions& options) {
  const std::size_t asked = options.sentinels.size() + options.cluster.size();
  return options.connect_timeout_ms * static_cast<std::int64_t>(asked + 2);
}

Status check_options(const RedisOptions& options) {
  if (options.host.empty() && options.unix_socket.empty() && options.sentinels.empty() &&
      options.cluster.empty()) {
    return Error{Errc::invalid, "Redis: neither a host nor a unix socket is given"};
  }
  if (options.db != 0 && !options.cluster.empty()) {
    return Error{Errc::invalid, "Redis: a cluster has no database but 0"};
  }
  if (options.db < 0) return Error{Errc::invalid, "Redis: the database number is below 0"};
  if (options.connect_timeout_ms <= 0 || options.command_timeout_ms <= 0 ||
      options.reconnect_min_ms <= 0 || options.reconnect_max_ms < options.reconnect_min_ms) {
    return Error{
        Errc::invalid,
        "Redis: timeouts must be above 0, and reconnect_max_ms not below reconnect_min_ms"};
  }
  return Ok{};
}

}  // namespace reclaim
