#include "state/base/url.h"

#include <fmt/core.h>

#include <charconv>

namespace reclaim::url {
namespace {

template <typename T>
bool read_all(std::string_view text, T& value, int base) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value, base);
  return !text.empty() && error == std::errc{} && end == last;
}

}  // namespace

std::optional<char> escaped(std::string_view text) {
  unsigned char byte = 0;
  if (text.size() < 3 || text[0] != '%' || !read_all(text.substr(1, 2), byte, 16)) {
    return std::nullopt;
  }
  return static_cast<char>(byte);
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
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
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
  unsigned value = 0;
  if (!read_all(text, value, 10) || value > max) return std::nullopt;
  return value;
}

std::optional<std::uint16_t> port(std::string_view text) {
  const auto value = number(text, 65535);
  if (!value || *value == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

}  // namespace reclaim::url
