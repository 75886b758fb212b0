// How fast a drive is zeroed and looked at, as ratios against what people use, in one run on one
// device. Run by root: on a loop device of its own over a file in TMPDIR, or on a block device that
// is named and whose content is lost.
//   zero_bench [MiB] [ROUNDS] [DEVICE]
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/media_bench.h"

namespace reclaim::nvme {
namespace {

struct Bench {
  Target target;
  std::size_t rounds = 3;
  Options options;
  SystemClock clock;
};

bool zero(const Bench& bench, bool by_kernel) {
  return zero(bench.target, bench.options, bench.clock, by_kernel);
}

bool look(const Bench& bench, VerifyLevel level) {
  return look(bench.target, bench.options, bench.clock, level);
}

struct Contender {
  const char* name;
  std::function<bool()> work;
  std::vector<double> seconds = {};
};

// All in each round, so that the machine's moods meet all alike; ratios to the first.
bool race(const Bench& bench, const char* title, std::vector<Contender> contenders) {
  bool ok = true;
  for (std::size_t round = 0; round < bench.rounds; ++round) {
    for (Contender& each : contenders) {
      bool done = true;
      const double seconds = seconds_of(each.work, done);
      if (!done) fmt::print("{} failed\n", each.name);
      ok = ok && done;
      each.seconds.push_back(seconds);
    }
  }
  fmt::print("{} ({} MiB, median of {})\n", title, bench.target.bytes >> 20U, bench.rounds);
  const double first = median(contenders.front().seconds);
  for (const Contender& each : contenders) {
    const double seconds = median(each.seconds);
    fmt::print("  {:<34} {:8.3f} s {:9.0f} MB/s  {:6.2f} x\n", each.name, seconds,
               static_cast<double>(bench.target.bytes) / 1e6 / seconds, seconds / first);
  }
  return ok;
}

bool run(const Bench& bench) {
  const std::string& device = bench.target.device;
  const std::string count = std::to_string(bench.target.bytes >> 20U);
  bool ok = race(bench, "zeroing; x: time against overwrite",
                 {{"overwrite (ours)", [&] { return zero(bench, false); }},
                  {"write_zeroes (ours)", [&] { return zero(bench, true); }},
                  {"shred -n0 -z", [&] { return command("shred -n0 -z " + device); }},
                  {"dd oflag=direct bs=1M",
                   [&] {
                     return command("dd if=/dev/zero of=" + device +
                                    " oflag=direct bs=1M count=" + count + " conv=fsync");
                   }},
                  {"blkdiscard -z, sync",
                   [&] { return command("blkdiscard -z " + device + " && sync " + device); }}});
  // What was punched out of the file is not read from it: written zeroes are a drive's case.
  ok = zero(bench, false) && ok;
  ok = race(bench, "looking; x: time against sample",
            {{"sample", [&] { return look(bench, VerifyLevel::sample); }},
             {"nist", [&] { return look(bench, VerifyLevel::nist); }},
             {"full", [&] { return look(bench, VerifyLevel::full); }}}) &&
       ok;
  return ok;
}

int skip(const char* why) {
  fmt::print("zero_bench skipped: {}\n", why);
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  Bench bench;
  const std::uint64_t mib = arguments.empty() ? 1024 : std::stoull(arguments[0]);
  if (arguments.size() > 1) bench.rounds = std::max<std::size_t>(std::stoull(arguments[1]), 1);
  if (::geteuid() != 0) return skip("it needs root for a block device");
  bench.target.bytes = mib << 20U;
  if (arguments.size() > 2) {
    bench.target.device = arguments[2];
    const UniqueFd fd = open_device(bench.target.device);
    std::uint64_t size = 0;
    if (fd.get() < 0 || ::ioctl(fd.get(), BLKGETSIZE64, &size) != 0) {
      fmt::print("cannot open {} for itself\n", bench.target.device);
      return 1;
    }
    bench.target.bytes = size;
    return run(bench) ? 0 : 1;
  }
  const std::string file =
      std::filesystem::temp_directory_path() / fmt::format("zero_bench.{}", ::getpid());
  bench.target.device = attach_loop(file, bench.target.bytes);
  ::unlink(file.c_str());
  if (bench.target.device.empty()) return skip("there is no loop device to be had");
  const bool ok = run(bench);
  (void)command("losetup -d " + bench.target.device);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace reclaim::nvme

int main(int count, char** arguments) {
  return reclaim::nvme::main_of({arguments + 1, arguments + count});
}
