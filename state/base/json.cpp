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

// The offset of an exponent that is written with more digits than that; nothing: there is none. The
// text need not be JSON: the parser decides that afterwards.
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

// Thrown for what RapidJSON asserts on while it parses.
struct AssertionFailed {
  const char* expression;
};

thread_local bool parsing = false;

struct Parsing {
  Parsing() {
    CHECK(!parsing);
    parsing = true;
  }
  ~Parsing() { parsing = false; }
  Parsing(const Parsing&) = delete;
  Parsing& operator=(const Parsing&) = delete;
};

// Runs the parser. An exception of RapidJSON's own assertion, or nothing: the parser has said what
// it has to say.
template <typename Parse>
std::optional<AssertionFailed> guarded(const Parse& parse) {
  const Parsing guard;
  try {
    parse();
  } catch (const AssertionFailed& assertion) {
    return assertion;
  }
  return std::nullopt;
}

Error assertion_error(const AssertionFailed& failed) {
  return Error{Errc::invalid,
               fmt::format("not JSON that can be read: the parser's assertion '{}' failed",
                           failed.expression)};
}

Error exponent_error(std::size_t at) {
  return Error{Errc::limit, fmt::format("a number's exponent has more than {} digits (at byte {})",
                                        kExponentDigitsMax, at)};
}

// RapidJSON's events as parts.
class Events final : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Events> {
 public:
  Events(const rapidjson::MemoryStream& stream, Parts& parts) : stream_(stream), parts_(parts) {}

  // NOLINTBEGIN(readability-identifier-naming): RapidJSON's names
  bool StartObject() { return enter(Token::object_begin); }
  bool StartArray() { return enter(Token::array_begin); }
  bool EndObject(rapidjson::SizeType /*members*/) { return leave(Token::object_end); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return leave(Token::array_end); }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    return tell(Token::key, {text, size});
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    return tell(Token::string, {text, size});
  }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    return tell(Token::number, {text, size});
  }
  bool Null() { return tell(Token::literal, "null"); }
  bool Bool(bool value) { return tell(Token::literal, value ? "true" : "false"); }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool tell(Token token, std::string_view text) {
    parts_.on(token, text, stream_.Tell());
    return true;
  }
  // The iterative parser tells of a bracket before it takes it.
  bool bracket(Token token) {
    parts_.on(token, {}, stream_.Tell() + 1);
    return true;
  }
  bool enter(Token token) { return ++depth_ <= kReadDepthMax && bracket(token); }
  bool leave(Token token) {
    --depth_;
    return bracket(token);
  }

  const rapidjson::MemoryStream& stream_;
  Parts& parts_;
  std::size_t depth_ = 0;
};

std::string flaw(rapidjson::ParseErrorCode code, std::string_view text, std::size_t at) {
  const bool at_control = at < text.size() && static_cast<unsigned char>(text[at]) < 0x20;
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty:
      return text.empty() ? "an empty text" : "no JSON value";
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return "more text after the end of the value";
    case rapidjson::kParseErrorTermination:
      return fmt::format("nested more than {} levels deep", kReadDepthMax);
    case rapidjson::kParseErrorStringEscapeInvalid:
    case rapidjson::kParseErrorStringMissQuotationMark:
      if (at_control) return "a control character in a string";
      break;
    default:
      break;
  }
  std::string words = rapidjson::GetParseError_En(code);
  if (words.ends_with('.')) words.pop_back();
  return words;
}

// The four digits of the \u escape that `text` begins with; nothing: it is none.
std::optional<unsigned> escaped_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  return parse_number<unsigned>(text.substr(2, 4), 16);
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
    return exponent_error(*exponent);
  }
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::Document document;
  if (const auto failed = guarded([&] { document.Parse<kFlags>(text.data(), text.size()); })) {
    return assertion_error(*failed);
  }
  if (document.HasParseError()) {
    return Error{Errc::invalid, fmt::format("not JSON: {} (at byte {})",
                                            rapidjson::GetParseError_En(document.GetParseError()),
                                            document.GetErrorOffset())};
  }
  return document;
}

Status read(std::string_view text, Parts& parts) {
  const auto broken = [](const std::string& what, std::size_t at) {
    return Error{Errc::invalid, fmt::format("{} at byte {}", what, at)};
  };
  if (const auto at = find_invalid_utf8(text)) return broken("bytes that are not UTF-8", *at);
  if (const auto exponent = find_long_exponent(text)) return exponent_error(*exponent);
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  Events events(stream, parts);
  rapidjson::Reader reader;
  if (const auto failed = guarded([&] { reader.Parse<kFlags>(stream, events); })) {
    return assertion_error(*failed);
  }
  if (reader.HasParseError()) {
    const std::size_t at = reader.GetErrorOffset();
    return broken(flaw(reader.GetParseErrorCode(), text, at), at);
  }
  // RapidJSON takes a NUL for the end of the text.
  if (stream.Tell() != text.size()) {
    return broken(flaw(rapidjson::kParseErrorDocumentRootNotSingular, text, stream.Tell()),
                  stream.Tell());
  }
  return Ok{};
}

std::string_view pair_surrogates(std::string_view text, std::string& buffer) {
  if (text.find("\\ud") == std::string_view::npos && text.find("\\uD") == std::string_view::npos) {
    return text;
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = text[at] == '\\' ? 2 : 1;
    std::string_view piece = text.substr(at, length);
    if (const auto unit = escaped_unit(text.substr(at))) {
      length = 6;
      piece = text.substr(at, length);
      const bool surrogate = *unit >= 0xD800 && *unit <= 0xDFFF;
      const auto low = escaped_unit(text.substr(at + length));
      if (surrogate && *unit <= 0xDBFF && low && *low >= 0xDC00 && *low <= 0xDFFF) {
        length = 12;
        piece = text.substr(at, length);
      } else if (surrogate) {
        piece = "\\ufffd";
      }
    }
    out += piece;
    at += length;
  }
  buffer = std::move(out);
  return buffer;
}

void append_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    const Utf8Char next = first_utf8_char(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += next.valid ? text.substr(0, next.bytes) : "\xEF\xBF\xBD";
    }
    text.remove_prefix(next.bytes);
  }
  out += '"';
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
