#include "nvme/qualify/judgement.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "nvme/erase/policy.h"
#include "state/base/json.h"

namespace reclaim::nvme {
namespace {

using Outcome = TrialJudgement::Outcome;

constexpr std::uint8_t kReadsZeroes = 1;
constexpr std::uint8_t kReadsOnes = 2;
constexpr unsigned kCmicShared = 7;
constexpr unsigned kDeallocated = 4;            // SSTAT bits 2:0
constexpr std::int64_t kCleanupTimeoutS = 900;  // the default
constexpr std::int64_t kCleanupTimeoutMaxS = 604'800;
constexpr std::int64_t kSpareFactor = 3;  // of a timeout over what was measured
constexpr std::int64_t kSlowFactor = 2;   // over the drive's estimate
// More than one byte in so many that cannot be read is no wear, and leaves too little to judge by.
constexpr std::uint64_t kUnreadableShare = 100;
constexpr std::array kPolicies = {
    Policy{ClearAction::sanitize, ClearStrategy::crypto},
    Policy{ClearAction::sanitize, ClearStrategy::block},
    Policy{ClearAction::zero, ClearStrategy::auto_},
    Policy{ClearAction::format, ClearStrategy::crypto},
    Policy{ClearAction::format, ClearStrategy::block},
};

bool zeroes(EraseMethod method) {
  return method == EraseMethod::write_zeroes || method == EraseMethod::overwrite;
}

std::string found_at(const MediaCounts& counts) {
  return fmt::format("{} bytes, the first in namespace {} at {:#x}", counts.intact + counts.traces,
                     counts.found_nsid, counts.found_offset);
}

// The policy by which a cleaning chooses the method for this drive; nothing: there is none.
std::optional<Policy> policy_for(EraseMethod method, const Capabilities& capabilities) {
  for (const Policy& policy : kPolicies) {
    const auto chosen = choose_method(policy, capabilities);
    if (chosen && *chosen == method) return policy;
  }
  return std::nullopt;
}

// Judges what a sanitize or a format left by what it has to leave, where that may be relaxed.
void judge_what_is_left(const Trial& trial, const DriveSays& drive, TrialJudgement& out) {
  const MediaCounts& after = trial.after;
  if (after.unreadable > 0) {
    out.relaxed.unreadable_blocks = true;
    out.why.push_back(fmt::format("{} bytes cannot be read after it", after.unreadable));
  }
  if (!is_sanitize(trial.method)) return;
  const std::uint64_t readable = after.bytes() - after.unreadable;
  const bool as_zeroes = drive.dlfeat == kReadsZeroes;
  const bool as_ones = drive.dlfeat == kReadsOnes;
  const std::uint64_t off = as_zeroes ? readable - after.zeroes
                            : as_ones ? readable - after.ones
                                      : 0;
  if (off > 0) {
    out.relaxed.deallocated_value = true;
    out.why.push_back(fmt::format("{} bytes do not read as {}, which DLFEAT {} promises", off,
                                  as_zeroes ? "zeroes" : "ones", drive.dlfeat));
  }
  if (!trial.global_data_erased) {
    out.relaxed.global_data_erased = true;
    out.why.emplace_back("Global Data Erased is not set after it");
  }
}

void note_times(const Trial& trial, const DriveSays& drive, TrialJudgement& out) {
  const std::int64_t estimate =
      trial.method == EraseMethod::sanitize_crypto  ? drive.crypto_estimate_s
      : trial.method == EraseMethod::sanitize_block ? drive.block_estimate_s
                                                    : -1;
  const std::int64_t took_s = trial.erased.duration_ms / 1000;
  if (estimate > 0 && took_s > kSlowFactor * estimate) {
    out.notes.push_back(fmt::format("{} took {} s, the drive estimates {} s",
                                    to_string(trial.method), took_s, estimate));
  }
  if (is_sanitize(trial.method) && (trial.sstat & 7U) == kDeallocated) {
    out.notes.push_back(
        fmt::format("{}: the drive reports deallocation although it was not asked for (SSTAT 4)",
                    to_string(trial.method)));
  }
}

struct Candidate {
  const Trial* trial = nullptr;
  Policy policy;
  TrialJudgement judgement;
};

// Purge before clear, less to relax before more, and then in the order of methods_of().
std::optional<Candidate> best_of(const Qualification& whole) {
  std::optional<Candidate> best;
  const auto rank = [](const Candidate& each) {
    return std::pair(!is_sanitize(each.trial->method), each.judgement.relaxed.any());
  };
  for (const EraseMethod method : methods_of(whole.drive.capabilities)) {
    const Trial* trial = whole.find(method);
    if (trial == nullptr || !trial->finished) continue;
    TrialJudgement judgement = judge_trial(*trial, whole.drive);
    const auto policy = policy_for(method, whole.drive.capabilities);
    if (judgement.outcome != Outcome::good || !policy) continue;
    Candidate candidate{trial, *policy, std::move(judgement)};
    if (!best || rank(candidate) < rank(*best)) best = std::move(candidate);
  }
  return best;
}

VerifyLevel level_for(EraseMethod method) {
  return is_sanitize(method) ? VerifyLevel::sample : VerifyLevel::nist;
}

// The timeout that a cleaning needs, with room; nothing: the default is enough.
std::optional<std::int64_t> timeout_s(const Trial& trial) {
  const std::int64_t wanted = kSpareFactor * (trial.erased.duration_ms / 1000 + 1);
  if (wanted <= kCleanupTimeoutS) return std::nullopt;
  return std::min(wanted, kCleanupTimeoutMaxS);
}

std::string entry_of(const Candidate& best, const DriveSays& drive) {
  const auto quoted = [](std::string_view text) {
    std::string out;
    json::append_string(text, out);
    return out;
  };
  std::string text = fmt::format(R"({{"vendor_id": "{}", "product_id": "{}", "clear_action": "{}")",
                                 drive.vendor_id, drive.product_id, to_string(best.policy.action));
  if (best.policy.strategy != ClearStrategy::auto_) {
    text += fmt::format(R"(, "clear_strategy": "{}")", to_string(best.policy.strategy));
  }
  text += fmt::format(R"(, "verify": "{}")", to_string(level_for(best.trial->method)));
  std::vector<std::string> relax;
  for (const std::string& name : names(best.judgement.relaxed)) relax.push_back(quoted(name));
  if (!relax.empty()) text += fmt::format(R"(, "relax": [{}])", fmt::join(relax, ", "));
  if ((drive.cmic & kCmicShared) != 0) text += R"(, "shared_subsystem": "allow")";
  if (!drive.managed) text += R"(, "managed": false)";
  if (const auto timeout = timeout_s(*best.trial)) {
    text += fmt::format(R"(, "cleanup_timeout": {})", *timeout);
  }
  return text + "}";
}

}  // namespace

TrialJudgement judge_trial(const Trial& trial, const DriveSays& drive) {
  TrialJudgement out;
  const std::string method(to_string(trial.method));
  const auto end = [&](Outcome outcome, std::string why) {
    out.outcome = outcome;
    out.relaxed = {};
    out.why = {std::move(why)};
    return out;
  };
  const MediaCounts& before = trial.before;
  if (before.bytes() > 0 && before.intact != before.bytes()) {
    return end(Outcome::lied,
               fmt::format("the drive does not keep what is written: before {}, {} of {} bytes "
                           "read back as they were written",
                           method, before.intact, before.bytes()));
  }
  const MediaCounts& after = trial.after;
  if (trial.claims_erased && after.intact + after.traces > 0) {
    return end(Outcome::lied, fmt::format("{}: the drive says that it erased, and old content is "
                                          "still there: {}",
                                          method, found_at(after)));
  }
  if (!trial.failure.empty()) {
    return end(Outcome::failed, fmt::format("{}: {}", method, trial.failure));
  }
  const bool whole = before.bytes() > 0 && after.bytes() == before.bytes() && trial.claims_erased;
  if (!trial.finished || !whole) {
    return end(Outcome::failed, method + ": it was not tried to its end");
  }
  if (trial.reset_failed) {
    return end(Outcome::failed, fmt::format("{}: {}", method, trial.reset));
  }
  if (zeroes(trial.method) && after.ones + after.other > 0) {
    return end(Outcome::lied, fmt::format("{}: {} bytes were zeroed and do not read as zeroes",
                                          method, after.ones + after.other));
  }
  if (after.unreadable * kUnreadableShare > after.bytes()) {
    return end(Outcome::failed,
               fmt::format("{}: {} of {} bytes cannot be read after it, more than one in {}",
                           method, after.unreadable, after.bytes(), kUnreadableShare));
  }
  if (zeroes(trial.method) && after.unreadable > 0) {
    return end(Outcome::failed, fmt::format("{}: {} bytes were zeroed and cannot be read", method,
                                            after.unreadable));
  }
  out.outcome = Outcome::good;
  judge_what_is_left(trial, drive, out);
  for (std::string& why : out.why) why = method + ": " + why;
  note_times(trial, drive, out);
  return out;
}

Conclusion judge(const Qualification& whole) {
  Conclusion out;
  bool lied = false;
  for (const Trial& trial : whole.trials) {
    const TrialJudgement judgement = judge_trial(trial, whole.drive);
    lied = lied || judgement.outcome == Outcome::lied;
    auto& into = judgement.outcome == Outcome::lied ? out.reasons : out.notes;
    into.insert(into.end(), judgement.why.begin(), judgement.why.end());
    out.notes.insert(out.notes.end(), judgement.notes.begin(), judgement.notes.end());
  }
  std::vector<std::string_view> untried;
  for (const EraseMethod method : methods_of(whole.drive.capabilities)) {
    const Trial* trial = whole.find(method);
    if (trial == nullptr || !trial->finished) untried.push_back(to_string(method));
  }
  if (!untried.empty()) out.notes.push_back(fmt::format("not tried: {}", fmt::join(untried, ", ")));
  if ((whole.drive.capabilities.sanicap & 4U) != 0) {
    out.notes.emplace_back("the drive has the overwrite sanitize, which Reclaim does not use");
  }
  const auto best = best_of(whole);
  const LastErase& last = whole.last_erase;
  if (lied) {
    out.verdict = Verdict::do_not_use;
    return out;
  }
  const auto lost = std::find_if(whole.trials.begin(), whole.trials.end(),
                                 [](const Trial& trial) { return trial.reset_failed; });
  if (lost != whole.trials.end()) {
    out.verdict = Verdict::do_not_use;
    out.reasons.push_back(fmt::format("{}: {}", to_string(lost->method), lost->reset));
    return out;
  }
  if (!best && !untried.empty()) {
    out.reasons.emplace_back("no method that was tried can be recommended, and not all were tried");
    return out;
  }
  if (!best) {
    out.verdict = Verdict::do_not_use;
    out.reasons.emplace_back(
        "none of the methods that were tried, and that an entry can choose, erased the drive");
    return out;
  }
  if (!last.method.empty() && !last.verified) {
    out.verdict = Verdict::do_not_use;
    out.reasons.push_back("a cleaning with the entry below does not end well: " + last.text);
  }
  out.method = to_string(best->trial->method);
  out.relax = names(best->judgement.relaxed);
  out.device_spec = entry_of(*best, whole.drive);
  if (out.verdict == Verdict::do_not_use) return out;
  out.verdict = out.relax.empty() ? Verdict::recommended : Verdict::with_relaxations;
  out.reasons.push_back(fmt::format(
      "{} ({}) erases every block{}", out.method, sanitization_class(best->trial->method),
      out.relax.empty() ? std::string()
                        : fmt::format(", with {} relaxed", fmt::join(out.relax, ", "))));
  return out;
}

EntryRules rules_for_last_erase(const Qualification& whole) {
  EntryRules out;
  const auto best = best_of(whole);
  if (best) {
    out.method = best->trial->method;
    out.rules.action = best->policy.action;
    out.rules.strategy = best->policy.strategy;
    out.rules.relaxed = best->judgement.relaxed;
  }
  const bool lied = std::any_of(whole.trials.begin(), whole.trials.end(), [&](const Trial& trial) {
    return judge_trial(trial, whole.drive).outcome == Outcome::lied;
  });
  // Every block of a drive that lied, or of which nothing is recommended, is read again.
  out.rules.verify = best && !lied ? level_for(out.method) : VerifyLevel::full;
  return out;
}

}  // namespace reclaim::nvme
