#include "nvme/firmware/image.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "nvme/controller/buffer.h"
#include "state/base/owned_file.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20U;
constexpr std::size_t kDwordBytes = 4;

Error failed(Error error) {
  error.code = Errc::failed;
  return error;
}

}  // namespace

Result<std::vector<std::byte>> read_image(const FirmwareOptions& options,
                                          const FirmwareImage& image) {
  const WantedFile wanted{"firmware image", image.path, options.owner, kBytesMax};
  const auto file = open_owned_file(wanted);
  if (!file) return failed(file.error());
  std::vector<std::byte> bytes(file->bytes);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file->fd.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return failed(refuse(wanted, fmt::format("cannot be read: {}", std::strerror(errno))));
    }
    if (got == 0) break;  // it shrank: the digest tells
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  const std::string digest = sha256_hex(bytes);
  if (digest != image.sha256) {
    return failed(refuse(wanted, fmt::format("has the SHA-256 {}, firmware_images says {}: copy "
                                             "the image again, or correct sha256",
                                             digest, image.sha256)));
  }
  if (bytes.empty() || bytes.size() % kDwordBytes != 0) {
    return failed(refuse(wanted, fmt::format("has {} bytes, and drives take multiples of {}: get "
                                             "the whole image from the vendor",
                                             bytes.size(), kDwordBytes)));
  }
  return bytes;
}

}  // namespace reclaim::nvme
