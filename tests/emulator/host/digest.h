// What is on an emulated drive's media, for before-and-after tables and for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "state/base/result.h"
#include "tests/emulator/host/host.h"

namespace reclaim::emulator {

struct MediaDigest {
  std::string sha256;  // of all allocated namespaces, in order, in hex
  std::uint64_t bytes = 0;
  std::uint64_t nonzero_bytes = 0;
  std::uint64_t tenant_blocks = 0;       // 4 KiB blocks that fill(seed) made non-zero
  std::uint64_t tenant_blocks_kept = 0;  // of these, how many still hold the same bytes
};

// Reads the media behind the drive's back: allowed also while a sanitize runs. With `seed`, counts
// what survives of Host::fill(address, seed).
Result<MediaDigest> media_digest(Host& host, const std::string& address,
                                 std::optional<std::uint64_t> seed = std::nullopt);

}  // namespace reclaim::emulator
