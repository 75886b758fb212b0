#include "state/base/uv.h"

#include "state/base/check.h"

namespace reclaim::uv {
namespace {

// Each holder's first member is its uv handle, and handle.data points back at the holder.
template <typename Holder>
void close_and_free(Holder* holder) {
  auto* handle = reinterpret_cast<uv_handle_t*>(&holder->uv);
  uv_close(handle, [](uv_handle_t* closed) { delete static_cast<Holder*>(closed->data); });
}

}  // namespace

Loop::Loop() {
  CHECK(uv_loop_init(&loop_) == 0);
}

Loop::~Loop() {
  uv_run(&loop_, UV_RUN_NOWAIT);
  // A handle that nobody closed would keep the loop running for ever; a request, such as a name
  // lookup, only needs its time.
  uv_walk(
      &loop_, [](uv_handle_t* handle, void* /*unused*/) { CHECK(uv_is_closing(handle) != 0); },
      nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&loop_) == 0);
}

void Loop::run() {
  uv_run(&loop_, UV_RUN_DEFAULT);
}
void Loop::run_once() {
  uv_run(&loop_, UV_RUN_ONCE);
}
void Loop::run_nowait() {
  uv_run(&loop_, UV_RUN_NOWAIT);
}
void Loop::stop() {
  uv_stop(&loop_);
}

struct Timer::Handle {
  uv_timer_t uv{};
  std::function<void()> on_fire;
};

Timer::Timer(uv_loop_t* loop) : handle_(new Handle) {
  CHECK(uv_timer_init(loop, &handle_->uv) == 0);
  handle_->uv.data = handle_;
}

Timer::~Timer() {
  handle_->on_fire = nullptr;
  close_and_free(handle_);
}

void Timer::start(std::uint64_t delay_ms, std::uint64_t repeat_ms, std::function<void()> on_fire) {
  handle_->on_fire = std::move(on_fire);
  uv_update_time(handle_->uv.loop);
  const int rc = uv_timer_start(
      &handle_->uv,
      [](uv_timer_t* timer) {
        // Copied, because the callback may start this timer again or destroy its owner.
        const auto on_fire_now = static_cast<Handle*>(timer->data)->on_fire;
        if (on_fire_now) on_fire_now();
      },
      delay_ms, repeat_ms);
  CHECK(rc == 0);
}

void Timer::stop() {
  uv_timer_stop(&handle_->uv);
}

bool Timer::active() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&handle_->uv)) != 0;
}

struct Poll::Handle {
  uv_poll_t uv{};
  std::function<void(int, int)> on_event;
};

Poll::Poll(uv_loop_t* loop, int fd, std::function<void(int status, int events)> on_event)
    : handle_(new Handle) {
  CHECK(uv_poll_init(loop, &handle_->uv, fd) == 0);
  handle_->uv.data = handle_;
  handle_->on_event = std::move(on_event);
}

Poll::~Poll() {
  handle_->on_event = nullptr;
  uv_poll_stop(&handle_->uv);
  close_and_free(handle_);
}

void Poll::watch(int events) {
  if (events == 0) {
    uv_poll_stop(&handle_->uv);
    return;
  }
  const int rc = uv_poll_start(&handle_->uv, events, [](uv_poll_t* poll, int status, int seen) {
    const auto on_event_now = static_cast<Handle*>(poll->data)->on_event;
    if (on_event_now) on_event_now(status, seen);
  });
  CHECK(rc == 0);
}

struct Async::Handle {
  uv_async_t uv{};
  std::function<void()> on_wake;
};

Async::Async(uv_loop_t* loop, std::function<void()> on_wake) : handle_(new Handle) {
  const int rc = uv_async_init(loop, &handle_->uv, [](uv_async_t* async) {
    const auto on_wake_now = static_cast<Handle*>(async->data)->on_wake;
    if (on_wake_now) on_wake_now();
  });
  CHECK(rc == 0);
  handle_->uv.data = handle_;
  handle_->on_wake = std::move(on_wake);
}

Async::~Async() {
  handle_->on_wake = nullptr;
  close_and_free(handle_);
}

void Async::send() {
  uv_async_send(&handle_->uv);
}

}  // namespace reclaim::uv
