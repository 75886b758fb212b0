// Puts OpenSSL's queue of errors into words. Thread: any; the queue is the calling thread's.
#pragma once

#include <openssl/err.h>

#include <string>
#include <system_error>

namespace reclaim {

// The first complaint is the cause, the later ones are of its callers. Empties the queue.
[[nodiscard]] inline unsigned long take_openssl_cause() {
  const unsigned long cause = ERR_peek_error();
  ERR_clear_error();
  return cause;
}

[[nodiscard]] inline std::string openssl_text(unsigned long cause) {
  if (ERR_SYSTEM_ERROR(cause)) return std::generic_category().message(ERR_GET_REASON(cause));
  const char* reason = cause == 0 ? nullptr : ERR_reason_error_string(cause);
  return reason == nullptr ? "not usable" : reason;
}

}  // namespace reclaim
