#include "state/base/log.h"

#include "state/base/enum_names.h"

namespace reclaim {

std::string_view to_string(LogLevel level) {
  return enum_names<LogLevel::critical>("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")[level];
}

std::string printable_excerpt(std::string_view bytes, std::size_t bytes_max) {
  std::string out;
  const bool cut = bytes.size() > bytes_max;
  for (const char c : bytes.substr(0, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte < 0x7f ? c : '.';
  }
  if (cut) out += "...";
  return out;
}

std::string quoted_excerpt(std::string_view bytes, std::size_t bytes_max) {
  std::string out = "'";
  for (const char c : printable_excerpt(bytes, bytes_max)) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

}  // namespace reclaim
