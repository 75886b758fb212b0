#include "handlers/bus/json_scanner.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "state/base/text.h"

namespace reclaim {
namespace {

// What a byte means inside a string: plain bytes are run over without a second look.
enum class InString : std::uint8_t { plain, quote, backslash, control, high };

constexpr std::array<InString, 256> make_in_string() {
  std::array<InString, 256> table{};
  for (std::size_t i = 0; i < 256; ++i) {
    table[i] = i < 0x20    ? InString::control
               : i == '"'  ? InString::quote
               : i == '\\' ? InString::backslash
               : i >= 0x80 ? InString::high
                           : InString::plain;
  }
  return table;
}
constexpr std::array<InString, 256> kInString = make_in_string();

constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
constexpr std::uint64_t kHighs = 0x8080808080808080ULL;

std::uint64_t load_eight(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// How many of eight bytes come before the first whose highest bit is set in `found`. A borrow
// between bytes may raise a false alarm above a true one, never below: so the first is always true.
std::size_t before_first(std::uint64_t found) {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  found &= kHighs;
  return found == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(found)) / 8;
}

// How many of eight bytes are plain: no quote, no backslash, none below 0x20, none above 0x7f.
std::size_t plain_bytes(const char* at) {
  const std::uint64_t word = load_eight(at);
  const std::uint64_t quote = word ^ (kOnes * '"');
  const std::uint64_t slash = word ^ (kOnes * '\\');
  return before_first((word - kOnes * 0x20) | (quote - kOnes) | (slash - kOnes) | word);
}

std::size_t bytes_before_backslash(const char* at) {
  const std::uint64_t slash = load_eight(at) ^ (kOnes * '\\');
  return before_first((slash - kOnes) & ~slash);
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

std::uint32_t hex4(std::string_view raw, std::size_t at) {
  return parse_number<std::uint32_t>(raw.substr(at, 4), 16).value_or(0);  // scanned before
}

// raw[at] is the 'u' of an escape; appends its character and returns the index after it.
std::size_t unescape_unicode(std::string_view raw, std::size_t at, std::string& out) {
  std::uint32_t code = hex4(raw, at + 1);
  at += 5;
  if (code >= 0xD800 && code <= 0xDBFF && at + 6 <= raw.size() && raw[at] == '\\' &&
      raw[at + 1] == 'u') {
    const std::uint32_t low = hex4(raw, at + 2);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      code = 0x10000U + ((code - 0xD800U) << 10U) + (low - 0xDC00U);
      at += 6;
    }
  }
  if (code >= 0xD800 && code <= 0xDFFF) code = 0xFFFD;
  append_utf8(code, out);
  return at;
}

}  // namespace

JsonScanner::Token JsonScanner::fail(const char* what) {
  if (error_ == nullptr) error_ = what;
  raw_ = {};
  return Token::error;
}

std::string JsonScanner::error() const {
  if (error_ == nullptr) return "no error";
  return fmt::format("{} at byte {}", error_, at_);
}

void JsonScanner::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    ++at_;
  }
}

JsonScanner::Token JsonScanner::next() {
  if (error_ != nullptr) return Token::error;
  skip_space();
  if (expect_ == Expect::nothing) {
    if (at_ == text_.size()) return Token::end;
    return fail("more text after the end of the value");
  }
  if (at_ == text_.size()) return fail(text_.empty() ? "an empty text" : "the text ends too early");
  const char c = text_[at_];
  switch (expect_) {
    case Expect::first_key:
      return c == '}' ? close(true) : key();
    case Expect::next_key:
      return key();
    case Expect::first_element:
      return c == ']' ? close(false) : value();
    case Expect::after_value: {
      const bool object = is_object_[depth_ - 1];
      if (c == (object ? '}' : ']')) return close(object);
      if (c != ',')
        return fail(object ? "no ',' or '}' after a member" : "no ',' or ']' after an element");
      ++at_;
      skip_space();
      if (at_ == text_.size()) return fail("the text ends too early");
      return object ? key() : value();
    }
    case Expect::value:
    case Expect::nothing:
      break;
  }
  return value();
}

bool JsonScanner::skip_container() {
  const std::size_t outside = depth_ - 1;
  while (depth_ > outside) {
    if (next() == Token::error) return false;
  }
  return true;
}

JsonScanner::Token JsonScanner::value() {
  switch (text_[at_]) {
    case '{':
      return open(true);
    case '[':
      return open(false);
    case '"':
      if (!scan_string()) return Token::error;
      after_value();
      return Token::string;
    case 't':
    case 'f':
    case 'n':
      return scan_literal();
    default:
      return scan_number();
  }
}

JsonScanner::Token JsonScanner::open(bool object) {
  if (depth_ == kJsonDepthMax) return fail("nested more than 512 levels deep");
  ++at_;
  is_object_[depth_] = object;
  ++depth_;
  expect_ = object ? Expect::first_key : Expect::first_element;
  raw_ = {};
  return object ? Token::object_begin : Token::array_begin;
}

JsonScanner::Token JsonScanner::close(bool object) {
  ++at_;
  --depth_;
  after_value();
  raw_ = {};
  return object ? Token::object_end : Token::array_end;
}

JsonScanner::Token JsonScanner::key() {
  if (text_[at_] != '"') return fail("no member name in double quotes");
  if (!scan_string()) return Token::error;
  skip_space();
  if (at_ == text_.size()) return fail("the text ends too early");
  if (text_[at_] != ':') return fail("no ':' after a member name");
  ++at_;
  expect_ = Expect::value;
  return Token::key;
}

bool JsonScanner::scan_string() {
  const char* const text = text_.data();
  const std::size_t size = text_.size();
  std::size_t at = at_ + 1;
  const std::size_t begin = at;
  escaped_ = false;
  while (true) {
    for (std::size_t plain = 8; plain == 8 && at + 8 <= size; at += plain) {
      plain = plain_bytes(text + at);
    }
    while (at < size && kInString[static_cast<unsigned char>(text[at])] == InString::plain) ++at;
    at_ = at;
    if (at == size) return fail("the text ends inside a string") != Token::error;
    switch (kInString[static_cast<unsigned char>(text[at])]) {
      case InString::quote:
        raw_ = text_.substr(begin, at - begin);
        ++at_;
        return true;
      case InString::backslash:
        escaped_ = true;
        // The message inside an envelope is full of these.
        if (at + 1 < size && text[at + 1] == '"') {
          at += 2;
          break;
        }
        if (!scan_escape()) return false;
        at = at_;
        break;
      case InString::high:
        if (!scan_utf8()) return false;
        at = at_;
        break;
      case InString::control:
        return fail("a control character in a string") != Token::error;
      case InString::plain:
        break;
    }
  }
}

bool JsonScanner::scan_escape() {
  if (at_ + 1 >= text_.size()) return fail("the text ends inside a string") != Token::error;
  switch (text_[at_ + 1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      at_ += 2;
      return true;
    case 'u':
      for (std::size_t i = 2; i < 6; ++i) {
        if (at_ + i >= text_.size()) return fail("the text ends inside a string") != Token::error;
        if (hex_value(text_[at_ + i]) < 0) {
          return fail("a \\u escape without four hexadecimal digits") != Token::error;
        }
      }
      at_ += 6;
      return true;
    default:
      return fail("an escape JSON does not have") != Token::error;
  }
}

bool JsonScanner::scan_utf8() {
  const Utf8Char next = first_utf8_char(text_.substr(at_));
  if (!next.valid) return fail("bytes that are no UTF-8") != Token::error;
  at_ += next.bytes;
  return true;
}

JsonScanner::Token JsonScanner::scan_literal() {
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text_.substr(at_, word.size()) == word) {
      raw_ = text_.substr(at_, word.size());
      at_ += word.size();
      after_value();
      return Token::literal;
    }
  }
  return fail("no JSON value");
}

JsonScanner::Token JsonScanner::scan_number() {
  std::size_t at = at_;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text_.size() && is_digit(text_[at])) ++at;
    return at > first;
  };
  if (text_[at] == '-') ++at;
  if (at < text_.size() && text_[at] == '0') {
    ++at;
  } else if (!digits()) {
    return fail("no JSON value");
  }
  if (at < text_.size() && text_[at] == '.') {
    ++at;
    if (!digits()) return fail("a number without digits after its point");
  }
  if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
    ++at;
    if (at < text_.size() && (text_[at] == '+' || text_[at] == '-')) ++at;
    if (!digits()) return fail("a number without digits in its exponent");
  }
  raw_ = text_.substr(at_, at - at_);
  at_ = at;
  after_value();
  return Token::number;
}

void json_unescape(std::string_view raw, std::string& out) {
  out.clear();
  out.reserve(raw.size());
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = at;
    for (std::size_t plain = 8; plain == 8 && at + 8 <= raw.size(); at += plain) {
      plain = bytes_before_backslash(raw.data() + at);
    }
    while (at < raw.size() && raw[at] != '\\') ++at;
    out.append(raw.data() + begin, at - begin);
    if (at == raw.size()) return;
    ++at;
    switch (raw[at]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u':
        at = unescape_unicode(raw, at, out);
        continue;
      default:
        out += raw[at];
        break;
    }
    ++at;
  }
}

void json_append_string(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    switch (kInString[static_cast<unsigned char>(c)]) {
      case InString::plain:
        out += c;
        break;
      case InString::quote:
        out += "\\\"";
        break;
      case InString::backslash:
        out += "\\\\";
        break;
      case InString::control:
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        break;
      case InString::high: {
        const Utf8Char next = first_utf8_char(text.substr(at));
        if (!next.valid) {
          out += "\xEF\xBF\xBD";
          break;
        }
        out.append(text.substr(at, next.bytes));
        at += next.bytes;
        continue;
      }
    }
    ++at;
  }
  out += '"';
}

}  // namespace reclaim
