// [redis] url: the forms redis-cli and redis-py understand.
#include <fmt/core.h>

#include <utility>

#include "config/settings.h"
#include "state/base/log.h"
#include "state/base/url.h"

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
  take_login(rest, redis);
  const url::HostPort parts = url::split_host(rest);
  redis.host = parts.host;
  if (parts.flaw == url::HostPort::Flaw::no_closing_bracket) {
    return invalid("the host starts with '[' but has no ']'");
  }
  if (parts.flaw == url::HostPort::Flaw::junk_after_bracket) {
    return invalid("something else than ':PORT' follows the host's ']'");
  }
  if (redis.host.empty()) return invalid(fmt::format("no host, {}", kForms));
  if (!parts.port.empty()) {
    const auto port = url::port(parts.port);
    if (!port) return invalid("the port is not a number from 1 to 65535");
    redis.port = *port;
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
