#include "state/base/visible.h"

#include <fmt/core.h>

#include "state/base/text.h"

namespace reclaim {

bool is_obeyed(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool ends_line = code == 0x2028 || code == 0x2029;
  const bool turns = code == 0x061C || code == 0x200E || code == 0x200F ||
                     (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return control || ends_line || turns;
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char next = first_utf8_char(text);
    if (!next.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (!is_obeyed(next.code)) {
      out += text.substr(0, next.bytes);
    } else if (next.code <= 0xFF) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(next.code));
    } else {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(next.code));
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

std::string visible_id(std::string_view text) {
  constexpr std::string_view kMarks = "-_.:";
  std::string out;
  for (const char c : text) {
    if (is_alnum(c) || kMarks.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace reclaim
