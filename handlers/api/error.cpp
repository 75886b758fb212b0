#include "handlers/api/error.h"

#include <algorithm>
#include <array>

#include "state/base/log.h"
#include "state/base/rapidjson.h"
#include "state/base/visible.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kFaultBytesMax = 4'096;

struct Status {
  int code;
  std::string_view phrase;
};
constexpr std::array kStatuses{
    Status{200, "OK"},
    Status{202, "Accepted"},
    Status{204, "No Content"},
    Status{300, "Multiple Choices"},
    Status{304, "Not Modified"},
    Status{400, "Bad Request"},
    Status{401, "Unauthorized"},
    Status{403, "Forbidden"},
    Status{404, "Not Found"},
    Status{405, "Method Not Allowed"},
    Status{406, "Not Acceptable"},
    Status{408, "Request Timeout"},
    Status{409, "Conflict"},
    Status{413, "Payload Too Large"},
    Status{414, "URI Too Long"},
    Status{417, "Expectation Failed"},
    Status{423, "Locked"},
    Status{431, "Request Header Fields Too Large"},
    Status{500, "Internal Server Error"},
    Status{503, "Service Unavailable"},
    Status{504, "Gateway Timeout"},
    Status{505, "HTTP Version Not Supported"},
};

using Writer = rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                                 rapidjson::CrtAllocator, rapidjson::kWriteValidateEncodingFlag>;

void put(Writer& writer, std::string_view text) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

std::string bounded(std::string_view text) {
  std::string shown = reclaim::visible(text);
  return shown.size() <= kFaultBytesMax ? shown : printable_excerpt(shown, kFaultBytesMax);
}

}  // namespace

std::string_view reason_phrase(int status) {
  const auto* const found = std::find_if(kStatuses.begin(), kStatuses.end(),
                                         [status](const Status& s) { return s.code == status; });
  return found == kStatuses.end() ? std::string_view() : found->phrase;
}

std::string error_body(int status, std::string_view title, std::string_view detail) {
  std::string fault_text = bounded(title);
  if (!fault_text.empty() && !detail.empty()) fault_text += ": ";
  fault_text += bounded(detail);

  rapidjson::StringBuffer fault;
  Writer inner(fault);
  inner.StartObject();
  put(inner, "debuginfo");
  inner.Null();
  put(inner, "faultcode");
  put(inner, status < 500 ? "Client" : "Server");
  put(inner, "faultstring");
  put(inner, fault_text);
  inner.EndObject();

  rapidjson::StringBuffer body;
  Writer outer(body);
  outer.StartObject();
  put(outer, "error_message");
  put(outer, {fault.GetString(), fault.GetSize()});
  outer.EndObject();
  return {body.GetString(), body.GetSize()};
}

}  // namespace reclaim::api
