// Where the bytes of the namespaces live: the model's one seam to the outside. In memory for unit
// tests, in files for an emulated host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace reclaim::emulator {

// Offsets and lengths are bytes. A range outside the namespace is the caller's mistake. `false`
// means that the outside world failed (a full disk), which the model reports as an internal error.
class Media {
 public:
  virtual ~Media() = default;
  // Zeros, or, with `recycle`, what earlier namespaces left, first come, first served.
  virtual bool create(std::uint32_t nsid, std::uint64_t bytes, bool recycle) = 0;
  virtual void remove(std::uint32_t nsid) = 0;
  // Out of use, its bytes kept for create(recycle).
  virtual void retire(std::uint32_t nsid) = 0;
  virtual bool read(std::uint32_t nsid, std::uint64_t offset, std::span<std::byte> into) = 0;
  virtual bool write(std::uint32_t nsid, std::uint64_t offset, std::span<const std::byte> from) = 0;
  // Gives the storage back: the range reads as zeros.
  virtual bool discard(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) = 0;
};

class MemoryMedia final : public Media {
 public:
  bool create(std::uint32_t nsid, std::uint64_t bytes, bool recycle = false) override;
  void remove(std::uint32_t nsid) override;
  void retire(std::uint32_t) override {}
  bool read(std::uint32_t nsid, std::uint64_t offset, std::span<std::byte> into) override;
  bool write(std::uint32_t nsid, std::uint64_t offset, std::span<const std::byte> from) override;
  bool discard(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) override;

 private:
  bool inside(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) const;

  std::map<std::uint32_t, std::vector<std::byte>> bytes_;
};

}  // namespace reclaim::emulator
