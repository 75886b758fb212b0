// SIGTERM and SIGINT ask for a planned stop; a second one ends the process at once. SIGHUP asks for
// what can be read anew. SIGPIPE is ignored: a peer that is gone is an error code, not our end.
// Thread: the loop's.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>

namespace reclaim::listener {

class Signals final {
 public:
  Signals(uv_loop_t* loop, std::function<void()> on_stop, std::function<void()> on_reload);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct Handles;
  Handles* handles_;  // freed when libuv has closed the last of them
};

}  // namespace reclaim::listener
