#include "nvme/verification.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "nvme/clean_steps.h"
#include "nvme/controller/admin.h"
#include "nvme/erase/bulk_reading.h"
#include "nvme/erase/policy.h"
#include "nvme/erase/sanitize_erase.h"
#include "nvme/erase/sweep.h"
#include "nvme/verify/block_io.h"
#include "nvme/verify/sampling.h"
#include "nvme/verify/verdict.h"

namespace reclaim::nvme {
namespace {

Error stopped() {
  return Error{Errc::cancelled, "stopped while verifying"};
}

Error not_verified(const Error& error) {
  return Error{
      error.code == Errc::cancelled ? Errc::cancelled : Errc::failed,
      error.code == Errc::cancelled ? error.what : "the erasure is not verified: " + error.what,
      error.raw};
}

// Reads right after an erase may fail for a moment.
Result<Reading> reread(const DriveContext& drive, const Sample& sample, const Judge& judge,
                       MonoMs deadline, StopFlag& stop) {
  const Place place{sample.nsid, sample.offset_bytes, sample.length_bytes};
  const ClaimedNamespace* ns = drive.claim.find(sample.nsid);
  AlignedBuffer buffer(place.length_bytes);
  while (true) {
    const auto bytes = read_place(ns->fd.get(), place, buffer);
    if (bytes) {
      Reading reading = survey(*bytes, place.offset_bytes, judge.piece_lengths());
      reading.sha256 = sha256_hex(*bytes);
      return reading;
    }
    if (drive.clock.now().mono.ms >= deadline.ms) return bytes.error();
    if (stop.wait(drive.options.read_retry_pause_ms)) return stopped();
  }
}

Status reread_all(const DriveContext& drive, const Baseline& baseline, Judge& judge,
                  StopFlag& stop) {
  const MonoMs deadline{drive.clock.now().mono.ms + drive.options.read_retry_ms};
  for (const auto* places : {&baseline.samples, &baseline.canaries}) {
    for (const Sample& sample : *places) {
      if (stop.requested()) return stopped();
      const ClaimedNamespace* ns = drive.claim.find(sample.nsid);
      if (ns == nullptr || sample.offset_bytes > ns->facts.capacity_bytes ||
          sample.length_bytes > ns->facts.capacity_bytes - sample.offset_bytes) {
        return Error{Errc::failed,
                     fmt::format("{} bytes at {:#x} of namespace {} are not there any more",
                                 sample.length_bytes, sample.offset_bytes, sample.nsid)};
      }
      const auto reading = reread(drive, sample, judge, deadline, stop);
      if (reading) {
        judge.look(sample, *reading, places == &baseline.canaries);
      } else if (reading.error().code == Errc::cancelled) {
        return reading.error();
      } else {
        judge.cannot_reread(sample, reading.error());
      }
      if (judge.failed()) return Ok{};  // the verdict is certain, and says so
    }
  }
  return Ok{};
}

void survey_chunk(const DriveContext& drive, const Place& chunk, AlignedBuffer& buffer,
                  Judge& judge, std::mutex& mutex) {
  const int fd = drive.claim.find(chunk.nsid)->fd.get();
  const auto look = [&](const Place& place) {
    const auto bytes = read_place(fd, place, buffer);
    if (!bytes) return Status(bytes.error());
    const Reading reading = survey(*bytes, place.offset_bytes, judge.piece_lengths());
    const std::lock_guard lock(mutex);
    judge.look_further(place, reading);
    return Status(Ok{});
  };
  if (look(chunk)) return;
  // Once more, and in pieces: what can be read is looked at.
  for (std::uint32_t at = 0; at < chunk.length_bytes; at += kPieceBytes) {
    const Place piece{chunk.nsid, chunk.offset_bytes + at,
                      std::min(kPieceBytes, chunk.length_bytes - at)};
    if (const Status looked = look(piece); !looked) {
      const std::lock_guard lock(mutex);
      judge.cannot_read_further(piece, looked.error());
      if (judge.failed()) return;
    }
  }
}

Status read_further(const DriveContext& drive, Judge& judge, const ReportProgress& on_progress,
                    StopFlag& stop) {
  std::uint64_t seed = 0;
  if (auto random = fill_random(std::as_writable_bytes(std::span(&seed, 1))); !random) {
    return random;
  }
  const std::vector<Stretch> stretches = drive.claim.rules().verify == VerifyLevel::full
                                             ? plan_whole(drive.claim.namespace_facts())
                                             : plan_nist(drive.claim.namespace_facts(), seed);
  judge.expect_further(stretches);
  const SweepOptions how =
      bulk_reading(drive, MonoMs{drive.clock.now().mono.ms + drive.options.verify_timeout_ms});
  std::vector<AlignedBuffer> buffers;
  for (std::size_t i = 0; i < how.queue_depth; ++i) buffers.emplace_back(how.chunk_bytes);
  std::mutex mutex;  // of the judge
  const SweepResult swept = sweep(
      stretches, how,
      [&](std::size_t worker, const Place& chunk) {
        survey_chunk(drive, chunk, buffers[worker], judge, mutex);
        const std::lock_guard lock(mutex);
        return judge.failed() ? Status(Error{Errc::failed, "found"}) : Status(Ok{});
      },
      on_progress, drive.clock, stop);
  switch (swept.end) {
    case SweepEnd::stopped:
      return stopped();
    case SweepEnd::late:
      return Error{Errc::failed,
                   fmt::format("reading the media did not end within {} s; "
                               "raise zero_rate_max if it is set, or choose a lower verify",
                               drive.options.verify_timeout_ms / 1000)};
    case SweepEnd::stalled:
      return Error{Errc::failed, fmt::format("reading the media stalled for {} s",
                                             drive.options.verify_stall_timeout_ms / 1000)};
    case SweepEnd::failed:  // the judge knows what it found
    case SweepEnd::done:
      break;
  }
  return Ok{};
}

// Judges the drive's health as it is after its erase. An unmanaged drive that is too hot is waited
// for here: on its own driver nothing more can be read of it.
Result<HealthJudgement> health_after_erase(const DriveContext& drive, StopFlag& stop) {
  const Rules& rules = drive.claim.rules();
  if (!rules.health.judged) return HealthJudgement{};
  const MonoMs deadline{drive.clock.now().mono.ms + drive.options.hot_wait_ms};
  while (true) {
    auto judgement = health_of(drive, drive.claim.enrolment());
    if (!judgement || judgement->waits_for.empty() || !drive.claim.unmanaged()) return judgement;
    if (drive.clock.now().mono.ms >= deadline.ms) {
      judgement->problems.push_back(judgement->waits_for);
      return judgement;
    }
    if (stop.wait(drive.options.hot_poll_ms)) return stopped();
  }
}

// Looks at the vfio group alone: it tells that nobody could reach the drive, of which nothing can
// be read on vfio.
Result<Counters> still_held_on_vfio(const DriveContext& drive, const Counters& since) {
  if (auto held = drive.claim.still_held(); !held) return std::move(held).error();
  return since;
}

}  // namespace

Result<Verification> verify_erasure(const DriveContext& drive, const Baseline& baseline,
                                    const EraseEvidence& evidence,
                                    const ReportProgress& on_progress, StopFlag& stop) {
  const Rules& rules = drive.claim.rules();
  if (auto possible = check_verification(rules, evidence.method); !possible) {
    return not_verified(possible.error());
  }
  if (auto whole = drive.claim.whole(); !whole) return not_verified(whole.error());
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (auto forgotten = forget_cached(ns.fd.get()); !forgotten) {
      return not_verified(forgotten.error());
    }
  }
  const auto before = read_counters(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!before) return not_verified(before.error());
  const std::vector<NamespaceFacts> namespaces = drive.claim.namespace_facts();
  Judge judge(baseline, evidence.method, namespaces, rules.verify, rules.relaxed);
  if (rules.verify != VerifyLevel::log) {
    if (auto read = reread_all(drive, baseline, judge, stop); !read)
      return not_verified(read.error());
  }
  const bool further = rules.verify == VerifyLevel::nist || rules.verify == VerifyLevel::full;
  if (further && !judge.failed()) {
    if (auto read = read_further(drive, judge, on_progress, stop); !read) {
      return not_verified(read.error());
    }
  }
  const auto left_as = judge.failed() ? Result<std::string>(std::string()) : enrolment(drive);
  // The next tenancy is compared with it: a drive that does not tell its state is not given back.
  if (!left_as) {
    return Error{Errc::failed,
                 fmt::format("the drive was erased, but its state cannot be read to enrol it: {}",
                             left_as.error().what),
                 left_as.error().raw};
  }
  auto health =
      judge.failed() ? Result<HealthJudgement>(HealthJudgement{}) : health_after_erase(drive, stop);
  if (!health) return std::move(health).error();
  if (auto same = drive.claim.still_same_drive(); !same) return std::move(same).error();
  const auto counters = read_counters(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!counters) return not_verified(counters.error());

  // Last of all: a write that came between would clear Global Data Erased.
  bool global_data_erased = false;
  if (is_sanitize(evidence.method)) {
    const auto log = sanitize_log(drive);
    if (!log) return not_verified(log.error());
    const SanitizeJudgement judgement = judge_sanitize(*log, evidence.cdw10);
    if (judgement.outcome != SanitizeOutcome::erased &&
        judgement.outcome != SanitizeOutcome::unproven) {
      return not_verified(Error{Errc::failed, judgement.text});
    }
    global_data_erased = log->global_data_erased();
  }
  // The drive's counter of writes has to confirm that nothing was written, where Global Data Erased
  // does not.
  if (!global_data_erased && counters->host_writes != before->host_writes) {
    return not_verified(
        Error{Errc::failed, fmt::format("the drive was written to while it was verified: {} write "
                                        "commands before, {} after",
                                        before->host_writes, counters->host_writes)});
  }
  auto report = judge.verdict(*counters, global_data_erased);
  if (!report) return report.error();
  report->enrolment = *left_as;
  report->health = std::move(health->findings);
  report->unfit = std::move(health->problems);
  return Verification{*std::move(report), global_data_erased};
}

Result<Counters> still_as_verified(const DriveContext& drive, const Counters& since,
                                   bool relies_on_global_data_erased) {
  if (drive.claim.restored()) return still_held_on_vfio(drive, since);
  if (auto same = drive.claim.still_same_drive(); !same) {
    return Error{Errc::refused, same.error().what, same.error().raw};
  }
  const auto smart = read_smart(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!smart) return Error{Errc::refused, smart.error().what, smart.error().raw};
  const Counters& counters = smart->counters;
  if (counters.host_writes != since.host_writes) {
    return Error{Errc::refused,
                 fmt::format("the drive was written to since it was verified: {} write commands "
                             "then, {} now",
                             since.host_writes, counters.host_writes)};
  }
  if (relies_on_global_data_erased) {
    const auto log = sanitize_log(drive);
    if (!log) return Error{Errc::refused, log.error().what, log.error().raw};
    if (!log->global_data_erased()) {
      return Error{Errc::refused,
                   "the drive was written to since it was verified: Global Data Erased is clear"};
    }
  }
  const Rules& rules = drive.claim.rules();
  const std::string hot = rules.health.judged ? why_not_now(smart->health, rules) : std::string();
  if (!hot.empty()) return Error{Errc::busy, hot};
  return counters;
}

}  // namespace reclaim::nvme
