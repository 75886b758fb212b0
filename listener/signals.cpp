#include "listener/signals.h"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace reclaim::listener {

Signals::Signals(uv_loop_t* loop, std::function<void()> on_stop, std::function<void()> on_reload)
    : on_stop_(std::move(on_stop)),
      on_reload_(std::move(on_reload)),
      terminate_(loop, SIGTERM, [this] { asked_to_stop(SIGTERM); }),
      interrupt_(loop, SIGINT, [this] { asked_to_stop(SIGINT); }),
      hang_up_(loop, SIGHUP, [this] {
        if (!asked_) on_reload_();
      }) {
  std::signal(SIGPIPE, SIG_IGN);
}

void Signals::asked_to_stop(int number) {
  if (std::exchange(asked_, true)) _exit(128 + number);
  on_stop_();
}

}  // namespace reclaim::listener
