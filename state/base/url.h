// The parts that URLs of brokers, of Redis and of services have alike. Which forms are accepted,
// and what an error says, is the business of whoever asks. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reclaim::url {

// The byte that `text` begins with as an escape, as "%41" with 'A'.
[[nodiscard]] std::optional<char> escaped(std::string_view text);
// "%41" becomes "A"; what is not an escape stays as it is, as Python's unquote() leaves it.
[[nodiscard]] std::string percent_decode(std::string_view text);
// Encodes everything but RFC 3986's unreserved characters.
[[nodiscard]] std::string percent_encode(std::string_view text);

// Decoded; without a ':' there is no password.
struct Login {
  std::string username;
  std::string password;
};
// Takes "user:password@", up to the last '@', off the front.
[[nodiscard]] std::optional<Login> take_login(std::string_view& rest);

// "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT"; the port is empty where there is none.
struct HostPort {
  enum class Flaw { none, no_closing_bracket, junk_after_bracket };
  Flaw flaw = Flaw::none;
  std::string_view host;  // without brackets
  std::string_view port;
};
[[nodiscard]] HostPort split_host(std::string_view text);

// Nothing where it is not a decimal number from 0 to `max`.
[[nodiscard]] std::optional<unsigned> number(std::string_view text, unsigned max);
// A port from 1 to 65535; nothing: it is none.
[[nodiscard]] std::optional<std::uint16_t> port(std::string_view text);

}  // namespace reclaim::url
