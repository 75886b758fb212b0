#include "nvme/controller/health.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

HealthState healthy() {
  return HealthState{0, 100, 10, 20, 1000, 500, 7, 2};
}

std::string found(const HealthJudgement& judgement, std::string_view surface) {
  const auto hit = std::find_if(judgement.findings.begin(), judgement.findings.end(),
                                [&](const StepFinding& f) { return f.surface == surface; });
  return hit == judgement.findings.end() ? "" : hit->found;
}

TEST(Health, AHealthyDriveIsToldOfInFull) {
  const HealthState before = healthy();
  HealthState now = before;
  now.data_units_written += 3;
  now.unsafe_shutdowns += 1;
  now.power_on_hours += 24;
  now.percentage_used = 21;
  const auto judgement = judge_health(now, &before, HealthLimits{});
  EXPECT_TRUE(judgement.problems.empty());
  EXPECT_EQ(found(judgement, "critical_warning"), "none");
  EXPECT_EQ(found(judgement, "percentage_used"), "21 %");
  EXPECT_EQ(found(judgement, "data_written"), "1536000 bytes during the tenancy");
  EXPECT_EQ(found(judgement, "unsafe_shutdowns"), "8 in all, 1 during the tenancy");
  EXPECT_EQ(found(judgement, "power_on_hours"), "524 in all, 24 during the tenancy");
  EXPECT_EQ(found(judgement, "media_errors"), "2 in all, 0 during the tenancy");
  EXPECT_EQ(found(judgement, "wear"), "20 % at enrolment, 21 % now");
}

TEST(Health, WithoutEnrolmentItSaysSo) {
  const auto judgement = judge_health(healthy(), nullptr, HealthLimits{});
  EXPECT_TRUE(judgement.problems.empty());
  EXPECT_NE(found(judgement, "enrolment").find("none yet"), std::string::npos);
  EXPECT_EQ(found(judgement, "media_errors"), "2 in all");
}

struct Case {
  const char* name;
  void (*change)(HealthState& now, HealthLimits& limits);
  const char* says;  // "" : healthy
};

TEST(Health, EveryLimitIsKept) {
  const Case cases[] = {
      {"used at limit", [](auto& n, auto&) { n.percentage_used = 100; }, ""},
      {"used beyond", [](auto& n, auto&) { n.percentage_used = 101; }, "at most 100 %"},
      {"used beyond own limit",
       [](auto& n, auto& l) {
         n.percentage_used = 31;
         l.percentage_used_max = 30;
       },
       "31 % of its endurance"},
      {"no limit",
       [](auto& n, auto& l) {
         n.percentage_used = 255;
         l.percentage_used_max = 255;
       },
       ""},
      {"spare above", [](auto& n, auto&) { n.available_spare = 11; }, ""},
      {"spare at threshold", [](auto& n, auto&) { n.available_spare = 10; }, "10 % spare"},
      {"no spare count", [](auto& n, auto&) { n.available_spare = n.spare_threshold = 0; }, ""},
      {"spare below", [](auto& n, auto&) { n.available_spare = 3; }, "threshold is 10 %"},
      {"media errors", [](auto& n, auto&) { n.media_errors = 3; }, "1 media errors"},
      {"media errors allowed",
       [](auto& n, auto& l) {
         n.media_errors = 4;
         l.media_errors_delta_max = 2;
       },
       ""},
      {"media errors beyond",
       [](auto& n, auto& l) {
         n.media_errors = 5;
         l.media_errors_delta_max = 2;
       },
       "(2 then, 5 now), at most 2"},
      {"errors shrank", [](auto& n, auto&) { n.media_errors = 1; }, "never shrinks"},
      {"written shrank", [](auto& n, auto&) { n.data_units_written = 1; }, "never shrinks"},
      {"hours shrank", [](auto& n, auto&) { n.power_on_hours = 1; }, "never shrinks"},
      {"shutdowns shrank", [](auto& n, auto&) { n.unsafe_shutdowns = 1; }, "never shrinks"},
      {"spare warning", [](auto& n, auto&) { n.critical_warning = 1; }, "spare capacity"},
      {"hot", [](auto& n, auto&) { n.critical_warning = 2; }, "temperature"},
      {"unreliable", [](auto& n, auto&) { n.critical_warning = 4; }, "reliability degraded"},
      {"read only", [](auto& n, auto&) { n.critical_warning = 8; }, "media read only"},
      {"several", [](auto& n, auto&) { n.critical_warning = 0x84; }, "reserved bit 7"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const HealthState before = healthy();
    HealthState now = before;
    HealthLimits limits;
    each.change(now, limits);
    const auto judgement = judge_health(now, &before, limits);
    if (std::string_view(each.says).empty()) {
      EXPECT_TRUE(judgement.problems.empty());
      continue;
    }
    ASSERT_EQ(judgement.problems.size(), 1U);
    EXPECT_NE(judgement.problems[0].find(each.says), std::string::npos) << judgement.problems[0];
  }
}

TEST(Health, SeveralProblemsAreAllTold) {
  HealthState now = healthy();
  now.critical_warning = 4;
  now.available_spare = 1;
  now.percentage_used = 200;
  EXPECT_EQ(judge_health(now, nullptr, HealthLimits{}).problems.size(), 3U);
}

}  // namespace
}  // namespace reclaim::nvme
