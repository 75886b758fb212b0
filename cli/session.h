// Session: what a subcommand needs of the world, connected only when asked for: Redis, Placement,
// the host's drives. A subcommand is a script, so it waits: the loop runs until the answer is there
// or the deadline passes.
//
// Thread: the caller's; the loop is the session's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/module_options.h"
#include "config/settings.h"
#include "nvme/drive_threads.h"
#include "placement/client.h"
#include "placement/http/curl_transport.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/uv_timers.h"
#include "state/redis/store.h"

namespace reclaim::cli {

class Session final {
 public:
  Session(const config::Settings& settings, Logger& log);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Connected, or why not.
  [[nodiscard]] Result<RedisStore*> store();
  // The store without waiting: null before the first store().
  [[nodiscard]] RedisStore* connected_store() { return store_.get(); }
  // Built, not yet logged in.
  [[nodiscard]] Result<placement::Client*> providers();
  [[nodiscard]] nvme::DriveThreads& drives();
  [[nodiscard]] Result<config::MachineFacts> machine();

  [[nodiscard]] const config::Settings& settings() const { return settings_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Logger& log() { return log_; }
  [[nodiscard]] uv_loop_t* loop() { return loop_.raw(); }

  // Runs the loop until `begin`'s callback was called, at most `deadline_ms`.
  template <typename T>
  [[nodiscard]] Result<T> wait(const std::function<void(Callback<T>)>& begin,
                               std::int64_t deadline_ms = kDeadlineMs) {
    // Shared, because an answer after the deadline still finds its callback.
    auto answer = std::make_shared<std::optional<Result<T>>>();
    begin([answer](Result<T> result) { *answer = std::move(result); });
    run_until([answer] { return answer->has_value(); }, deadline_ms);
    if (!*answer) return no_answer();
    return std::move(**answer);
  }

  // Asks `count` questions as wait() does, some of them at a time; the answers in order.
  template <typename T>
  [[nodiscard]] std::vector<Result<T>> wait_each(
      std::size_t count, const std::function<void(std::size_t, Callback<T>)>& begin) {
    std::vector<Result<T>> answers;
    answers.reserve(count);
    while (answers.size() < count) {
      const std::size_t some = std::min(kAtOnce, count - answers.size());
      auto got = std::make_shared<std::vector<std::optional<Result<T>>>>(some);
      for (std::size_t i = 0; i < some; ++i) {
        begin(answers.size() + i, [got, i](Result<T> result) { (*got)[i] = std::move(result); });
      }
      run_until(
          [got] {
            return std::all_of(got->begin(), got->end(),
                               [](const auto& each) { return each.has_value(); });
          },
          kDeadlineMs);
      for (auto& each : *got) {
        answers.push_back(each ? *std::move(each) : Result<T>(no_answer()));
      }
    }
    return answers;
  }

  // Runs the loop until Redis is connected, or said why not: a person waits in front of it.
  [[nodiscard]] Status wait_connected(const std::function<const RedisState&()>& state);

  // Runs the loop until `done()` says so; false when the deadline passed first.
  bool run_until(const std::function<bool()>& done, std::int64_t deadline_ms);

 private:
  static constexpr std::int64_t kDeadlineMs = 60'000;
  static constexpr std::size_t kAtOnce = 64;

  [[nodiscard]] static Error no_answer() {
    return Error{Errc::unknown, "no answer within the deadline"};
  }

  const config::Settings& settings_;
  Logger& log_;
  SystemClock clock_;
  uv::Loop loop_;
  std::unique_ptr<uv::Timer> deadline_;
  std::unique_ptr<RedisStore> store_;
  std::unique_ptr<placement::CurlTransport> transport_;
  std::unique_ptr<UvTimers> timers_;
  std::unique_ptr<placement::Client> providers_;
  std::unique_ptr<nvme::DriveThreads> drives_;
};

// Adds the remedy to an error of a command that only an operator's login to Redis may carry out,
// where it was refused.
[[nodiscard]] Error with_login_remedy(Error error);

}  // namespace reclaim::cli
