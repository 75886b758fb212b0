// [redis] url: the forms redis-cli and redis-py understand.
#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "config/settings.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;
constexpr std::size_t kSocketPathBytesMax = 107;  // sockaddr_un.sun_path with its terminator
constexpr unsigned kDbMax = 65535;
constexpr std::string_view kForms =
    "accepted: redis://[USER:PASSWORD@]HOST[:PORT][/DB] and unix://[USER:PASSWORD@]/PATH[?db=N]";

Error invalid(std::string text) {
  return Error{Errc::invalid, std::move(text)};
}

std::optional<unsigned> number(std::string_view text, unsigned max) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > max) {
    return std::nullopt;
  }
  return value;
}

Status take_db(std::string_view text, RedisOptions& redis) {
  const auto db = number(text, kDbMax);
  if (!db) return invalid("the database is not a number");
  redis.db = static_cast<int>(*db);
  return Ok{};
}

// Takes "user:password@" off the front.
void take_credentials(std::string_view& rest, RedisOptions& redis) {
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return;
  const std::string_view credentials = rest.substr(0, at);
  const std::size_t colon = credentials.find(':');
  redis.username = percent_decode(credentials.substr(0, colon));
  redis.password = colon == std::string_view::npos ? std::string{}
                                                   : percent_decode(credentials.substr(colon + 1));
  rest.remove_prefix(at + 1);
}

Status parse_unix(std::string_view rest, RedisOptions& redis) {
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    const std::string_view query = rest.substr(question + 1);
    if (!query.starts_with("db=")) return invalid("only db=N may stand after '?'");
    if (const auto db = take_db(query.substr(3), redis); !db.ok()) return db.error();
    rest = rest.substr(0, question);
  }
  // The user's part ends at the '@' before the path; a path may hold '@' itself.
  std::string_view path = rest;
  if (!rest.starts_with('/')) {
    const std::size_t end = rest.find("@/");
    if (end == std::string_view::npos) return invalid("the socket's path must start with '/'");
    std::string_view credentials = rest.substr(0, end + 1);
    take_credentials(credentials, redis);
    path = rest.substr(end + 1);
  }
  redis.unix_socket = percent_decode(path);
  if (redis.unix_socket.size() < 2) return invalid("no path of a socket");
  if (redis.unix_socket.size() > kSocketPathBytesMax) {
    return Error{Errc::limit,
                 fmt::format("the socket's path is longer than {} bytes", kSocketPathBytesMax)};
  }
  return Ok{};
}

Status parse_tcp(std::string_view rest, RedisOptions& redis) {
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
  take_credentials(rest, redis);
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return invalid("the host starts with '[' but has no ']'");
    redis.host = rest.substr(1, close - 1);
    const std::string_view after = rest.substr(close + 1);
    if (!after.empty() && after.front() != ':') {
      return invalid("something else than ':PORT' follows the host's ']'");
    }
    if (!after.empty()) port = after.substr(1);
  } else {
    const std::size_t colon = rest.find(':');
    redis.host = rest.substr(0, colon);
    if (colon != std::string_view::npos) port = rest.substr(colon + 1);
  }
  if (redis.host.empty()) return invalid(fmt::format("no host, {}", kForms));
  if (!port.empty()) {
    const auto value = number(port, 65535);
    if (!value || *value == 0) return invalid("the port is not a number from 1 to 65535");
    redis.port = static_cast<std::uint16_t>(*value);
  }
  return Ok{};
}

}  // namespace

Status parse_redis_url(std::string_view text, RedisOptions& redis) {
  redis.host.clear();
  text = strip(text);
  if (text.size() > kUrlBytesMax) {
    return Error{Errc::limit, fmt::format("longer than {} bytes", kUrlBytesMax)};
  }
  if (text.find_first_of(std::string_view("\0\n\r\t ", 5)) != std::string_view::npos) {
    return invalid("holds white space or a line break");
  }
  if (text.starts_with("rediss://")) {
    return invalid("TLS (rediss://) is not supported, use a unix socket or a tunnel");
  }
  Status parsed = invalid(fmt::format("unknown form, {}", kForms));
  if (text.starts_with("redis://")) parsed = parse_tcp(text.substr(8), redis);
  if (text.starts_with("unix://")) parsed = parse_unix(text.substr(7), redis);
  if (!parsed.ok()) return parsed;
  const std::string all = redis.host + redis.unix_socket + redis.username + redis.password;
  if (all.find('\0') != std::string::npos) return invalid("holds a NUL byte (%00)");
  if (redis.password.empty() && !redis.username.empty()) {
    return invalid("has a user but no password");
  }
  return Ok{};
}

}  // namespace reclaim::config
