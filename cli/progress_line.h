// The bars of what is being erased and of operators' steps that say what they do: on a terminal
// over each other, elsewhere a line each tenth and each message.
//
// Thread: the caller's.
#pragma once

#include <unistd.h>

#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "state/device/record.h"

namespace reclaim::cli {

class ProgressLine final {
 public:
  // `out` outlives it; `fd` is the descriptor behind it.
  explicit ProgressLine(std::ostream& out, int fd = STDOUT_FILENO);

  // `host`: of a fleet; else empty.
  void show(const std::string& host, const std::vector<Record>& records);
  // Called before anything else is printed.
  void clear();

 private:
  std::ostream& out_;
  bool terminal_;
  bool drawn_ = false;
  std::map<std::pair<std::string, PciAddress>, std::string> drawn_of_;  // tenth and message
};

}  // namespace reclaim::cli
