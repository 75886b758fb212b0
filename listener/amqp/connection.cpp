#include "listener/amqp/connection.h"

#include <fmt/core.h>

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

}  // namespace

Error closed_error(int reply_code, amqp_bytes_t reply_text) {
  return Error{
      code_of_reply(reply_code),
      fmt::format("the broker says {} {}", reply_code, printable_excerpt(view(reply_text), 300)),
      reply_code};
}

Error library_error(int status) {
  return Error{Errc::unavailable, amqp_error_string2(status), status};
}

}  // namespace reclaim::listener
