#include "handlers/bus/notification.h"

#include <fmt/core.h>

#include "handlers/arq/notification.h"
#include "handlers/bus/json_members.h"
#include "handlers/bus/oslo_envelope.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

constexpr std::size_t kInnerKeepBytesMax = std::size_t{256} << 10U;

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

// The members of a message that are looked at. Only those that a notification has are kept, so that
// no other `_context_*` is.
struct Members {
  JsonMember event_type, publisher_id, message_id, request_id, timestamp, payload;
  JsonMember version, host, instance_id, data;  // of the payload
  JsonMember data_host, uuid;                   // of a versioned payload's data
};

Status read_members(std::string_view text, std::string_view what, Members& out) {
  const JsonPick data[] = {{"host", &out.data_host}, {"uuid", &out.uuid}};
  const JsonPick payload[] = {{"_object.version", &out.version, true},
                              {"_object.data", &out.data, true, data},
                              {"host", &out.host},
                              {"instance_id", &out.instance_id}};
  const JsonPick message[] = {
      {"event_type", &out.event_type}, {"publisher_id", &out.publisher_id},
      {"message_id", &out.message_id}, {"_context_request_id", &out.request_id},
      {"timestamp", &out.timestamp},   {"payload", &out.payload, false, payload}};
  return pick_members(text, what, message);
}

// Minor versions only add; another major may mean anything by the same names.
Status check_payload_version(const std::string& version) {
  const std::size_t dot = version.find('.');
  if (version.substr(0, dot) == "1") return Ok{};
  return invalid(
      fmt::format("payload version '{}' is not known, 1.x is", printable_excerpt(version, 16)));
}

Status take_host(const JsonMember& host, Notification& out) {
  if (!host.seen() || host.null) return Ok{};
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

Status take_payload(const Members& in, Notification& out) {
  if (!in.payload.is_object()) {
    return invalid(fmt::format("payload is {}, an object is needed", in.payload.kind()));
  }
  if (const ArqRow* row = find_arq_row(out.event_type)) return take_arq(in.payload.span, *row, out);
  out.versioned = in.data.seen();
  if (!out.versioned) {
    out.instance_uuid = in.instance_id.lenient();
    return take_host(in.host, out);
  }
  Result<std::string> version = in.version.strict("the payload's object version");
  if (!version) return std::move(version).error();
  out.payload_version = std::move(*version);
  const Status known = check_payload_version(out.payload_version);
  if (!known) return known.error();
  if (!in.data.is_object()) {
    return invalid(
        fmt::format("the payload's object data is {}, an object is needed", in.data.kind()));
  }
  out.instance_uuid = in.uuid.lenient();
  return take_host(in.data_host, out);
}

}  // namespace

Result<Notification> NotificationDecoder::decode(std::string_view body,
                                                 bool (*wants_payload)(std::string_view)) {
  event_type_seen_.clear();
  const Result<OsloMessage> message = open_envelope(body, body_bytes_max_, inner_);
  if (!message) return message.error();
  Result<Notification> notification = decode_message(message->text, message->what, wants_payload);
  for (std::string* kept : {&inner_, &paired_}) {
    if (kept->capacity() > kInnerKeepBytesMax) *kept = std::string();
  }
  return notification;
}

Result<Notification> NotificationDecoder::decode_message(std::string_view text,
                                                         std::string_view what,
                                                         bool (*wants_payload)(std::string_view)) {
  Members top;
  const Status read = read_members(json::pair_surrogates(text, paired_), what, top);
  if (!read) return read.error();
  Result<std::string> event_type = top.event_type.strict("event_type");
  if (!event_type) return std::move(event_type).error();
  Notification out;
  out.event_type = std::move(*event_type);
  event_type_seen_ = out.event_type;
  out.message_id = top.message_id.lenient();
  out.request_id = top.request_id.lenient();
  if (const auto sent = from_iso8601(top.timestamp.lenient())) out.sent_at = *sent;
  if (!wants_payload(out.event_type)) {
    out.publisher_id = top.publisher_id.lenient();
    return out;
  }
  if (top.publisher_id.seen() && !top.publisher_id.null) {
    Result<std::string> publisher = top.publisher_id.strict("publisher_id");
    if (!publisher) return std::move(publisher).error();
    out.publisher_id = std::move(*publisher);
  }
  const Status payload = take_payload(top, out);
  if (!payload) return payload.error();
  return out;
}

}  // namespace reclaim
