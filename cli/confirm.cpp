#include "cli/confirm.h"

#include <unistd.h>

#include <iostream>

#include "state/base/text.h"

namespace reclaim::cli {

Status confirm(const std::string& question, bool yes, std::ostream& out) {
  if (yes) return Ok{};
  if (isatty(STDIN_FILENO) != 1) {
    return Error{Errc::refused,
                 "standard input is not a terminal, so nobody can be asked: give --yes"};
  }
  out << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (lower(answer) == "y" || lower(answer) == "yes") return Ok{};
  return Error{Errc::refused, "nothing was done"};
}

}  // namespace reclaim::cli
