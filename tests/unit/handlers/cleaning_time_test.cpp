// How long one cleaning may take, and how that is computed.
#include "handlers/survey/cleaning_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "handlers/survey/plan.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

nvme::DriveFacts drive_of(std::uint64_t bytes) {
  nvme::DriveFacts drive;
  drive.identity.emplace();
  drive.namespaces.emplace_back().capacity_bytes = bytes;
  return drive;
}

std::string how(nvme::EraseMethod method, const nvme::DriveFacts& drive,
                const DevicePolicy& policy = {}, const ConductorOptions& options = {},
                std::uint64_t capacity_bytes = 0) {
  const auto plan = make_plan(method, policy, options);
  return cleaning_time(plan, policy, options, drive, capacity_bytes).how;
}

constexpr std::uint64_t kTerabyte = 1'000'000'000'000;

TEST(CleaningTime, IsCleanupTimeoutWhereNothingTakesLonger) {
  EXPECT_EQ(how(nvme::EraseMethod::sanitize_crypto, drive_of(kTerabyte)),
            "at most 900 s: 900 cleanup_timeout");
  DevicePolicy own;
  own.cleanup_timeout_ms = 60'000;
  EXPECT_EQ(how(nvme::EraseMethod::format_crypto, drive_of(kTerabyte), own),
            "at most 60 s: 60 cleanup_timeout");
}

TEST(CleaningTime, HasWhatADriveEstimatesOfItsSanitize) {
  nvme::DriveFacts drive = drive_of(kTerabyte);
  drive.sanitize.emplace();
  drive.sanitize->block_s = 3600;
  drive.sanitize->crypto_s = 10;
  EXPECT_EQ(how(nvme::EraseMethod::sanitize_block, drive),
            "at most 7200 s: 900 cleanup_timeout, 6300 for the sanitize, by the drive's estimate");
  EXPECT_THAT(how(nvme::EraseMethod::sanitize_crypto, drive), StartsWith("at most 900 s"));
  drive.identity->capabilities.sanicap = 0xb;
  drive.sanitize->deallocate_s = 600;
  EXPECT_THAT(how(nvme::EraseMethod::sanitize_block, drive), StartsWith("at most 8400 s"))
      << "it shows its media in between";
  drive.identity->capabilities.sanicap = 3;
  drive.sanitize->sstat = 2;
  drive.sanitize->scdw10 = 2;
  EXPECT_EQ(how(nvme::EraseMethod::sanitize_crypto, drive),
            "at most 8100 s: 900 cleanup_timeout, 7200 for the sanitize that runs already");
}

TEST(CleaningTime, HasWhatTheCapacityNeeds) {
  EXPECT_EQ(how(nvme::EraseMethod::overwrite, drive_of(kTerabyte)),
            "at most 10901 s: 900 cleanup_timeout, 10001 to zero 1000 GB");
  DevicePolicy policy;
  policy.rules.zero_bytes_per_s_max = 100'000'000;
  policy.rules.verify = nvme::VerifyLevel::full;
  EXPECT_EQ(how(nvme::EraseMethod::write_zeroes, drive_of(kTerabyte), policy),
            "at most 25902 s: 900 cleanup_timeout, 20001 to zero 1000 GB, 5001 to read 1000 GB");
  policy.rules.verify = nvme::VerifyLevel::nist;
  EXPECT_THAT(how(nvme::EraseMethod::sanitize_block, drive_of(kTerabyte), policy),
              HasSubstr("501 to read a tenth of 1000 GB"));
}

// A tenant may have left a small namespace, or none.
TEST(CleaningTime, GoesByTheWholeDrive) {
  nvme::DriveFacts drive = drive_of(1);
  EXPECT_THAT(how(nvme::EraseMethod::overwrite, drive, {}, {}, kTerabyte),
              HasSubstr("to zero 1000 GB"));
  drive.identity->capacity_bytes = 2 * kTerabyte;
  EXPECT_THAT(how(nvme::EraseMethod::overwrite, drive, {}, {}, kTerabyte),
              HasSubstr("to zero 2000 GB"));
}

TEST(CleaningTime, GivesNoPartMoreThanAWeek) {
  const nvme::DriveFacts drive = drive_of(std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(how(nvme::EraseMethod::overwrite, drive), StartsWith("at most 605700 s"));
  ConductorOptions options;
  options.zero_bytes_per_s_max = 1;
  EXPECT_THAT(how(nvme::EraseMethod::overwrite, drive_of(kTerabyte), {}, options),
              StartsWith("at most 605700 s"));
}

TEST(CleaningTime, HasTheLimitsOfStepsThatHaveSome) {
  DevicePolicy policy;
  OperatorStep hold;
  hold.interface = "hold";
  hold.name = "ticket";
  hold.priority = 95;
  hold.timeout_ms = 86'400'000;
  policy.steps.push_back(hold);
  ConductorOptions options;
  options.step_priorities = {{restore_firmware_step(), kRestoreFirmwarePriority}};
  EXPECT_EQ(how(nvme::EraseMethod::sanitize_crypto, drive_of(kTerabyte), policy, options),
            "at most 88200 s: 900 cleanup_timeout, 87300 for steps with a limit of their own");
}

}  // namespace
}  // namespace reclaim
