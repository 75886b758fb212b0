// From bytes to requests: HTTP/1.0 and 1.1 by llhttp. On top of it stands our own reading of the
// lines around a request, the same with every version of llhttp, so that no proxy before us can
// read a request's limits differently than we do.
//
// Thread: any one. Owns the request that is being read. Pure: knows no socket and no time.
#pragma once

#include <llhttp.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/api/api.h"

namespace reclaim::listener {

struct HttpLimits {
  std::size_t head_bytes_max = 16'384;
  std::size_t body_bytes_max = 65'536;
  std::size_t headers_max = 100;
};

struct HttpRequest {
  api::Request request;  // all but request_id and base_url; the target begins with '/' or is "*"
  std::string host;      // "name:port", checked; "" where HTTP/1.0 names none
  int version_minor = 1;
  bool keep_alive = false;
};

// The reason why the connection ends here. The text is ours, never the client's.
struct HttpRefusal {
  int status = 400;
  std::string_view why;
};

// The number of headers that have a name, in any case, and the value of the last.
struct HttpHeaderFound {
  std::size_t count = 0;
  std::string_view value;
};
[[nodiscard]] HttpHeaderFound http_header(const std::vector<api::Header>& headers,
                                          std::string_view name);

// A host with or without a port, as it may stand in a Host header and in the links we make of it.
[[nodiscard]] bool is_http_host(std::string_view host);

class HttpRequestParser final {
 public:
  enum class Outcome { more, request, refused };
  enum class Progress { between, head, body };  // what of a request was seen
  struct Fed {
    std::size_t consumed = 0;
    Outcome outcome = Outcome::more;
  };

  explicit HttpRequestParser(const HttpLimits& limits);
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // Reads up to the end of a request; the bytes behind it are not consumed and are to be given
  // again. A refusal is final: nothing may be fed after it.
  [[nodiscard]] Fed feed(std::string_view bytes);

  [[nodiscard]] HttpRequest take_request();  // once after Outcome::request
  [[nodiscard]] const HttpRefusal& refusal() const { return refusal_; }
  [[nodiscard]] Progress progress() const { return progress_; }
  // The head is read, the client waits for "100 Continue", and no byte of the body came yet.
  [[nodiscard]] bool awaits_continue() const { return awaits_continue_; }
  void continued() { awaits_continue_ = false; }

 private:
  // The place where the framing stands in its lines: all bytes that are not of a body.
  struct Lines {
    std::size_t line_bytes = 0;
    std::size_t blank = 0;   // empty lines before the request line
    std::size_t spaces = 0;  // in the request line
    bool request_line_seen = false;
    bool head_seen = false;
    bool chunk_ended = false;     // its data did; CR LF is due
    bool extension_seen = false;  // of the chunk whose line this is
    char last = '\n';
  };

  static HttpRequestParser& self(llhttp_t* parser);
  static int on_url(llhttp_t* parser, const char* at, std::size_t length);
  static int on_header_field(llhttp_t* parser, const char* at, std::size_t length);
  static int on_header_value(llhttp_t* parser, const char* at, std::size_t length);
  static int on_headers_complete(llhttp_t* parser);
  static int on_body(llhttp_t* parser, const char* at, std::size_t length);
  static int on_message_complete(llhttp_t* parser);
  static const llhttp_settings_t& settings();

  [[nodiscard]] bool refuse(int status, std::string_view why);   // false
  [[nodiscard]] int refused(int status, std::string_view why) {  // as llhttp is told
    return refuse(status, why) ? 0 : -1;
  }
  [[nodiscard]] int refuse_what_llhttp_does(llhttp_errno_t code);
  [[nodiscard]] bool grow_head(std::size_t bytes, int status, std::string_view why);
  [[nodiscard]] bool scan_until(const char* end);
  [[nodiscard]] bool scan(char byte);
  [[nodiscard]] bool scan_chunk_line(char byte);
  [[nodiscard]] bool accept_head();
  [[nodiscard]] bool accept_target();
  [[nodiscard]] bool accept_host();
  [[nodiscard]] bool accept_body_length();
  [[nodiscard]] bool accept_expectation();
  void begin_message();

  HttpLimits limits_;
  llhttp_t parser_{};
  HttpRequest message_;
  HttpRefusal refusal_{0, ""};
  Progress progress_ = Progress::between;
  Lines lines_;
  const char* scanned_ = nullptr;  // of the bytes being fed: the first one not looked at
  std::size_t head_bytes_ = 0;
  bool in_value_ = true;  // a header's value was the last to grow
  bool complete_ = false;
  bool awaits_continue_ = false;
};

}  // namespace reclaim::listener
