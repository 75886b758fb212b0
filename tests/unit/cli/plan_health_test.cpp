#include "cli/plan_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;

struct PlanHealth : ::testing::Test {
  PlanHealth() {
    drive.health = nvme::HealthState{};
    drive.health->percentage_used = 101;
  }
  nvme::DriveFacts drive;
  Record record;
  DevicePolicy policy;
  std::vector<CleanStep> plan{{"nvme", "check_health", 90, "{}"},
                              {"nvme", "sanitize_crypto", 50, "{}"}};
};

TEST_F(PlanHealth, SaysWhatIsGoingToBeErasedAndNotReturned) {
  EXPECT_THAT(why_kept_back(drive, record, policy, plan),
              HasSubstr("erased, and not returned: 101 % of its endurance is used"));
}

TEST_F(PlanHealth, SaysNothingOfWhatIsAllowed) {
  policy.rules.health.percentage_used_max = 101;
  EXPECT_EQ(why_kept_back(drive, record, policy, plan), "");
}

TEST_F(PlanHealth, SaysNothingWhereThePlanDoesNotAsk) {
  plan.erase(plan.begin());
  EXPECT_EQ(why_kept_back(drive, record, policy, plan), "");
}

TEST_F(PlanHealth, ComparesWithTheEnrolment) {
  drive.health = nvme::HealthState{};
  drive.health->media_errors = 4;
  EXPECT_EQ(why_kept_back(drive, record, policy, plan), "");
  record.enrolment = nvme::encode_controller_state(nvme::ControllerState{});
  EXPECT_THAT(why_kept_back(drive, record, policy, plan), HasSubstr("4 media errors"));
}

TEST_F(PlanHealth, SaysNothingOfADriveThatDoesNotTell) {
  drive.health.reset();
  EXPECT_EQ(why_kept_back(drive, record, policy, plan), "");
}

}  // namespace
}  // namespace reclaim::cli
