// The simulator as a program: thousands of worlds, or one of them with its trace.
//   sim --fresh COUNT [--seeds-file FILE] [--jobs N]   worlds that nobody has seen; their base is
//                                                     printed, and comes from RECLAIM_TEST_SEED
//                                                     or the machine; exit status 1 and the seed
//                                                     on failure
//   sim --seeds FIRST COUNT [--random]                 these worlds, and one that is drawn
//   sim --seed N --trace                               one world, told step by step
//   sim --breaks TEXT --expect-caught FIRST COUNT      a mutant: some seed has to fail
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/seed.h"
#include "tests/sim/world.h"

namespace {

using reclaim::sim::World;
using reclaim::sim::WorldOptions;

// Where the seeds of each kind of world begin, besides the plain ones.
constexpr std::array kKinds{
    reclaim::sim::kOwnStepsFrom,     reclaim::sim::kFunctionsFrom, reclaim::sim::kDisownsFrom,
    reclaim::sim::kCyborgWritesFrom, reclaim::sim::kTenantsFrom,   reclaim::sim::kEndsToldFrom,
    reclaim::sim::kUnwatchedFrom,    reclaim::sim::kFloodsFrom,    reclaim::sim::kBriefFrom,
    reclaim::sim::kBriefWritersFrom, reclaim::sim::kUnfitFrom};

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t steps = 0;
  std::uint64_t releases = 0;
  std::uint64_t erases = 0;
  std::map<std::string, std::uint64_t> given_dirty;  // by whose doing
  std::vector<std::int64_t> windows_ms;
  std::vector<std::int64_t> unreserved_windows_ms;

  void add(const Totals& other) {
    worlds += other.worlds;
    steps += other.steps;
    releases += other.releases;
    erases += other.erases;
    for (const auto& [whose, many] : other.given_dirty) given_dirty[whose] += many;
    append(windows_ms, other.windows_ms);
    append(unreserved_windows_ms, other.unreserved_windows_ms);
  }
  static void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& some) {
    all.insert(all.end(), some.begin(), some.end());
  }
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
  for (const auto& [whose, many] : world.given_dirty) totals.given_dirty[whose] += many;
  Totals::append(totals.windows_ms, world.windows_ms);
  Totals::append(totals.unreserved_windows_ms, world.unreserved_windows_ms);
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

// Far from the seeds that are remembered, and short enough to be typed.
std::uint64_t fresh_base(const std::string& run) {
  return 1'000'000'000ULL + reclaim::seed_of("sim " + run) % 1'000'000'000'000'000ULL;
}

// How many worlds: instrumented builds are slow; they run a part, and the last line says how many.
std::uint64_t limited(std::uint64_t count) {
  const char* limit = std::getenv("RECLAIM_SIM_RUNS");
  return limit == nullptr ? count : std::strtoull(limit, nullptr, 10);
}

// Runs worlds side by side: they share nothing but what is counted here.
class Runs final {
 public:
  Runs(const std::vector<std::uint64_t>& seeds, bool all) : seeds_(seeds), all_(all) {}

  // Returns when each world was run, or one failed.
  void run(std::size_t jobs) {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
  }
  [[nodiscard]] Totals& totals() { return totals_; }
  [[nodiscard]] std::size_t failures() const { return failed_.size(); }
  [[nodiscard]] std::uint64_t first_failed() const { return failed_.front(); }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  static constexpr std::size_t kTellEvery = 50'000;

  void work() {
    Totals mine;
    while (!stop_) {
      const std::size_t at = next_++;
      if (at >= seeds_.size()) break;
      std::string failure;
      if (!run_one(seeds_[at], mine, failure)) failed(seeds_[at], failure);
      if (at != 0 && at % kTellEvery == 0) {
        const std::lock_guard<std::mutex> lock(mutex_);
        fmt::print("{} worlds so far\n", at);
        (void)std::fflush(stdout);
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    totals_.add(mine);
  }
  void failed(std::uint64_t seed, const std::string& failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed_.empty()) why_ = failure;
    failed_.push_back(seed);
    if (!all_) stop_ = true;
    fmt::print("seed {} FAILED: {}\n", seed, failure);
    (void)std::fflush(stdout);
  }

  const std::vector<std::uint64_t>& seeds_;
  bool all_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  Totals totals_;
  std::vector<std::uint64_t> failed_;
  std::string why_;
};

// A mutant may also run into one of the assertions that are always on: what is said then of the
// world that is played.
std::array<char, 80> said_on_abort{};

void on_abort(int /*signal*/) {
  (void)!write(STDOUT_FILENO, said_on_abort.data(), std::strlen(said_on_abort.data()));
  _exit(0);
}

// A mutant: the first world that fails is enough. The first `remembered` seeds are from files. What
// is searched for behind them takes minutes in every run: test.sh repeats lines that begin with
// "retried".
int expect_caught(const std::vector<std::uint64_t>& seeds, std::size_t remembered) {
  Totals totals;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::string failure;
    said_on_abort.fill('\0');
    fmt::format("caught after {} worlds, seed {}: by an assertion\n", i + 1, seeds[i])
        .copy(said_on_abort.data(), said_on_abort.size() - 1);
    if (run_one(seeds[i], totals, failure)) continue;
    fmt::print("caught after {} worlds, seed {}: {}\n", totals.worlds, seeds[i], failure);
    if (i >= remembered) {
      fmt::print(
          "retried {} worlds, for no remembered one catches it: run "
          "tests/mutants/remember_seeds.py\n",
          i + 1 - remembered);
    }
    return 0;
  }
  fmt::print("{} worlds, and none of them fails\n", totals.worlds);
  return 1;
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

void print_window(const char* of, std::vector<std::int64_t>& windows_ms) {
  if (windows_ms.empty()) return;
  std::sort(windows_ms.begin(), windows_ms.end());
  const auto at = [&windows_ms](std::size_t percent) {
    return static_cast<double>(windows_ms.at((windows_ms.size() - 1) * percent / 100)) / 1000.0;
  };
  fmt::print(
      "{}, in seconds: half within {:.1f}, 90 % within {:.1f}, 99 % within {:.1f}, all {} within "
      "{:.1f}\n",
      of, at(50), at(90), at(99), windows_ms.size(), at(100));
}

// How long Cyborg's devices stood allocated and not reserved; and dirty ones on offer, by its 0.
void print_windows(Totals& totals) {
  print_window("from a bind to its reservation", totals.windows_ms);
  print_window("from Cyborg's 0 on a dirty device to its reservation",
               totals.unreserved_windows_ms);
  for (const auto& [whose, many] : totals.given_dirty) {
    fmt::print("given dirty, {}: {}\n", whose, many);
  }
}

int usage() {
  fmt::print(stderr,
             "usage: sim --seed N [--trace]\n"
             "       sim [--fresh COUNT] [--seeds FIRST COUNT] [--seeds-file FILE] [--random]\n"
             "           [--all] [--jobs N]\n"
             "       sim --breaks TEXT --expect-caught FIRST COUNT\n"
             "RECLAIM_TEST_SEED=N in the environment chooses the worlds of --fresh and --random;\n"
             "without it the machine does.\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint64_t> seeds;
  bool trace = false;
  std::optional<std::size_t> remembered;  // of a mutant
  bool all = false;
  std::size_t jobs = 1;
  const auto append = [&seeds](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) seeds.push_back(seed);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--trace") {
      trace = true;
    } else if (arg == "--all") {
      all = true;
    } else if (arg == "--jobs" && i + 1 < argc) {
      jobs = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--breaks" && i + 1 < argc) {
      fmt::print("mutant: {}\n", argv[++i]);
      (void)std::fflush(stdout);
    } else if (arg == "--random") {
      append(fresh_base(arg), 1);
    } else if (arg == "--fresh" && i + 1 < argc) {
      const std::uint64_t base = fresh_base(arg + " " + argv[i + 1]);
      const std::uint64_t count = limited(std::strtoull(argv[++i], nullptr, 10));
      // As many of each kind as of the plain ones.
      const std::uint64_t each = count / (kKinds.size() + 1);
      std::vector<std::pair<std::uint64_t, std::uint64_t>> kinds{
          {base, count - kKinds.size() * each}};
      for (const std::uint64_t kind : kKinds) kinds.emplace_back(base + kind, each);
      for (const auto& [first, many] : kinds) {
        fmt::print("fresh worlds {} to {}: sim --seeds {} {}\n", first, first + many - 1, first,
                   many);
        append(first, many);
      }
      (void)std::fflush(stdout);
    } else if (arg == "--seed" && i + 1 < argc) {
      seeds.push_back(std::strtoull(argv[++i], nullptr, 10));
    } else if (arg == "--seeds-file" && i + 1 < argc) {
      for (const std::uint64_t seed : seeds_of_file(argv[++i])) seeds.push_back(seed);
    } else if ((arg == "--seeds" || arg == "--expect-caught") && i + 2 < argc) {
      if (arg == "--expect-caught") remembered = seeds.size();
      const std::uint64_t first = std::strtoull(argv[++i], nullptr, 10);
      const std::uint64_t count = std::strtoull(argv[++i], nullptr, 10);
      append(first, arg == "--seeds" ? limited(count) : count);
    } else {
      return usage();
    }
  }
  if (seeds.empty()) return usage();
  if (trace && seeds.size() == 1) return trace_one(seeds.front());
  if (remembered) {
    (void)std::signal(SIGABRT, on_abort);
    return expect_caught(seeds, *remembered);
  }

  Runs runs(seeds, all);
  runs.run(std::max<std::size_t>(jobs, 1));
  if (runs.failures() != 0 && !all) {
    const std::uint64_t seed = runs.first_failed();
    print_trace_end(seed);
    fmt::print("seed {} FAILED: {}\nshow it again: {} --seed {} --trace\n", seed, runs.why(),
               argv[0], seed);
    return 1;
  }
  Totals& totals = runs.totals();
  fmt::print("{} worlds, {} steps, {} erasures begun, {} releases, {} failures\n", totals.worlds,
             totals.steps, totals.erases, totals.releases, runs.failures());
  print_windows(totals);
  return runs.failures() != 0 ? 1 : 0;
}
