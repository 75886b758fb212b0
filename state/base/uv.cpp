#include "state/base/uv.h"

#include "state/base/calls_owed.h"
#include "state/base/check.h"

namespace reclaim::uv {
namespace {

template <typename Uv, typename... Args>
Owned<Uv, Args...> own(std::function<void(Args...)> told) {
  Owned<Uv, Args...> owned(new Handle<Uv, Args...>);
  owned->uv.data = owned.get();
  owned->tell = std::move(told);
  return owned;
}

// Copied, because the callback may start its handle again or destroy the owner.
template <typename Uv, typename... Args>
void tell(Uv* uv, Args... args) {
  const auto tell_now = static_cast<Handle<Uv, Args...>*>(uv->data)->tell;
  if (tell_now) tell_now(args...);
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
  const CallsOwed owed(true);
  uv_run(&loop_, UV_RUN_DEFAULT);
}
void Loop::run_once() {
  const CallsOwed owed(true);
  uv_run(&loop_, UV_RUN_ONCE);
}
void Loop::run_nowait() {
  const CallsOwed owed(true);
  uv_run(&loop_, UV_RUN_NOWAIT);
}
void Loop::stop() {
  uv_stop(&loop_);
}

Timer::Timer(uv_loop_t* loop) : handle_(own<uv_timer_t>(std::function<void()>())) {
  CHECK(uv_timer_init(loop, &handle_->uv) == 0);
}

void Timer::start(std::uint64_t delay_ms, std::uint64_t repeat_ms, std::function<void()> on_fire) {
  handle_->tell = std::move(on_fire);
  uv_update_time(handle_->uv.loop);
  CHECK(uv_timer_start(
            &handle_->uv, [](uv_timer_t* timer) { tell(timer); }, delay_ms, repeat_ms) == 0);
}

void Timer::stop() {
  uv_timer_stop(&handle_->uv);
}

bool Timer::active() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&handle_->uv)) != 0;
}

Poll::Poll(uv_loop_t* loop, int fd, std::function<void(int status, int events)> on_event)
    : handle_(own<uv_poll_t>(std::move(on_event))) {
  CHECK(uv_poll_init(loop, &handle_->uv, fd) == 0);
}

void Poll::watch(int events) {
  if (events == 0) {
    uv_poll_stop(&handle_->uv);
    return;
  }
  CHECK(uv_poll_start(&handle_->uv, events, [](uv_poll_t* poll, int status, int seen) {
          tell(poll, status, seen);
        }) == 0);
}

Signal::Signal(uv_loop_t* loop, int number, std::function<void()> on_signal)
    : handle_(own<uv_signal_t>(std::move(on_signal))) {
  CHECK(uv_signal_init(loop, &handle_->uv) == 0);
  CHECK(uv_signal_start(
            &handle_->uv, [](uv_signal_t* signal, int /*number*/) { tell(signal); }, number) == 0);
}

Async::Async(uv_loop_t* loop, std::function<void()> on_wake)
    : handle_(own<uv_async_t>(std::move(on_wake))) {
  CHECK(uv_async_init(loop, &handle_->uv, [](uv_async_t* async) { tell(async); }) == 0);
}

void Async::send() {
  uv_async_send(&handle_->uv);
}

}  // namespace reclaim::uv
