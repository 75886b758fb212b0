// The bars of what is being erased and of operators' steps that say what they do: on a terminal
// over each other, elsewhere a line each tenth and each message.
//
// Thread: the caller's.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "state/device/record.h"

namespace reclaim::cli {

class ProgressLine final {
 public:
  // `out` outlives it.
  explicit ProgressLine(std::ostream& out);

  // `host`: of a fleet; else empty.
  void show(const std::string& host, const std::vector<Record>& records);
  // Called before anything else is printed.
  void clear();

 private:
  std::ostream& out_;
  std::size_t width_;  // of the terminal; 0: there is none
  bool drawn_ = false;
  std::map<std::pair<std::string, PciAddress>, std::string> drawn_of_;  // tenth and message
};

}  // namespace reclaim::cli
