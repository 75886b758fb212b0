// A clean step of an operator's own, as a [step:NAME] section of the configuration has it. Passive
// data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim {

// The place of a step in a drive's plan. Steps of other devices stand before: there is no erase.
enum class StepStage : std::uint8_t {
  before,  // of the erase
  after,   // the verification; before the drive is looked at for the last time
};

// The interface of the steps that wait for an operator's word and run nothing.
inline constexpr std::string_view kHoldInterface = "hold";
// This word keeps the driver that is bound while a step runs.
inline constexpr std::string_view kKeepDriver = "keep";

struct OperatorStep {
  std::string name;       // of the section
  std::string interface;  // the operator's word; kHoldInterface: a hold
  std::string command;    // an absolute path; empty: a hold
  int priority = 0;       // the highest runs first; 0: only when an operator names it
  StepStage stage = StepStage::before;
  std::int64_t timeout_ms = 900'000;
  // The device is bound to this while the step runs: kKeepDriver, "none", or a driver's name.
  std::string driver{kKeepDriver};
  bool abortable = true;
  bool network = false;    // its command may open connections
  bool verifies = false;   // its success shows that nothing of the tenant's is left
  int approvals = 1;       // of a hold: how many operators have to agree
  std::string args;        // a JSON object as text, handed to the command
  std::string order_args;  // which of them an order may set (state/device/order_args.h)

  [[nodiscard]] bool is_hold() const { return interface == kHoldInterface; }
  friend bool operator==(const OperatorStep&, const OperatorStep&) = default;
};

// The commands that a plan with these steps runs, absolute paths.
[[nodiscard]] inline std::vector<std::string> commands_of(const std::vector<OperatorStep>& steps) {
  std::vector<std::string> out;
  for (const OperatorStep& step : steps) {
    if (step.priority > 0 && !step.is_hold()) out.push_back(step.command);
  }
  return out;
}

}  // namespace reclaim
