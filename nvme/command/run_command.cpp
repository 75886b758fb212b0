#include "nvme/command/run_command.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "nvme/command/child.h"
#include "nvme/command/file.h"
#include "nvme/command/output.h"

namespace reclaim::nvme {
namespace {

// Nobody wakes the poll when the step is told to stop, or its child ends with its pipes open.
constexpr int kLookEveryMs = 50;
constexpr std::size_t kReadBytes = 16'384;
constexpr std::size_t kErrorLineBytes = 300;
constexpr std::int64_t kMsPerS = 1000;
constexpr std::int64_t kProgressEveryMs = 200;

// Puts the command's standard error into the log, line by line.
class ErrorLines final {
 public:
  ErrorLines(const CommandOptions& options, const std::string& path, Logger& log)
      : left_(options.errors_bytes_max), path_(path), log_(log) {}

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      if (line_.size() < kErrorLineBytes) line_.append(bytes.substr(0, end));
      if (end == bytes.size()) return;
      bytes.remove_prefix(end + 1);
      finish();
    }
  }
  void finish() {
    const std::string line = std::exchange(line_, {});
    if (line.empty() || left_ == 0) return;
    last_ = printable_excerpt(line, kErrorLineBytes);
    log_.info(log_name::kSteps, fmt::format("{}: {}", path_, last_));
    left_ -= std::min(left_, line.size());
    if (left_ == 0) log_.warning(log_name::kSteps, path_ + ": wrote more, which is not logged");
  }
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  std::size_t left_;
  const std::string& path_;
  Logger& log_;
  std::string line_;
  std::string last_;
};

class Run final {
 public:
  Run(const Command& command, const CommandOptions& options,
      const std::function<void(CommandProgress)>& on_progress, StopFlag& stop, const Clock& clock,
      Logger& log)
      : command_(command),
        options_(options),
        stop_(stop),
        clock_(clock),
        on_progress_([this, on_progress](const CommandProgress& now) {
          if (told_ms_ && now_ms() - *told_ms_ < kProgressEveryMs) return;
          told_ms_ = now_ms();
          on_progress(now);
        }),
        output_(options, on_progress_),
        said_(options, command.path, log),
        errors_(options, command.path, log) {}

  Result<CommandReport> to_the_end(CommandChild child, const std::string& sha256) {
    const std::int64_t deadline_ms = now_ms() + command_.timeout_ms;
    while (true) {
      wait(child);
      if (Status read = pump(child); !read) return std::move(read).error();
      if (const auto status = child.ended()) {
        if (Status rest = drain(child); !rest) return std::move(rest).error();
        return judge(*status, sha256);
      }
      if (stop_.requested()) {
        end_gently(child);
        return Error{Errc::cancelled, "stopped while it ran"};
      }
      if (now_ms() >= deadline_ms) {
        end_gently(child);
        return failed(fmt::format("no end after {} s: killed", command_.timeout_ms / kMsPerS));
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t now_ms() const { return clock_.now().mono.ms; }

  void wait(const CommandChild& child) const {
    std::array<pollfd, 2> ends{pollfd{child.output.get(), POLLIN, 0},
                               pollfd{child.errors.get(), POLLIN, 0}};
    (void)::poll(ends.data(), ends.size(), kLookEveryMs);
  }

  Status pump(CommandChild& child) {
    if (Status read = read_output(child); !read) return read;
    read_errors(child);
    return Ok{};
  }

  // Reads all that the command wrote before it ended; what a process that it left behind writes
  // later is not read.
  Status drain(CommandChild& child) {
    if (Status read = read_output(child); !read) return read;
    read_errors(child);
    said_.finish();
    errors_.finish();
    return output_.finish();
  }

  // Calls `take` with what is there, until there is no more; false: the other end is closed.
  template <typename Take>
  static bool read_all(int fd, Take take) {
    std::array<char, kReadBytes> bytes{};
    while (true) {
      const ssize_t got = ::read(fd, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      if (!take(std::string_view(bytes.data(), static_cast<std::size_t>(got)))) return true;
    }
  }

  Status read_output(CommandChild& child) {
    Status taken = Ok{};
    if (!child.output.valid()) return taken;
    int reads_left = kErrorReadsMax;  // as below, of what has no limit of its own
    const bool open = read_all(child.output.get(), [&](std::string_view bytes) {
      if (command_.silent) {
        said_.take(bytes);
        return --reads_left > 0;
      }
      taken = output_.take(bytes);
      return taken.ok();
    });
    if (!open) child.output.reset();
    return taken;
  }

  void read_errors(CommandChild& child) {
    if (!child.errors.valid()) return;
    // A flood is read on with the next look: the deadline and the stop have their turn.
    int reads_left = kErrorReadsMax;
    const bool open = read_all(child.errors.get(), [&](std::string_view bytes) {
      errors_.take(bytes);
      return --reads_left > 0;
    });
    if (!open) child.errors.reset();
  }

  void end_gently(const CommandChild& child) const {
    child.terminate();
    const std::int64_t until_ms = now_ms() + options_.grace_ms;
    while (!child.ended() && now_ms() < until_ms) (void)::poll(nullptr, 0, kLookEveryMs);
  }

  Error failed(const std::string& how) const {
    const std::string& logged = errors_.last().empty() ? said_.last() : errors_.last();
    const std::string& words = output_.words().empty() ? logged : output_.words();
    return Error{Errc::failed, words.empty() ? how : fmt::format("{} ({})", words, how)};
  }

  Result<CommandReport> judge(int status, const std::string& sha256) {
    if (WIFSIGNALED(status)) {
      return failed(
          fmt::format("killed by signal {}, {}", WTERMSIG(status), ::strsignal(WTERMSIG(status))));
    }
    const int code = WEXITSTATUS(status);
    if (code == 0) return CommandReport{output_.take_findings(), output_.result(), sha256};
    Error error = failed(fmt::format("exit status {}", code));
    if (code == EX_TEMPFAIL) error.code = Errc::busy;
    return error;
  }

  static constexpr int kErrorReadsMax = 16;

  const Command& command_;
  const CommandOptions& options_;
  StopFlag& stop_;
  const Clock& clock_;
  std::optional<std::int64_t> told_ms_;
  std::function<void(CommandProgress)> on_progress_;  // not more often than anybody can read
  CommandOutput output_;
  ErrorLines said_;  // standard output of one that speaks no protocol
  ErrorLines errors_;
};

}  // namespace

Result<CommandReport> run_command(const Command& command, const CommandOptions& options,
                                  const std::function<void(CommandProgress)>& on_progress,
                                  StopFlag& stop, const Clock& clock, Logger& log) {
  const auto sha256 = digest_of_command(options, command.path);
  if (!sha256) return sha256.error();
  if (!command.sha256.empty() && *sha256 != command.sha256) {
    return Error{Errc::busy,
                 fmt::format("command {} is not the one that the plan was locked in with: the plan "
                             "starts over",
                             command.path)};
  }
  auto child = CommandChild::start(options, command);
  if (!child) return child.error().wrap("command " + command.path);
  return Run(command, options, on_progress, stop, clock, log)
      .to_the_end(*std::move(child), *sha256);
}

}  // namespace reclaim::nvme
