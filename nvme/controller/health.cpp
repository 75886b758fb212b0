#include "nvme/controller/health.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kDataUnitBytes = 512'000;  // a thousand sectors of 512 bytes
constexpr std::uint8_t kNoLimit = 255;

constexpr std::uint8_t kWornOut = 100;
constexpr std::uint8_t kPercentMax = 100;
constexpr unsigned kWarningBits = 8;

// The meaning of each bit of Critical Warning (NVM Express Base 2.0, Figure 207).
constexpr std::array<std::string_view, kWarningCount> kWarningTexts = {
    "spare capacity below its threshold",
    "temperature outside its thresholds",
    "reliability degraded",
    "media read only",
    "volatile memory backup failed",
    "persistent memory region read only or unreliable"};

std::string name_warnings(std::uint8_t bits) {
  std::string names;
  for (unsigned i = 0; i < kWarningBits; ++i) {
    if ((bits >> i & 1U) == 0) continue;
    if (!names.empty()) names += ", ";
    names +=
        i < kWarningCount ? std::string(kWarningTexts.at(i)) : fmt::format("reserved bit {}", i);
  }
  return names;
}

bool has(std::uint8_t bits, Warning warning) {
  return (bits & bit_of(warning)) != 0;
}

std::uint8_t without(std::uint8_t bits, Warning warning) {
  return static_cast<std::uint8_t>(bits & ~bit_of(warning));
}

// True if the spare is below its threshold, not at it. A threshold of 0 is none, as emulated drives
// have it, and so is one that no percentage reaches.
bool lacks_spare(const HealthState& now) {
  return now.spare_threshold <= kPercentMax && now.available_spare < now.spare_threshold;
}

class Judge final {
 public:
  Judge(const HealthState& now, const EnrolledHealth* enrolled, const Rules& rules)
      : now_(now), enrolled_(enrolled), rules_(rules) {}

  HealthJudgement run() && {
    count_media_errors();
    judge_warnings();
    judge_wear();
    judge_media_errors();
    if (enrolled_ == nullptr) {
      tell_totals();
    } else {
      tell_tenancy();
    }
    return std::move(judgement_);
  }

 private:
  void tell(std::string_view surface, std::string found) {
    judgement_.findings.push_back(StepFinding{std::string(surface), std::move(found), false});
  }
  void refuse(std::string problem) { judgement_.problems.push_back(std::move(problem)); }
  [[nodiscard]] bool puts_up_with(Warning warning) const {
    return rules_.relaxed.puts_up_with(warning);
  }

  // Counts the media errors since the enrolment. A counter that was reset since has only errors of
  // after that.
  void count_media_errors() {
    if (enrolled_ == nullptr) return;
    const std::uint64_t before = enrolled_->health.media_errors;
    new_errors_ = now_.media_errors >= before ? now_.media_errors - before : now_.media_errors;
  }

  // Some drives (Samsung's) call themselves unreliable because all of their endurance is used, and
  // for nothing else. Who allows more than all of it has answered that; media errors, too little
  // spare or another warning are reasons of their own.
  [[nodiscard]] bool is_only_worn(std::uint8_t warnings) const {
    const std::uint8_t max = rules_.health.percentage_used_max;
    const std::uint64_t errors = enrolled_ != nullptr ? new_errors_ : now_.media_errors;
    return warnings == bit_of(Warning::reliability) && now_.percentage_used >= kWornOut &&
           max > kWornOut && now_.percentage_used <= max && errors == 0 && !lacks_spare(now_);
  }

  void judge_warnings() {
    const std::uint8_t all = now_.critical_warning;
    const auto relaxed = static_cast<std::uint8_t>(all & rules_.relaxed.warnings);
    auto counts = static_cast<std::uint8_t>(all & ~rules_.relaxed.warnings);
    judgement_.waits_for = why_not_now(now_, rules_);
    counts = without(counts, Warning::temperature);
    const bool worn = is_only_worn(counts);
    tell("critical_warning",
         fmt::format("{}{}{}", all == 0 ? "none" : name_warnings(all),
                     relaxed == 0 ? "" : fmt::format("; put up with: {}", name_warnings(relaxed)),
                     worn ? "; because of its wear alone, which percentage_used_max allows" : ""));
    if (counts == 0 || worn) return;
    std::string ways;
    for (std::size_t i = 0; i < kWarningCount; ++i) {
      const auto warning = static_cast<Warning>(i);
      if (has(counts, warning))
        ways += (ways.empty() ? "" : ", ") + std::string(to_string(warning));
    }
    refuse(
        fmt::format("critical warning {:#04x}: {}; replace the drive{}", all, name_warnings(counts),
                    ways.empty() ? std::string()
                                 : fmt::format(", or put {} into relax in its device_spec", ways)));
  }

  void judge_wear() {
    const std::uint8_t max = rules_.health.percentage_used_max;
    tell("percentage_used", fmt::format("{} %", now_.percentage_used));
    if (max != kNoLimit && now_.percentage_used > max) {
      refuse(
          fmt::format("{} % of its endurance is used, at most {} % is allowed; replace the "
                      "drive, or raise the limit in its device_spec",
                      now_.percentage_used, max));
    }
    tell("available_spare",
         fmt::format("{} %, threshold {} %", now_.available_spare, now_.spare_threshold));
    if (lacks_spare(now_) && !puts_up_with(Warning::spare)) {
      refuse(
          fmt::format("{} % spare capacity is left, its threshold is {} %; replace the drive, or "
                      "put spare into relax in its device_spec",
                      now_.available_spare, now_.spare_threshold));
    }
  }

  void judge_media_errors() {
    if (enrolled_ == nullptr) return;
    const std::uint64_t max = rules_.health.media_errors_delta_max;
    tell("media_errors", during("the count of media errors", enrolled_->health.media_errors,
                                now_.media_errors, fmt::format("{}", new_errors_)));
    // The verification itself reads what cannot be read, and that is counted too.
    if (new_errors_ <= max || rules_.relaxed.unreadable_blocks) return;
    refuse(
        fmt::format("{} media errors during the tenancy ({} then, {} now), at most {} are "
                    "allowed; replace the drive, or raise the limit in its device_spec",
                    new_errors_, enrolled_->health.media_errors, now_.media_errors, max));
  }

  void tell_totals() {
    tell("media_errors", fmt::format("{} in all", now_.media_errors));
    tell("data_written", fmt::format("{} bytes in all", now_.data_units_written * kDataUnitBytes));
    tell("unsafe_shutdowns", fmt::format("{} in all", now_.unsafe_shutdowns));
    tell("power_on_hours", fmt::format("{} in all", now_.power_on_hours));
    tell("enrolment", "none yet: what the tenancy did cannot be told apart");
  }

  // Words what a counter says of the tenancy. One that went backwards says nothing of it.
  std::string during(std::string_view counter, std::uint64_t before, std::uint64_t now,
                     const std::string& grown) {
    if (now >= before) return fmt::format("{} in all, {} during the tenancy", now, grown);
    if (!enrolled_->same_drive) {
      refuse(
          fmt::format("{} was {} at enrolment and is {} now, and the drive cannot be told from "
                      "another by its serial and model; check that this is the enrolled drive, "
                      "then enrol it again",
                      counter, before, now));
    }
    return fmt::format("{} in all, was {} at enrolment: it does not count on", now, before);
  }
  std::string grown(std::string_view counter, std::uint64_t before, std::uint64_t now) {
    return during(counter, before, now, fmt::format("{}", now - before));
  }

  void tell_tenancy() {
    const HealthState& before = enrolled_->health;
    const bool counts = now_.data_units_written >= before.data_units_written;
    const std::string units = grown("the count of data units written", before.data_units_written,
                                    now_.data_units_written);
    tell("data_written",
         counts
             ? fmt::format("{} bytes during the tenancy",
                           (now_.data_units_written - before.data_units_written) * kDataUnitBytes)
             : "data units: " + units);
    tell("unsafe_shutdowns",
         grown("the count of unsafe shutdowns", before.unsafe_shutdowns, now_.unsafe_shutdowns));
    tell("power_on_hours",
         grown("the count of power-on hours", before.power_on_hours, now_.power_on_hours));
    tell("wear",
         fmt::format("{} % at enrolment, {} % now", before.percentage_used, now_.percentage_used));
  }

  const HealthState& now_;
  const EnrolledHealth* enrolled_;
  const Rules& rules_;
  std::uint64_t new_errors_ = 0;  // of the media, since the enrolment
  HealthJudgement judgement_;
};

}  // namespace

std::string why_not_now(const HealthState& now, const Rules& rules) {
  const bool hot = has(now.critical_warning, Warning::temperature);
  if (!hot || rules.relaxed.puts_up_with(Warning::temperature)) return {};
  return "its temperature is outside its thresholds: cool the drive, or put temperature into relax "
         "in its device_spec";
}

HealthJudgement judge_health(const HealthState& now, const EnrolledHealth* enrolled,
                             const Rules& rules) {
  return Judge(now, enrolled, rules).run();
}

}  // namespace reclaim::nvme
