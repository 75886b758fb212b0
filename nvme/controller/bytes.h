// Numbers out of and into the byte arrays that go to and come from a drive. NVMe is little-endian,
// the TCG structures inside of it are big-endian. And its texts. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "state/base/check.h"
#include "state/base/result.h"

namespace reclaim::nvme {

template <typename Number>
[[nodiscard]] Number load_le(std::span<const std::byte> bytes, std::size_t offset) {
  CHECK(offset + sizeof(Number) <= bytes.size());
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[offset + i]);
  }
  return static_cast<Number>(value);
}

template <typename Number>
[[nodiscard]] Number load_be(std::span<const std::byte> bytes, std::size_t offset) {
  CHECK(offset + sizeof(Number) <= bytes.size());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[offset + i]);
  }
  return static_cast<Number>(value);
}

template <typename Number>
void store_le(std::span<std::byte> bytes, std::size_t offset, Number value) {
  CHECK(offset + sizeof(Number) <= bytes.size());
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes[offset + i] = static_cast<std::byte>(std::uint64_t{value} >> (8 * i) & 0xffU);
  }
}

// A fixed field of printable ASCII, padded with blanks (some drives pad with NULs), trimmed. What
// is not printable becomes '?', so that no drive can write control characters into a log.
[[nodiscard]] std::string text_of(std::span<const std::byte> bytes);

// Errc::invalid names the page where it is shorter than `wanted` bytes.
[[nodiscard]] Status check_size(std::span<const std::byte> page, std::size_t wanted,
                                std::string_view name);

}  // namespace reclaim::nvme
