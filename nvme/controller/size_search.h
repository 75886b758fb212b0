// Finds the largest namespace a drive takes by asking it: the size that it had first, then the
// whole, then downwards in steps that double, then by halves between what was refused and what was
// taken. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace reclaim::nvme {

class SizeSearch final {
 public:
  // No search asks more often, whatever the drive answers: 64 bits down, 64 bits back, and the
  // former size.
  static constexpr int kTriesMax = 130;

  // `former_blocks`: what the drive took before; 0: not known. `unit_blocks`: between what is
  // refused and what is taken no more than that is left.
  explicit SizeSearch(std::uint64_t whole_blocks, std::uint64_t former_blocks = 0,
                      std::uint64_t unit_blocks = 1);

  // The size to try next, in blocks; nothing: the largest is known.
  [[nodiscard]] std::optional<std::uint64_t> next() const;
  // Tell the drive's answer to the size of next().
  void taken();
  void refused();

  // The largest that was taken; 0: none was.
  [[nodiscard]] std::uint64_t largest() const { return taken_; }

 private:
  void halve();

  std::uint64_t whole_;
  std::uint64_t former_;
  std::uint64_t unit_;
  std::uint64_t taken_ = 0;
  std::uint64_t refused_;
  std::uint64_t next_;
  std::uint64_t step_;
};

}  // namespace reclaim::nvme
