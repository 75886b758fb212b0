#include "listener/signals.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <utility>

#include "state/base/check.h"

namespace reclaim::listener {

struct Signals::Handles {
  std::array<uv_signal_t, 3> signals{};
  std::function<void()> on_stop;
  std::function<void()> on_reload;
  bool asked = false;
  std::size_t open = 0;
};

Signals::Signals(uv_loop_t* loop, std::function<void()> on_stop, std::function<void()> on_reload)
    : handles_(std::make_unique<Handles>().release()) {
  std::signal(SIGPIPE, SIG_IGN);
  handles_->on_stop = std::move(on_stop);
  handles_->on_reload = std::move(on_reload);
  const std::array<int, 3> numbers{SIGTERM, SIGINT, SIGHUP};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    uv_signal_t& signal = handles_->signals.at(i);
    CHECK(uv_signal_init(loop, &signal) == 0);
    signal.data = handles_;
    handles_->open += 1;
    const int rc = uv_signal_start(
        &signal,
        [](uv_signal_t* seen, int number) {
          auto* handles = static_cast<Handles*>(seen->data);
          if (number == SIGHUP) {
            if (!handles->asked) handles->on_reload();
            return;
          }
          if (handles->asked) _exit(128 + number);
          handles->asked = true;
          handles->on_stop();
        },
        numbers.at(i));
    CHECK(rc == 0);
  }
}

Signals::~Signals() {
  handles_->on_stop = handles_->on_reload = nullptr;
  for (uv_signal_t& signal : handles_->signals) {
    uv_close(reinterpret_cast<uv_handle_t*>(&signal), [](uv_handle_t* closed) {
      auto* handles = static_cast<Handles*>(closed->data);
      if (--handles->open == 0) delete handles;
    });
  }
}

}  // namespace reclaim::listener
