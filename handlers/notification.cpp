#include "handlers/notification.h"

#include <fmt/core.h>

#include "handlers/notification_json.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

using Token = JsonScanner::Token;

// Names and ids are short; anything longer is no notification of Nova's.
constexpr std::size_t kTextBytesMax = 255;
constexpr std::size_t kInnerKeepBytesMax = std::size_t{256} << 10U;

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

std::string_view describe(Token token, std::string_view raw) {
  switch (token) {
    case Token::object_begin:
      return "an object";
    case Token::array_begin:
      return "a list";
    case Token::string:
      return "a text";
    case Token::number:
      return "a number";
    case Token::literal:
      return raw == "null" ? "null" : "a truth value";
    default:
      return "nothing";
  }
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

bool plain_equal(std::string_view raw, bool escaped, std::string& scratch, std::string_view name) {
  if (!escaped) return raw == name;
  json_unescape(raw, scratch);
  return scratch == name;
}

// A value is at hand in `scanner` (the token just read); runs past it.
bool skip(JsonScanner& scanner, Token token) {
  if (token == Token::error) return false;
  if (token == Token::object_begin || token == Token::array_begin) return scanner.skip_container();
  return true;
}

// A member that must be a text, or may also be null or absent.
struct TextMember {
  bool seen = false;
  Token token = Token::end;
  std::string_view raw;
  bool escaped = false;

  // Takes the first occurrence; the value is at hand.
  void take(const JsonScanner& scanner, Token value) {
    if (seen) return;
    seen = true;
    token = value;
    raw = scanner.raw();
    escaped = scanner.escaped();
  }
  [[nodiscard]] bool is_null() const { return token == Token::literal && raw == "null"; }
  // The text, or the empty one when it is none, or too long to be what it should be.
  [[nodiscard]] std::string lenient() const {
    std::string out;
    if (seen && token == Token::string) json_unescape(raw, out);
    if (out.size() > kTextBytesMax) out.clear();
    return out;
  }
  [[nodiscard]] Result<std::string> strict(std::string_view name) const {
    if (!seen || token != Token::string) {
      return invalid(
          fmt::format("{} is {}, a text is needed", name, seen ? describe(token, raw) : "absent"));
    }
    std::string out;
    json_unescape(raw, out);
    if (out.size() > kTextBytesMax) {
      return invalid(fmt::format("{} is {} bytes long, at most {} make sense", name, out.size(),
                                 kTextBytesMax));
    }
    return out;
  }
};

struct Span {
  bool seen = false;
  bool is_object = false;
  std::string_view kind;
  std::string_view text;
};

// The span of the value that `scanner` stands at the first token of, skipping it.
bool take_span(JsonScanner& scanner, Token token, std::string_view text, Span& span) {
  const std::size_t begin = scanner.offset() - 1;  // an opening bracket is one byte
  const std::string_view kind = describe(token, scanner.raw());
  if (!skip(scanner, token)) return false;
  if (span.seen) return true;
  span.seen = true;
  span.kind = kind;
  span.is_object = token == Token::object_begin;
  if (span.is_object) span.text = text.substr(begin, scanner.offset() - begin);
  return true;
}

struct TopLevel {
  TextMember oslo_version, oslo_message;
  TextMember event_type, publisher_id, message_id, request_id;
  Span payload;
};

// Reads every member of the top-level object; nothing of it is judged yet. Only the members a
// notification has are kept, so that no other `_context_*` is as much as looked at.
Status read_top_level(std::string_view text, std::string_view what, std::string& scratch,
                      TopLevel& top) {
  const auto broken = [&](const JsonScanner& scanner) {
    return invalid(fmt::format("{} is not JSON: {}", what, scanner.error()));
  };
  JsonScanner scanner(text);
  const Token first = scanner.next();
  if (first == Token::error) return broken(scanner);
  if (first != Token::object_begin) {
    const std::string_view kind = describe(first, scanner.raw());
    if (!skip(scanner, first) || scanner.next() != Token::end) return broken(scanner);
    return invalid(fmt::format("{} is {}, a JSON object is needed", what, kind));
  }
  while (true) {
    const Token token = scanner.next();
    if (token == Token::object_end) break;
    if (token != Token::key) return broken(scanner);
    const std::string_view raw = scanner.raw();
    const bool escaped = scanner.escaped();
    const auto is = [&](std::string_view name) { return plain_equal(raw, escaped, scratch, name); };
    TextMember* member = is("oslo.version")          ? &top.oslo_version
                         : is("oslo.message")        ? &top.oslo_message
                         : is("event_type")          ? &top.event_type
                         : is("publisher_id")        ? &top.publisher_id
                         : is("message_id")          ? &top.message_id
                         : is("_context_request_id") ? &top.request_id
                                                     : nullptr;
    const bool is_payload = member == nullptr && is("payload");
    const Token value = scanner.next();
    if (value == Token::error) return broken(scanner);
    if (member != nullptr) member->take(scanner, value);
    const bool good =
        is_payload ? take_span(scanner, value, text, top.payload) : skip(scanner, value);
    if (!good) return broken(scanner);
  }
  if (scanner.next() != Token::end) return broken(scanner);
  return Ok{};
}

struct PayloadFields {
  TextMember version, host, uuid, instance_id;
  Span data;
};

// `text` is an object that has been scanned before, so that no error can come up.
void read_payload(std::string_view text, std::string& scratch, PayloadFields& fields) {
  JsonScanner scanner(text);
  CHECK(scanner.next() == Token::object_begin);
  while (scanner.next() == Token::key) {
    std::string_view name = scanner.raw();
    if (scanner.escaped()) {
      json_unescape(name, scratch);
      name = scratch;
    }
    TextMember* member = ends_with(name, "_object.version") ? &fields.version
                         : name == "host"                   ? &fields.host
                         : name == "uuid"                   ? &fields.uuid
                         : name == "instance_id"            ? &fields.instance_id
                                                            : nullptr;
    const bool is_data = ends_with(name, "_object.data");
    const Token value = scanner.next();
    if (member != nullptr) member->take(scanner, value);
    CHECK(is_data ? take_span(scanner, value, text, fields.data) : skip(scanner, value));
  }
}

// Minor versions only add; another major may mean anything by the same names.
Status check_payload_version(const std::string& version) {
  const std::size_t dot = version.find('.');
  if (version.substr(0, dot) == "1") return Ok{};
  return invalid(
      fmt::format("payload version '{}' is not known, 1.x is", printable_excerpt(version, 16)));
}

Status take_host(const TextMember& host, Notification& out) {
  if (!host.seen || host.is_null()) return Ok{};
  Result<std::string> text = host.strict("the payload's host");
  if (!text) return std::move(text).error();
  if (!text->empty()) out.host = std::move(*text);
  return Ok{};
}

Status take_payload(const Span& payload, std::string& scratch, Notification& out) {
  if (!payload.is_object) {
    return invalid(
        fmt::format("payload is {}, an object is needed", payload.seen ? payload.kind : "absent"));
  }
  PayloadFields fields;
  read_payload(payload.text, scratch, fields);
  out.versioned = fields.data.seen;
  if (!out.versioned) {
    out.instance_uuid = fields.instance_id.lenient();
    return take_host(fields.host, out);
  }
  Result<std::string> version = fields.version.strict("the payload's object version");
  if (!version) return std::move(version).error();
  out.payload_version = std::move(*version);
  const Status known = check_payload_version(out.payload_version);
  if (!known) return known.error();
  if (!fields.data.is_object) {
    return invalid(
        fmt::format("the payload's object data is {}, an object is needed", fields.data.kind));
  }
  PayloadFields data;
  read_payload(fields.data.text, scratch, data);
  out.instance_uuid = data.uuid.lenient();
  return take_host(data.host, out);
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

Status check_envelope_version(const TextMember& member) {
  Result<std::string> version = member.strict("oslo.version");
  if (!version) return std::move(version).error();
  if (*version == "2.0" || *version == "2.0.0") return Ok{};
  return invalid(fmt::format("oslo envelope version '{}' is not known, 2.0 is",
                             printable_excerpt(*version, 16)));
}

}  // namespace

Result<Notification> NotificationDecoder::decode(std::string_view body,
                                                 bool (*wants_payload)(std::string_view)) {
  event_type_seen_.clear();
  if (body.size() > body_bytes_max_) {
    return Error{Errc::limit, fmt::format("the body of {} bytes is over the limit of {} bytes",
                                          body.size(), body_bytes_max_)};
  }
  if (const char* compression = compression_of(body)) {
    return invalid(
        fmt::format("the body is compressed ({}); leave kombu_compression unset in the "
                    "publisher's [oslo_messaging_rabbit]",
                    compression));
  }
  TopLevel top;
  const Status outer = read_top_level(body, "the body", scratch_, top);
  if (!outer) return outer.error();
  // oslo.messaging takes a body for an envelope only if it has both members.
  if (!top.oslo_version.seen || !top.oslo_message.seen) {
    return decode_message(body, wants_payload);
  }
  const Status version = check_envelope_version(top.oslo_version);
  if (!version) return version.error();
  if (top.oslo_message.token != Token::string) {
    return invalid(fmt::format("oslo.message is {}, a text is needed",
                               describe(top.oslo_message.token, top.oslo_message.raw)));
  }
  json_unescape(top.oslo_message.raw, inner_);
  Result<Notification> notification = decode_message(inner_, wants_payload);
  if (inner_.capacity() > kInnerKeepBytesMax) {
    inner_.clear();
    inner_.shrink_to_fit();
  }
  return notification;
}

Result<Notification> NotificationDecoder::decode_message(std::string_view text,
                                                         bool (*wants_payload)(std::string_view)) {
  TopLevel top;
  const Status read = read_top_level(text, "the message", scratch_, top);
  if (!read) return read.error();
  Result<std::string> event_type = top.event_type.strict("event_type");
  if (!event_type) return std::move(event_type).error();
  Notification out;
  out.event_type = std::move(*event_type);
  event_type_seen_ = out.event_type;
  out.message_id = top.message_id.lenient();
  out.request_id = top.request_id.lenient();
  if (!wants_payload(out.event_type)) {
    out.publisher_id = top.publisher_id.lenient();
    return out;
  }
  if (top.publisher_id.seen && !top.publisher_id.is_null()) {
    Result<std::string> publisher = top.publisher_id.strict("publisher_id");
    if (!publisher) return std::move(publisher).error();
    out.publisher_id = std::move(*publisher);
  }
  const Status payload = take_payload(top.payload, scratch_, out);
  if (!payload) return payload.error();
  return out;
}

}  // namespace reclaim
