#include "state/base/url.h"

#include <fmt/core.h>

#include "state/base/text.h"

namespace reclaim::url {

std::optional<char> escaped(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const auto byte = parse_number<unsigned char>(text.substr(1, 2), 16);
  return byte ? std::optional(static_cast<char>(*byte)) : std::nullopt;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = escaped(text.substr(i));
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<Login> take_login(std::string_view& rest) {
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view text = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  const std::size_t colon = text.find(':');
  Login login{percent_decode(text.substr(0, colon)), {}};
  if (colon != std::string_view::npos) login.password = percent_decode(text.substr(colon + 1));
  return login;
}

HostPort split_host(std::string_view text) {
  HostPort out;
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return {HostPort::Flaw::no_closing_bracket, {}, {}};
    out.host = text.substr(1, close - 1);
    end = close + 1;
    if (end < text.size() && text[end] != ':')
      return {HostPort::Flaw::junk_after_bracket, out.host, {}};
  } else {
    out.host = text.substr(0, end);
  }
  if (end < text.size()) out.port = text.substr(end + 1);
  return out;
}

std::optional<unsigned> number(std::string_view text, unsigned max) {
  const auto value = parse_number<unsigned>(text);
  return value && *value <= max ? value : std::nullopt;
}

std::optional<std::uint16_t> port(std::string_view text) {
  const auto value = number(text, 65535);
  if (!value || *value == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

}  // namespace reclaim::url
