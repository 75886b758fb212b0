#include "nvme/controller/buffer.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "state/base/check.h"
#include "state/base/text.h"

namespace reclaim::nvme {

AlignedBuffer::AlignedBuffer(std::size_t bytes)
    : size_((bytes + kAlignment - 1) / kAlignment * kAlignment),
      data_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size_))) {
  CHECK(data_ != nullptr);
}

void AlignedBuffer::Free::operator()(std::byte* data) const {
  std::free(data);
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, EVP_sha256(), nullptr) == 1);
  return hex_of({out.data(), length});
}

Status fill_random(std::span<std::byte> bytes) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error{Errc::failed, fmt::format("getrandom: {}", std::strerror(errno)), errno};
    }
    have += static_cast<std::size_t>(got);
  }
  return Ok{};
}

}  // namespace reclaim::nvme
