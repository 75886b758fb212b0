// The simulator as a program: thousands of worlds, or one of them with its trace.
//   sim --seeds FIRST COUNT [--seeds-file FILE] [--random]   exit status 1 and the seed on failure
//   sim --seed N --trace                                     one world, told step by step
//   sim --breaks TEXT --expect-caught FIRST COUNT            a mutant: some seed has to fail
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace {

using reclaim::sim::World;
using reclaim::sim::WorldOptions;

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t steps = 0;
  std::uint64_t releases = 0;
  std::uint64_t erases = 0;
  std::uint64_t given_dirty = 0;
  std::vector<std::int64_t> windows_ms;
};

bool run_one(std::uint64_t seed, Totals& totals, std::string& failure) {
  WorldOptions options;
  options.seed = seed;
  World world(options);
  const auto failed = world.run();
  totals.worlds += 1;
  totals.steps += world.scheduler.steps();
  totals.releases += world.releases;
  totals.erases += world.erases;
  totals.given_dirty += world.given_dirty;
  totals.windows_ms.insert(totals.windows_ms.end(), world.windows_ms.begin(),
                           world.windows_ms.end());
  if (failed) failure = *failed;
  return !failed;
}

int trace_one(std::uint64_t seed) {
  WorldOptions options;
  options.seed = seed;
  options.trace = true;
  World world(options);
  const auto failed = world.run();
  fmt::print("{}", world.log.text);
  fmt::print("seed {}: {}\n", seed, failed ? "FAILED: " + *failed : "ok");
  return failed ? 1 : 0;
}

// The end of the trace: what led to the failure.
void print_trace_end(std::uint64_t seed) {
  constexpr std::size_t kBytes = 12'000;
  WorldOptions options;
  options.seed = seed;
  options.trace = true;
  World world(options);
  (void)world.run();
  const std::string& text = world.log.text;
  std::size_t from = 0;
  if (text.size() > kBytes) {
    from = text.find('\n', text.size() - kBytes) + 1;
    fmt::print("... ({} bytes before)\n", from);
  }
  fmt::print("{}", text.substr(from));
}

std::vector<std::uint64_t> seeds_of_file(const char* path) {
  std::vector<std::uint64_t> seeds;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.front() != '#') {
      seeds.push_back(std::strtoull(line.c_str(), nullptr, 10));
    }
  }
  return seeds;
}

int usage() {
  fmt::print(stderr,
             "usage: sim --seed N [--trace]\n"
             "       sim --seeds FIRST COUNT [--seeds-file FILE] [--random] [--all]\n"
             "       sim --breaks TEXT --expect-caught FIRST COUNT\n");
  return 2;
}

// A mutant may also run into one of the assertions that are always on.
void on_abort(int /*signal*/) {
  constexpr std::string_view kText = "caught by an assertion\n";
  (void)!write(STDOUT_FILENO, kText.data(), kText.size());
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint64_t> seeds;
  bool trace = false;
  bool expect_caught = false;
  bool all = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--trace") {
      trace = true;
    } else if (arg == "--all") {
      all = true;
    } else if (arg == "--breaks" && i + 1 < argc) {
      fmt::print("mutant: {}\n", argv[++i]);
      (void)std::fflush(stdout);
    } else if (arg == "--random") {
      std::random_device entropy;
      seeds.push_back((static_cast<std::uint64_t>(entropy()) << 32U) | entropy());
    } else if (arg == "--seed" && i + 1 < argc) {
      seeds.push_back(std::strtoull(argv[++i], nullptr, 10));
    } else if (arg == "--seeds-file" && i + 1 < argc) {
      for (const std::uint64_t seed : seeds_of_file(argv[++i])) seeds.push_back(seed);
    } else if ((arg == "--seeds" || arg == "--expect-caught") && i + 2 < argc) {
      expect_caught = expect_caught || arg == "--expect-caught";
      const std::uint64_t first = std::strtoull(argv[++i], nullptr, 10);
      std::uint64_t count = std::strtoull(argv[++i], nullptr, 10);
      // Instrumented builds are slow; they run a part, and say so below.
      const char* limit = std::getenv("RECLAIM_SIM_RUNS");
      if (limit != nullptr && !expect_caught) count = std::strtoull(limit, nullptr, 10);
      for (std::uint64_t seed = first; seed < first + count; ++seed) seeds.push_back(seed);
    } else {
      return usage();
    }
  }
  if (seeds.empty()) return usage();
  if (trace && seeds.size() == 1) return trace_one(seeds.front());

  if (expect_caught) (void)std::signal(SIGABRT, on_abort);
  Totals totals;
  int failures = 0;
  for (const std::uint64_t seed : seeds) {
    std::string failure;
    if (run_one(seed, totals, failure)) continue;
    failures += 1;
    if (expect_caught) {
      fmt::print("caught after {} worlds, seed {}: {}\n", totals.worlds, seed, failure);
      return 0;
    }
    fmt::print("seed {} FAILED: {}\n", seed, failure);
    if (all) continue;
    print_trace_end(seed);
    fmt::print("seed {} FAILED: {}\nshow it again: sim --seed {} --trace\n", seed, failure, seed);
    return 1;
  }
  fmt::print("{} worlds, {} steps, {} erasures begun, {} releases, {} failures\n", totals.worlds,
             totals.steps, totals.erases, totals.releases, failures);
  if (!totals.windows_ms.empty()) {
    std::sort(totals.windows_ms.begin(), totals.windows_ms.end());
    const auto at = [&totals](std::size_t percent) {
      return static_cast<double>(
                 totals.windows_ms.at((totals.windows_ms.size() - 1) * percent / 100)) /
             1000.0;
    };
    fmt::print(
        "from a bind to its reservation, in seconds: half within {:.1f}, 90 % within {:.1f}, 99 % "
        "within {:.1f}, all {} within {:.1f}; {} devices given dirty by somebody else\n",
        at(50), at(90), at(99), totals.windows_ms.size(), at(100), totals.given_dirty);
  }
  return failures != 0 || expect_caught ? 1 : 0;
}
