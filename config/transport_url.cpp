#include "config/transport_url.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "config/oslo/ini.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kAccepted = "accepted: rabbit, kombu, amqp";
constexpr std::string_view kDefaultUser = "guest";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error invalid(std::string text) {
  return Error{Errc::invalid, std::move(text)};
}

std::string lower(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
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

// A port, or nothing where the text is empty. Never quotes the text: in a URL whose password holds
// a bare '/' or '#', this is where a part of the password ends up.
Result<std::optional<std::uint16_t>> parse_port(std::string_view text, std::size_t index) {
  if (text.empty()) return std::optional<std::uint16_t>{};
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0 || port > 65535) {
    return invalid(
        fmt::format("the port of host {} is not a number from 1 to 65535 (in user names and "
                    "passwords '/', '?', '#', '@', ':' and ',' must be percent-encoded)",
                    index));
  }
  return std::optional<std::uint16_t>{static_cast<std::uint16_t>(port)};
}

Result<TransportHost> parse_host(std::string_view text, std::size_t index) {
  TransportHost host;
  host.username = kDefaultUser;
  host.password = kDefaultUser;
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view credentials = text.substr(0, at);
    const std::size_t colon = credentials.find(':');
    host.username = percent_decode(credentials.substr(0, colon));
    host.password = colon == std::string_view::npos ? std::string{}
                                                    : percent_decode(credentials.substr(colon + 1));
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return invalid(fmt::format("host {} starts with '[' but has no ']'", index));
    }
    const std::string_view after = text.substr(close + 1);
    if (!after.empty() && after.front() != ':') {
      return invalid(fmt::format("host {} has something else than ':PORT' after ']'", index));
    }
    if (!after.empty()) port = after.substr(1);
    host.host = text.substr(1, close - 1);
  } else {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
    host.host = text.substr(0, colon);
  }
  if (host.host.empty()) host.host = "localhost";
  const auto number = parse_port(port, index);
  if (!number.ok()) return number.error();
  if (*number) host.port = **number;
  return host;
}

Result<std::vector<TransportHost>> parse_hosts(std::string_view text) {
  std::vector<TransportHost> hosts;
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
  return percent_decode(plus);
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

std::string encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

Result<TransportUrl> parse_transport_url(std::string_view text) {
  text = strip(text);
  if (text.size() > kTransportUrlBytesMax) {
    return Error{Errc::limit, fmt::format("longer than {} bytes", kTransportUrlBytesMax)};
  }
  if (text.empty()) return invalid("empty");
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < 0x20; })) {
    return invalid("holds a control character or a line break");
  }
  const std::size_t separator = text.find("://");
  if (const auto scheme = check_scheme(text, separator); !scheme.ok()) return scheme.error();
  std::string_view rest = text.substr(separator + 3);
  if (rest.find('#') != std::string_view::npos) {
    return invalid("holds a bare '#', which cuts a URL short: write it as %23");
  }

  TransportUrl url;
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    url.query = parse_query(rest.substr(question + 1));
    rest = rest.substr(0, question);
  }
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    const std::string virtual_host = percent_decode(rest.substr(slash + 1));
    if (!virtual_host.empty()) url.virtual_host = virtual_host;
    rest = rest.substr(0, slash);
  }
  auto hosts = parse_hosts(rest);
  if (!hosts.ok()) return hosts.error();
  url.hosts = *std::move(hosts);
  for (const TransportHost& host : url.hosts) {
    if ((host.username + host.password + host.host + url.virtual_host).find('\0') !=
        std::string::npos) {
      return invalid("holds a NUL byte (%00)");
    }
  }
  return url;
}

std::string redacted(const TransportUrl& url) {
  std::string out = "rabbit://";
  for (std::size_t i = 0; i < url.hosts.size(); ++i) {
    const TransportHost& host = url.hosts[i];
    const bool v6 = host.host.find(':') != std::string::npos;
    out += fmt::format("{}{}:***@{}{}{}:{}", i == 0 ? "" : ",", encode(host.username),
                       v6 ? "[" : "", printable_excerpt(host.host, 255), v6 ? "]" : "", host.port);
  }
  out += '/' + encode(url.virtual_host);
  for (std::size_t i = 0; i < url.query.size(); ++i) {
    out += fmt::format("{}{}=***", i == 0 ? '?' : '&', encode(url.query[i].first));
  }
  return out;
}

}  // namespace reclaim::config
