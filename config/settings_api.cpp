// [api] and [keystone_authtoken]: where the device API listens, and whose tokens it takes.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "config/settings_parts.h"
#include "state/base/log.h"
#include "state/base/url.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kGroup = "api";
constexpr std::size_t kAddressesMax = 16;
constexpr std::size_t kAddressBytes = 255;
constexpr std::size_t kSocketPathBytesMax = 107;  // of sun_path, less its end
constexpr std::string_view kEverybodyHere =
    ": every user of this host may connect, and with auth = none do everything";

struct Bound {
  bool good = false;
  bool loopback = false;
  std::string plain;  // a v4-mapped address, as it has to be written
};

// "ADDRESS:PORT", IPv6 in brackets. A name is not accepted: what it means would be known only when
// the worker starts, and whether it is loopback not at all.
Bound look_at(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || !url::number(std::string_view(text).substr(colon + 1), 65535))
    return {};
  const std::string host = text.substr(0, colon);
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return {true, (ntohl(v4.s_addr) >> 24U) == 127, {}};
  }
  if (host.size() < 4 || host.front() != '[' || host.back() != ']') return {};
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) != 1) return {};
  std::string plain;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    const auto& bytes = v6.s6_addr;
    plain = fmt::format("{}.{}.{}.{}{}", bytes[12], bytes[13], bytes[14], bytes[15],
                        text.substr(colon));
  }
  return {true, IN6_IS_ADDR_LOOPBACK(&v6) != 0, plain};
}

void check_bind(const Reading& reading, ApiSettings& api) {
  const Reader& read = reading.read;
  if (api.http.bind.size() > kAddressesMax) {
    read.complain(kGroup, "bind", fmt::format(" has more than {} addresses", kAddressesMax));
  }
  for (const std::string& address : api.http.bind) {
    const Bound bound = look_at(address);
    if (!bound.good) {
      read.refuse(kGroup, "bind", address,
                  "is not ADDRESS:PORT, like 192.0.2.7:6667 or [::1]:6667 (a numeric address, IPv6 "
                  "in brackets)");
    } else if (!bound.plain.empty()) {
      // The server's IPv6 sockets take IPv6 alone, so that a bind to it would fail.
      read.refuse(kGroup, "bind", address,
                  "is an IPv4 address in IPv6's form: write " + bound.plain);
    } else if (!bound.loopback && api.auth == ApiAuth::none) {
      read.refuse(
          kGroup, "bind", address,
          "is not a loopback address, and with auth = none every client that reaches it may do "
          "everything: bind 127.0.0.1 or [::1], use unix_socket, or set auth = keystone");
    } else if (!bound.loopback && api.http.tls_cert_file.empty()) {
      reading.warn(kGroup, "bind",
                   fmt::format(": tokens come to {} in the clear, for cert_file is not set",
                               printable_excerpt(address, kAddressBytes)));
    }
  }
  if (!api.http.bind.empty() && api.auth == ApiAuth::none) {
    reading.warn(kGroup, "bind", kEverybodyHere);
  }
}

void read_socket(const Reading& reading, ApiSettings& api) {
  const Reader& read = reading.read;
  const std::string mode = read.string(kGroup, "unix_socket_mode");
  const auto [end, error] =
      std::from_chars(mode.data(), mode.data() + mode.size(), api.http.unix_socket_mode, 8);
  if (mode.empty() || error != std::errc{} || end != mode.data() + mode.size() ||
      api.http.unix_socket_mode > 0777) {
    read.refuse(kGroup, "unix_socket_mode", mode,
                "is not an octal number from 0 to 0777, like 0660");
    api.http.unix_socket_mode = ApiSettings{}.http.unix_socket_mode;
  }
  if (api.http.unix_socket.empty()) return;
  if (api.http.unix_socket.size() > kSocketPathBytesMax) {
    read.complain(kGroup, "unix_socket",
                  fmt::format(" is longer than {} bytes, which is all a socket's path may have",
                              kSocketPathBytesMax));
  }
  constexpr std::uint32_t kOthersWrite = 0002;
  if (api.auth == ApiAuth::none && (api.http.unix_socket_mode & kOthersWrite) != 0) {
    reading.warn(kGroup, "unix_socket_mode", kEverybodyHere);
  }
}

// True if the process that is told this validates tokens. The worker never does: strangers' bytes
// are read by none that holds the drives.
bool validates_tokens(const ApiSettings& api, Purpose purpose) {
  return purpose != Purpose::serve && api.on() && api.auth == ApiAuth::keystone;
}

}  // namespace

void read_api(const Reading& reading, Settings& settings) {
  ApiSettings& api = settings.api;
  fill_group(reading, kGroup, settings);
  check_pair(reading, kGroup, "cert_file", api.http.tls_cert_file, "key_file",
             api.http.tls_key_file);
  check_bind(reading, api);
  read_socket(reading, api);
  if (reading.purpose == Purpose::api && !api.on()) {
    reading.read.complain(kGroup, "bind",
                          " and unix_socket are not set: `reclaim api` has nowhere to listen");
  }
  if (!api.http.tls_cert_file.empty() && api.http.bind.empty()) {
    reading.warn(kGroup, "cert_file", " has no effect, for bind is not set");
  }
}

void read_tokens(const Reading& reading, Settings& settings) {
  constexpr std::string_view kTokens = "keystone_authtoken";
  placement::TokenOptions& tokens = settings.tokens;
  const Target target{settings, &tokens.session};
  tokens.session.valid_interfaces = {reading.read.string(kTokens, "interface")};
  read_session(reading, kTokens, target);
  tokens.cache_time_ms = std::max<std::int64_t>(0, tokens.cache_time_ms);  // -1: no cache
  if (!validates_tokens(settings.api, reading.purpose)) return;
  settings.logins.tokens = read_auth(
      reading, kTokens,
      "to validate the tokens of the device API's callers, unless [api] auth = none", target);
  if (!settings.logins.tokens.empty() && settings.www_authenticate_uri.empty()) {
    settings.www_authenticate_uri = tokens.session.auth_url;
  }
}

}  // namespace reclaim::config
