#include "handlers/bus/notification.h"

#include <fmt/core.h>

#include "handlers/arq/notification.h"
#include "handlers/bus/json_member.h"
#include "handlers/bus/json_scanner.h"
#include "handlers/bus/oslo_envelope.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

using Token = JsonScanner::Token;

constexpr std::size_t kInnerKeepBytesMax = std::size_t{256} << 10U;

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

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
  if (!skip_value(scanner, token)) return false;
  if (span.seen) return true;
  span.seen = true;
  span.kind = kind;
  span.is_object = token == Token::object_begin;
  if (span.is_object) span.text = text.substr(begin, scanner.offset() - begin);
  return true;
}

struct TopLevel {
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
    if (!skip_value(scanner, first) || scanner.next() != Token::end) return broken(scanner);
    return invalid(fmt::format("{} is {}, a JSON object is needed", what, kind));
  }
  while (true) {
    const Token token = scanner.next();
    if (token == Token::object_end) break;
    if (token != Token::key) return broken(scanner);
    const std::string_view raw = scanner.raw();
    const bool escaped = scanner.escaped();
    const auto is = [&](std::string_view name) { return spells(raw, escaped, scratch, name); };
    TextMember* member = is("event_type")            ? &top.event_type
                         : is("publisher_id")        ? &top.publisher_id
                         : is("message_id")          ? &top.message_id
                         : is("_context_request_id") ? &top.request_id
                                                     : nullptr;
    const bool is_payload = member == nullptr && is("payload");
    const Token value = scanner.next();
    if (value == Token::error) return broken(scanner);
    if (member != nullptr) member->take(scanner, value);
    const bool good =
        is_payload ? take_span(scanner, value, text, top.payload) : skip_value(scanner, value);
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
    CHECK(is_data ? take_span(scanner, value, text, fields.data) : skip_value(scanner, value));
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

Status take_arq(std::string_view payload, const ArqRow& row, Notification& out) {
  Result<Arq> arq = decode_arq_payload(payload, row);
  if (!arq) return std::move(arq).error();
  if (!arq->hostname.empty()) out.host = arq->hostname;
  out.instance_uuid = arq->instance_uuid;
  out.arq = *std::move(arq);
  return Ok{};
}

Status take_payload(const Span& payload, std::string& scratch, Notification& out) {
  if (!payload.is_object) {
    return invalid(
        fmt::format("payload is {}, an object is needed", payload.seen ? payload.kind : "absent"));
  }
  if (const ArqRow* row = find_arq_row(out.event_type)) return take_arq(payload.text, *row, out);
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

}  // namespace

Result<Notification> NotificationDecoder::decode(std::string_view body,
                                                 bool (*wants_payload)(std::string_view)) {
  event_type_seen_.clear();
  const Result<OsloMessage> message = open_envelope(body, body_bytes_max_, inner_);
  if (!message) return message.error();
  Result<Notification> notification = decode_message(message->text, message->what, wants_payload);
  if (inner_.capacity() > kInnerKeepBytesMax) {
    inner_.clear();
    inner_.shrink_to_fit();
  }
  return notification;
}

Result<Notification> NotificationDecoder::decode_message(std::string_view text,
                                                         std::string_view what,
                                                         bool (*wants_payload)(std::string_view)) {
  TopLevel top;
  const Status read = read_top_level(text, what, scratch_, top);
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
