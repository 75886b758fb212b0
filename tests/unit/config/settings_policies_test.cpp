// [policy:NAME]: what is read of them, which devices they are for, and what stops the start.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/module_options.h"
#include "handlers/survey/strictest.h"
#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr PciAddress kAt{0, 0x0b, 0, 0};

std::string with(std::string_view text) {
  return std::string(kBase) + std::string(text);
}

// One entry, whose further keys are `keys`, and sections.
CheckedSettings tagged(std::string_view keys, std::string_view sections) {
  return build(with(std::string("[nvme]\ndevice_spec = {\"address\": \"0000:0b:00.0\"") +
                    std::string(keys) + "}\n" + std::string(sections)));
}

DevicePolicy policy_of(const CheckedSettings& checked) {
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  return device_policy_lookup(checked.settings)(0x144d, 0xa80a, kAt).value();
}

TEST(PolicySections, AreReadWhole) {
  const CheckedSettings checked =
      build(with("[policy:gold]\nclear_action = sanitize\nclear_strategy = block\nverify = full\n"
                 "relax = unreadable_blocks, deallocated_value\npercentage_used_max = 80\n"
                 "media_errors_max = 2\nzero_rate = 500M\ncleanup_timeout = 3600\nclean = manual\n"
                 "steps = audit\n"
                 "[policy:lax]\n"
                 "[step:audit]\ncommand = /x\npriority = 60\n"));
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const RolePolicies roles = role_policies(checked.settings);
  ASSERT_EQ(roles->size(), 2U);
  RolePolicy gold;
  gold.name = "gold";
  gold.action = nvme::ClearAction::sanitize;
  gold.strategy = nvme::ClearStrategy::block;
  gold.verify = nvme::VerifyLevel::full;
  gold.relaxed = nvme::Relaxations{false, true, true};
  gold.percentage_used_max = std::uint8_t{80};
  gold.media_errors_delta_max = 2;
  gold.zero_bytes_per_s_max = std::uint64_t{500} << 20U;
  gold.cleanup_timeout_ms = 3'600'000;
  gold.manual = true;
  gold.steps = {checked.settings.steps.front().step};
  EXPECT_EQ(roles->front(), gold);
  RolePolicy lax;
  lax.name = "lax";
  EXPECT_EQ(roles->back(), lax) << "says nothing";
  EXPECT_EQ(role_policies(build(kBase).settings), nullptr);
}

TEST(PolicySections, AreChosenByTheTagsOfAnEntry) {
  constexpr std::string_view kGold = "[policy:gold]\nverify = full\n";
  for (const char* tags :
       {R"(["db", "gold"])", R"({"gold": "yes"})", R"({"policy": "gold"})", R"({"gold": ""})"}) {
    const auto checked = tagged(std::string(R"(, "tags": )") + tags, kGold);
    EXPECT_EQ(policy_of(checked).rules.verify, nvme::VerifyLevel::full) << tags;
  }
  for (const char* tags : {R"(["db", "Gold"])", R"({"role": "gold"})", "[]"}) {
    const auto checked = tagged(std::string(R"(, "tags": )") + tags, kGold);
    EXPECT_EQ(policy_of(checked).rules.verify, nvme::VerifyLevel::sample) << tags;
  }
  const auto policy = policy_of(tagged(R"(, "tags": {"gold": "1", "role": "db"})", kGold));
  EXPECT_THAT(policy.tags, ElementsAre("gold=1", "role=db"));
  EXPECT_THAT(chosen_names(policy), ElementsAre("gold"));
  EXPECT_EQ(describe_origin(policy), "device_spec at r.conf:14; gold (by tag gold=1): verify=full");
}

TEST(PolicySections, OnlyRaiseWhatTheEntrySays) {
  const auto checked =
      tagged(R"(, "tags": ["a", "b"], "verify": "nist", "clean": "manual", "steps": ["own"])",
             "[policy:a]\nverify = log\nclean = auto\nsteps = more, own\ncleanup_timeout = 60\n"
             "[policy:b]\nverify = full\n"
             "[step:own]\ncommand = /a\npriority = 60\n[step:more]\ncommand = /b\npriority = 61\n");
  const DevicePolicy policy = policy_of(checked);
  EXPECT_EQ(policy.rules.verify, nvme::VerifyLevel::full);
  EXPECT_TRUE(policy.manual);
  ASSERT_EQ(policy.steps.size(), 2U);
  EXPECT_EQ(policy.steps[0].name, "own");
  EXPECT_EQ(policy.steps[1].name, "more");
  EXPECT_EQ(policy.cleanup_timeout_ms, 900'000) << "[nvme] cleanup_timeout is the entry's";
  EXPECT_THAT(texts(checked.warnings), Not(Contains(HasSubstr("step:more"))));
}

TEST(PolicySections, AreForDevicesThatAreNoDrivesAsWell) {
  constexpr std::string_view kAudited =
      "[policy:audited]\nclean = manual\nsteps = audit\n"
      "[step:audit]\ncommand = /x\npriority = 60\nverifies = true\n";
  const auto of = [&](std::string_view tags) {
    return build(
        with(fmt::format("[devices]\ndevice_spec = {{\"vendor_id\": \"15b3\", "
                         "\"tags\": {}}}\n{}",
                         tags, kAudited)));
  };
  const CheckedSettings checked = of(R"(["audited"])");
  const auto policy = function_policy_lookup(checked.settings)(0x15b3, 1, kAt);
  ASSERT_TRUE(policy);
  EXPECT_TRUE(policy->manual);
  ASSERT_EQ(policy->steps.size(), 1U);
  EXPECT_EQ(policy->steps.front().name, "audit");
  EXPECT_THAT(texts(of(R"({"policy": "gone"})").problems),
              Contains(HasSubstr("[devices] device_spec: the tag 'policy' names 'gone'")));
}

TEST(PolicySections, TraitsAreAskedForOnlyWhereThereIsOne) {
  const MachineFacts machine;
  EXPECT_EQ(placement_options(build(kBase).settings, machine)->policy_trait_prefix, "");
  EXPECT_EQ(placement_options(build(with("[policy:x]\n")).settings, machine)->policy_trait_prefix,
            "CUSTOM_RECLAIM_");
}

TEST(PolicySections, WhatIsWrongIsSaidWithItsPlace) {
  const auto first = [](std::string_view text) {
    const auto all = problems(with(text));
    return all.empty() ? std::string("nothing") : all.front();
  };
  EXPECT_THAT(first("[policy:Top-1]\n"), HasSubstr("r.conf:13: [policy:top-1]: a policy's name"));
  EXPECT_THAT(first("[policy:x]\nverify = all\n"),
              HasSubstr("r.conf:14: [policy:x] verify: verify 'all' is not one of log"));
  EXPECT_THAT(first("[policy:x]\nrelax = everything\n"), HasSubstr("relax 'everything' is not"));
  EXPECT_THAT(first("[policy:x]\npercentage_used_max = 300\n"),
              HasSubstr("a whole number from 0 to 255"));
  EXPECT_THAT(first("[policy:x]\ncleanup_timeout = soon\n"), HasSubstr("from 60 to 604800"));
  EXPECT_THAT(first("[policy:x]\nclear_action = zero\nclear_strategy = crypto\n"),
              HasSubstr("[policy:x]: clear_action=zero with clear_strategy=crypto is impossible"));
  EXPECT_THAT(first("[policy:x]\nclean = later\n"), HasSubstr("is neither auto nor manual"));
  EXPECT_THAT(first("[policy:x]\nsteps = gone\n"),
              HasSubstr("[policy:x] steps names 'gone', and there is no section [step:gone]"));
  EXPECT_THAT(first("[policy:x]\nfirmware = F1\n"), HasSubstr("firmware"));
  EXPECT_THAT(first("device_spec = {\"tags\": {\"policy\": \"gone\"}}\n"),
              HasSubstr("r.conf:13: [nvme] device_spec: the tag 'policy' names 'gone', and there "
                        "is no section [policy:gone]"));
  EXPECT_EQ(first("device_spec = {\"tags\": [\"db\", \"policy\"]}\n"), "nothing") << "just tags";
}

TEST(PolicySections, TheirStepsHaveAnOrderOnEveryDevice) {
  EXPECT_THAT(problems(with("[policy:x]\nsteps = a\n[step:a]\ncommand = /a\npriority = 60\n"
                            "[step:b]\ncommand = /b\npriority = 60\ndevices = {}\n")),
              Contains(HasSubstr("their order is undefined")));
  EXPECT_THAT(problems(with("[policy:x]\nsteps = a\n[step:a]\ncommand = /a\npriority = 10\n")),
              Contains(HasSubstr("before the erase it is 51 to 1000")));
}

}  // namespace
}  // namespace reclaim::config
