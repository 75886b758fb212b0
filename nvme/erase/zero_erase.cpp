#include "nvme/erase/zero_erase.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "nvme/controller/admin.h"
#include "nvme/erase/read_back.h"
#include "nvme/erase/sweep.h"
#include "nvme/erase/zero_mark.h"
#include "nvme/erase/zero_marks.h"
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

// The error of a sweep that was not done. `begun`: it or one before it has written.
Error end_of(const SweepResult& swept, bool begun, std::uint64_t verified_bytes,
             std::uint64_t bytes, const EraseRequest& request) {
  const std::string so_far =
      fmt::format("{} of {} bytes are zeroed", verified_bytes + swept.bytes_done, bytes);
  switch (swept.end) {
    case SweepEnd::failed:
      return Error{Errc::failed, fmt::format("{}; {}", swept.error.what, so_far), swept.error.raw};
    case SweepEnd::stopped:
      if (!begun) {
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

SweepOptions options_of(const DriveContext& drive, bool by_drive) {
  SweepOptions how;
  how.queue_depth =
      by_drive ? drive.options.write_zeroes_queue_depth : drive.options.zero_queue_depth;
  how.chunk_bytes =
      by_drive ? drive.options.write_zeroes_chunk_bytes : drive.options.zero_chunk_bytes;
  // With a limit, smaller chunks keep the drive evenly busy: a quarter of a second each.
  for (const std::uint64_t limit :
       {drive.claim.rules().zero_bytes_per_s_max, drive.options.zero_bytes_per_s_max}) {
    if (limit != 0) how.chunk_bytes = std::min(how.chunk_bytes, limit / 4);
  }
  how.chunk_bytes =
      std::clamp(how.chunk_bytes, kChunkBytesMin, kChunkBytesMax) / kChunkBytesMin * kChunkBytesMin;
  how.report_interval_ms = drive.options.poll_interval_ms;
  how.mark_interval_ms = drive.options.zero_mark_interval_ms;
  return how;
}

// One erase, with what is known of it. A position is a number of bytes from the beginning of all
// namespaces on.
class Zeroing final {
 public:
  Zeroing(DriveContext& drive, const EraseRequest& request, StopFlag& stop)
      : drive_(drive),
        request_(request),
        stop_(stop),
        by_drive_(request.method == EraseMethod::write_zeroes),
        all_(plan_whole(drive.claim.namespace_facts())),
        bytes_(bytes_of(all_)),
        how_(options_of(drive, by_drive_)),
        own_rate_(drive.claim.rules().zero_bytes_per_s_max, drive.clock),
        zeros_(by_drive_ ? AlignedBuffer::kAlignment : how_.chunk_bytes),
        marks_(drive, request.method, zeros_.bytes()) {
    how_.deadline = MonoMs{drive.clock.now().mono.ms + request.timeout_ms};
    how_.stall_timeout_ms = request.stall_timeout_ms;
    how_.rates = drive.host_rates();
    how_.rates.push_back(&own_rate_);
    const auto bytes = zeros_.bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }

  // Goes on behind what a worker before has zeroed, as its mark says. That counts where it is
  // proven to be ours alone, and reads back as zeroes or was all that there is. Errc::not_found: it
  // does not count, nothing was written.
  Status go_on_behind(const std::string& mark, const ReportProgress& on_progress) {
    auto read_back = read_back_marked(mark, on_progress);
    if (read_back && ended_) {
      drive_.log.warning(log_name::kNvme,
                         fmt::format("{}: it was zeroed to its end by a worker before, and nobody "
                                     "wrote since: it is verified",
                                     to_string(drive_.claim.sys().address)));
      return Ok{};
    }
    if (read_back) {
      resumed_at_bytes_ = verified_bytes_ = *read_back;
      begun_ = true;
      drive_.log.warning(
          log_name::kNvme,
          fmt::format("{}: a zeroing that was interrupted goes on behind {} of {} "
                      "bytes, which read back as zeroes",
                      to_string(drive_.claim.sys().address), verified_bytes_, bytes_));
      return Ok{};
    }
    if (stop_.requested()) return Error{Errc::cancelled, "stopped before it went on zeroing"};
    return Error{Errc::not_found,
                 fmt::format("the zeroing does not go on, it begins with the first byte: {}",
                             read_back.error().what)};
  }

  Status run(const ReportProgress& on_progress) {
    if (ended_) return Ok{};
    if (request_.on_mark) marks_.begin(verified_bytes_);
    while (true) {
      const SweepResult swept = zero_from(verified_bytes_, on_progress);
      begun_ = begun_ || swept.bytes_begun > 0;
      if (swept.end == SweepEnd::done || swept.end == SweepEnd::stopped) {
        mark(verified_bytes_ + swept.bytes_in_row, true);
      }
      if (swept.end == SweepEnd::done) return Ok{};
      if (swept.end != SweepEnd::failed || !may_pass(swept.error.raw)) return end(swept);
      if (auto again = go_on(swept); !again) return again;
    }
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t resumed_at_bytes() const { return resumed_at_bytes_; }

 private:
  void mark(std::uint64_t position, bool ended) {
    if (!request_.on_mark) return;
    if (const auto mark = marks_.take(position, ended)) request_.on_mark(*mark);
  }

  // The position, all before which reads as zeroes, or was zeroed to the end: then the counter
  // has to stand where it stood, and the verification reads what it reads of any erase.
  Result<std::uint64_t> read_back_marked(const std::string& text,
                                         const ReportProgress& on_progress) {
    const auto mark = decode_mark(text);
    if (!mark) return mark.error();
    const auto counters =
        read_counters(drive_.claim.controller_fd(), drive_.options.admin_timeout_ms);
    if (!counters) return counters.error();
    auto ours = may_go_on(*mark, request_.method, zero_target(drive_), counters->host_writes);
    if (!ours) return std::move(ours).error();
    ended_ = mark->is_of_the_end();
    if (ended_) return mark->position_bytes;
    const double share = static_cast<double>(mark->position_bytes) / static_cast<double>(bytes_);
    auto read_back = read_back_zeroes(
        drive_, part_of(all_, 0, mark->position_bytes), how_.deadline,
        [&](EraseProgress progress) {
          progress.percent *= share;
          on_progress(progress);
        },
        stop_);
    if (!read_back || *read_back == mark->position_bytes) return read_back;
    return Error{Errc::failed, fmt::format("only {} of the {} bytes that were zeroed read back as "
                                           "zeroes",
                                           *read_back, mark->position_bytes)};
  }

  [[nodiscard]] Error end(const SweepResult& swept) const {
    return end_of(swept, begun_, verified_bytes_, bytes_, request_);
  }

  SweepResult zero_from(std::uint64_t position, const ReportProgress& on_progress) {
    how_.on_mark = [this, position](std::uint64_t in_row) { mark(position + in_row, false); };
    return sweep(
        part_of(all_, position, bytes_), how_,
        [this](std::size_t /*worker*/, const Place& chunk) {
          return zero_chunk(drive_, request_.method, chunk, zeros_.bytes(), stop_);
        },
        [this, position, &on_progress](EraseProgress progress) {
          if (position > 0) {
            const double left =
                static_cast<double>(bytes_ - position) / static_cast<double>(bytes_);
            progress.percent = 100 - (100 - progress.percent) * left;
          }
          on_progress(progress);
        },
        drive_.clock, stop_);
  }

  // Goes on after an interruption: moves the position to what is read back as zeroes. What was
  // written behind it, or never arrived, is written again.
  Status go_on(const SweepResult& swept) {
    const auto written = part_of(all_, verified_bytes_, swept.bytes_in_row);
    while (continuations_++ < drive_.options.zero_continuations_max) {
      SweepResult now = swept;
      now.end = SweepEnd::stopped;
      if (stop_.wait(drive_.options.zero_continue_pause_ms)) return end(now);
      now.end = SweepEnd::late;
      if (drive_.clock.now().mono.ms >= how_.deadline.ms) return end(now);
      const auto read_back = read_back_zeroes(
          drive_, written, how_.deadline, [](EraseProgress) {}, stop_);
      if (read_back) {
        verified_bytes_ += *read_back;
        drive_.log.warning(log_name::kNvme,
                           fmt::format("{}: zeroing was interrupted and goes on behind {} of {} "
                                       "bytes, which read back as zeroes",
                                       drive_.claim.sys().controller, verified_bytes_, bytes_),
                           {{"why", swept.error.what}});
        return Ok{};
      }
      if (read_back.error().code != Errc::busy) {
        const Error ended = end(swept);
        return Error{Errc::failed,
                     fmt::format("{}; it does not go on: {}", ended.what, read_back.error().what),
                     ended.raw};
      }
    }
    return end(swept);
  }

  DriveContext& drive_;
  const EraseRequest& request_;
  StopFlag& stop_;
  const bool by_drive_;
  const std::vector<Stretch> all_;
  const std::uint64_t bytes_;
  SweepOptions how_;
  RateLimit own_rate_;
  AlignedBuffer zeros_;
  ZeroMarks marks_;
  std::uint64_t resumed_at_bytes_ = 0;
  std::uint64_t verified_bytes_ = 0;  // the position up to which all was read back as zeroes
  std::uint32_t continuations_ = 0;
  bool begun_ = false;  // something was written
  bool ended_ = false;  // by a worker before
};

// Whatever appeared since the claim stops us here.
Status last_look(const DriveContext& drive, const StopFlag& stop) {
  if (auto unchanged = drive.claim.recheck(); !unchanged) {
    return Error{unchanged.error().code == Errc::unknown ? Errc::failed : unchanged.error().code,
                 unchanged.error().what + "; nothing was written", unchanged.error().raw};
  }
  if (stop.requested()) return Error{Errc::cancelled, "stopped before anything was zeroed"};
  return Ok{};
}

}  // namespace

Result<EraseEvidence> erase_by_zeroing(DriveContext& drive, const EraseRequest& request,
                                       const ReportProgress& on_progress, StopFlag& stop) {
  const MonoMs begun = drive.clock.now().mono;
  if (auto may = last_look(drive, stop); !may) return std::move(may).error();
  Zeroing zeroing(drive, request, stop);
  if (request.adopt_ours) {
    auto goes_on = zeroing.go_on_behind(request.mark, on_progress);
    if (!goes_on) return std::move(goes_on).error();
    // Reading back may have taken hours.
    if (auto may = last_look(drive, stop); !may) return std::move(may).error();
  }
  if (auto zeroed = zeroing.run(on_progress); !zeroed) return std::move(zeroed).error();
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (auto flushed = flush(ns.fd.get()); !flushed) return std::move(flushed).error();
  }
  EraseEvidence evidence;
  evidence.method = request.method;
  evidence.bytes_zeroed = zeroing.bytes();
  evidence.resumed_at_bytes = zeroing.resumed_at_bytes();
  evidence.adopted = request.adopt_ours;
  evidence.duration_ms = drive.clock.now().mono.ms - begun.ms;
  return evidence;
}

}  // namespace reclaim::nvme
