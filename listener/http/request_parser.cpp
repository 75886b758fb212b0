#include "listener/http/request_parser.h"

#include <algorithm>

#include "state/base/check.h"
#include "state/base/text.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kChunkLineBytesMax = 256;
constexpr std::size_t kBlankLinesMax = 2;
constexpr std::string_view kBadTarget = "a character that may not stand there is in the target";
constexpr std::string_view kBadHeaderName =
    "a header's name has a character that may not stand there";
constexpr std::string_view kVersions = "HTTP/1.1 is spoken here, and HTTP/1.0";

bool is_token(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return is_alnum(c) || kMarks.find(c) != std::string_view::npos;
}

void trim_end(std::string& text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
}

}  // namespace

HttpHeaderFound http_header(const std::vector<api::Header>& headers, std::string_view name) {
  HttpHeaderFound found;
  for (const api::Header& header : headers) {
    if (!same_ignoring_case(header.name, name)) continue;
    ++found.count;
    found.value = header.value;
  }
  return found;
}

bool is_http_host(std::string_view host) {
  constexpr std::size_t kHostBytesMax = 255;
  if (host.empty() || host.size() > kHostBytesMax) return false;
  std::size_t end = 0;
  if (host[0] == '[') {
    end = host.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    const std::string_view address = host.substr(1, end - 1);
    if (!std::all_of(address.begin(), address.end(),
                     [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; })) {
      return false;
    }
    ++end;
  } else {
    while (end < host.size() &&
           (is_alnum(host[end]) || host[end] == '.' || host[end] == '-' || host[end] == '_')) {
      ++end;
    }
    if (end == 0) return false;
  }
  if (end == host.size()) return true;
  const auto port = parse_number<std::uint16_t>(host.substr(end + 1));
  return host[end] == ':' && host.size() - end <= 6 && port && *port > 0;
}

HttpRequestParser::HttpRequestParser(const HttpLimits& limits) : limits_(limits) {
  llhttp_init(&parser_, HTTP_REQUEST, &settings());
  parser_.data = this;
  begin_message();
}

const llhttp_settings_t& HttpRequestParser::settings() {
  static const llhttp_settings_t kSettings = [] {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_header_field;
    settings.on_header_value = on_header_value;
    settings.on_headers_complete = on_headers_complete;
    settings.on_body = on_body;
    settings.on_message_complete = on_message_complete;
    return settings;
  }();
  return kSettings;
}

HttpRequestParser& HttpRequestParser::self(llhttp_t* parser) {
  return *static_cast<HttpRequestParser*>(parser->data);
}

void HttpRequestParser::begin_message() {
  message_ = HttpRequest{};
  progress_ = Progress::between;
  lines_ = Lines{};
  head_bytes_ = 0;
  in_value_ = true;
  complete_ = false;
  awaits_continue_ = false;
}

HttpRequestParser::Fed HttpRequestParser::feed(std::string_view bytes) {
  CHECK(refusal_.status == 0 && !complete_);
  if (bytes.empty()) return Fed{};
  if (progress_ == Progress::between) progress_ = Progress::head;
  scanned_ = bytes.data();
  const llhttp_errno_t code = llhttp_execute(&parser_, bytes.data(), bytes.size());
  const char* const end = bytes.data() + bytes.size();
  const char* const stopped = code == HPE_OK ? end : llhttp_get_error_pos(&parser_);
  const auto consumed = static_cast<std::size_t>(stopped - bytes.data());
  // The lines are looked at before anything is made of them: what a message consists of is only
  // handed out below. Where llhttp refused a byte, our word for what is wrong with it comes first.
  const bool refused_byte =
      code != HPE_OK && code != HPE_PAUSED && code != HPE_INVALID_METHOD && stopped != end;
  const bool lines_good = refusal_.status == 0 && scan_until(stopped + (refused_byte ? 1 : 0));
  scanned_ = nullptr;
  if (!lines_good) return Fed{consumed, Outcome::refused};
  if (complete_) {
    llhttp_resume(&parser_);
    return Fed{consumed, Outcome::request};
  }
  if (code == HPE_OK) return Fed{consumed, Outcome::more};
  static_cast<void>(refuse_what_llhttp_does(code));
  return Fed{consumed, Outcome::refused};
}

int HttpRequestParser::refuse_what_llhttp_does(llhttp_errno_t code) {
  switch (code) {
    case HPE_INVALID_METHOD:
      return refused(400, "this is not an HTTP request, or its method is not known");
    case HPE_INVALID_URL:
      return refused(400, kBadTarget);
    case HPE_INVALID_VERSION:
      return refused(505, kVersions);
    case HPE_INVALID_HEADER_TOKEN:
      return refused(400, kBadHeaderName);
    case HPE_INVALID_TRANSFER_ENCODING:
      if (!accept_body_length()) return -1;
      [[fallthrough]];
    default:
      return refused(400, llhttp_get_error_reason(&parser_));
  }
}

HttpRequest HttpRequestParser::take_request() {
  CHECK(complete_);
  HttpRequest request = std::move(message_);
  begin_message();
  return request;
}

bool HttpRequestParser::refuse(int status, std::string_view why) {
  if (refusal_.status == 0) refusal_ = HttpRefusal{status, why};
  return false;
}

bool HttpRequestParser::grow_head(std::size_t bytes, int status, std::string_view why) {
  head_bytes_ += bytes;
  return head_bytes_ <= limits_.head_bytes_max || refuse(status, why);
}

bool HttpRequestParser::scan_until(const char* end) {
  for (; scanned_ < end; ++scanned_) {
    if (!scan(*scanned_)) return false;
  }
  return true;
}

// Lines end in CR LF and nothing else, none continues another, and there is one space between the
// words of a request line: whoever reads more kindly reads something else.
bool HttpRequestParser::scan(char byte) {
  const char last = lines_.last;
  lines_.last = byte;
  if ((last == '\r') != (byte == '\n')) return refuse(400, "a line does not end in CR LF");
  if (byte == '\n') {
    if (lines_.line_bytes > 0) {
      lines_.request_line_seen = true;
    } else if (lines_.request_line_seen) {
      lines_.head_seen = true;
    } else if (++lines_.blank > kBlankLinesMax) {
      return refuse(400, "empty lines stand before the request");
    }
    lines_.line_bytes = 0;
    lines_.chunk_ended = lines_.extension_seen = false;
    return true;
  }
  if (byte == '\r') return true;
  if (lines_.chunk_ended) return refuse(400, "a chunk's data does not end in CR LF");
  const auto code = static_cast<unsigned char>(byte);
  if ((code < 0x20 && byte != '\t') || code == 0x7f) {
    return refuse(400, "a header has a control character");
  }
  const bool blank = byte == ' ' || byte == '\t';
  if (blank && lines_.line_bytes == 0) return refuse(400, "a header is folded over two lines");
  if (!lines_.request_line_seen && blank) {
    if (last == ' ' || last == '\t') {
      return refuse(400, "more than one space stands between the words of the request line");
    }
    if (++lines_.spaces > 2) return refuse(400, "the request line has more than three words");
  }
  if (byte == ':' && lines_.line_bytes == 0) return refuse(400, "a header has no name");
  ++lines_.line_bytes;
  return !lines_.head_seen || scan_chunk_line(byte);
}

// Only an extension may follow a size, and right behind it.
bool HttpRequestParser::scan_chunk_line(char byte) {
  if (byte == ';') lines_.extension_seen = true;
  if (!lines_.extension_seen && hex_value(byte) < 0) {
    return refuse(400, "a chunk's size is not a hexadecimal number");
  }
  return lines_.line_bytes <= kChunkLineBytesMax ||
         refuse(400, "the line before a chunk is too long");
}

int HttpRequestParser::on_url(llhttp_t* parser, const char* at, std::size_t length) {
  HttpRequestParser& me = self(parser);
  if (!me.grow_head(length, 414, "the request's target is too long")) return -1;
  for (const char c : std::string_view(at, length)) {
    if (c <= ' ' || c > '~' || c == '#') return me.refused(400, kBadTarget);
  }
  me.message_.request.target.append(at, length);
  return 0;
}

int HttpRequestParser::on_header_field(llhttp_t* parser, const char* at, std::size_t length) {
  HttpRequestParser& me = self(parser);
  if (me.progress_ == Progress::body) {
    return me.refused(400, "trailers after a chunked body are not taken");
  }
  if (!me.grow_head(length, 431, "the request's head is too large")) return -1;
  auto& headers = me.message_.request.headers;
  if (me.in_value_) {
    me.in_value_ = false;
    if (headers.size() == me.limits_.headers_max) {
      return me.refused(431, "the request has too many headers");
    }
    if (!headers.empty()) trim_end(headers.back().value);
    headers.emplace_back();
  }
  const std::string_view text(at, length);
  if (!std::all_of(text.begin(), text.end(), is_token)) {
    return me.refused(400, kBadHeaderName);
  }
  headers.back().name.append(text);
  return 0;
}

int HttpRequestParser::on_header_value(llhttp_t* parser, const char* at, std::size_t length) {
  HttpRequestParser& me = self(parser);
  if (!me.grow_head(length, 431, "the request's head is too large")) return -1;
  me.in_value_ = true;
  me.message_.request.headers.back().value.append(at, length);
  return 0;
}

int HttpRequestParser::on_headers_complete(llhttp_t* parser) {
  HttpRequestParser& me = self(parser);
  // An upgrade is offered, never demanded: the answer is plain HTTP/1.1.
  parser->upgrade = 0;
  if (!me.accept_head()) return -1;
  me.progress_ = Progress::body;
  return 0;
}

int HttpRequestParser::on_body(llhttp_t* parser, const char* at, std::size_t length) {
  HttpRequestParser& me = self(parser);
  if (!me.scan_until(at)) return -1;
  me.scanned_ = at + length;
  // llhttp counts down what is missing of a chunk.
  me.lines_.chunk_ended = (parser->flags & F_CHUNKED) != 0 && parser->content_length == 0;
  me.awaits_continue_ = false;
  std::string& body = me.message_.request.body;
  if (length > me.limits_.body_bytes_max - body.size()) {
    return me.refused(413, "the request's body is too large");
  }
  body.append(at, length);
  return 0;
}

int HttpRequestParser::on_message_complete(llhttp_t* parser) {
  HttpRequestParser& me = self(parser);
  me.message_.keep_alive = llhttp_should_keep_alive(parser) != 0;
  me.awaits_continue_ = false;
  me.complete_ = true;
  return HPE_PAUSED;  // what follows is the next request's
}

bool HttpRequestParser::accept_head() {
  auto& headers = message_.request.headers;
  if (!headers.empty()) trim_end(headers.back().value);
  if (parser_.http_major != 1 || parser_.http_minor > 1) {
    return refuse(505, kVersions);
  }
  message_.version_minor = parser_.http_minor;
  message_.request.method = llhttp_method_name(static_cast<llhttp_method_t>(parser_.method));
  return accept_target() && accept_host() && accept_body_length() && accept_expectation();
}

// Beside a path, proxies' "http://host/path" is a target, and it overrides the Host header.
bool HttpRequestParser::accept_target() {
  std::string& target = message_.request.target;
  if (target.empty()) return refuse(400, "the request has no target");
  if (target[0] == '/' || (target == "*" && parser_.method == HTTP_OPTIONS)) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!same_ignoring_case(std::string_view(target).substr(0, scheme.size()), scheme)) continue;
    const std::size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    message_.host = target.substr(scheme.size(), end - scheme.size());
    target.erase(0, end);
    if (target.empty() || target[0] != '/') target.insert(0, "/");
    return is_http_host(message_.host) || refuse(400, "the target names no host");
  }
  // The authority of a CONNECT is nothing that a handler could make sense of.
  if (parser_.method == HTTP_CONNECT) return refuse(405, "this server is not a proxy");
  return refuse(400, "the target does not begin with '/'");
}

bool HttpRequestParser::accept_host() {
  const HttpHeaderFound host = http_header(message_.request.headers, "Host");
  if (host.count > 1) return refuse(400, "there is more than one Host header");
  if (host.count == 0) {
    return message_.version_minor == 0 || refuse(400, "HTTP/1.1 needs a Host header");
  }
  if (!is_http_host(host.value)) return refuse(400, "the Host header names no host");
  if (message_.host.empty()) message_.host = host.value;
  return true;
}

bool HttpRequestParser::accept_body_length() {
  const HttpHeaderFound length = http_header(message_.request.headers, "Content-Length");
  const HttpHeaderFound coding = http_header(message_.request.headers, "Transfer-Encoding");
  if (length.count + coding.count > 1) {
    return refuse(400, "the body's length is said more than once");
  }
  if (coding.count == 1) {
    if (message_.version_minor == 0 || !same_ignoring_case(coding.value, "chunked")) {
      return refuse(400, "the only Transfer-Encoding taken is HTTP/1.1's chunked");
    }
    return true;
  }
  if (length.count == 0) return true;
  if (length.value.empty() || !std::all_of(length.value.begin(), length.value.end(), is_digit)) {
    return refuse(400, "Content-Length is not a number");
  }
  if (parser_.content_length > limits_.body_bytes_max) {
    return refuse(413, "the request's body is too large");
  }
  awaits_continue_ = parser_.content_length > 0;
  return true;
}

bool HttpRequestParser::accept_expectation() {
  const bool body_follows = awaits_continue_ || (parser_.flags & F_CHUNKED) != 0;
  awaits_continue_ = false;
  const HttpHeaderFound expect = http_header(message_.request.headers, "Expect");
  if (expect.count == 0 || message_.version_minor == 0) return true;
  if (expect.count > 1 || !same_ignoring_case(expect.value, "100-continue")) {
    return refuse(417, "the only expectation met is 100-continue");
  }
  awaits_continue_ = body_follows;
  return true;
}

}  // namespace reclaim::listener
