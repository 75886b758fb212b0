#include "config/transport_url.h"

#include <fmt/core.h>

#include <algorithm>

#include "config/oslo/ini.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/url.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kAccepted = "accepted: rabbit, kombu, amqp";

Error invalid(std::string text) {
  return Error{Errc::invalid, std::move(text)};
}

Result<Ok> check_scheme(std::string_view text, std::size_t separator) {
  if (separator == std::string_view::npos || separator == 0) {
    return invalid("no scheme, a transport_url looks like rabbit://user:password@host:5672/vhost");
  }
  const std::string scheme = lower(text.substr(0, separator));
  if (scheme == "rabbit" || scheme == "kombu" || scheme == "amqp") return Ok{};
  if (scheme == "amqps" || scheme == "rabbits") {
    return invalid(
        fmt::format("scheme '{}' is not known to oslo.messaging, write rabbit:// and set "
                    "[oslo_messaging_rabbit] ssl = true (or ?ssl=1)",
                    scheme));
  }
  // The start of a URL whose "://" was forgotten may hold a password: quote only what can be a
  // scheme.
  const bool plain =
      scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos &&
      scheme.size() <= 20;
  return plain ? invalid(fmt::format("scheme '{}' is not supported, {}", scheme, kAccepted))
               : invalid(fmt::format("the scheme is not supported, {}", kAccepted));
}

Result<listener::AmqpHost> parse_host(std::string_view text, std::size_t index) {
  listener::AmqpHost host;
  if (auto login = url::take_login(text)) {
    host.user = std::move(login->username);
    host.password = std::move(login->password);
  }
  const url::HostPort parts = url::split_host(text);
  if (parts.flaw == url::HostPort::Flaw::no_closing_bracket) {
    return invalid(fmt::format("host {} starts with '[' but has no ']'", index));
  }
  if (parts.flaw == url::HostPort::Flaw::junk_after_bracket) {
    return invalid(fmt::format("host {} has something else than ':PORT' after ']'", index));
  }
  host.host = parts.host.empty() ? "localhost" : parts.host;
  if (parts.port.empty()) return host;
  const auto port = url::port(parts.port);
  if (!port) {
    // Never quotes the text: in a URL whose password holds a bare '/' or '#', this is where a part
    // of the password ends up.
    return invalid(
        fmt::format("the port of host {} is not a number from 1 to 65535 (in user names and "
                    "passwords '/', '?', '#', '@', ':' and ',' must be percent-encoded)",
                    index));
  }
  host.port = *port;
  return host;
}

Result<std::vector<listener::AmqpHost>> parse_hosts(std::string_view text) {
  std::vector<listener::AmqpHost> hosts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = strip(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (one.empty()) continue;
    if (hosts.size() == kTransportHostsMax) {
      return Error{Errc::limit, fmt::format("more than {} hosts", kTransportHostsMax)};
    }
    auto host = parse_host(one, hosts.size() + 1);
    if (!host.ok()) return host.error();
    hosts.push_back(*std::move(host));
  }
  if (hosts.empty()) hosts.push_back({"localhost", 5672, "guest", "guest"});
  return hosts;
}

std::string form_decode(std::string_view text) {
  std::string plus(text);
  std::replace(plus.begin(), plus.end(), '+', ' ');
  return url::percent_decode(plus);
}

// Python's parse_qs(): pairs without a value are dropped, repeated keys are joined by ','.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  while (!text.empty()) {
    const std::size_t ampersand = text.find('&');
    const std::string_view pair = text.substr(0, ampersand);
    text = ampersand == std::string_view::npos ? std::string_view{} : text.substr(ampersand + 1);
    const std::size_t equal = pair.find('=');
    if (equal == std::string_view::npos || equal + 1 == pair.size()) continue;
    std::string key = form_decode(pair.substr(0, equal));
    std::string value = form_decode(pair.substr(equal + 1));
    const auto seen = std::find_if(query.begin(), query.end(),
                                   [&](const auto& other) { return other.first == key; });
    if (seen == query.end()) {
      query.emplace_back(std::move(key), std::move(value));
    } else {
      seen->second += ',' + value;
    }
  }
  return query;
}

}  // namespace

Result<TransportUrl> parse_transport_url(std::string_view text) {
  text = strip(text);
  if (text.size() > kTransportUrlBytesMax) {
    return Error{Errc::limit, fmt::format("longer than {} bytes", kTransportUrlBytesMax)};
  }
  if (text.empty()) return invalid("empty");
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; })) {
    return invalid("holds a control character or a line break");
  }
  const std::size_t separator = text.find("://");
  if (const auto scheme = check_scheme(text, separator); !scheme.ok()) return scheme.error();
  std::string_view rest = text.substr(separator + 3);
  if (rest.find('#') != std::string_view::npos) {
    return invalid("holds a bare '#', which cuts a URL short: write it as %23");
  }

  TransportUrl out;
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    out.query = parse_query(rest.substr(question + 1));
    rest = rest.substr(0, question);
  }
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    const std::string virtual_host = url::percent_decode(rest.substr(slash + 1));
    if (!virtual_host.empty()) out.virtual_host = virtual_host;
    rest = rest.substr(0, slash);
  }
  auto hosts = parse_hosts(rest);
  if (!hosts.ok()) return hosts.error();
  out.hosts = *std::move(hosts);
  for (const listener::AmqpHost& host : out.hosts) {
    if ((host.user + host.password + host.host + out.virtual_host).find('\0') !=
        std::string::npos) {
      return invalid("holds a NUL byte (%00)");
    }
  }
  return out;
}

std::string redacted(const TransportUrl& bus) {
  std::string out = "rabbit://";
  for (std::size_t i = 0; i < bus.hosts.size(); ++i) {
    const listener::AmqpHost& host = bus.hosts[i];
    const bool v6 = host.host.find(':') != std::string::npos;
    out += fmt::format("{}{}:***@{}{}{}:{}", i == 0 ? "" : ",", url::percent_encode(host.user),
                       v6 ? "[" : "", printable_excerpt(host.host, 255), v6 ? "]" : "", host.port);
  }
  out += '/' + url::percent_encode(bus.virtual_host);
  for (std::size_t i = 0; i < bus.query.size(); ++i) {
    out += fmt::format("{}{}=***", i == 0 ? '?' : '&', url::percent_encode(bus.query[i].first));
  }
  return out;
}

}  // namespace reclaim::config
