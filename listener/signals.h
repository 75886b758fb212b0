// SIGTERM and SIGINT ask for a planned stop; a second one ends the process at once. SIGHUP asks for
// what can be read again. SIGPIPE is ignored: a peer that is gone is an error code, not our end.
// Thread: the loop's.
#pragma once

#include <functional>

#include "state/base/uv.h"

namespace reclaim::listener {

class Signals final {
 public:
  Signals(uv_loop_t* loop, std::function<void()> on_stop, std::function<void()> on_reload);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void asked_to_stop(int number);

  std::function<void()> on_stop_;
  std::function<void()> on_reload_;
  bool asked_ = false;
  uv::Signal terminate_;
  uv::Signal interrupt_;
  uv::Signal hang_up_;
};

}  // namespace reclaim::listener
