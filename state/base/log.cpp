#include "state/base/log.h"

namespace reclaim {

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "DEBUG";
    case LogLevel::info:
      return "INFO";
    case LogLevel::warning:
      return "WARNING";
    case LogLevel::error:
      return "ERROR";
    case LogLevel::critical:
      return "CRITICAL";
  }
  return "INFO";
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

}  // namespace reclaim
