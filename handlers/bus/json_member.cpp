#include "handlers/bus/json_member.h"

#include <fmt/core.h>

namespace reclaim {

using Token = JsonScanner::Token;

std::string_view describe(Token token, std::string_view raw) {
  switch (token) {
    case Token::object_begin:
      return "an object";
    case Token::array_begin:
      return "a list";
    case Token::string:
      return "a text";
    case Token::number:
      return "a number";
    case Token::literal:
      return raw == "null" ? "null" : "a truth value";
    default:
      return "nothing";
  }
}

bool spells(std::string_view raw, bool escaped, std::string& scratch, std::string_view name) {
  if (!escaped) return raw == name;
  json_unescape(raw, scratch);
  return scratch == name;
}

bool skip_value(JsonScanner& scanner, Token token) {
  if (token == Token::error) return false;
  if (token == Token::object_begin || token == Token::array_begin) return scanner.skip_container();
  return true;
}

void TextMember::take(const JsonScanner& scanner, Token value) {
  if (seen) return;
  seen = true;
  token = value;
  raw = scanner.raw();
  escaped = scanner.escaped();
}

std::string TextMember::lenient() const {
  std::string out;
  if (seen && token == Token::string) json_unescape(raw, out);
  if (out.size() > kMemberTextBytesMax) out.clear();
  return out;
}

Result<std::string> TextMember::strict(std::string_view name) const {
  if (!seen || token != Token::string) {
    return Error{Errc::invalid, fmt::format("{} is {}, a text is needed", name,
                                            seen ? describe(token, raw) : "absent")};
  }
  std::string out;
  json_unescape(raw, out);
  if (out.size() > kMemberTextBytesMax) {
    return Error{Errc::invalid, fmt::format("{} is {} bytes long, at most {} make sense", name,
                                            out.size(), kMemberTextBytesMax)};
  }
  return out;
}

}  // namespace reclaim
