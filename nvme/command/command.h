// A step of an operator's own, as it is run: a program, what it is told, and what it answers
// (docs/clean-step-protocol.md). Passive data; pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/pci/pci_step.h"

namespace reclaim::nvme {

struct Command {
  std::string path;      // absolute
  std::string sha256;    // lower-case hex that the plan has locked in; empty: not known yet
  std::string input;     // one JSON object, a line of standard input; empty: none
  std::string argument;  // its only one; empty: none
  bool silent = false;   // it speaks no protocol: what it writes is logged
  bool network = false;  // it may open connections; false: none beyond this host
  std::int64_t timeout_ms = 900'000;
  StepDriver driver;  // of a function that is no drive: what it is bound to meanwhile
};

struct CommandProgress {
  double percent = 0;   // 0..100
  std::string message;  // printable; empty: the step said none
};

struct CommandReport {
  std::vector<StepFinding> findings;
  std::string result;  // the text of the result line, or its JSON; empty: there was none
  std::string sha256;  // of the command that was run
};

}  // namespace reclaim::nvme
