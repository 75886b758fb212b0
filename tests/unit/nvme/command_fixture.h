// Scripts as operators' commands, run as children of the test.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "nvme/command/run_command.h"
#include "tests/temp_folder.h"

namespace reclaim::nvme {

namespace fs = std::filesystem;

class Lines final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    const std::lock_guard lock(mutex_);
    lines.emplace_back(text);
  }
  std::vector<std::string> lines;

 private:
  std::mutex mutex_;
};

struct CommandTest : ::testing::Test {
  void SetUp() override {
    options.owner = ::geteuid();
    options.grace_ms = 200;
    if (::geteuid() != 0) GTEST_SKIP() << "directories above the test's are root's: run it as root";
  }

  std::string script(std::string_view body, std::string_view interpreter = "/bin/sh") {
    const fs::path path = folder / ("step" + std::to_string(scripts++));
    std::ofstream(path) << "#!" << interpreter << "\n" << body;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  Result<CommandReport> run(const std::string& path, const std::string& sha256 = "",
                            std::int64_t timeout_ms = 60'000) {
    Command command;
    command.path = path;
    command.sha256 = sha256;
    command.input = input;
    command.timeout_ms = timeout_ms;
    return run_command(
        command, options,
        [this](const CommandProgress& now) {
          progress.push_back(now.message);
          if (on_progress) on_progress();
        },
        stop, clock, log);
  }
  std::string error_of(const Result<CommandReport>& report) {
    return report ? "no error"
                  : std::string(to_string(report.error().code)) + ": " + report.error().what;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(folder / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // The process that a script noted is gone: it was killed, and init or we have reaped it.
  bool is_gone(const std::string& name) const {
    const pid_t pid = std::atoi(content(name).c_str());
    EXPECT_GT(pid, 0);
    for (int i = 0; i < 30'000 && ::kill(pid, 0) == 0; ++i) {
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string field;
      stat >> field >> field >> field;
      if (field == "Z") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return ::kill(pid, 0) != 0;
  }

  // Every directory above a command has to be its owner's, which /tmp is not: root's home is.
  const TempFolder temp{::geteuid() == 0 ? fs::path("/root") : fs::current_path()};
  const fs::path& folder = temp.path();
  int scripts = 0;
  std::string input = R"({"protocol":1,"address":"0000:c1:00.0"})";
  CommandOptions options;
  StopFlag stop;
  SystemClock clock;
  Lines log;
  std::vector<std::string> progress;
  std::function<void()> on_progress;
};

}  // namespace reclaim::nvme
