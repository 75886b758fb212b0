// Runs what blocks, for a command that can be interrupted: on a thread of its own while the loop
// goes on, until SIGINT, SIGTERM or cancel() tells it to end. While it runs the command may look
// around. Thread: the session's.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "cli/session.h"
#include "nvme/job_thread.h"
#include "state/base/uv.h"

namespace reclaim::cli {

class InterruptibleWork final {
 public:
  static constexpr std::int64_t kLookEveryMs = 10'000;

  // `on_signal`: before it is cancelled by one. `look`: every kLookEveryMs while a job runs,
  // between two rounds of the loop, so that it may wait for answers; it may call cancel().
  InterruptibleWork(Session& session, std::function<void()> on_signal, std::function<void()> look)
      : session_(session),
        on_signal_(std::move(on_signal)),
        look_(std::move(look)),
        interrupt_(session.loop(), SIGINT, [this] { interrupted(); }),
        terminate_(session.loop(), SIGTERM, [this] { interrupted(); }),
        mailbox_(session.loop(), [](const Message& message) { message(); }),
        jobs_([] {}) {}

  // Ends what runs as soon as it can be left; nothing is begun any more.
  void cancel() {
    cancelled_ = true;
    jobs_.stop_all();
  }
  [[nodiscard]] bool cancelled() const { return cancelled_; }

  // Waits for `job`, with the loop running. Errc::cancelled where nothing is to be begun any more.
  template <typename T>
  [[nodiscard]] Result<T> run(const std::function<Result<T>(nvme::StopFlag&)>& job) {
    if (cancelled_) return Error{Errc::cancelled, "interrupted"};
    auto answer = std::make_shared<std::optional<Result<T>>>();
    jobs_.submit([this, answer, job](nvme::StopFlag& stop) {
      auto result = std::make_shared<Result<T>>(job(stop));
      mailbox_.post([answer, result] { answer->emplace(std::move(*result)); });
    });
    while (!session_.run_until([answer] { return answer->has_value(); }, kLookEveryMs)) look_();
    return std::move(**answer);
  }

  // Called by a job: `message` runs on the loop.
  void tell(std::function<void()> message) { mailbox_.post(std::move(message)); }

 private:
  using Message = std::function<void()>;

  void interrupted() {
    on_signal_();
    cancel();
  }

  Session& session_;
  std::function<void()> on_signal_;
  std::function<void()> look_;
  bool cancelled_ = false;
  uv::Signal interrupt_;
  uv::Signal terminate_;
  uv::Mailbox<Message> mailbox_;
  nvme::JobThread jobs_;  // last: its jobs post
};

}  // namespace reclaim::cli
