// How fast a drive is zeroed and looked at, as ratios against what people use, in one run on one
// device. Run by root: on a loop device of its own over a file in TMPDIR, or on a block device that
// is named and whose content is lost.
//   zero_bench [MiB] [ROUNDS] [DEVICE]
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "nvme/erase/sweep.h"
#include "nvme/options.h"
#include "nvme/verify/block_io.h"
#include "nvme/verify/sampling.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {
namespace {

struct Bench {
  std::string device;
  std::uint64_t bytes = 0;
  std::size_t rounds = 3;
  Options options;
  SystemClock clock;
};

NamespaceFacts facts_of(const Bench& bench) {
  return NamespaceFacts{1, bench.device, bench.bytes, 4096, 1};
}

UniqueFd open_device(const Bench& bench) {
  return UniqueFd(::open(bench.device.c_str(), O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC));
}

double seconds_of(const std::function<bool()>& work, bool& ok) {
  const auto begin = std::chrono::steady_clock::now();
  ok = work() && ok;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool command(const std::string& text) {
  const int status = std::system((text + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The sweep that Drive::zero() makes, with its options.
bool zero(const Bench& bench, bool by_kernel) {
  const UniqueFd fd = open_device(bench);
  SweepOptions how;
  how.queue_depth =
      by_kernel ? bench.options.write_zeroes_queue_depth : bench.options.zero_queue_depth;
  how.chunk_bytes =
      by_kernel ? bench.options.write_zeroes_chunk_bytes : bench.options.zero_chunk_bytes;
  how.deadline = MonoMs{bench.clock.now().mono.ms + 3'600'000};
  AlignedBuffer zeros(how.chunk_bytes);
  const auto bytes = zeros.bytes();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  StopFlag stop;
  const SweepResult swept = sweep(
      plan_whole({facts_of(bench)}), how,
      [&](std::size_t, Place chunk) {
        return by_kernel ? zero_out(fd.get(), chunk) : write_zeros(fd.get(), chunk, bytes);
      },
      [](EraseProgress) {}, bench.clock, stop);
  return swept.end == SweepEnd::done && flush(fd.get()).ok();
}

// What a level reads, and how it is taken apart.
bool look(const Bench& bench, VerifyLevel level) {
  const UniqueFd fd = open_device(bench);
  constexpr std::uint64_t kSeed = 7;
  const std::set<std::uint32_t> lengths = {4096, bench.options.sample_bytes};
  std::vector<Stretch> stretches;
  if (level == VerifyLevel::sample) {
    const auto plan = plan_samples({facts_of(bench)}, bench.options.samples_max,
                                   bench.options.sample_bytes, kSeed);
    if (!plan) return false;
    for (const Place& place : plan->samples) {
      stretches.push_back(Stretch{1, place.offset_bytes, place.length_bytes});
    }
  } else {
    stretches = level == VerifyLevel::full ? plan_whole({facts_of(bench)})
                                           : plan_nist({facts_of(bench)}, kSeed);
  }
  SweepOptions how;
  how.queue_depth = level == VerifyLevel::sample ? 1 : bench.options.verify_queue_depth;
  how.chunk_bytes = bench.options.verify_chunk_bytes;
  how.deadline = MonoMs{bench.clock.now().mono.ms + 3'600'000};
  std::vector<AlignedBuffer> buffers;
  for (std::size_t i = 0; i < how.queue_depth; ++i) buffers.emplace_back(how.chunk_bytes);
  StopFlag stop;
  const SweepResult swept = sweep(
      stretches, how,
      [&](std::size_t worker, const Place& chunk) {
        const auto bytes = read_place(fd.get(), chunk, buffers[worker]);
        if (!bytes) return Status(bytes.error());
        return survey(*bytes, chunk.offset_bytes, lengths).all_zeroes()
                   ? Status(Ok{})
                   : Status(Error{Errc::failed, "not zero"});
      },
      [](EraseProgress) {}, bench.clock, stop);
  return swept.end == SweepEnd::done;
}

struct Contender {
  const char* name;
  std::function<bool()> work;
  std::vector<double> seconds = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

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
  fmt::print("{} ({} MiB, median of {})\n", title, bench.bytes >> 20U, bench.rounds);
  const double first = median(contenders.front().seconds);
  for (const Contender& each : contenders) {
    const double seconds = median(each.seconds);
    fmt::print("  {:<34} {:8.3f} s {:9.0f} MB/s  {:6.2f} x\n", each.name, seconds,
               static_cast<double>(bench.bytes) / 1e6 / seconds, seconds / first);
  }
  return ok;
}

bool run(const Bench& bench) {
  const std::string& device = bench.device;
  const std::string count = std::to_string(bench.bytes >> 20U);
  bool ok = race(bench, "zeroing; x: time against overwrite",
                 {{"overwrite (ours)", [&] { return zero(bench, false); }},
                  {"write_zeroes (ours)", [&] { return zero(bench, true); }},
                  {"shred -n0 -z", [&] { return command("shred -n0 -z " + device); }},
                  {"dd oflag=direct bs=1M",
                   [&] {
                     return command("dd if=/dev/zero of=" + device +
                                    " oflag=direct bs=1M count=" + count + " conv=fsync");
                   }},
                  {"blkdiscard -z", [&] { return command("blkdiscard -z " + device); }}});
  // What was punched out of the file is not read from it: written zeroes are a drive's case.
  ok = zero(bench, false) && ok;
  ok = race(bench, "looking; x: time against sample",
            {{"sample", [&] { return look(bench, VerifyLevel::sample); }},
             {"nist", [&] { return look(bench, VerifyLevel::nist); }},
             {"full", [&] { return look(bench, VerifyLevel::full); }}}) &&
       ok;
  return ok;
}

// A loop device over a file that is unlinked at once. Empty: there is none to be had.
std::string attach_loop(const std::string& file, std::uint64_t bytes) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0 || ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)) != 0) return {};
  std::FILE* pipe =
      ::popen(("losetup --direct-io=on -f --show " + file + " 2>/dev/null").c_str(), "re");
  std::string name(64, '\0');
  const char* line = pipe == nullptr ? nullptr : std::fgets(name.data(), 64, pipe);
  const bool ended_well = pipe != nullptr && ::pclose(pipe) == 0;
  if (line == nullptr || !ended_well) return {};
  name.resize(name.find('\n'));
  return name;
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
  bench.bytes = mib << 20U;
  if (arguments.size() > 2) {
    bench.device = arguments[2];
    const UniqueFd fd = open_device(bench);
    std::uint64_t size = 0;
    if (fd.get() < 0 || ::ioctl(fd.get(), BLKGETSIZE64, &size) != 0) {
      fmt::print("cannot open {} for itself\n", bench.device);
      return 1;
    }
    bench.bytes = size;
    return run(bench) ? 0 : 1;
  }
  const std::string file =
      std::filesystem::temp_directory_path() / fmt::format("zero_bench.{}", ::getpid());
  bench.device = attach_loop(file, bench.bytes);
  ::unlink(file.c_str());
  if (bench.device.empty()) return skip("there is no loop device to be had");
  const bool ok = run(bench);
  command("losetup -d " + bench.device);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace reclaim::nvme

int main(int count, char** arguments) {
  return reclaim::nvme::main_of({arguments + 1, arguments + count});
}
