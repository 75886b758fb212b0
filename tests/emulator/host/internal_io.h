// Marks the thread as being inside the emulated kernel: what it opens, reads and stats there is the
// backing store, and the interposers let it through untouched.
#pragma once

namespace reclaim::emulator {

class InternalIo final {
 public:
  InternalIo();
  ~InternalIo();
  InternalIo(const InternalIo&) = delete;
  InternalIo& operator=(const InternalIo&) = delete;

  [[nodiscard]] static bool active();
};

}  // namespace reclaim::emulator
