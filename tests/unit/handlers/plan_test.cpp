// Which steps a plan has, in which order, and what an operator may change of that.
#include "handlers/survey/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/evidence.h"
#include "nvme/erase/policy.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;

TEST(Plan, StandsInOrderWithTheEraseLast) {
  const auto plan = make_plan(nvme::EraseMethod::overwrite, {}, ConductorOptions{});
  EXPECT_EQ(describe_plan(plan),
            "nvme.check_health 90, nvme.recover_sanitize 85, nvme.reset_controller_state 80, "
            "nvme.reset_namespaces 70, nvme.overwrite 50");
  EXPECT_TRUE(is_whole(plan));
  EXPECT_EQ(*erase_of(plan), nvme::EraseMethod::overwrite);
  EXPECT_EQ(erase_index(plan), 4U);
  EXPECT_EQ(plan[2].args, R"({"timeout_ms":180000})");
  EXPECT_EQ(plan[4].args, R"({"timeout_ms":900000,"stall_timeout_ms":600000})");
}

TEST(Plan, HasTheTimeOfItsEntry) {
  DevicePolicy policy;
  policy.cleanup_timeout_ms = 7'200'000;
  const auto plan = make_plan(nvme::EraseMethod::overwrite, policy, ConductorOptions{});
  EXPECT_EQ(plan.back().args, R"({"timeout_ms":7200000,"stall_timeout_ms":600000})");
  EXPECT_EQ(plan[1].args, R"({"timeout_ms":7200000})") << "of a sanitize that is waited for";
  EXPECT_EQ(plan[2].args, R"({"timeout_ms":180000})") << "it has a time of its own";
}

TEST(Plan, FollowsAnOperatorsPriorities) {
  ConductorOptions options;
  options.step_priorities = {{"nvme.reset_namespaces", 95}, {"nvme.check_health", 0}};
  ASSERT_TRUE(check_step_priorities(options.step_priorities).ok());
  const auto plan = make_plan(nvme::EraseMethod::sanitize_block, {}, options);
  EXPECT_EQ(describe_plan(plan),
            "nvme.reset_namespaces 95, nvme.recover_sanitize 85, nvme.reset_controller_state 80, "
            "nvme.sanitize_block 50");
  EXPECT_TRUE(is_whole(plan)) << "check_health may be left out";
}

TEST(Plan, PutsFirmwareBackWhereThereAreImages) {
  ConductorOptions options;
  options.step_priorities = {{restore_firmware_step(), kRestoreFirmwarePriority}};
  ASSERT_TRUE(check_step_priorities(options.step_priorities).ok());
  const auto plan = make_plan(nvme::EraseMethod::sanitize_block, {}, options);
  EXPECT_EQ(describe_plan(plan),
            "nvme.check_health 90, nvme.restore_firmware 88, nvme.recover_sanitize 85, "
            "nvme.reset_controller_state 80, nvme.reset_namespaces 70, nvme.sanitize_block 50");
  EXPECT_TRUE(is_whole(plan));
  EXPECT_EQ(plan[1].args, R"({"timeout_ms":900000})");
  EXPECT_EQ(built_in_step_at(88, options.step_priorities), "nvme.restore_firmware");
  EXPECT_EQ(built_in_step_at(88, {}), "") << "without images it has no place";
}

TEST(Plan, KeepsWhatThePromiseNeeds) {
  const auto refused = [](const char* name, int priority) {
    const Status checked = check_step_priorities({{name, priority}});
    return checked.ok() ? std::string() : checked.error().what;
  };
  EXPECT_THAT(refused("nvme.reset_namespaces", 0), HasSubstr("cannot be disabled"));
  EXPECT_THAT(refused("nvme.reset_controller_state", 50), HasSubstr("above the erase's"));
  EXPECT_THAT(refused("nvme.recover_sanitize", -1), HasSubstr("above the erase's"));
  EXPECT_THAT(refused("nvme.check_health", 1001), HasSubstr("at most 1000"));
  EXPECT_THAT(refused("nvme.sanitize_crypto", 99), HasSubstr("there is no clean step"));
  EXPECT_THAT(refused("nvme.verify", 0), HasSubstr("have their places"));
  // Whatever the options say, no plan lacks what may not be left out, nor puts it after the erase.
  ConductorOptions options;
  options.step_priorities = {{"nvme.reset_namespaces", 0}};
  EXPECT_TRUE(is_whole(make_plan(nvme::EraseMethod::overwrite, {}, options)));
}

TEST(Plan, NamesTwoStepsOfOnePriority) {
  EXPECT_TRUE(check_step_order({}).ok());
  EXPECT_TRUE(check_step_order({{"nvme.check_health", 0}}).ok());
  EXPECT_TRUE(
      check_step_order({{"nvme.check_health", 80}, {"nvme.reset_controller_state", 90}}).ok());
  const Status tie = check_step_order({{"nvme.reset_namespaces", 85}});
  ASSERT_FALSE(tie.ok());
  EXPECT_THAT(
      tie.error().what,
      HasSubstr("nvme.recover_sanitize and nvme.reset_namespaces have the same priority, 85"));
}

TEST(Plan, WithoutItsEraseOrAStepIsNotWhole) {
  const auto whole = make_plan(nvme::EraseMethod::sanitize_crypto, {}, ConductorOptions{});
  const auto open = make_plan(std::nullopt, {}, ConductorOptions{});
  EXPECT_FALSE(is_whole(open));
  EXPECT_EQ(erase_index(open), open.size());
  EXPECT_FALSE(is_whole({}));
  // As the first version recorded it.
  EXPECT_FALSE(is_whole({CleanStep{"nvme", "sanitize_crypto", 10, "{}"}}));
  for (std::size_t i = 1; i < whole.size(); ++i) {
    auto lacking = whole;
    lacking.erase(lacking.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(is_whole(lacking)) << whole[i].step;
  }
  auto twice = whole;
  twice.insert(twice.begin(), whole.front());
  EXPECT_FALSE(is_whole(twice));
  auto foreign = whole;
  foreign[1].interface = "firmware";
  EXPECT_FALSE(is_whole(foreign));
  auto behind = whole;
  std::swap(behind[3], behind[4]);
  EXPECT_FALSE(is_whole(behind)) << "a step of ours behind the erase";
}

OperatorStep own(const char* interface, const char* name, int priority,
                 StepStage stage = StepStage::before) {
  OperatorStep step;
  step.interface = interface;
  step.name = name;
  step.command = std::string("/steps/") + name;
  step.priority = priority;
  step.stage = stage;
  step.args = R"({"a":1})";
  return step;
}

DevicePolicy with(std::vector<OperatorStep> steps) {
  DevicePolicy policy;
  policy.steps = std::move(steps);
  return policy;
}

TEST(OwnPlan, StandsAmongTheBuiltInStepsByPriority) {
  ConductorOptions options;
  options.clean_interfaces = {"hold", "firmware", "nvme"};
  const auto plan = make_plan(
      nvme::EraseMethod::overwrite,
      with({own("firmware", "late", 10, StepStage::after), own("audit", "by_hand", 0),
            own("firmware", "tie", 80), own("audit", "first", 1000), own("hold", "eyes", 70)}),
      options);
  EXPECT_EQ(describe_plan(plan),
            "audit.first 1000, nvme.check_health 90, nvme.recover_sanitize 85, firmware.tie 80, "
            "nvme.reset_controller_state 80, hold.eyes 70, nvme.reset_namespaces 70, "
            "nvme.overwrite 50, firmware.late 10");
  EXPECT_TRUE(is_whole(plan));
  EXPECT_EQ(erase_index(plan), 7U);
  EXPECT_EQ(*erase_of(plan), nvme::EraseMethod::overwrite);
  EXPECT_EQ(plan[3].args, R"({"timeout_ms":900000,"command":"/steps/tie","driver":"keep",)"
                          R"("verifies":false,"abortable":true,"stage":"before","args":{"a":1}})");
  EXPECT_EQ(
      plan[5].args,
      R"({"timeout_ms":900000,"approvals":1,"abortable":true,"stage":"before","args":{"a":1}})");
}

TEST(OwnPlan, IsLockedInByDefinitionAndDigest) {
  const std::vector<OperatorStep> steps{own("firmware", "reflash", 60)};
  const ConductorOptions options;
  auto plan = make_plan(nvme::EraseMethod::overwrite, with(steps), options);
  CleanStep& step = plan[4];
  ASSERT_EQ(step.step, "reflash");
  EXPECT_EQ(locked_digest(step), "");
  step = with_digest(with_digest(step, "aa"), "bb");
  EXPECT_EQ(locked_digest(step), "bb");
  ASSERT_TRUE(definition_of(step, steps));
  EXPECT_EQ(with_own_steps(plan, steps, options), plan) << "what is unchanged keeps its digest";
  EXPECT_EQ(decode_plan(encode_plan(plan)).value(), plan);
  auto changed = steps;
  changed[0].args = "{}";
  EXPECT_FALSE(definition_of(step, changed));
  EXPECT_EQ(locked_digest(with_own_steps(plan, changed, options)[4]), "");
  changed = steps;
  changed[0].network = true;
  EXPECT_FALSE(definition_of(step, changed));
  EXPECT_FALSE(definition_of(plan[0], steps)) << "a built-in one";
  EXPECT_EQ(with_own_steps(plan, {}, options),
            make_plan(nvme::EraseMethod::overwrite, {}, options));
}

TEST(OwnPlan, HasToBeCoveredByFindings) {
  const auto plan = make_plan(nvme::EraseMethod::overwrite,
                              with({own("firmware", "late", 10, StepStage::after)}), {});
  std::string findings;
  for (const CleanStep& step : plan) {
    if (step.step == "overwrite") continue;
    const std::string name = step.interface + "." + step.step;
    EXPECT_EQ(uncovered_step(plan, findings), name);
    findings = with_findings(findings, name, nvme::StepReport{});
  }
  EXPECT_EQ(uncovered_step(plan, findings), "");
}

TEST(Plan, TellsAStepsTime) {
  const CleanStep step{"nvme", "x", 60, R"({"timeout_ms":5000,"stall_timeout_ms":-1})"};
  EXPECT_EQ(step_time_ms(step, "timeout_ms", 1), 5000);
  EXPECT_EQ(step_time_ms(step, "stall_timeout_ms", 1), 1);
  EXPECT_EQ(step_time_ms(CleanStep{"nvme", "x", 60, "no JSON"}, "timeout_ms", 7), 7);
}

TEST(Plan, FindingsCoverItWhenEachStepBeforeTheEraseHasItsOwn) {
  const auto plan = make_plan(nvme::EraseMethod::sanitize_crypto, {}, ConductorOptions{});
  std::string findings = with_findings("", "nvme.check_health", {});
  EXPECT_EQ(uncovered_step(plan, findings), "nvme.recover_sanitize");
  findings = with_findings(findings, "nvme.recover_sanitize", {});
  findings = with_findings(findings, "nvme.reset_namespaces", {});
  EXPECT_EQ(uncovered_step(plan, findings), "nvme.reset_controller_state");
  findings = with_findings(findings, "nvme.reset_controller_state", {});
  EXPECT_EQ(uncovered_step(plan, findings), "");
  for (const char* text : {"", "[]", "half a {", R"({"nvme.check_health":"yes"})"}) {
    EXPECT_EQ(uncovered_step(plan, text), "nvme.check_health") << text;
  }
}

TEST(Plan, ALockedMethodIsAllowedByWhatIsConfiguredToday) {
  using nvme::EraseMethod;
  const auto choose = [](const DevicePolicy& policy, const nvme::Capabilities& capabilities) {
    return nvme::choose_method({policy.rules.action, policy.rules.strategy}, capabilities);
  };
  nvme::Capabilities sanitizes;
  sanitizes.sanicap = 3;
  nvme::Capabilities plain;
  plain.sanicap = 0;
  plain.oncs = 8;
  DevicePolicy policy;
  const auto allowed = [&](const nvme::Capabilities& can, EraseMethod method) {
    return check_method(policy, choose, can, method).ok();
  };
  // Left to us: what is chosen, or as good, or better.
  EXPECT_TRUE(allowed(sanitizes, EraseMethod::sanitize_crypto));
  EXPECT_TRUE(allowed(sanitizes, EraseMethod::sanitize_block));
  EXPECT_FALSE(allowed(sanitizes, EraseMethod::overwrite));
  EXPECT_TRUE(allowed(plain, EraseMethod::overwrite));
  // Asked for: that alone.
  policy.rules.action = nvme::ClearAction::sanitize;
  policy.rules.strategy = nvme::ClearStrategy::block;
  EXPECT_TRUE(allowed(sanitizes, EraseMethod::sanitize_block));
  EXPECT_FALSE(allowed(sanitizes, EraseMethod::sanitize_crypto));
  EXPECT_FALSE(allowed(plain, EraseMethod::overwrite)) << "it cannot be satisfied at all";
}

}  // namespace
}  // namespace reclaim
