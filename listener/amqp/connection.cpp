#include "listener/amqp/connection.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "state/base/log.h"

namespace reclaim::listener {
namespace {

Errc code_of_reply(int reply_code) {
  switch (reply_code) {
    case AMQP_NOT_FOUND:
      return Errc::not_found;
    case AMQP_PRECONDITION_FAILED:
      return Errc::conflict;
    case AMQP_ACCESS_REFUSED:
    case AMQP_NOT_ALLOWED:
      return Errc::refused;
    default:
      return Errc::unavailable;
  }
}

amqp_table_entry_t entry(const char* name, std::uint8_t kind) {
  amqp_table_entry_t out{};
  out.key = amqp_cstring_bytes(name);
  out.value.kind = kind;
  return out;
}

}  // namespace

bool is_lost(amqp_connection_state_t connection) {
  return amqp_get_rpc_reply(connection).reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION;
}

Status check_channel(const amqp_frame_t& frame, amqp_channel_t highest) {
  if (frame.channel <= highest) return Ok{};
  return Error{Errc::unavailable,
               fmt::format("the broker uses channel {}, which is not open", frame.channel)};
}

amqp_table_entry_t entry_of(const char* name, std::string_view text) {
  amqp_table_entry_t out = entry(name, AMQP_FIELD_KIND_UTF8);
  out.value.value.bytes = bytes(text);
  return out;
}

amqp_table_entry_t entry_of(const char* name, std::int64_t number) {
  amqp_table_entry_t out = entry(name, AMQP_FIELD_KIND_I64);
  out.value.value.i64 = number;
  return out;
}

amqp_table_entry_t flag(const char* name) {
  amqp_table_entry_t out = entry(name, AMQP_FIELD_KIND_BOOLEAN);
  out.value.value.boolean = 1;
  return out;
}

Status send_method(amqp_connection_state_t connection, amqp_channel_t channel,
                   amqp_method_number_t id, void* method) {
  const int status = amqp_send_method(connection, channel, id, method);
  if (status != AMQP_STATUS_OK) return library_error(status);
  return Ok{};
}

Error answer_close(amqp_connection_state_t connection, amqp_channel_t channel,
                   const amqp_method_t& method) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* close = static_cast<amqp_connection_close_t*>(method.decoded);
    Error error = closed_error(close->reply_code, close->reply_text);
    amqp_connection_close_ok_t ok{};
    (void)amqp_send_method(connection, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
    return error;
  }
  const auto* close = static_cast<amqp_channel_close_t*>(method.decoded);
  Error error = closed_error(close->reply_code, close->reply_text);
  amqp_channel_close_ok_t ok{};
  (void)amqp_send_method(connection, channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
  return error;
}

Error closed_error(int reply_code, amqp_bytes_t reply_text) {
  return Error{
      code_of_reply(reply_code),
      fmt::format("the broker says {} {}", reply_code, printable_excerpt(view(reply_text), 300)),
      reply_code};
}

Error library_error(int status, int number) {
  std::string what = amqp_error_string2(status);
  if (number != 0) what += fmt::format(": {}", std::strerror(number));
  return Error{Errc::unavailable, std::move(what), status};
}

}  // namespace reclaim::listener
