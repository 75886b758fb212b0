#include "tests/emulator/host/tenant_data.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace reclaim::emulator {
namespace {

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ value >> 27U) * 0x94d049bb133111ebULL;
  return value ^ value >> 31U;
}

void put(std::span<std::byte> block, std::size_t at, const char* bytes, std::size_t length) {
  std::memcpy(block.data() + at, bytes, length);
}

}  // namespace

void tenant_block(std::uint64_t seed, std::uint64_t offset, std::uint64_t namespace_bytes,
                  std::span<std::byte, kTenantBlock> block) {
  constexpr std::uint64_t kStripe = 64 * 1024;
  constexpr std::uint64_t kEdge = 1024 * 1024;  // never blank near the ends
  const std::uint64_t stripe = offset / kStripe;
  const std::uint64_t kind = mix(seed ^ mix(stripe)) % 8;
  const bool edge = offset < kEdge || offset + kEdge >= namespace_bytes;
  std::fill(block.begin(), block.end(), std::byte{0});
  if (kind == 0 && !edge) return;
  if (kind <= 3) {
    char line[160];
    for (std::size_t at = 0; at < block.size(); at += 128) {
      std::snprintf(line, sizeof(line),
                    "RECLAIM-TENANT-DATA seed=%016llx offset=%016llx account=%08llx secret=%016llx "
                    "do not leak this ever\n",
                    static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(offset + at),
                    static_cast<unsigned long long>(mix(offset + at) & 0xffffffffU),
                    static_cast<unsigned long long>(mix(seed ^ (offset + at))));
      put(block, at, line, std::min<std::size_t>(128, std::strlen(line)));
    }
  } else {
    std::uint64_t word = mix(seed ^ offset);
    for (std::size_t at = 0; at < block.size(); at += sizeof(word)) {
      word = mix(word);
      std::memcpy(block.data() + at, &word, sizeof(word));
    }
  }
  if (offset == 0) {  // protective MBR and GPT header
    put(block, 510, "\x55\xaa", 2);
    put(block, 450, "\xee", 1);
    put(block, 512, "EFI PART", 8);
  }
  if (offset + kTenantBlock == namespace_bytes) put(block, kTenantBlock - 512, "EFI PART", 8);
}

}  // namespace reclaim::emulator
