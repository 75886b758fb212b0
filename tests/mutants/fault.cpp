// The switch of the mutants: which fault is chosen in this process. switch.py declares fault_is()
// in each source that it makes.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace reclaim::mutants {
namespace {

// Every fault of every list, each between spaces.
constexpr std::string_view kKnown = " " RECLAIM_FAULTS " ";

std::string_view chosen() {
  const char* wanted = std::getenv("RECLAIM_FAULT");
  if (wanted == nullptr || *wanted == '\0') return {};
  if (kKnown.find(fmt::format(" {} ", wanted)) == std::string_view::npos) {
    fmt::print(stderr,
               "RECLAIM_FAULT={}: no list of mutants has this fault; it is FOLDER/NAME, as in "
               "nvme/any_class, and the names stand in tests/mutants and tests/sim/mutants.cmake\n",
               wanted);
    std::_Exit(2);
  }
  return wanted;
}

}  // namespace

// Whether RECLAIM_FAULT in the environment names this fault; without it none is chosen. A name that
// no list has ends the process with exit code 2 before main(), so that a typo is never a catch.
bool fault_is(std::string_view name) {
  static const std::string_view the_one = chosen();
  return name == the_one;
}

}  // namespace reclaim::mutants
