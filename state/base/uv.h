// libuv handles with owners. A handle's memory must outlive uv_close(), so each is on the heap and
// the close callback frees it; the callback given by the user is dropped at once, so nothing of the
// owner is touched afterwards.
// Thread: the loop's, for everything but Mailbox::post and Async::send.
#pragma once

#include <uv.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace reclaim::uv {

// Owns a uv_loop_t. The destructor closes what is left, runs to idle and requires a clean close: a
// leaked handle is a bug that is found at once.
class Loop final {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] uv_loop_t* raw() { return &loop_; }
  void run();         // until stop(), or nothing is left to wait for
  void run_once();    // blocks for one round of events
  void run_nowait();  // one round without blocking
  void stop();

 private:
  uv_loop_t loop_{};
};

// A uv handle and whom it tells. Its owner closes it; libuv frees it when it lets go of it.
template <typename Uv, typename... Args>
struct Handle {
  Uv uv{};
  std::function<void(Args...)> tell;
};
struct Closing {
  template <typename Uv, typename... Args>
  void operator()(Handle<Uv, Args...>* handle) const {
    handle->tell = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(&handle->uv),
             [](uv_handle_t* closed) { delete static_cast<Handle<Uv, Args...>*>(closed->data); });
  }
};
template <typename Uv, typename... Args>
using Owned = std::unique_ptr<Handle<Uv, Args...>, Closing>;

class Timer final {
 public:
  explicit Timer(uv_loop_t* loop);

  // Fires after `delay_ms`, then every `repeat_ms` (0: once). Starting again replaces what was set.
  void start(std::uint64_t delay_ms, std::uint64_t repeat_ms, std::function<void()> on_fire);
  // Fires once; at once where the delay has passed already.
  void after(std::int64_t delay_ms, std::function<void()> on_fire) {
    start(static_cast<std::uint64_t>(std::max<std::int64_t>(delay_ms, 0)), 0, std::move(on_fire));
  }
  void stop();
  [[nodiscard]] bool active() const;

 private:
  Owned<uv_timer_t> handle_;
};

// Watches a file descriptor that somebody else owns; destroy the Poll before closing the
// descriptor.
class Poll final {
 public:
  // `on_event(status, events)`: status is 0 or a negative libuv error.
  Poll(uv_loop_t* loop, int fd, std::function<void(int status, int events)> on_event);

  void watch(int events);  // UV_READABLE | UV_WRITABLE; 0 stops

 private:
  Owned<uv_poll_t, int, int> handle_;
};

// Tells of a signal of the process, for as long as it is there.
class Signal final {
 public:
  Signal(uv_loop_t* loop, int number, std::function<void()> on_signal);

 private:
  Owned<uv_signal_t> handle_;
};

// Wakes the loop from any thread. Wake-ups coalesce: one callback may stand for many sends.
class Async final {
 public:
  Async(uv_loop_t* loop, std::function<void()> on_wake);

  void send();  // any thread

 private:
  Owned<uv_async_t> handle_;
};

// Messages from any thread to the loop's, in order of posting. Posting after the mailbox is gone is
// the caller's bug: join the threads that post before destroying it.
template <typename Message>
class Mailbox final {
 public:
  Mailbox(uv_loop_t* loop, std::function<void(Message)> on_message)
      : on_message_(std::move(on_message)), async_(loop, [this] { drain(); }) {}

  void post(Message message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    async_.send();
  }

 private:
  void drain() {
    std::vector<Message> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(messages_);
    }
    for (Message& message : batch) on_message_(std::move(message));
  }

  std::mutex mutex_;
  std::vector<Message> messages_;
  std::function<void(Message)> on_message_;
  Async async_;
};

}  // namespace reclaim::uv
