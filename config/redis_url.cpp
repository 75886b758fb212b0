// [redis] url: the forms redis-cli and redis-py understand.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "config/settings.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/url.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;
constexpr std::size_t kSocketPathBytesMax = 107;  // sockaddr_un.sun_path with its terminator
constexpr unsigned kDbMax = 65535;
constexpr std::string_view kForms =
    "accepted: redis://[USER:PASSWORD@]HOST[:PORT][/DB], unix://[USER:PASSWORD@]/PATH[?db=N], "
    "redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/SERVICE[/DB]"
    "[?sentinel_username=U&sentinel_password=P] and "
    "redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]; rediss://, rediss+sentinel:// "
    "and rediss+cluster:// with TLS";
constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::size_t kHostsMax = 32;

Error invalid(std::string text) {
  return Error{Errc::invalid, std::move(text)};
}

Status take_db(std::string_view text, RedisOptions& redis) {
  const auto db = url::number(text, kDbMax);
  if (!db) return invalid("the database is not a number");
  redis.db = static_cast<int>(*db);
  return Ok{};
}

void take_login(std::string_view& rest, RedisOptions& redis) {
  auto login = url::take_login(rest);
  if (!login) return;
  redis.username = std::move(login->username);
  redis.password = std::move(login->password);
}

Status parse_unix(std::string_view rest, RedisOptions& redis) {
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    const std::string_view query = rest.substr(question + 1);
    if (!query.starts_with("db=")) return invalid("only db=N may follow '?'");
    if (const auto db = take_db(query.substr(3), redis); !db.ok()) return db.error();
    rest = rest.substr(0, question);
  }
  // The user's part ends at the '@' before the path; a path may hold '@' itself.
  std::string_view path = rest;
  if (!rest.starts_with('/')) {
    const std::size_t end = rest.find("@/");
    if (end == std::string_view::npos) return invalid("the socket's path must start with '/'");
    std::string_view credentials = rest.substr(0, end + 1);
    take_login(credentials, redis);
    path = rest.substr(end + 1);
  }
  redis.unix_socket = url::percent_decode(path);
  if (redis.unix_socket.size() < 2) return invalid("no path of a socket");
  if (redis.unix_socket.size() > kSocketPathBytesMax) {
    return Error{Errc::limit,
                 fmt::format("the socket's path is longer than {} bytes", kSocketPathBytesMax)};
  }
  return Ok{};
}

// "HOST[:PORT]"; `port` is kept where there is none.
Status take_address(std::string_view text, std::string& host, std::uint16_t& port) {
  const url::HostPort parts = url::split_host(text);
  if (parts.flaw == url::HostPort::Flaw::no_closing_bracket) {
    return invalid("the host starts with '[' but has no ']'");
  }
  if (parts.flaw == url::HostPort::Flaw::junk_after_bracket) {
    return invalid("something else than ':PORT' follows the host's ']'");
  }
  host = parts.host;
  if (host.empty()) return invalid(fmt::format("no host, {}", kForms));
  if (parts.port.empty()) return Ok{};
  const auto told = url::port(parts.port);
  if (!told) return invalid("the port is not a number from 1 to 65535");
  port = *told;
  return Ok{};
}

// "HOST[:PORT],..."; `what` they are, for an error.
Result<std::vector<RedisAddress>> take_addresses(std::string_view hosts, std::uint16_t port,
                                                 std::string_view what) {
  std::vector<RedisAddress> addresses;
  if (hosts.ends_with(',')) return invalid(fmt::format("no host, {}", kForms));
  do {
    RedisAddress address{"", port};
    const std::string_view each = take_until(hosts, ',');
    if (Status taken = take_address(each, address.host, address.port); !taken.ok()) {
      return std::move(taken).error();
    }
    addresses.push_back(std::move(address));
  } while (!hosts.empty());
  if (addresses.size() > kHostsMax) {
    return Error{Errc::limit, fmt::format("more than {} {}", kHostsMax, what)};
  }
  return addresses;
}

// Takes login and database off; what is left are hosts.
Status take_login_and_db(std::string_view& rest, RedisOptions& redis) {
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return invalid("'?' and '#' are not accepted here; in a password write %3F and %23");
  }
  const std::size_t slash =
      rest.find('/', rest.rfind('@') == std::string_view::npos ? 0 : rest.rfind('@'));
  if (slash != std::string_view::npos) {
    const std::string_view db = rest.substr(slash + 1);
    if (!db.empty()) {
      if (const auto taken = take_db(db, redis); !taken.ok()) return taken.error();
    }
    rest = rest.substr(0, slash);
  }
  take_login(rest, redis);
  return Ok{};
}

Status parse_tcp(std::string_view rest, RedisOptions& redis) {
  if (Status taken = take_login_and_db(rest, redis); !taken.ok()) return taken;
  return take_address(rest, redis.host, redis.port);
}

Status parse_cluster(std::string_view rest, RedisOptions& redis) {
  if (Status taken = take_login_and_db(rest, redis); !taken.ok()) return taken;
  if (redis.db != 0) {
    return invalid(
        "a Redis Cluster has database 0 alone: leave /DB out, and let nobody else use its "
        "reclaim: keys");
  }
  auto nodes = take_addresses(rest, kRedisPort, "nodes; a few are enough, the others are learned");
  if (!nodes) return std::move(nodes).error();
  redis.cluster = *std::move(nodes);
  return Ok{};
}

// The login of the sentinels, which is theirs alone.
Status take_sentinel_query(std::string_view query, RedisOptions& redis) {
  std::set<std::string_view> seen;
  while (!query.empty()) {
    const std::string_view part = take_until(query, '&');
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const std::string value =
        equals == std::string_view::npos ? "" : url::percent_decode(part.substr(equals + 1));
    if (name == "sentinel_username") {
      redis.sentinel_username = value;
    } else if (name == "sentinel_password") {
      redis.sentinel_password = value;
    } else {
      return invalid("only sentinel_username=U and sentinel_password=P may follow '?'");
    }
    if (!seen.insert(name).second) {
      return invalid(fmt::format("{} is given twice: give it once", name));
    }
  }
  if (redis.sentinel_password.empty() && !redis.sentinel_username.empty()) {
    return invalid("has a sentinel_username but no sentinel_password");
  }
  return Ok{};
}

Status parse_sentinel(std::string_view rest, RedisOptions& redis) {
  if (rest.find('#') != std::string_view::npos) {
    return invalid("'#' is not accepted here; in a password write %23");
  }
  std::string_view query = rest;
  rest = take_until(query, '?');
  if (const Status taken = take_sentinel_query(query, redis); !taken.ok()) return taken;
  take_login(rest, redis);
  std::string_view path = rest;
  std::string_view hosts = take_until(path, '/');
  std::string_view db = path;
  redis.sentinel_service = url::percent_decode(take_until(db, '/'));
  if (redis.sentinel_service.empty()) {
    return invalid(fmt::format("no name of a service behind the sentinels, {}", kForms));
  }
  if (!db.empty()) {
    if (const auto taken = take_db(db, redis); !taken.ok()) return taken.error();
  }
  auto sentinels = take_addresses(hosts, kSentinelPort, "sentinels");
  if (!sentinels) return std::move(sentinels).error();
  redis.sentinels = *std::move(sentinels);
  return Ok{};
}

}  // namespace

bool redis_has_tls() {
#ifdef RECLAIM_REDIS_TLS
  return true;
#else
  return false;
#endif
}

Status parse_redis_url(std::string_view text, RedisOptions& redis) {
  redis.host.clear();
  redis.sentinels.clear();
  redis.cluster.clear();
  redis.sentinel_service.clear();
  redis.sentinel_username.clear();
  redis.sentinel_password.clear();
  text = strip(text);
  if (text.size() > kUrlBytesMax) {
    return Error{Errc::limit, fmt::format("longer than {} bytes", kUrlBytesMax)};
  }
  if (text.find_first_of(std::string_view("\0\n\r\t ", 5)) != std::string_view::npos) {
    return invalid("holds white space or a line break");
  }
  const std::string_view scheme = text.substr(0, text.find("://"));
  redis.tls.enabled =
      scheme == "rediss" || scheme == "rediss+sentinel" || scheme == "rediss+cluster";
  if (redis.tls.enabled && !redis_has_tls()) {
    return invalid(
        "TLS (rediss://) needs hiredis_ssl, which Debian 13 has and this build has not, as Debian "
        "12 lacks it: use Debian 13, or a unix socket or a tunnel (docs/redis-servers.md)");
  }
  Status parsed = invalid(fmt::format("unknown form, {}", kForms));
  const std::string_view rest = text.substr(std::min(text.size(), scheme.size() + 3));
  if (scheme == "redis" || scheme == "rediss") parsed = parse_tcp(rest, redis);
  if (scheme == "redis+sentinel" || scheme == "rediss+sentinel")
    parsed = parse_sentinel(rest, redis);
  if (scheme == "redis+cluster" || scheme == "rediss+cluster") parsed = parse_cluster(rest, redis);
  if (scheme == "unix") parsed = parse_unix(rest, redis);
  if (!parsed.ok()) return parsed;
  std::string all = redis.host + redis.unix_socket + redis.username + redis.password +
                    redis.sentinel_service + redis.sentinel_username + redis.sentinel_password;
  for (const RedisAddress& sentinel : redis.sentinels) all += sentinel.host;
  for (const RedisAddress& node : redis.cluster) all += node.host;
  if (all.find('\0') != std::string::npos) return invalid("holds a NUL byte (%00)");
  if (redis.password.empty() && !redis.username.empty()) {
    return invalid("has a user but no password");
  }
  return Ok{};
}

}  // namespace reclaim::config
