#include "nvme/controller/health.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kDataUnitBytes = 512'000;  // a thousand sectors of 512 bytes
constexpr std::uint8_t kNoLimit = 255;

// Bits of Critical Warning (NVM Express Base 2.0, Figure 207).
std::string name_warnings(std::uint8_t bits) {
  constexpr std::array<std::string_view, 6> kNames = {
      "spare capacity below its threshold",
      "temperature outside its thresholds",
      "reliability degraded",
      "media read only",
      "volatile memory backup failed",
      "persistent memory region read only or unreliable"};
  std::string names;
  for (std::size_t i = 0; i < 8; ++i) {
    if ((bits >> i & 1U) == 0) continue;
    if (!names.empty()) names += ", ";
    names += i < kNames.size() ? std::string(kNames[i]) : fmt::format("reserved bit {}", i);
  }
  return names;
}

class Judge final {
 public:
  void tell(std::string_view surface, std::string found) {
    judgement_.findings.push_back(StepFinding{std::string(surface), std::move(found), false});
  }
  void refuse(std::string problem) { judgement_.problems.push_back(std::move(problem)); }
  // How much a counter grew since the enrolment.
  std::uint64_t grown(std::string_view counter, std::uint64_t before, std::uint64_t now) {
    if (now >= before) return now - before;
    refuse(
        fmt::format("{} was {} at enrolment and is {} now; such a counter never shrinks: check "
                    "that this is the enrolled drive, then enrol it again",
                    counter, before, now));
    return 0;
  }
  HealthJudgement take() { return std::move(judgement_); }

 private:
  HealthJudgement judgement_;
};

void judge_absolute(const HealthState& now, const HealthLimits& limits, Judge& judge) {
  judge.tell("critical_warning",
             now.critical_warning == 0 ? "none" : name_warnings(now.critical_warning));
  if (now.critical_warning != 0) {
    judge.refuse(
        fmt::format("critical warning {:#04x}: {}; cool the drive if it is its "
                    "temperature, otherwise replace it",
                    now.critical_warning, name_warnings(now.critical_warning)));
  }
  judge.tell("percentage_used", fmt::format("{} %", now.percentage_used));
  if (limits.percentage_used_max != kNoLimit && now.percentage_used > limits.percentage_used_max) {
    judge.refuse(
        fmt::format("{} % of its endurance is used, at most {} % is allowed; replace the "
                    "drive, or raise the limit in its device_spec",
                    now.percentage_used, limits.percentage_used_max));
  }
  judge.tell("available_spare",
             fmt::format("{} %, threshold {} %", now.available_spare, now.spare_threshold));
  // A drive whose threshold is 0 keeps no such count; emulated ones do not.
  if (now.spare_threshold != 0 && now.available_spare <= now.spare_threshold) {
    judge.refuse(
        fmt::format("{} % spare capacity is left, its threshold is {} %; replace the "
                    "drive",
                    now.available_spare, now.spare_threshold));
  }
}

}  // namespace

HealthJudgement judge_health(const HealthState& now, const HealthState* enrolled,
                             const HealthLimits& limits) {
  Judge judge;
  judge_absolute(now, limits, judge);
  if (enrolled == nullptr) {
    judge.tell("media_errors", fmt::format("{} in all", now.media_errors));
    judge.tell("data_written",
               fmt::format("{} bytes in all", now.data_units_written * kDataUnitBytes));
    judge.tell("unsafe_shutdowns", fmt::format("{} in all", now.unsafe_shutdowns));
    judge.tell("power_on_hours", fmt::format("{} in all", now.power_on_hours));
    judge.tell("enrolment", "none yet: what the tenancy did cannot be told apart");
    return judge.take();
  }
  const std::uint64_t errors =
      judge.grown("the count of media errors", enrolled->media_errors, now.media_errors);
  judge.tell("media_errors",
             fmt::format("{} in all, {} during the tenancy", now.media_errors, errors));
  if (errors > limits.media_errors_delta_max) {
    judge.refuse(fmt::format(
        "{} media errors during the tenancy ({} then, {} now), at most {} are "
        "allowed; replace the drive, or raise the limit in its device_spec",
        errors, enrolled->media_errors, now.media_errors, limits.media_errors_delta_max));
  }
  const std::uint64_t units = judge.grown("the count of data units written",
                                          enrolled->data_units_written, now.data_units_written);
  judge.tell("data_written", fmt::format("{} bytes during the tenancy", units * kDataUnitBytes));
  judge.tell("unsafe_shutdowns",
             fmt::format("{} in all, {} during the tenancy", now.unsafe_shutdowns,
                         judge.grown("the count of unsafe shutdowns", enrolled->unsafe_shutdowns,
                                     now.unsafe_shutdowns)));
  judge.tell("power_on_hours",
             fmt::format("{} in all, {} during the tenancy", now.power_on_hours,
                         judge.grown("the count of power-on hours", enrolled->power_on_hours,
                                     now.power_on_hours)));
  judge.tell("wear", fmt::format("{} % at enrolment, {} % now", enrolled->percentage_used,
                                 now.percentage_used));
  return judge.take();
}

}  // namespace reclaim::nvme
