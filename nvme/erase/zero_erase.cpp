#include "nvme/erase/zero_erase.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "nvme/erase/sweep.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kChunkBytesMax = 1U << 30U;
constexpr std::uint64_t kChunkBytesMin = 65'536;  // a multiple of every block size

std::string_view remedy(int number, EraseMethod method) {
  switch (number) {
    case EPERM:
    case EROFS:
    case EACCES:
      return "a namespace is write protected: clear that, or power-cycle the drive";
    case EOPNOTSUPP:
    case EINVAL:
    case ENOTTY:
      return method == EraseMethod::write_zeroes
                 ? "the drive or the kernel takes no Write Zeroes although the drive says so: "
                   "choose another clear_action in device_spec"
                 : "the kernel refuses the write: look into its log";
    case ENODATA:
      return "the media is broken there: replace the drive";
    case ENODEV:
    case ENXIO:
      return "the drive is gone: look into the kernel's log";
    default:
      return "the media or the drive is broken: look into the kernel's log, and replace it";
  }
}

bool may_pass(int number) {
  return number == EIO || number == EAGAIN || number == EBUSY || number == ETIMEDOUT ||
         number == ENOMEM;
}

// What a sweep that was not done means.
Error end_of(const SweepResult& swept, const std::vector<Stretch>& all,
             const EraseRequest& request) {
  const std::string so_far = fmt::format(
      "{} of {} bytes are zeroed", swept.bytes_done,
      std::accumulate(
          all.begin(), all.end(), std::uint64_t{0},
          [](std::uint64_t sum, const Stretch& each) { return sum + each.length_bytes; }));
  switch (swept.end) {
    case SweepEnd::failed:
      return Error{Errc::failed, fmt::format("{}; {}", swept.error.what, so_far), swept.error.raw};
    case SweepEnd::stopped:
      if (swept.bytes_begun == 0) {
        return Error{Errc::cancelled, "stopped before anything was zeroed"};
      }
      return Error{Errc::unknown, "stopped while zeroing: " + so_far};
    case SweepEnd::late:
      return Error{Errc::unknown,
                   fmt::format("zeroing did not end within {} s: {}; raise cleanup_timeout if the "
                               "drive is only slow",
                               request.timeout_ms / 1000, so_far)};
    case SweepEnd::stalled:
      return Error{Errc::unknown,
                   fmt::format("zeroing stalled for {} s: {}; look into the kernel's log, and "
                               "replace the drive if it stays so",
                               request.stall_timeout_ms / 1000, so_far)};
    case SweepEnd::done:
      break;
  }
  return Error{Errc::unknown, so_far};
}

Status zero_chunk(const DriveContext& drive, EraseMethod method, Place chunk,
                  std::span<const std::byte> zeros, StopFlag& stop) {
  const ClaimedNamespace* ns = drive.claim.find(chunk.nsid);
  CHECK(ns != nullptr);
  for (std::uint32_t tries = 0;; ++tries) {
    const Status done = method == EraseMethod::write_zeroes
                            ? zero_out(ns->fd.get(), chunk)
                            : write_zeros(ns->fd.get(), chunk, zeros);
    if (done) return done;
    const Error& error = done.error();
    if (tries >= drive.options.zero_retries_max || !may_pass(error.raw) ||
        stop.wait(drive.options.read_retry_pause_ms)) {
      return Error{Errc::failed, fmt::format("{}; {}", error.what, remedy(error.raw, method)),
                   error.raw};
    }
  }
}

}  // namespace

Result<EraseEvidence> erase_by_zeroing(DriveContext& drive, const EraseRequest& request,
                                       const ReportProgress& on_progress, StopFlag& stop) {
  const MonoMs begun = drive.clock.now().mono;
  // The last look: whatever appeared since the claim stops us here.
  if (auto unchanged = drive.claim.recheck(); !unchanged) {
    return Error{unchanged.error().code == Errc::unknown ? Errc::failed : unchanged.error().code,
                 unchanged.error().what + "; nothing was written", unchanged.error().raw};
  }
  if (stop.requested()) return Error{Errc::cancelled, "stopped before anything was zeroed"};

  const std::vector<Stretch> all = plan_whole(drive.claim.namespace_facts());
  const bool by_drive = request.method == EraseMethod::write_zeroes;
  const std::uint64_t rate = drive.claim.rules().zero_bytes_per_s_max;
  RateLimit own_rate(rate, drive.clock);
  SweepOptions how;
  how.queue_depth =
      by_drive ? drive.options.write_zeroes_queue_depth : drive.options.zero_queue_depth;
  how.chunk_bytes =
      by_drive ? drive.options.write_zeroes_chunk_bytes : drive.options.zero_chunk_bytes;
  // With a limit, smaller chunks keep the drive evenly busy: a quarter of a second each.
  for (const std::uint64_t limit : {rate, drive.options.zero_bytes_per_s_max}) {
    if (limit != 0) how.chunk_bytes = std::min(how.chunk_bytes, limit / 4);
  }
  how.chunk_bytes =
      std::clamp(how.chunk_bytes, kChunkBytesMin, kChunkBytesMax) / kChunkBytesMin * kChunkBytesMin;
  how.deadline = MonoMs{begun.ms + request.timeout_ms};
  how.stall_timeout_ms = request.stall_timeout_ms;
  how.report_interval_ms = drive.options.poll_interval_ms;
  how.rates.push_back(&own_rate);
  if (drive.host_rate != nullptr) how.rates.push_back(drive.host_rate.get());

  AlignedBuffer zeros(by_drive ? AlignedBuffer::kAlignment : how.chunk_bytes);
  const auto bytes = zeros.bytes();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  const SweepResult swept = sweep(
      all, how,
      [&](std::size_t /*worker*/, const Place& chunk) {
        return zero_chunk(drive, request.method, chunk, bytes, stop);
      },
      on_progress, drive.clock, stop);
  if (swept.end != SweepEnd::done) return end_of(swept, all, request);
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (auto flushed = flush(ns.fd.get()); !flushed) return std::move(flushed).error();
  }
  EraseEvidence evidence;
  evidence.method = request.method;
  evidence.bytes_zeroed = swept.bytes_done;
  evidence.duration_ms = drive.clock.now().mono.ms - begun.ms;
  return evidence;
}

}  // namespace reclaim::nvme
