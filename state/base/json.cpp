#include "state/base/json.h"

#include <fmt/core.h>
#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace reclaim::json {

Result<rapidjson::Document> parse(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Error{Errc::limit, fmt::format("JSON text of {} bytes is over the limit of {} bytes",
                                          text.size(), bytes_max)};
  }
  // RapidJSON takes a NUL for the end of the text and would pass over what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error{Errc::invalid, fmt::format("not JSON: a NUL byte (at byte {})", nul)};
  }
  rapidjson::Document document;
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  document.Parse<kFlags>(text.data(), text.size());
  if (document.HasParseError()) {
    return Error{Errc::invalid, fmt::format("not JSON: {} (at byte {})",
                                            rapidjson::GetParseError_En(document.GetParseError()),
                                            document.GetErrorOffset())};
  }
  return document;
}

const rapidjson::Value* find(const rapidjson::Value& value, std::string_view name) {
  if (!value.IsObject()) return nullptr;
  const auto it = value.FindMember(rapidjson::Value(
      rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))));
  return it == value.MemberEnd() ? nullptr : &it->value;
}

Result<std::string> get_string(const rapidjson::Value& value, std::string_view name) {
  const rapidjson::Value* member = find(value, name);
  if (member == nullptr || !member->IsString()) {
    return Error{Errc::invalid, fmt::format("'{}' is {}, a string is needed", name,
                                            member == nullptr ? "absent" : "of another type")};
  }
  return std::string(member->GetString(), member->GetStringLength());
}

Result<std::int64_t> get_int(const rapidjson::Value& value, std::string_view name) {
  const rapidjson::Value* member = find(value, name);
  if (member == nullptr || !member->IsInt64()) {
    return Error{Errc::invalid, fmt::format("'{}' is {}, an integer is needed", name,
                                            member == nullptr ? "absent" : "of another type")};
  }
  return member->GetInt64();
}

Result<double> get_number(const rapidjson::Value& value, std::string_view name) {
  const rapidjson::Value* member = find(value, name);
  if (member == nullptr || !member->IsNumber()) {
    return Error{Errc::invalid, fmt::format("'{}' is {}, a number is needed", name,
                                            member == nullptr ? "absent" : "of another type")};
  }
  return member->GetDouble();
}

std::optional<std::string> maybe_string(const rapidjson::Value& value, std::string_view name) {
  const rapidjson::Value* member = find(value, name);
  if (member == nullptr || !member->IsString()) return std::nullopt;
  return std::string(member->GetString(), member->GetStringLength());
}

std::string to_text(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace reclaim::json
