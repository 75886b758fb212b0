#include "nvme/erase/read_back.h"

#include <fmt/core.h>

#include "nvme/controller/admin.h"
#include "nvme/erase/bulk_reading.h"
#include "nvme/erase/sweep.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

Status expect_zeroes(const DriveContext& drive, const Place& place, AlignedBuffer& buffer) {
  const auto bytes = read_place(drive.claim.find(place.nsid)->fd.get(), place, buffer);
  if (!bytes) return bytes.error();
  if (is_uniform(*bytes) && bytes->front() == std::byte{0}) return Ok{};
  return Error{Errc::failed, to_string(place) + " does not read as zeroes"};
}

Result<Counters> counters_of(const DriveContext& drive) {
  auto counters = read_counters(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (counters) return counters;
  return Error{Errc::busy, counters.error().what, counters.error().raw};
}

}  // namespace

Result<std::uint64_t> read_back_zeroes(const DriveContext& drive,
                                       const std::vector<Stretch>& written, MonoMs deadline,
                                       const ReportProgress& on_progress, StopFlag& stop) {
  // Behind a reset it may not answer yet, which says nothing of whose drive it is.
  if (const auto awake = counters_of(drive); !awake) return awake.error();
  if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
  // Zeroes that are only in a cache of the drive may be lost with the next reset.
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (!flush(ns.fd.get())) return 0;
  }
  const auto before = counters_of(drive);
  if (!before) return before.error();
  const SweepOptions how = bulk_reading(drive, deadline);
  std::vector<AlignedBuffer> buffers;
  for (std::size_t i = 0; i < how.queue_depth; ++i) buffers.emplace_back(how.chunk_bytes);
  const SweepResult swept = sweep(
      written, how,
      [&](std::size_t worker, const Place& chunk) {
        return expect_zeroes(drive, chunk, buffers[worker]);
      },
      on_progress, drive.clock, stop);
  const auto after = counters_of(drive);
  if (!after) return after.error();
  if (after->host_writes < before->host_writes) {
    return Error{Errc::busy, "the drive was reset while it was read back"};
  }
  if (after->host_writes != before->host_writes) {
    return Error{Errc::failed, fmt::format("the drive was written to while it was read back: {} "
                                           "write commands before, {} after",
                                           before->host_writes, after->host_writes)};
  }
  return swept.bytes_in_row;
}

}  // namespace reclaim::nvme
