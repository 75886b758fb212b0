#include "nvme/controller/bytes.h"

#include <fmt/core.h>

namespace reclaim::nvme {

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    const char c = std::to_integer<char>(each);
    text += c == '\0' ? ' ' : (c < ' ' || c > '~') ? '?' : c;
  }
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Status check_size(std::span<const std::byte> page, std::size_t wanted, std::string_view name) {
  if (page.size() >= wanted) return Ok{};
  return Error{Errc::invalid,
               fmt::format("{} is {} bytes long instead of {}", name, page.size(), wanted)};
}

}  // namespace reclaim::nvme
