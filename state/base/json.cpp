#include "state/base/json.h"

#include <fmt/core.h>

#include "state/base/check.h"
#include "state/base/rapidjson.h"
#include "state/base/text.h"

namespace reclaim::json {
namespace {

// RapidJSON 1.1.0 adds up an exponent and a number's decimals in an int, and asserts on what comes
// of a wrap. Within four digits, and a text's size, nothing wraps; a double ends at e308.
constexpr std::size_t kExponentDigitsMax = 4;

// Where an exponent begins that is written with more digits than that; nothing: nowhere. The text
// need not be JSON: the parser decides that afterwards.
std::optional<std::size_t> find_long_exponent(std::string_view text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c != 'e' && c != 'E') continue;
    std::size_t end = i + 1;
    if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
    const std::size_t digits = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end - digits > kExponentDigitsMax) return i;
    i = end - 1;
  }
  return std::nullopt;
}

// What RapidJSON asserts on while it parses.
struct AssertionFailed {
  const char* expression;
};

thread_local bool parsing = false;

// An exception of RapidJSON's own assertion, or nothing: the parser has said what it has to say.
std::optional<AssertionFailed> parse_into(rapidjson::Document& document, std::string_view text) {
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  CHECK(!parsing);
  parsing = true;
  std::optional<AssertionFailed> failed;
  try {
    document.Parse<kFlags>(text.data(), text.size());
  } catch (const AssertionFailed& assertion) {
    failed = assertion;
  }
  parsing = false;
  return failed;
}

}  // namespace

void assertion_failed(const char* expression, const char* file, int line) {
  if (parsing) throw AssertionFailed{expression};
  check_failed(expression, file, line);
}

Result<rapidjson::Document> parse(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Error{Errc::limit, fmt::format("JSON text of {} bytes is over the limit of {} bytes",
                                          text.size(), bytes_max)};
  }
  // RapidJSON takes a NUL for the end of the text and would pass over what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error{Errc::invalid, fmt::format("not JSON: a NUL byte (at byte {})", nul)};
  }
  if (const auto exponent = find_long_exponent(text)) {
    return Error{Errc::limit, fmt::format("a number's exponent has more than {} digits (at byte "
                                          "{})",
                                          kExponentDigitsMax, *exponent)};
  }
  rapidjson::Document document;
  if (const auto failed = parse_into(document, text)) {
    return Error{Errc::invalid,
                 fmt::format("not JSON that can be read: the parser's assertion '{}' failed",
                             failed->expression)};
  }
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
