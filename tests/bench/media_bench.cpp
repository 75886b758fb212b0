#include "tests/bench/media_bench.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "nvme/erase/sweep.h"
#include "nvme/verify/block_io.h"
#include "nvme/verify/sampling.h"

namespace reclaim::nvme {
namespace {

NamespaceFacts facts_of(const Target& target) {
  return NamespaceFacts{1, target.device, target.bytes, 4096, 1};
}

}  // namespace

UniqueFd open_device(const std::string& device) {
  constexpr int kTries = 500;
  UniqueFd fd;
  for (int tries = 0; tries < kTries; ++tries) {
    fd = UniqueFd(::open(device.c_str(), O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC));
    if (fd.valid() || errno != EBUSY) break;
    ::usleep(10'000);  // the command before, or udev, has it for a moment
  }
  return fd;
}

double seconds_of(const std::function<bool()>& work, bool& ok) {
  const auto begin = std::chrono::steady_clock::now();
  ok = work() && ok;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool command(const std::string& text) {
  const int status = std::system((text + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::optional<std::string> printed(const std::string& text) {
  std::FILE* pipe = ::popen(text.c_str(), "re");
  if (pipe == nullptr) return std::nullopt;
  std::string out;
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe)) {
    out.append(piece.data(), size);
  }
  return ::pclose(pipe) == 0 ? std::optional(out) : std::nullopt;
}

bool zero(const Target& target, const Options& options, const Clock& clock, bool by_kernel,
          RateLimit* rate) {
  const UniqueFd fd = open_device(target.device);
  SweepOptions how;
  how.queue_depth = by_kernel ? options.write_zeroes_queue_depth : options.zero_queue_depth;
  how.chunk_bytes = by_kernel ? options.write_zeroes_chunk_bytes : options.zero_chunk_bytes;
  how.deadline = MonoMs{clock.now().mono.ms + 3'600'000};
  if (rate != nullptr) how.rates.push_back(rate);
  AlignedBuffer zeros(by_kernel ? AlignedBuffer::kAlignment : how.chunk_bytes);
  const auto bytes = zeros.bytes();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  StopFlag stop;
  const SweepResult swept = sweep(
      plan_whole({facts_of(target)}), how,
      [&](std::size_t, Place chunk) {
        return by_kernel ? zero_out(fd.get(), chunk) : write_zeros(fd.get(), chunk, bytes);
      },
      [](EraseProgress) {}, clock, stop);
  return swept.end == SweepEnd::done && flush(fd.get()).ok();
}

bool look(const Target& target, const Options& options, const Clock& clock, VerifyLevel level) {
  const UniqueFd fd = open_device(target.device);
  constexpr std::uint64_t kSeed = 7;
  const std::set<std::uint32_t> lengths = {4096, options.sample_bytes};
  std::vector<Stretch> stretches;
  if (level == VerifyLevel::sample) {
    const auto plan =
        plan_samples({facts_of(target)}, options.samples_max, options.sample_bytes, kSeed);
    if (!plan) return false;
    for (const Place& place : plan->samples) {
      stretches.push_back(Stretch{1, place.offset_bytes, place.length_bytes});
    }
  } else {
    stretches = level == VerifyLevel::full ? plan_whole({facts_of(target)})
                                           : plan_nist({facts_of(target)}, kSeed);
  }
  SweepOptions how;
  how.queue_depth = level == VerifyLevel::sample ? 1 : options.verify_queue_depth;
  how.chunk_bytes = options.verify_chunk_bytes;
  how.deadline = MonoMs{clock.now().mono.ms + 3'600'000};
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
      [](EraseProgress) {}, clock, stop);
  return swept.end == SweepEnd::done;
}

std::string attach_loop(const std::string& file, std::uint64_t bytes) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0 || ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)) != 0) return {};
  const auto name = printed("losetup --direct-io=on -f --show " + file + " 2>/dev/null");
  return name ? name->substr(0, name->find('\n')) : std::string();
}

}  // namespace reclaim::nvme
