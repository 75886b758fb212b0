#include "tests/emulator/host/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/emulator/host/tenant_data.h"

namespace reclaim::emulator {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

// Each byte equals the one before it, and the first is zero.
bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{0} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// Most of what is looked at was erased. Without optimization a look at each byte takes long.
void count_bytes(std::span<const std::byte> chunk, MediaDigest& digest) {
  digest.bytes += chunk.size();
  for (std::size_t at = 0; at < chunk.size(); at += kTenantBlock) {
    const auto block = chunk.subspan(at, std::min(kTenantBlock, chunk.size() - at));
    if (is_zero(block)) continue;
    const auto zeros = std::count(block.begin(), block.end(), std::byte{0});
    digest.nonzero_bytes += block.size() - static_cast<std::uint64_t>(zeros);
  }
}

void count_tenant(std::span<const std::byte> chunk, std::uint64_t at, std::uint64_t namespace_bytes,
                  std::uint64_t seed, MediaDigest& digest) {
  std::array<std::byte, kTenantBlock> expected{};
  for (std::uint64_t i = 0; i + kTenantBlock <= chunk.size(); i += kTenantBlock) {
    tenant_block(seed, at + i, namespace_bytes, expected);
    if (is_zero(expected)) continue;
    ++digest.tenant_blocks;
    if (std::memcmp(&chunk[i], expected.data(), kTenantBlock) == 0) ++digest.tenant_blocks_kept;
  }
}

std::string finish(EVP_MD_CTX* context) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context, raw.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", raw[i]);
    text += two;
  }
  return text;
}

}  // namespace

Result<MediaDigest> media_digest(Host& host, const std::string& address,
                                 std::optional<std::uint64_t> seed) {
  auto found = host.drive(address);
  if (!found.ok()) return found.error();
  DriveFile& drive = **found;
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  MediaDigest digest;
  const bool read = drive.with([&](Controller& controller, DriveState&) {
    std::vector<std::byte> chunk(1U << 20U);
    for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
      const std::uint64_t bytes = controller.namespace_bytes(nsid);
      for (std::uint64_t at = 0; at < bytes; at += chunk.size()) {
        const auto part = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), bytes - at));
        if (!drive.media().read(nsid, at, part)) return false;
        EVP_DigestUpdate(context.get(), part.data(), part.size());
        count_bytes(part, digest);
        if (seed.has_value()) count_tenant(part, at, bytes, *seed + nsid - 1, digest);
      }
    }
    return true;
  });
  if (!read) return Error{Errc::failed, "cannot read the media of " + address};
  digest.sha256 = finish(context.get());
  return digest;
}

}  // namespace reclaim::emulator
