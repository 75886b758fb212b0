// Every state of the small world (model.h), up to a number of happenings:
//   exhaustive [--depth N] [--with EXTRA,...]    exit status 1 and the path to what is broken
//   exhaustive --breaks TEXT --expect-caught     a mutant: something has to be broken
// RECLAIM_TEST_DEPTH=long in the environment goes deeper, RECLAIM_EXHAUSTIVE_DEPTH=N as deep as it
// says, for builds that are slow; --depth wins.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "tests/exhaustive/search.h"

namespace {

using reclaim::exhaustive::Choice;
using reclaim::exhaustive::Extras;
using reclaim::exhaustive::Found;
using reclaim::exhaustive::Layer;
using reclaim::exhaustive::Start;

// By the number of extras: none, one, and more.
constexpr std::array<std::size_t, 3> kDepth{3, 2, 2};
constexpr std::array<std::size_t, 3> kDepthLong{4, 3, 2};

// A mutant may also run into one of the assertions that are always on.
void on_abort(int /*signal*/) {
  constexpr std::string_view kText = "caught by an assertion\n";
  (void)!write(STDOUT_FILENO, kText.data(), kText.size());
  _exit(0);
}

void print(const Found& found) {
  std::size_t states = 0;
  std::size_t transitions = 0;
  std::size_t depth = 0;
  for (const Layer& layer : found.layers) {
    states += layer.states;
    transitions += layer.transitions;
    fmt::print("depth {}: {} new states, {} happenings tried\n", depth, layer.states,
               layer.transitions);
    depth += 1;
  }
  fmt::print("{} states, {} happenings tried, depth {}\n", states, transitions,
             found.layers.size() - 1);
}

int tell_what_is_broken(const Found& found, const Extras& extras) {
  fmt::print("{}", reclaim::exhaustive::tell(found.path, extras, found.at_step));
  fmt::print("BROKEN: {}\n", found.broken);
  if (found.path.start == Start::again) fmt::print("  after a cleaning and another tenancy\n");
  for (const Choice& choice : found.path.choices) {
    fmt::print("  after step {}: {}\n", choice.after, to_string(choice.happening));
  }
  return 1;
}

std::size_t depth_of_environment(const Extras& extras) {
  if (const char* slow = std::getenv("RECLAIM_EXHAUSTIVE_DEPTH")) {
    return std::strtoul(slow, nullptr, 10);
  }
  const char* wanted = std::getenv("RECLAIM_TEST_DEPTH");
  const bool deep = wanted != nullptr && std::string_view(wanted) == "long";
  return (deep ? kDepthLong : kDepth).at(std::min(extras.size(), kDepth.size() - 1));
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<std::size_t> depth;
  bool expect_caught = false;
  std::optional<Extras> extras = Extras{};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--expect-caught") {
      expect_caught = true;
    } else if (arg == "--breaks" && i + 1 < argc) {
      fmt::print("mutant: {}\n", argv[++i]);
      (void)std::fflush(stdout);
    } else if (arg == "--depth" && i + 1 < argc) {
      depth = std::strtoul(argv[++i], nullptr, 10);
    } else if (arg == "--with" && i + 1 < argc) {
      extras = reclaim::exhaustive::parse_extras(argv[++i]);
    } else {
      extras.reset();
    }
  }
  if (!extras) {
    fmt::print(stderr,
               "usage: exhaustive [--depth N] [--with EXTRA,...] "
               "[--breaks TEXT --expect-caught]\n");
    return 2;
  }
  if (expect_caught) (void)std::signal(SIGABRT, on_abort);
  const Found found =
      reclaim::exhaustive::search(depth.value_or(depth_of_environment(*extras)), *extras);
  print(found);
  if (expect_caught) {
    fmt::print("{}\n", found.broken.empty() ? "NOT caught" : "caught: " + found.broken);
    return found.broken.empty() ? 1 : 0;
  }
  if (!found.broken.empty()) return tell_what_is_broken(found, *extras);
  fmt::print(
      "in each of them: what was released is erased and verified since a tenant last had "
      "it, and nothing was erased that somebody may use\n");
  return 0;
}
