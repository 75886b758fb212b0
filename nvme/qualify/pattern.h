// The pattern that a qualification writes over a drive before each erase and knows again
// afterwards: bytes that depend on a nonce and on their place, so that whatever is left of them is
// told from everything else, at its place or at another. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reclaim::nvme {

class Pattern final {
 public:
  // The bytes of a unit, which is looked at as a whole. A unit divides every block size.
  static constexpr std::size_t kUnitBytes = 512;

  explicit Pattern(std::uint64_t nonce);

  // `bytes` and `offset_bytes` are whole units.
  void fill(std::span<std::byte> bytes, std::uint32_t nsid, std::uint64_t offset_bytes) const;
  [[nodiscard]] bool is_intact(std::span<const std::byte> unit, std::uint32_t nsid,
                               std::uint64_t offset_bytes) const;
  // True if the unit has any eight bytes that this pattern has at this place, or the mark that
  // begins each of its units wherever it was written.
  [[nodiscard]] bool is_trace(std::span<const std::byte> unit, std::uint32_t nsid,
                              std::uint64_t offset_bytes) const;

 private:
  [[nodiscard]] std::uint64_t word_at(std::uint64_t key, std::uint64_t offset_bytes) const;
  [[nodiscard]] std::uint64_t key_of(std::uint32_t nsid) const;

  std::uint64_t nonce_;
  std::uint64_t mark_;
};

// The bytes of the media by what they read as. Each unit counts once.
struct MediaCounts {
  std::uint64_t intact = 0;  // as the newest pattern was written
  std::uint64_t traces = 0;  // something of a pattern, and not intact
  std::uint64_t zeroes = 0;
  std::uint64_t ones = 0;  // 0xff
  std::uint64_t other = 0;
  std::uint64_t unreadable = 0;
  // The first unit that is intact or a trace, in the order of NSID and offset.
  std::uint32_t found_nsid = 0;  // 0: nowhere
  std::uint64_t found_offset = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    return intact + traces + zeroes + ones + other + unreadable;
  }
  void add(const MediaCounts& more);
  friend bool operator==(const MediaCounts&, const MediaCounts&) = default;
};

// `patterns`: all that were written to the drive, the newest last. `bytes` and `offset_bytes` are
// whole units.
[[nodiscard]] MediaCounts count_media(std::span<const std::byte> bytes, std::uint32_t nsid,
                                      std::uint64_t offset_bytes,
                                      const std::vector<Pattern>& patterns);

}  // namespace reclaim::nvme
