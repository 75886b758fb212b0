// MemoryMedia: the blocks of a modelled drive in plain memory, for tests of the model alone.
#include <algorithm>

#include "tests/emulator/model/media.h"

namespace reclaim::emulator {

bool MemoryMedia::create(std::uint32_t nsid, std::uint64_t bytes, bool recycle) {
  if (!recycle) bytes_[nsid].clear();
  bytes_[nsid].resize(bytes);
  return true;
}

void MemoryMedia::remove(std::uint32_t nsid) {
  bytes_.erase(nsid);
}

bool MemoryMedia::inside(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) const {
  const auto found = bytes_.find(nsid);
  return found != bytes_.end() && offset <= found->second.size() &&
         length <= found->second.size() - offset;
}

bool MemoryMedia::read(std::uint32_t nsid, std::uint64_t offset, std::span<std::byte> into) {
  if (!inside(nsid, offset, into.size())) return false;
  std::copy_n(bytes_[nsid].data() + offset, into.size(), into.data());
  return true;
}

bool MemoryMedia::write(std::uint32_t nsid, std::uint64_t offset, std::span<const std::byte> from) {
  if (!inside(nsid, offset, from.size())) return false;
  std::copy(from.begin(), from.end(), bytes_[nsid].data() + offset);
  return true;
}

bool MemoryMedia::discard(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) {
  if (!inside(nsid, offset, length)) return false;
  std::fill_n(bytes_[nsid].data() + offset, length, std::byte{0});
  return true;
}

}  // namespace reclaim::emulator
