// HTTP as values, and the port that sends them; the real one: placement/http/curl_transport.h.
// Thread: the loop's.
//
// A HttpRequest carries secrets (token, password): it is never logged, and no error text is made
// from its headers or body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/callback.h"

namespace reclaim::placement {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;  // GET, PUT, POST, DELETE
  std::string url;
  std::vector<HttpHeader> headers;
  std::string body;
};

struct HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;
  std::string body;
  std::int64_t retry_after_s = 0;  // how long the service asks to be left alone; 0: it does not

  // The first header of this name in any case, or "".
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Sends one request. Any HTTP status is an answer, not an error. Errors:
//   unavailable  nothing was sent: name not resolved, connection refused, TLS handshake failed
//   unknown      the request was sent, wholly or in part, and no whole answer came
//   limit        the answer is larger than the limit (the request was carried out all the same), or
//                too many requests are waiting (nothing was sent; raw is kNotSent)
//   invalid      the URL is none we speak; nothing was sent
// Redirects are not followed: a token must not travel to another host.
class HttpTransport {
 public:
  static constexpr int kNotSent = -1;

  virtual ~HttpTransport() = default;
  // `done` is called exactly once, never from within send().
  virtual void send(HttpRequest request, Callback<HttpResponse> done) = 0;
};

}  // namespace reclaim::placement
