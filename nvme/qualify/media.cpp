#include "nvme/qualify/media.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "nvme/erase/bulk_reading.h"
#include "nvme/erase/sweep.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kPassMs = 7LL * 24 * 3600 * 1000;

SweepOptions options_of(const DriveContext& drive) {
  return bulk_reading(drive, MonoMs{drive.clock.now().mono.ms + kPassMs});
}

int node_of(const DriveContext& drive, const Place& place) {
  const ClaimedNamespace* ns = drive.claim.find(place.nsid);
  CHECK(ns != nullptr);
  return ns->fd.get();
}

// A sweep over all blocks that came to its end, or why it did not.
Result<Pass> pass_over(const DriveContext& drive, const SweepOptions& how, std::string_view doing,
                       const SweepWork& work, const ReportProgress& on_progress, StopFlag& stop) {
  const MonoMs begun = drive.clock.now().mono;
  const auto all = plan_whole(drive.claim.namespace_facts());
  const SweepResult swept = sweep(all, how, work, on_progress, drive.clock, stop);
  switch (swept.end) {
    case SweepEnd::done:
      break;
    case SweepEnd::stopped:
      return Error{Errc::cancelled, fmt::format("stopped while {}", doing)};
    case SweepEnd::failed:
      return swept.error.wrap(doing);
    case SweepEnd::late:
      return Error{Errc::failed,
                   fmt::format("{} did not end within {} days", doing, kPassMs / 86'400'000)};
    case SweepEnd::stalled:
      return Error{Errc::failed,
                   fmt::format("{} stalled for {} s", doing, how.stall_timeout_ms / 1000)};
  }
  return Pass{swept.bytes_done, drive.clock.now().mono.ms - begun.ms};
}

}  // namespace

Result<Pass> write_pattern(const DriveContext& drive, const Pattern& pattern,
                           const ReportProgress& on_progress, StopFlag& stop) {
  const SweepOptions how = options_of(drive);
  std::vector<AlignedBuffer> buffers;
  for (std::size_t i = 0; i < how.queue_depth; ++i) buffers.emplace_back(how.chunk_bytes);
  const MonoMs begun = drive.clock.now().mono;
  auto pass = pass_over(
      drive, how, "writing the pattern",
      [&](std::size_t worker, const Place& chunk) {
        const auto bytes = buffers[worker].bytes().first(chunk.length_bytes);
        pattern.fill(bytes, chunk.nsid, chunk.offset_bytes);
        return write_place(node_of(drive, chunk), chunk, bytes);
      },
      on_progress, stop);
  if (!pass) return pass;
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (auto flushed = flush(ns.fd.get()); !flushed) return std::move(flushed).error();
  }
  pass->duration_ms = drive.clock.now().mono.ms - begun.ms;
  return pass;
}

Result<MediaLook> look_at_media(const DriveContext& drive, const std::vector<Pattern>& patterns,
                                const ReportProgress& on_progress, StopFlag& stop) {
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (auto forgotten = forget_cached(ns.fd.get()); !forgotten) {
      return std::move(forgotten).error();
    }
  }
  const SweepOptions how = options_of(drive);
  std::vector<AlignedBuffer> buffers;
  for (std::size_t i = 0; i < how.queue_depth; ++i) buffers.emplace_back(how.chunk_bytes);
  MediaCounts all;
  std::mutex mutex;  // of `all`
  const auto look = [&](AlignedBuffer& buffer, const Place& place) -> Status {
    const auto bytes = read_place(node_of(drive, place), place, buffer);
    if (!bytes) return bytes.error();
    const MediaCounts counts = count_media(*bytes, place.nsid, place.offset_bytes, patterns);
    const std::lock_guard lock(mutex);
    all.add(counts);
    return Ok{};
  };
  const auto pass = pass_over(
      drive, how, "reading the media",
      [&](std::size_t worker, const Place& chunk) {
        Status read = look(buffers[worker], chunk);
        if (read || is_gone(read.error())) return read;
        // Once more, and in pieces: what can be read is looked at.
        for (std::uint32_t at = 0; at < chunk.length_bytes; at += kPieceBytes) {
          const Place piece{chunk.nsid, chunk.offset_bytes + at,
                            std::min(kPieceBytes, chunk.length_bytes - at)};
          read = look(buffers[worker], piece);
          if (read) continue;
          if (is_gone(read.error())) return read;
          const std::lock_guard lock(mutex);
          all.unreadable += piece.length_bytes;
        }
        return Status(Ok{});
      },
      on_progress, stop);
  if (!pass) return pass.error();
  return MediaLook{*pass, all};
}

bool is_gone(const Error& error) {
  return error.raw == ENODEV || error.raw == ENXIO;
}

}  // namespace reclaim::nvme
