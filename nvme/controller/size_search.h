// Finds the largest namespace a drive takes by asking it: from the whole downwards in steps that
// double, then by halves between what was refused and what was taken. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace reclaim::nvme {

class SizeSearch final {
 public:
  // No search asks more often, whatever the drive answers: 64 bits down, 64 bits back.
  static constexpr int kTriesMax = 128;

  explicit SizeSearch(std::uint64_t whole_blocks)
      : refused_(whole_blocks + 1), next_(whole_blocks) {}

  // The size to try next, in blocks; nothing: the largest is known.
  [[nodiscard]] std::optional<std::uint64_t> next() const;
  // What the drive said to it.
  void taken();
  void refused();

  // The largest that was taken; 0: none was.
  [[nodiscard]] std::uint64_t largest() const { return taken_; }

 private:
  std::uint64_t taken_ = 0;
  std::uint64_t refused_;
  std::uint64_t next_;
  std::uint64_t step_ = 1;
};

}  // namespace reclaim::nvme
