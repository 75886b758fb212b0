// From responses to bytes: status line and headers, and the line of the access log.
//
// Thread: any. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "handlers/api/api.h"
#include "state/base/clock.h"

namespace reclaim::listener {

// The part of a response that HTTP itself adds.
struct HttpFrame {
  int version_minor = 1;  // the client's
  bool keep_alive = false;
  bool head_only = false;  // to HEAD: the headers of the answer, and no body
  WallMs date;
  std::string request_id;
};

// "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string to_http_date(WallMs at);

// True if an answer of this status has a body at all.
[[nodiscard]] bool has_http_body(int status);

// Everything before the body. Headers that are HTTP's own to say are left out of the response's,
// and so is what cannot be a header; control characters in values become blanks.
[[nodiscard]] std::string http_head(const api::Response& response, const HttpFrame& frame);

// An answer in the API's error shape, titled with the status's own phrase.
[[nodiscard]] api::Response http_error(int status, std::string_view detail);

// "req-" and a UUID, as oslo makes request ids; "" for anything else.
[[nodiscard]] std::string valid_request_id(std::string_view id);

struct HttpLogEntry {
  std::string_view client;  // address, or "unix"
  std::string_view method;  // "" when none was understood
  std::string_view target;
  int version_minor = 1;
  int status = 0;
  std::size_t body_bytes = 0;
  std::int64_t took_ms = 0;
};

// The line that OpenStack's services log: 10.0.0.1 "GET /v2/devices HTTP/1.1" status: 200 len: 12
// time: 0.004; quotes, backslashes and what is not printable are escaped, and a long target is cut.
[[nodiscard]] std::string http_log_line(const HttpLogEntry& entry);

}  // namespace reclaim::listener
