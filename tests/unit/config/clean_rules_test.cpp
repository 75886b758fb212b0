// The keys of device_spec that say how a drive is cleaned: every form, every refusal, and what does
// not go together.
#include "config/device_spec/clean_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::config {
namespace {

using nvme::VerifyLevel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Location kAt{"reclaim.conf", 7};

DeviceSpec good(std::string_view text) {
  std::vector<Problem> problems;
  const auto specs = parse_device_spec(text, kAt, problems);
  EXPECT_TRUE(problems.empty()) << text << ": " << problems[0].text;
  return specs.size() == 1 ? specs[0] : DeviceSpec{};
}

std::string error(std::string_view text) {
  std::vector<Problem> problems;
  EXPECT_TRUE(parse_device_spec(text, kAt, problems).empty()) << text;
  return problems.size() == 1 ? to_string(problems[0]) : "no single problem";
}

std::string settled(std::string_view text, VerifyLevel fallback = VerifyLevel::sample) {
  DeviceSpec spec = good(text);
  const Status status = settle_rules(spec, fallback);
  return status.ok() ? std::string(nvme::to_string(spec.rules.verify)) : status.error().what;
}

TEST(CleanRules, EveryKeyIsTakenOver) {
  const DeviceSpec spec = good(R"({"verify": "nist", "relax": ["unreadable_blocks"],
      "firmware": ["1.0", "GDC5602Q"], "percentage_used_max": 80, "media_errors_max": 5,
      "zero_rate": "500M"})");
  EXPECT_EQ(spec.verify, VerifyLevel::nist);
  EXPECT_THAT(nvme::names(spec.rules.relaxed), ElementsAre("unreadable_blocks"));
  EXPECT_THAT(spec.rules.firmware_allowed, ElementsAre("1.0", "GDC5602Q"));
  EXPECT_EQ(spec.rules.health.percentage_used_max, 80);
  EXPECT_EQ(spec.rules.health.media_errors_delta_max, 5U);
  EXPECT_EQ(spec.rules.zero_bytes_per_s_max, 500U << 20U);
  EXPECT_EQ(good(R"({"cleanup_timeout": 60})").cleanup_timeout_s, 60);
  EXPECT_EQ(good("{}").cleanup_timeout_s, std::nullopt);
  EXPECT_EQ(good(R"({"zero_rate": 1000})").rules.zero_bytes_per_s_max, 1000U);
  EXPECT_THAT(
      nvme::names(good(R"({"relax": ["pmr", "spare", "temperature", "reliability", "read_only",
          "backup"]})")
                      .rules.relaxed),
      ElementsAre("spare", "temperature", "reliability", "read_only", "backup", "pmr"));
  EXPECT_THAT(
      nvme::names(good(R"({"relax": ["global_data_erased", "deallocated_value"]})").rules.relaxed),
      ElementsAre("global_data_erased", "deallocated_value"));
  EXPECT_THAT(nvme::names(good(R"({"relax": ["media_verification"]})").rules.relaxed),
              ElementsAre("media_verification"));
}

TEST(CleanRules, WhatIsAcceptedIsSaid) {
  EXPECT_THAT(error(R"({"verify": "all"})"),
              HasSubstr("reclaim.conf:7: [nvme] device_spec: verify 'all' is not one of log, "
                        "sample, nist, full"));
  EXPECT_THAT(error(R"({"verify": true})"), HasSubstr("'true' is not one of"));
  EXPECT_THAT(error(R"({"relax": ["everything"]})"),
              AllOf(HasSubstr("relax 'everything' is not one of"), HasSubstr("deallocated_value"),
                    HasSubstr("spare, temperature, reliability, read_only, backup, pmr")));
  EXPECT_THAT(error(R"({"relax": "unreadable_blocks"})"), HasSubstr("must be a list of names"));
  EXPECT_THAT(error(R"({"relax": [1]})"), HasSubstr("must be a list of names"));
  EXPECT_THAT(error(R"({"firmware": "1.0"})"), HasSubstr("'firmware' must be a list"));
  EXPECT_THAT(error(R"({"firmware": []})"), HasSubstr("'firmware' must be a list"));
  EXPECT_THAT(error(R"({"firmware": ["123456789"]})"), HasSubstr("at most 8 characters"));
  EXPECT_THAT(error(R"({"percentage_used_max": 256})"),
              HasSubstr("'percentage_used_max' is 256, a whole number from 0 to 255"));
  EXPECT_THAT(error(R"({"media_errors_max": -1})"), HasSubstr("'media_errors_max' is -1"));
  EXPECT_THAT(error(R"({"cleanup_timeout": 59})"),
              HasSubstr("'cleanup_timeout' is 59, a whole number of seconds from 60 to 604800"));
  EXPECT_THAT(error(R"({"cleanup_timeout": "1h"})"), HasSubstr("whole number of seconds"));
  EXPECT_THAT(error(R"({"zero_rate": -1})"), HasSubstr("'zero_rate': '-1' is not a rate"));
  EXPECT_THAT(error(R"({"zero_rate": "fast"})"), HasSubstr("'zero_rate': 'fast' is not a rate"));
}

TEST(CleanRules, Rates) {
  EXPECT_EQ(*parse_bytes_per_s("0"), 0U);
  EXPECT_EQ(*parse_bytes_per_s("1048576"), 1U << 20U);
  EXPECT_EQ(*parse_bytes_per_s(" 3k "), 3U << 10U);
  EXPECT_EQ(*parse_bytes_per_s("2G"), 2ULL << 30U);
  EXPECT_EQ(*parse_bytes_per_s("1T"), 1ULL << 40U);
  for (const char* bad : {"", "M", "-1", "1.5G", "1MB", "1 M", "99999999999T", "0x10"}) {
    EXPECT_FALSE(parse_bytes_per_s(bad).ok()) << bad;
  }
}

TEST(CleanRules, TheDefaultLevelIsForWhoSaysNone) {
  EXPECT_EQ(settled("{}"), "sample");
  EXPECT_EQ(settled("{}", VerifyLevel::full), "full");
  EXPECT_EQ(settled(R"({"verify": "nist"})", VerifyLevel::full), "nist");
  EXPECT_EQ(settled(R"({"verify": "log"})"), "log");
  EXPECT_EQ(settled(R"({"clear_action": "zero", "clear_strategy": "block"})"), "sample");
}

TEST(CleanRules, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_THAT(settled(R"({"clear_action": "zero", "clear_strategy": "crypto"})"),
              HasSubstr("clear_action=zero with clear_strategy=crypto is impossible"));
  EXPECT_THAT(settled(R"({"clear_action": "zero", "verify": "log"})"),
              HasSubstr("this entry: verify=log needs a sanitize"));
  EXPECT_THAT(settled(R"({"clear_action": "format", "verify": "log"})"),
              HasSubstr("verify=log needs a sanitize"));
  EXPECT_THAT(settled(R"({"clear_action": "zero"})", VerifyLevel::log),
              HasSubstr("this entry, with [nvme] verify: verify=log needs a sanitize"));
  EXPECT_THAT(settled(R"({"verify": "log", "relax": ["global_data_erased"]})"),
              HasSubstr("cannot be relaxed"));
}

}  // namespace
}  // namespace reclaim::config
