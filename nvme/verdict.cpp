#include "nvme/verdict.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kReadsZeroes = 1;
constexpr std::uint8_t kReadsOnes = 2;

std::string expectation_of(std::uint8_t dlfeat, EraseMethod method) {
  switch (dlfeat) {
    case kReadsZeroes:
      return "zeroes (DLFEAT 1)";
    case kReadsOnes:
      return "ones (DLFEAT 2)";
    default:
      return fmt::format("changed ({} erase, DLFEAT {})",
                         method == EraseMethod::sanitize_crypto ? "crypto" : "block", dlfeat);
  }
}

std::string where(const Sample& sample) {
  return fmt::format("namespace {}, {} bytes at {:#x}", sample.nsid, sample.length_bytes,
                     sample.offset_bytes);
}

Error not_erased(std::string what) {
  return Error{Errc::failed, "the erasure is not verified: " + std::move(what)};
}

// One verdict over all places; the first failure is told in full, the rest are counted.
class Judge final {
 public:
  Judge(const std::vector<NamespaceFacts>& namespaces, EraseMethod method)
      : namespaces_(namespaces), method_(method) {}

  void look(const Sample& before, const Reading& after, bool canary) {
    ++report.samples_read;
    report.bytes_read += after.length_bytes;
    report.bytes_nonzero += after.length_bytes - after.zero_bytes;
    if (after.length_bytes != before.length_bytes) {
      fail(fmt::format("{}: only {} bytes could be read", where(before), after.length_bytes));
    }
    if (!before.blank) look_for_change(before, after, canary);
    look_for_promise(before, after);
  }

  VerifyReport report;
  std::string failure;

 private:
  void look_for_change(const Sample& before, const Reading& after, bool canary) {
    ++report.samples_counted;
    if (before.sha256 != after.sha256) return;
    if (canary) {
      ++report.canaries_found;
      fail(fmt::format("the canary written before the erase is still there ({})", where(before)));
    } else {
      ++report.samples_unchanged;
      fail(fmt::format("the old content is still there ({})", where(before)));
    }
  }

  void look_for_promise(const Sample& before, const Reading& after) {
    const auto facts =
        std::find_if(namespaces_.begin(), namespaces_.end(),
                     [&before](const NamespaceFacts& ns) { return ns.nsid == before.nsid; });
    if (facts == namespaces_.end()) {
      fail(fmt::format("namespace {} is gone", before.nsid));
      return;
    }
    const std::string expectation = expectation_of(facts->dlfeat, method_);
    if (report.expectation.empty()) report.expectation = expectation;
    if (report.expectation != expectation) report.expectation = "differs by namespace";
    if (facts->dlfeat == kReadsZeroes && !after.all_zeroes()) {
      fail(
          fmt::format("{} bytes do not read as zeroes, which the drive promises for erased blocks "
                      "({})",
                      after.length_bytes - after.zero_bytes, where(before)));
    }
    if (facts->dlfeat == kReadsOnes && !after.all_ones()) {
      fail(
          fmt::format("{} bytes do not read as ones, which the drive promises for erased blocks "
                      "({})",
                      after.length_bytes - after.ones_bytes, where(before)));
    }
  }

  void fail(std::string what) {
    if (failure.empty()) failure = std::move(what);
  }

  const std::vector<NamespaceFacts>& namespaces_;
  EraseMethod method_;
};

}  // namespace

Result<VerifyReport> judge_verification(const Baseline& baseline, const Rereading& after,
                                        EraseMethod method,
                                        const std::vector<NamespaceFacts>& namespaces) {
  if (baseline.samples.size() != after.samples.size() ||
      baseline.canaries.size() != after.canaries.size()) {
    return not_erased(fmt::format("{} of {} places were read again",
                                  after.samples.size() + after.canaries.size(),
                                  baseline.samples.size() + baseline.canaries.size()));
  }
  Judge judge(namespaces, method);
  for (std::size_t i = 0; i < baseline.samples.size(); ++i) {
    judge.look(baseline.samples[i], after.samples[i], false);
  }
  for (std::size_t i = 0; i < baseline.canaries.size(); ++i) {
    judge.look(baseline.canaries[i], after.canaries[i], true);
  }
  VerifyReport& report = judge.report;
  report.global_data_erased = after.global_data_erased;
  report.counters = after.counters;

  if (!judge.failure.empty()) {
    const std::uint32_t old = report.samples_unchanged + report.canaries_found;
    return not_erased(old == 0 ? judge.failure
                               : fmt::format("{}; {} of {} places that held data are unchanged",
                                             judge.failure, old, report.samples_counted));
  }
  if (report.samples_counted == 0) {
    return not_erased(
        "no sample held data before the erase and no canary was written, so nothing "
        "shows that it happened");
  }
  if (!report.global_data_erased) {
    return not_erased(
        "Global Data Erased is clear: something was written to the drive after the "
        "erase");
  }
  return report;
}

}  // namespace reclaim::nvme
