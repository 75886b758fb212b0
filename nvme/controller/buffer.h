// Memory for what goes to and comes from a drive, and what is made of its bytes. Thread: any.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "state/base/result.h"

namespace reclaim::nvme {

// Memory that O_DIRECT accepts.
class AlignedBuffer final {
 public:
  static constexpr std::size_t kAlignment = 4096;
  explicit AlignedBuffer(std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);
// Fills from the kernel's random source.
[[nodiscard]] Status fill_random(std::span<std::byte> bytes);

}  // namespace reclaim::nvme
