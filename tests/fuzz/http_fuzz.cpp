// HTTP requests: however the bytes are cut they mean the same, what is handed out keeps its limits
// and holds nothing that could split a header or a log line, and written down plainly it is read as
// the same request again.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listener/http/answer.h"
#include "listener/http/request_parser.h"
#include "state/base/check.h"

namespace {

using namespace reclaim;
using Outcome = listener::HttpRequestParser::Outcome;

constexpr listener::HttpLimits kLimits{600, 100, 8};

struct Read {
  std::vector<listener::HttpRequest> requests;
  bool refused = false;
};

Read read(std::string_view bytes, std::size_t piece) {
  listener::HttpRequestParser parser(kLimits);
  Read out;
  while (!bytes.empty()) {
    std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    while (!now.empty()) {
      const auto fed = parser.feed(now);
      CHECK(fed.consumed <= now.size());
      now.remove_prefix(fed.consumed);
      if (fed.outcome == Outcome::refused) {
        CHECK(parser.refusal().status >= 400 && !parser.refusal().why.empty());
        out.refused = true;
        return out;
      }
      if (fed.outcome == Outcome::request) out.requests.push_back(parser.take_request());
      CHECK(fed.outcome == Outcome::request || now.empty());
    }
  }
  return out;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return (code >= 0x20 || c == '\t') && code != 0x7f;
  });
}

// As the most careful of clients would have sent it.
std::string written(const listener::HttpRequest& read) {
  const api::Request& request = read.request;
  std::string out = request.method + " " + request.target + " HTTP/1." +
                    std::to_string(read.version_minor) + "\r\n";
  if (!read.host.empty()) out += "Host: " + read.host + "\r\n";
  if (!request.body.empty()) {
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return out + "\r\n" + request.body;
}

void check(const listener::HttpRequest& read_once) {
  const api::Request& request = read_once.request;
  CHECK(!request.target.empty() && (request.target[0] == '/' || request.target == "*"));
  CHECK(is_plain(request.target) && request.target.find(' ') == std::string::npos);
  CHECK(read_once.host.empty() ? read_once.version_minor == 0
                               : listener::is_http_host(read_once.host));
  CHECK(request.headers.size() <= kLimits.headers_max);
  CHECK(request.body.size() <= kLimits.body_bytes_max);
  api::Response echo;
  for (const api::Header& header : request.headers) {
    CHECK(!header.name.empty() && is_plain(header.name) && is_plain(header.value));
    echo.headers.push_back(header);
  }
  const std::string head = listener::http_head(echo, {});
  CHECK(head.find("\r\n\r\n") == head.size() - 4);
  CHECK(is_plain(listener::http_log_line({"c", request.method, request.target, 1, 200, 0, 0})));

  const Read again = read(written(read_once), SIZE_MAX);
  CHECK(!again.refused && again.requests.size() == 1);
  CHECK(again.requests[0].request.method == request.method);
  CHECK(again.requests[0].request.target == request.target);
  CHECK(again.requests[0].request.body == request.body);
  CHECK(again.requests[0].host == read_once.host);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read whole = read(bytes, SIZE_MAX);
  for (const listener::HttpRequest& request : whole.requests) check(request);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}}) {
    const Read cut = read(bytes, piece);
    CHECK(cut.refused == whole.refused && cut.requests.size() == whole.requests.size());
    for (std::size_t i = 0; i < cut.requests.size(); ++i) {
      CHECK(cut.requests[i].request.target == whole.requests[i].request.target);
      CHECK(cut.requests[i].request.body == whole.requests[i].request.body);
      CHECK(cut.requests[i].keep_alive == whole.requests[i].keep_alive);
    }
  }
  return 0;
}
