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
  const EnrolledHealth enrolled{before};
  const auto judgement = judge_health(now, &enrolled, Rules{});
  EXPECT_TRUE(judgement.problems.empty());
  EXPECT_EQ(judgement.waits_for, "");
  EXPECT_EQ(found(judgement, "critical_warning"), "none");
  EXPECT_EQ(found(judgement, "percentage_used"), "21 %");
  EXPECT_EQ(found(judgement, "data_written"), "1536000 bytes during the tenancy");
  EXPECT_EQ(found(judgement, "unsafe_shutdowns"), "8 in all, 1 during the tenancy");
  EXPECT_EQ(found(judgement, "power_on_hours"), "524 in all, 24 during the tenancy");
  EXPECT_EQ(found(judgement, "media_errors"), "2 in all, 0 during the tenancy");
  EXPECT_EQ(found(judgement, "wear"), "20 % at enrolment, 21 % now");
}

TEST(Health, WithoutEnrolmentItSaysSo) {
  const auto judgement = judge_health(healthy(), nullptr, Rules{});
  EXPECT_TRUE(judgement.problems.empty());
  EXPECT_NE(found(judgement, "enrolment").find("none yet"), std::string::npos);
  EXPECT_EQ(found(judgement, "media_errors"), "2 in all");
}

struct Case {
  const char* name;
  void (*change)(HealthState& now, Rules& rules);
  const char* says;  // "" : healthy
};

template <int Bits, Warning PutUpWith>
void relaxed(HealthState& now, Rules& rules) {
  now.critical_warning = Bits;
  rules.relaxed.warnings = bit_of(PutUpWith);
}

TEST(Health, EveryLimitIsKept) {
  const Case cases[] = {
      {"used at limit", [](auto& n, auto&) { n.percentage_used = 100; }, ""},
      {"used beyond", [](auto& n, auto&) { n.percentage_used = 101; }, "at most 100 %"},
      {"used beyond own limit",
       [](auto& n, auto& r) {
         n.percentage_used = 31;
         r.health.percentage_used_max = 30;
       },
       "31 % of its endurance"},
      {"no limit",
       [](auto& n, auto& r) {
         n.percentage_used = 255;
         r.health.percentage_used_max = 255;
       },
       ""},
      {"spare above", [](auto& n, auto&) { n.available_spare = 11; }, ""},
      {"spare at threshold", [](auto& n, auto&) { n.available_spare = 10; }, ""},
      {"spare just below", [](auto& n, auto&) { n.available_spare = 9; }, "9 % spare"},
      {"all spare, and all of it is the threshold",
       [](auto& n, auto&) { n.available_spare = n.spare_threshold = 100; }, ""},
      {"a threshold beyond all spare is none", [](auto& n, auto&) { n.spare_threshold = 101; }, ""},
      {"no spare count", [](auto& n, auto&) { n.available_spare = n.spare_threshold = 0; }, ""},
      {"spare below", [](auto& n, auto&) { n.available_spare = 3; }, "threshold is 10 %"},
      {"media errors", [](auto& n, auto&) { n.media_errors = 3; }, "1 media errors"},
      {"media errors allowed",
       [](auto& n, auto& r) {
         n.media_errors = 4;
         r.health.media_errors_delta_max = 2;
       },
       ""},
      {"media errors of what may be unreadable",
       [](auto& n, auto& r) {
         n.media_errors = 55;
         r.relaxed.unreadable_blocks = true;
       },
       ""},
      {"media errors beyond",
       [](auto& n, auto& r) {
         n.media_errors = 5;
         r.health.media_errors_delta_max = 2;
       },
       "(2 then, 5 now), at most 2"},
      {"errors counted anew", [](auto& n, auto&) { n.media_errors = 1; }, "1 media errors"},
      {"errors counted anew, none yet", [](auto& n, auto&) { n.media_errors = 0; }, ""},
      {"written shrank", [](auto& n, auto&) { n.data_units_written = 1; }, ""},
      {"hours shrank", [](auto& n, auto&) { n.power_on_hours = 1; }, ""},
      {"shutdowns shrank", [](auto& n, auto&) { n.unsafe_shutdowns = 1; }, ""},
      {"spare warning", [](auto& n, auto&) { n.critical_warning = 1; }, "spare capacity"},
      {"spare warning, put up with", relaxed<1, Warning::spare>, ""},
      {"spare below, put up with",
       [](auto& n, auto& r) {
         n.available_spare = 3;
         r.relaxed.warnings = bit_of(Warning::spare);
       },
       ""},
      {"unreliable", [](auto& n, auto&) { n.critical_warning = 4; }, "put reliability into relax"},
      {"unreliable, put up with", relaxed<4, Warning::reliability>, ""},
      {"read only", [](auto& n, auto&) { n.critical_warning = 8; }, "media read only; replace"},
      {"read only, put up with", relaxed<8, Warning::read_only>, ""},
      {"no backup", [](auto& n, auto&) { n.critical_warning = 16; }, "put backup into relax"},
      {"no backup, put up with", relaxed<16, Warning::backup>, ""},
      {"PMR", [](auto& n, auto&) { n.critical_warning = 32; }, "put pmr into relax"},
      {"PMR, put up with", relaxed<32, Warning::pmr>, ""},
      {"two, one of them put up with", relaxed<12, Warning::read_only>,
       "0x0c: reliability degraded"},
      {"several", [](auto& n, auto&) { n.critical_warning = 0x84; }, "reserved bit 7"},
      {"a reserved bit is not put up with", relaxed<0x40, Warning::pmr>, "reserved bit 6; replace"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const HealthState before = healthy();
    HealthState now = before;
    Rules rules;
    each.change(now, rules);
    const EnrolledHealth enrolled{before};
    const auto judgement = judge_health(now, &enrolled, rules);
    EXPECT_EQ(judgement.waits_for, "");
    if (std::string_view(each.says).empty()) {
      EXPECT_TRUE(judgement.problems.empty());
      continue;
    }
    ASSERT_EQ(judgement.problems.size(), 1U);
    EXPECT_NE(judgement.problems[0].find(each.says), std::string::npos) << judgement.problems[0];
  }
}

TEST(Health, WhatIsHotIsWaitedForAndNoProblem) {
  HealthState now = healthy();
  now.critical_warning = bit_of(Warning::temperature);
  Rules rules;
  auto judgement = judge_health(now, nullptr, rules);
  EXPECT_TRUE(judgement.problems.empty());
  EXPECT_NE(judgement.waits_for.find("temperature is outside its thresholds"), std::string::npos);
  EXPECT_EQ(judgement.waits_for, why_not_now(now, rules));
  // Whatever else is wrong does not pass by itself.
  now.critical_warning |= bit_of(Warning::read_only);
  EXPECT_EQ(judge_health(now, nullptr, rules).problems.size(), 1U);
  now.critical_warning = bit_of(Warning::temperature);
  rules.relaxed.warnings = bit_of(Warning::temperature);
  judgement = judge_health(now, nullptr, rules);
  EXPECT_EQ(judgement.waits_for, "");
  EXPECT_NE(found(judgement, "critical_warning").find("put up with: temperature"),
            std::string::npos);
}

// Samsung's drives warn of reliability as soon as all of their endurance is used.
TEST(Health, UnreliableBecauseOfWearAloneIsJudgedByTheLimitOfWear) {
  const EnrolledHealth enrolled{healthy()};
  const auto problems_of = [&enrolled](void (*change)(HealthState & now, Rules & rules)) {
    HealthState now = healthy();
    now.critical_warning = bit_of(Warning::reliability);
    now.percentage_used = 100;
    Rules rules;
    rules.health.percentage_used_max = 255;
    change(now, rules);
    return judge_health(now, &enrolled, rules).problems.size();
  };
  EXPECT_EQ(problems_of([](auto&, auto&) {}), 0U);
  EXPECT_EQ(problems_of([](auto& n, auto&) { n.critical_warning |= 2; }), 0U) << "and hot";
  EXPECT_EQ(
      problems_of([](auto& n, auto& r) { n.percentage_used = r.health.percentage_used_max = 120; }),
      0U);
  // Whoever has not said that a drive may be used beyond its endurance is not asked twice.
  EXPECT_EQ(problems_of([](auto&, auto& r) { r.health.percentage_used_max = 100; }), 1U);
  EXPECT_EQ(problems_of([](auto& n, auto& r) {
              n.percentage_used = 121;
              r.health.percentage_used_max = 120;
            }),
            2U);
  EXPECT_EQ(problems_of([](auto& n, auto&) { n.percentage_used = 99; }), 1U) << "not worn out";
  EXPECT_EQ(problems_of([](auto& n, auto& r) {
              n.media_errors = 3;
              r.health.media_errors_delta_max = 5;
            }),
            1U)
      << "the media have errors";
  EXPECT_EQ(problems_of([](auto& n, auto&) { n.available_spare = 9; }), 2U);
  EXPECT_EQ(problems_of([](auto& n, auto&) { n.critical_warning |= 8; }), 1U) << "and another";
}

TEST(Health, ACounterThatShrinksIsToldAndRefusedWhereTheDriveIsInDoubt) {
  for (std::uint64_t HealthState::*const counter :
       {&HealthState::data_units_written, &HealthState::power_on_hours,
        &HealthState::unsafe_shutdowns, &HealthState::media_errors}) {
    HealthState now = healthy();
    now.*counter = 0;
    EnrolledHealth enrolled{healthy()};
    const auto judgement = judge_health(now, &enrolled, Rules{});
    EXPECT_TRUE(judgement.problems.empty());
    const auto told = std::count_if(
        judgement.findings.begin(), judgement.findings.end(), [](const StepFinding& finding) {
          return finding.found.find("does not count on") != std::string::npos;
        });
    EXPECT_EQ(told, 1);
    enrolled.same_drive = false;
    const auto doubted = judge_health(now, &enrolled, Rules{});
    ASSERT_EQ(doubted.problems.size(), 1U);
    EXPECT_NE(doubted.problems[0].find("then enrol it again"), std::string::npos);
  }
}

TEST(Health, SeveralProblemsAreAllTold) {
  HealthState now = healthy();
  now.critical_warning = 4;
  now.available_spare = 1;
  now.percentage_used = 200;
  EXPECT_EQ(judge_health(now, nullptr, Rules{}).problems.size(), 3U);
}

}  // namespace
}  // namespace reclaim::nvme
