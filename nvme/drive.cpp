// Baseline: what is read and written on the media before the erase; and whether the drive is still
// as verification left it.
#include "nvme/drive.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/controller/admin.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

constexpr unsigned kSanitizeHasFailed = 3;  // SSTAT bits 2:0

Error stopped(std::string_view during) {
  return Error{Errc::cancelled, fmt::format("stopped while {}", during)};
}

}  // namespace

DriveFacts Drive::facts() const {
  const SysDrive& sys = claim_.sys();
  DriveFacts facts;
  facts.address = sys.address;
  facts.vendor_id = sys.vendor_id;
  facts.device_id = sys.device_id;
  facts.class_code = sys.class_code;
  facts.driver = sys.driver;
  facts.controller = sys.controller;
  facts.controller_state = sys.controller_state;
  facts.subsystem_nqn = sys.subsystem_nqn;
  facts.iommu_group = sys.iommu_group;
  facts.sriov_vfs_enabled = sys.sriov_vfs_enabled;
  facts.identity = claim_.identity();
  facts.namespaces = claim_.namespace_facts();
  const auto counters = read_counters(claim_.controller_fd(), options_.admin_timeout_ms);
  if (counters) facts.counters = *counters;
  return facts;
}

Status Drive::wait_until_readable(StopFlag& stop) {
  if (!can_sanitize()) return Ok{};
  const MonoMs deadline{clock_.now().mono.ms + options_.foreign_sanitize_timeout_ms};
  const auto log = wait_while_sanitizing(deadline, options_.foreign_sanitize_timeout_ms, stop);
  if (!log) return log.error();
  if (log->status() == kSanitizeHasFailed) {
    return Error{Errc::failed,
                 fmt::format("the drive's last sanitize failed and it bars reading until one "
                             "succeeds, so nothing can be sampled; run `nvme sanitize --sanact=2 "
                             "/dev/{}` (4 for crypto erase), then clean the device again",
                             claim_.sys().controller)};
  }
  return Ok{};
}

Result<Baseline> Drive::take_baseline(StopFlag& stop) {
  if (auto readable = wait_until_readable(stop); !readable) return std::move(readable).error();
  if (auto whole = claim_.whole(); !whole) return std::move(whole).error();
  std::uint64_t seed = 0;
  if (auto random = fill_random(std::as_writable_bytes(std::span(&seed, 1))); !random) {
    return std::move(random).error();
  }
  const auto plan =
      plan_samples(claim_.namespace_facts(), options_.samples_max, options_.sample_bytes, seed);
  if (!plan) return plan.error();

  Baseline baseline;
  std::size_t unreadable = 0;
  for (const Place& place : plan->samples) {
    if (stop.requested()) return stopped("reading samples");
    auto sample = read_sample(place);
    if (sample) {
      baseline.samples.push_back(*std::move(sample));
      continue;
    }
    // A tenant can make blocks unreadable (Write Uncorrectable), and so can an earlier erase: they
    // hold nothing to compare with, but this erase has to make them readable.
    if (++unreadable == plan->samples.size() && !claim_.rules().relaxed.unreadable_blocks) {
      return std::move(sample).error();
    }
    baseline.samples.push_back(
        Sample{place.nsid, place.offset_bytes, place.length_bytes, "", true});
  }
  // From here on we write.
  if (auto unchanged = claim_.recheck(); !unchanged) return std::move(unchanged).error();
  for (const Place& place : plan->canaries) {
    if (stop.requested()) return stopped("writing canaries");
    auto canary = write_canary(place);
    if (!canary) return std::move(canary).error();
    baseline.canaries.push_back(*std::move(canary));
  }
  log_.info("reclaim.nvme", fmt::format("baseline of {}: {} samples, {} canaries, {} places count, "
                                        "{} cannot be read",
                                        to_string(claim_.sys().address), baseline.samples.size(),
                                        baseline.canaries.size(), baseline.counted(), unreadable));
  return baseline;
}

Result<Sample> Drive::read_sample(const Place& place) {
  const ClaimedNamespace* ns = claim_.find(place.nsid);
  CHECK(ns != nullptr);
  AlignedBuffer buffer(place.length_bytes);
  const auto bytes = read_place(ns->fd.get(), place, buffer);
  if (!bytes) return bytes.error();
  const Reading reading = digest(*bytes);
  return Sample{place.nsid, place.offset_bytes, place.length_bytes, reading.sha256,
                reading.uniform};
}

Result<Sample> Drive::write_canary(const Place& place) {
  const ClaimedNamespace* ns = claim_.find(place.nsid);
  CHECK(ns != nullptr);
  AlignedBuffer buffer(place.length_bytes);
  const auto pattern = buffer.bytes().first(place.length_bytes);
  if (auto random = fill_random(pattern); !random) return std::move(random).error();
  const std::string wanted = sha256_hex(pattern);
  if (auto written = write_place(ns->fd.get(), place, pattern); !written) {
    return std::move(written).error();
  }
  if (auto flushed = flush(ns->fd.get()); !flushed) return std::move(flushed).error();
  auto canary = read_sample(place);
  if (!canary) return canary;
  if (canary->sha256 != wanted) {
    return Error{Errc::failed,
                 fmt::format("the canary ({}) does not read back as it was written; the drive "
                             "loses writes or is read only: replace it",
                             to_string(place))};
  }
  return canary;
}

Result<Counters> Drive::still_ours(const Counters& since) {
  if (claim_.restored()) return still_ours_on_vfio(since);
  if (auto same = claim_.still_same_drive(); !same) {
    return Error{Errc::refused, same.error().what, same.error().raw};
  }
  const auto counters = read_counters(claim_.controller_fd(), options_.admin_timeout_ms);
  if (!counters) return Error{Errc::refused, counters.error().what, counters.error().raw};
  if (counters->host_writes != since.host_writes) {
    return Error{Errc::refused,
                 fmt::format("the drive was written to since it was verified: {} write commands "
                             "then, {} now",
                             since.host_writes, counters->host_writes)};
  }
  if (!relies_on_global_data_erased_) return *counters;
  const auto log = sanitize_log();
  if (!log) return Error{Errc::refused, log.error().what, log.error().raw};
  if (!log->global_data_erased()) {
    return Error{Errc::refused,
                 "the drive was written to since it was verified: Global Data Erased is clear"};
  }
  return *counters;
}

}  // namespace reclaim::nvme
