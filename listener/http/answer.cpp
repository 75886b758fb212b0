#include "listener/http/answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "handlers/api/error.h"
#include "state/base/text.h"
#include "state/base/uuid.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kLoggedTargetBytesMax = 2'048;
constexpr std::string_view kRequestIdHeader = "X-Openstack-Request-Id";

// HTTP says these itself; a response that says them too would contradict it.
bool is_framing(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "Content-Length",    "Connection", "Keep-Alive", "Date",
      "Transfer-Encoding", "Upgrade",    "Trailer"};
  return std::any_of(kNames.begin(), kNames.end(), [name](std::string_view framing) {
    return same_ignoring_case(name, framing);
  });
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c <= '~' &&
           std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
  });
}

void put(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20 || code == 0x7f ? ' ' : c;
  }
  out += "\r\n";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLoggedTargetBytesMax)) {
    if (c > ' ' && c <= '~' && c != '"' && c != '\\') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kLoggedTargetBytesMax) out += "...";
  return out;
}

}  // namespace

std::string to_http_date(WallMs at) {
  // The names of days and months are English in every locale, which strftime's are not.
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = at.ms / 1'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<std::size_t>(utc.tm_wday)), utc.tm_mday,
                     kMonths.at(static_cast<std::size_t>(utc.tm_mon)), utc.tm_year + 1900,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

bool has_http_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string http_head(const api::Response& response, const HttpFrame& frame) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, api::reason_phrase(response.status));
  put(out, "Date", to_http_date(frame.date));
  for (const api::Header& header : response.headers) {
    if (!is_header_name(header.name) || is_framing(header.name)) continue;
    if (same_ignoring_case(header.name, kRequestIdHeader)) continue;
    put(out, header.name, header.value);
  }
  if (!frame.request_id.empty()) put(out, kRequestIdHeader, frame.request_id);
  if (has_http_body(response.status)) {
    put(out, "Content-Length", std::to_string(response.body.size()));
  }
  if (!frame.keep_alive) {
    put(out, "Connection", "close");
  } else if (frame.version_minor == 0) {
    put(out, "Connection", "keep-alive");
  }
  return out + "\r\n";
}

api::Response http_error(int status, std::string_view detail) {
  api::Response response;
  response.status = status;
  response.headers.push_back({"Content-Type", std::string(api::kJsonContentType)});
  response.body = api::error_body(status, api::reason_phrase(status), detail);
  return response;
}

std::string valid_request_id(std::string_view id) {
  constexpr std::string_view kPrefix = "req-";
  if (id.substr(0, kPrefix.size()) != kPrefix) return "";
  return looks_like_uuid(id.substr(kPrefix.size())) ? std::string(id) : "";
}

std::string http_log_line(const HttpLogEntry& entry) {
  const std::string request = entry.method.empty()
                                  ? "-"
                                  : fmt::format("{} {} HTTP/1.{}", entry.method,
                                                escaped(entry.target), entry.version_minor);
  return fmt::format("{} \"{}\" status: {} len: {} time: {:.3f}", entry.client, request,
                     entry.status, entry.body_bytes, static_cast<double>(entry.took_ms) / 1'000);
}

}  // namespace reclaim::listener
