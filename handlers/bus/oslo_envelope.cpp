#include "handlers/bus/oslo_envelope.h"

#include <fmt/core.h>

#include "handlers/bus/json_member.h"
#include "handlers/bus/json_scanner.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

using Token = JsonScanner::Token;

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

// A kombu publisher with compression on sends the compressed bytes as the body.
const char* compression_of(std::string_view body) {
  const auto begins = [body](std::string_view magic) {
    return body.substr(0, magic.size()) == magic;
  };
  if (begins("\x1f\x8b")) return "gzip";
  if (begins("\x78\x01") || begins("\x78\x9c") || begins("\x78\xda")) return "zlib";
  if (begins("BZh")) return "bzip2";
  if (begins("\xfd"
             "7zXZ"))
    return "xz";
  if (begins("\x28\xb5\x2f\xfd")) return "zstd";
  return nullptr;
}

struct Envelope {
  TextMember version, message;
};

// Reads every member of the outer object, so that what follows the message is JSON too.
Status read_envelope(std::string_view body, Envelope& envelope) {
  std::string scratch;
  JsonScanner scanner(body);
  const auto broken = [&] {
    return invalid(fmt::format("the body is not JSON: {}", scanner.error()));
  };
  const Token first = scanner.next();
  if (first == Token::error) return broken();
  if (first != Token::object_begin) {
    const std::string_view kind = describe(first, scanner.raw());
    if (!skip_value(scanner, first) || scanner.next() != Token::end) return broken();
    return invalid(fmt::format("the body is {}, a JSON object is needed", kind));
  }
  while (true) {
    const Token token = scanner.next();
    if (token == Token::object_end) break;
    if (token != Token::key) return broken();
    const std::string_view raw = scanner.raw();
    const bool escaped = scanner.escaped();
    TextMember* member = spells(raw, escaped, scratch, "oslo.version")   ? &envelope.version
                         : spells(raw, escaped, scratch, "oslo.message") ? &envelope.message
                                                                         : nullptr;
    const Token value = scanner.next();
    if (member != nullptr && value != Token::error) member->take(scanner, value);
    if (!skip_value(scanner, value)) return broken();
  }
  if (scanner.next() != Token::end) return broken();
  return Ok{};
}

Status check_version(const TextMember& member) {
  Result<std::string> version = member.strict("oslo.version");
  if (!version) return std::move(version).error();
  if (*version == "2.0" || *version == "2.0.0") return Ok{};
  return invalid(fmt::format("oslo envelope version '{}' is not known, 2.0 is",
                             printable_excerpt(*version, 16)));
}

}  // namespace

Result<OsloMessage> open_envelope(std::string_view body, std::size_t body_bytes_max,
                                  std::string& inner) {
  if (body.size() > body_bytes_max) {
    return Error{Errc::limit, fmt::format("the body of {} bytes is over the limit of {} bytes",
                                          body.size(), body_bytes_max)};
  }
  if (const char* compression = compression_of(body)) {
    return invalid(
        fmt::format("the body is compressed ({}); leave kombu_compression unset in the "
                    "publisher's [oslo_messaging_rabbit]",
                    compression));
  }
  Envelope envelope;
  const Status outer = read_envelope(body, envelope);
  if (!outer) return outer.error();
  // oslo.messaging takes a body for an envelope only if it has both members.
  if (!envelope.version.seen || !envelope.message.seen) return OsloMessage{body, "the body"};
  const Status version = check_version(envelope.version);
  if (!version) return version.error();
  if (envelope.message.token != Token::string) {
    return invalid(fmt::format("oslo.message is {}, a text is needed",
                               describe(envelope.message.token, envelope.message.raw)));
  }
  json_unescape(envelope.message.raw, inner);
  return OsloMessage{inner, "the message"};
}

}  // namespace reclaim
