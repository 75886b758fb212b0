// The marks of one zeroing (zero_mark.h), taken while it runs. Nothing is marked where the drive or
// the host lacks what a proof needs: then another worker begins with the first byte. Blocking;
// thread: the drive's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nvme/drive_context.h"
#include "nvme/erase/zero_mark.h"

namespace reclaim::nvme {

// The claimed drive as a mark names it.
[[nodiscard]] ZeroTarget zero_target(const DriveContext& drive);

class ZeroMarks final {
 public:
  // `zeros`: at least a block of them; outlive the object, as `drive` does.
  ZeroMarks(const DriveContext& drive, EraseMethod method, std::span<const std::byte> zeros)
      : drive_(drive), method_(method), zeros_(zeros) {}

  // Begins the marks, before the first byte behind `position_bytes` is written.
  void begin(std::uint64_t position_bytes);
  // Flushes the drive and returns the mark of what is done up to `position_bytes`. `ended`: nothing
  // is in flight any more, and nothing more is written. None: nothing can be marked, or the mark
  // before holds: nothing was written since, and it allows for more of our writes than one of now
  // would.
  [[nodiscard]] std::optional<std::string> take(std::uint64_t position_bytes, bool ended);

 private:
  [[nodiscard]] Result<ZeroMark> marked(std::uint64_t position_bytes, bool ended);
  [[nodiscard]] Result<std::uint64_t> host_writes() const;
  [[nodiscard]] Result<std::uint64_t> counted_write() const;
  void give_up(const Error& why);

  const DriveContext& drive_;
  const EraseMethod method_;
  const std::span<const std::byte> zeros_;
  bool marks_ = true;
  bool counts_ = false;               // the drive has counted one of our writes
  std::uint64_t position_bytes_ = 0;  // of the last mark, or at the beginning
  std::uint64_t host_writes_ = 0;     // then
};

}  // namespace reclaim::nvme
