#include "handlers/api/error.h"

#include "state/base/log.h"
#include "state/base/rapidjson.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kFaultBytesMax = 4'096;

using Writer = rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                                 rapidjson::CrtAllocator, rapidjson::kWriteValidateEncodingFlag>;

void put(Writer& writer, std::string_view text) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

bool is_utf8(std::string_view text) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  return writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

std::string bounded(std::string_view text) {
  if (text.size() <= kFaultBytesMax && is_utf8(text)) return std::string(text);
  return printable_excerpt(text, kFaultBytesMax);
}

}  // namespace

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
