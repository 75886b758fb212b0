// Parses what a command of an operator's step writes to its standard output: JSON, one object a
// line (docs/clean-step-protocol.md). Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nvme/command/command.h"
#include "nvme/command/options.h"
#include "state/base/rapidjson.h"
#include "state/base/result.h"

namespace reclaim::nvme {

class CommandOutput final {
 public:
  // `limits` and `on_progress` outlive the object.
  CommandOutput(const CommandOptions& limits,
                const std::function<void(CommandProgress)>& on_progress)
      : limits_(limits), on_progress_(on_progress) {}

  // Errc::failed: it is not the protocol, or too much of it.
  [[nodiscard]] Status take(std::string_view bytes);
  // Tells that there is no more output: a last line may lack its end.
  [[nodiscard]] Status finish();

  [[nodiscard]] std::vector<StepFinding> take_findings() { return std::move(findings_); }
  [[nodiscard]] const std::string& result() const { return result_; }
  // The step's last words: its result, else its last message.
  [[nodiscard]] const std::string& words() const { return result_.empty() ? message_ : result_; }

 private:
  [[nodiscard]] Status take_line(std::string_view line);
  [[nodiscard]] Status take_member(std::string_view name, const rapidjson::Value& value);
  [[nodiscard]] Status take_finding(const rapidjson::Value& value);

  const CommandOptions& limits_;
  const std::function<void(CommandProgress)>& on_progress_;
  std::string line_;
  std::size_t bytes_ = 0;
  std::vector<StepFinding> findings_;
  std::string message_;
  std::string result_;
  bool has_result_ = false;
};

}  // namespace reclaim::nvme
