#include "nvme/baseline.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/erase/sanitize_erase.h"
#include "nvme/verify/block_io.h"
#include "nvme/verify/sampling.h"

namespace reclaim::nvme {
namespace {

constexpr unsigned kSanitizeHasFailed = 3;  // SSTAT bits 2:0

Error stopped(std::string_view during) {
  return Error{Errc::cancelled, fmt::format("stopped while {}", during)};
}

Status wait_until_readable(const DriveContext& drive, StopFlag& stop) {
  if (!drive.claim.identity().capabilities.sanitize()) return Ok{};
  const MonoMs deadline{drive.clock.now().mono.ms + drive.options.foreign_sanitize_timeout_ms};
  const auto log =
      wait_while_sanitizing(drive, deadline, drive.options.foreign_sanitize_timeout_ms, stop);
  if (!log) return log.error();
  if (log->status() == kSanitizeHasFailed) {
    return Error{Errc::failed,
                 fmt::format("the drive's last sanitize failed and it bars reading until one "
                             "succeeds, so nothing can be sampled; run `nvme sanitize --sanact=2 "
                             "/dev/{}` (4 for crypto erase), then clean the device again",
                             drive.claim.sys().controller)};
  }
  return Ok{};
}

Result<Sample> read_sample(const DriveContext& drive, const Place& place) {
  const ClaimedNamespace* ns = drive.claim.find(place.nsid);
  CHECK(ns != nullptr);
  AlignedBuffer buffer(place.length_bytes);
  const auto bytes = read_place(ns->fd.get(), place, buffer);
  if (!bytes) return bytes.error();
  const Reading reading = digest(*bytes);
  return Sample{place.nsid, place.offset_bytes, place.length_bytes, reading.sha256,
                reading.uniform};
}

Result<Sample> write_canary(const DriveContext& drive, const Place& place) {
  const ClaimedNamespace* ns = drive.claim.find(place.nsid);
  CHECK(ns != nullptr);
  AlignedBuffer buffer(place.length_bytes);
  const auto pattern = buffer.bytes().first(place.length_bytes);
  if (auto random = fill_random(pattern); !random) return std::move(random).error();
  const std::string wanted = sha256_hex(pattern);
  if (auto written = write_place(ns->fd.get(), place, pattern); !written) {
    return std::move(written).error();
  }
  if (auto flushed = flush(ns->fd.get()); !flushed) return std::move(flushed).error();
  auto canary = read_sample(drive, place);
  if (!canary) return canary;
  if (canary->sha256 != wanted) {
    return Error{Errc::failed,
                 fmt::format("the canary ({}) does not read back as it was written; the drive "
                             "loses writes or is read only: replace it",
                             to_string(place))};
  }
  return canary;
}

}  // namespace

Result<Baseline> take_baseline(DriveContext& drive, StopFlag& stop) {
  if (auto readable = wait_until_readable(drive, stop); !readable)
    return std::move(readable).error();
  if (auto whole = drive.claim.whole(); !whole) return std::move(whole).error();
  std::uint64_t seed = 0;
  if (auto random = fill_random(std::as_writable_bytes(std::span(&seed, 1))); !random) {
    return std::move(random).error();
  }
  const auto plan = plan_samples(drive.claim.namespace_facts(), drive.options.samples_max,
                                 drive.options.sample_bytes, seed);
  if (!plan) return plan.error();

  Baseline baseline;
  std::size_t unreadable = 0;
  for (const Place& place : plan->samples) {
    if (stop.requested()) return stopped("reading samples");
    auto sample = read_sample(drive, place);
    if (sample) {
      baseline.samples.push_back(*std::move(sample));
      continue;
    }
    // A tenant can make blocks unreadable (Write Uncorrectable), and so can an earlier erase: they
    // hold nothing to compare with, but this erase has to make them readable.
    if (++unreadable == plan->samples.size() && !drive.claim.rules().relaxed.unreadable_blocks) {
      return std::move(sample).error();
    }
    baseline.samples.push_back(
        Sample{place.nsid, place.offset_bytes, place.length_bytes, "", true});
  }
  // From here on we write.
  if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
  for (const Place& place : plan->canaries) {
    if (stop.requested()) return stopped("writing canaries");
    auto canary = write_canary(drive, place);
    if (!canary) return std::move(canary).error();
    baseline.canaries.push_back(*std::move(canary));
  }
  drive.log.debug(log_name::kNvme,
                  fmt::format("baseline of {}: {} samples, {} canaries, {} places count, "
                              "{} cannot be read",
                              to_string(drive.claim.sys().address), baseline.samples.size(),
                              baseline.canaries.size(), baseline.counted(), unreadable));
  return baseline;
}

}  // namespace reclaim::nvme
