// The drives of a whole host at once: zeroed and read back beside each other, as ratios against
// what people use on the same loop devices in the same run, and how late the loop is meanwhile. Run
// by root.
//   many_drives [DRIVES] [MiB EACH] [ROUNDS]
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "state/base/uv.h"
#include "tests/bench/fio.h"
#include "tests/bench/media_bench.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kTickMs = 2;

struct Bench {
  std::vector<Target> targets;
  std::uint64_t bytes = 0;  // of all of them
  std::size_t rounds = 3;
  Options options;
  SystemClock clock;
};

// How late the loop's timer is, and what of that is the loop's own work.
struct Lag {
  std::vector<double> late_ms;
  std::vector<double> own_ms;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(last * share)];
}

double own_time_ms() {
  std::timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

// Each drive's work on a thread of its own, as in the worker; the loop turns on this one.
bool at_once(const Bench& bench, const std::function<bool(std::size_t, const Target&)>& work,
             Lag* lag = nullptr) {
  uv::Loop loop;
  std::atomic<bool> ok = true;
  std::size_t left = bench.targets.size();
  // Of each lane: 1 where it ended well.
  uv::Mailbox<int> ended(loop.raw(), [&](int done) {
    ok = ok && done == 1;
    if (--left == 0) loop.stop();
  });
  uv::Timer probe(loop.raw());
  auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTickMs);
  double own = own_time_ms();
  const std::function<void()> tick = [&] {
    const auto now = std::chrono::steady_clock::now();
    const double spent = own_time_ms();
    if (lag != nullptr) {
      lag->late_ms.push_back(std::chrono::duration<double, std::milli>(now - due).count());
      lag->own_ms.push_back(spent - own);
    }
    own = spent;
    due = now + std::chrono::milliseconds(kTickMs);
    probe.start(kTickMs, 0, tick);
  };
  probe.start(kTickMs, 0, tick);
  std::vector<std::thread> lanes;
  lanes.reserve(left);
  for (std::size_t i = 0; i < bench.targets.size(); ++i) {
    lanes.emplace_back([&, i] { ended.post(work(i, bench.targets[i]) ? 1 : 0); });
  }
  loop.run();
  for (std::thread& lane : lanes) lane.join();
  probe.stop();
  return ok;
}

struct Contender {
  const char* name;
  std::function<bool(const Target&)> work;
  std::vector<double> seconds = {};
};

double mb_per_s(const Bench& bench, double seconds) {
  return static_cast<double>(bench.bytes) / 1e6 / seconds;
}

void print_lag(const char* during, const Lag& lag) {
  fmt::print(
      "  the loop is late by {:.2f} ms (p50), {:.2f} (p99), {:.2f} (most) {}; its own work "
      "between two ticks {:.2f} (p99)\n",
      percentile(lag.late_ms, 0.5), percentile(lag.late_ms, 0.99), percentile(lag.late_ms, 1),
      during, percentile(lag.own_ms, 0.99));
}

// Each finds blocks that were written: what is zeroed already a file system need not zero again.
bool write_all(const Bench& bench) {
  return at_once(bench, [&](std::size_t, const Target& target) {
    return zero(target, bench.options, bench.clock, false);
  });
}

// All in each round, in another order each time, so that the machine's moods meet all alike. What
// is zeroed by the kernel is compared with the kernel's, what is written with what is written, and
// the better of ours with the best of theirs. Returns the bytes a second that ours writes; 0: one
// of them failed.
double race(const Bench& bench, Lag& lag) {
  std::vector<Contender> all = {
      {"write_zeroes (ours)",
       [&](const Target& t) { return zero(t, bench.options, bench.clock, true); }},
      {"blkdiscard -z, sync",
       [](const Target& t) {
         return command(fmt::format("blkdiscard -z {0} && sync {0}", t.device));
       }},
      {"overwrite (ours)",
       [&](const Target& t) { return zero(t, bench.options, bench.clock, false); }},
      {"dd oflag=direct bs=1M", [](const Target& t) {
         return command(fmt::format("dd if=/dev/zero of={} oflag=direct bs=1M count={} conv=fsync",
                                    t.device, t.bytes >> 20U));
       }}};
  Lag of_others;
  bool ok = true;
  for (std::size_t round = 0; round < bench.rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      Contender& each = all[(i + round) % all.size()];
      const bool ours = std::string_view(each.name).find("ours") != std::string_view::npos;
      ok = write_all(bench) && ok;
      each.seconds.push_back(seconds_of(
          [&] {
            return at_once(
                bench, [&](std::size_t, const Target& target) { return each.work(target); },
                ours ? &lag : &of_others);
          },
          ok));
    }
  }
  fmt::print("zeroing {} drives of {} MiB at once (median of {})\n", bench.targets.size(),
             bench.targets.front().bytes >> 20U, bench.rounds);
  std::vector<double> speed;
  for (const Contender& each : all) {
    speed.push_back(mb_per_s(bench, median(each.seconds)));
    fmt::print("  {:<24} {:9.0f} MB/s\n", each.name, speed.back());
  }
  fmt::print("  ours / theirs: by the kernel {:.2f}, by writing {:.2f}, the best of each {:.2f}\n",
             speed[0] / speed[1], speed[2] / speed[3],
             std::max(speed[0], speed[2]) / std::max(speed[1], speed[3]));
  fmt::print("  `nvme write-zeroes` needs a drive: a loop device takes no NVMe commands\n");
  print_lag("beside the commands of others", of_others);
  return ok ? speed[2] * 1e6 : 0;
}

// Whether io_uring would be quicker than threads; turn by turn, in another order each time.
bool io_uring(const Bench& bench) {
  if (!fio_is_installed()) {
    fmt::print("io_uring beside threads: left out, fio is not installed: apt-get install fio\n");
    return true;
  }
  std::map<FioEngine, std::vector<double>> speed;
  std::map<FioEngine, std::vector<double>> processor;
  for (std::size_t round = 0; round < 2 * bench.rounds; ++round) {
    const FioEngine engine =
        (round + round / 2) % 2 == 0 ? FioEngine::io_uring : FioEngine::threads;
    if (!write_all(bench)) return false;
    const auto run = run_fio(bench.targets, engine);
    if (!run && engine == FioEngine::io_uring) {
      fmt::print("io_uring beside threads: left out, fio cannot use it here\n");
      return true;
    }
    if (!run) return false;
    speed[engine].push_back(run->bytes_per_s / 1e6);
    processor[engine].push_back(run->processor_s);
  }
  fmt::print(
      "io_uring beside 8 threads a drive, by fio: {:.0f} and {:.0f} MB/s, {:.2f}; processor "
      "time {:.2f} and {:.2f} s\n",
      median(speed[FioEngine::io_uring]), median(speed[FioEngine::threads]),
      median(speed[FioEngine::io_uring]) / median(speed[FioEngine::threads]),
      median(processor[FioEngine::io_uring]), median(processor[FioEngine::threads]));
  return true;
}

// Every second drive is zeroed while its neighbours are read, and the other way round.
bool mixed(const Bench& bench, Lag& lag) {
  bool ok = true;
  const double seconds = seconds_of(
      [&] {
        return at_once(
            bench,
            [&](std::size_t i, const Target& target) {
              const auto read = [&] {
                return look(target, bench.options, bench.clock, VerifyLevel::full);
              };
              const auto write = [&] { return zero(target, bench.options, bench.clock, false); };
              return i % 2 == 0 ? write() && read() : read() && write();
            },
            &lag);
      },
      ok);
  fmt::print("zeroing and verification (full) of all at once: {:.0f} MB/s moved\n",
             2 * mb_per_s(bench, seconds));
  return ok;
}

// Below what they can take together.
bool limited(const Bench& bench, double bytes_per_s, Lag& lag) {
  const auto rate_max = static_cast<std::uint64_t>(bytes_per_s / 2);
  RateLimit rate(rate_max, bench.clock);
  bool ok = true;
  const double seconds = seconds_of(
      [&] {
        return at_once(
            bench,
            [&](std::size_t, const Target& target) {
              return zero(target, bench.options, bench.clock, false, &rate);
            },
            &lag);
      },
      ok);
  fmt::print("zeroing with zero_rate_max = {:.0f} MB/s: {:.2f} of it\n",
             static_cast<double>(rate_max) / 1e6,
             mb_per_s(bench, seconds) * 1e6 / static_cast<double>(rate_max));
  return ok;
}

int main_of(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i, std::uint64_t otherwise) {
    return arguments.size() > i ? std::stoull(arguments[i]) : otherwise;
  };
  Bench bench;
  const std::uint64_t drives = std::max<std::uint64_t>(number(0, 24), 1);
  const std::uint64_t bytes = std::max<std::uint64_t>(number(1, 256), 1) << 20U;
  bench.rounds = std::max<std::size_t>(number(2, 3), 1);
  if (::geteuid() != 0) {
    fmt::print("many_drives skipped: it needs root for block devices\n");
    return 0;
  }
  for (std::uint64_t i = 0; i < drives; ++i) {
    const std::string file =
        std::filesystem::temp_directory_path() / fmt::format("many_drives.{}.{}", ::getpid(), i);
    const std::string device = attach_loop(file, bytes);
    ::unlink(file.c_str());
    if (device.empty()) break;
    bench.targets.push_back(Target{device, bytes});
  }
  bench.bytes = bytes * bench.targets.size();
  bool ok = true;
  if (bench.targets.size() < drives) {
    fmt::print("many_drives skipped: only {} loop devices are to be had\n", bench.targets.size());
  } else {
    Lag alone;
    ok = at_once(
        bench,
        [](std::size_t, const Target&) {
          std::this_thread::sleep_for(std::chrono::seconds(1));
          return true;
        },
        &alone);
    print_lag("beside nothing of this bench", alone);
    Lag lag;
    const double bytes_per_s = race(bench, lag);
    // What was punched out of the file is not read from it.
    ok = ok && bytes_per_s > 0 && write_all(bench);
    ok = ok && mixed(bench, lag) && limited(bench, bytes_per_s, lag);
    print_lag("beside all of ours", lag);
    ok = ok && io_uring(bench);
  }
  for (const Target& target : bench.targets) (void)command("losetup -d " + target.device);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace reclaim::nvme

int main(int count, char** arguments) {
  return reclaim::nvme::main_of({arguments + 1, arguments + count});
}
