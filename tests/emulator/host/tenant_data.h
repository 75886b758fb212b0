// What a tenant leaves on a drive: a partition table at both ends, text, noise and holes. The
// content of every 4 KiB block follows from the seed and its place alone, so what survives can be
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace reclaim::emulator {

inline constexpr std::uint64_t kTenantBlock = 4096;

// The block at `offset` (a multiple of 4096) of a namespace of `namespace_bytes`.
void tenant_block(std::uint64_t seed, std::uint64_t offset, std::uint64_t namespace_bytes,
                  std::span<std::byte, kTenantBlock> block);

}  // namespace reclaim::emulator
