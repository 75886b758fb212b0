#include "tests/emulator/host/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "tests/emulator/host/tenant_data.h"

namespace reclaim::emulator {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

bool is_zero(std::byte each) {
  return each == std::byte{0};
}

void count_bytes(std::span<const std::byte> chunk, MediaDigest& digest) {
  digest.bytes += chunk.size();
  digest.nonzero_bytes +=
      chunk.size() - static_cast<std::uint64_t>(std::count_if(chunk.begin(), chunk.end(), is_zero));
}

void count_tenant(std::span<const std::byte> chunk, std::uint64_t at, std::uint64_t namespace_bytes,
                  std::uint64_t seed, MediaDigest& digest) {
  std::array<std::byte, kTenantBlock> expected{};
  for (std::uint64_t i = 0; i + kTenantBlock <= chunk.size(); i += kTenantBlock) {
    tenant_block(seed, at + i, namespace_bytes, expected);
    if (std::all_of(expected.begin(), expected.end(), is_zero)) continue;
    ++digest.tenant_blocks;
    const auto found = chunk.subspan(i, kTenantBlock);
    if (std::equal(found.begin(), found.end(), expected.begin())) ++digest.tenant_blocks_kept;
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
