// The order of strictness, over every value that a policy can have: it does not count in which
// order policies are put together, nor that one comes twice, and none of them is ever weakened.
#include "handlers/survey/strictest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace reclaim {
namespace {

using nvme::ClearAction;
using nvme::ClearStrategy;
using nvme::HealthLimits;
using nvme::Relaxations;
using nvme::VerifyLevel;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Clearing {
  ClearAction action;
  ClearStrategy strategy;
  friend bool operator==(const Clearing&, const Clearing&) = default;
};

Clearing join(Clearing a, Clearing b) {
  const nvme::Policy out = strictest({a.action, a.strategy}, {b.action, b.strategy});
  return {out.action, out.strategy};
}

std::vector<Clearing> clearings() {
  std::vector<Clearing> out;
  for (const ClearAction action :
       {ClearAction::auto_, ClearAction::sanitize, ClearAction::zero, ClearAction::format}) {
    for (const ClearStrategy strategy :
         {ClearStrategy::auto_, ClearStrategy::crypto, ClearStrategy::block}) {
      if (nvme::check_policy({action, strategy})) out.push_back({action, strategy});
    }
  }
  return out;
}

std::vector<Relaxations> relaxations() {
  std::vector<Relaxations> out;
  for (unsigned bits = 0; bits < 64; ++bits) {
    out.push_back({(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0,
                   static_cast<std::uint8_t>(bits >> 4U)});
  }
  return out;
}

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Of each pair and triple. `bears(joined, input)`: it is not weaker than the input.
template <typename T, typename Join, typename Bears>
void expect_semilattice(const std::vector<T>& all, const Join& join, const Bears& bears) {
  for (const T& a : all) {
    EXPECT_EQ(join(a, a), a);
    for (const T& b : all) {
      EXPECT_EQ(join(a, b), join(b, a));
      EXPECT_TRUE(bears(join(a, b), a) && bears(join(a, b), b));
      for (const T& c : all) EXPECT_EQ(join(join(a, b), c), join(a, join(b, c)));
    }
  }
}

nvme::Capabilities drive_that_can(unsigned bits) {
  nvme::Capabilities can;
  can.sanicap = bits & 3U;
  if ((bits & 4U) != 0) can.oncs = 1U << 3U;
  if ((bits & 8U) != 0) can.oacs = 1U << 1U;
  if ((bits & 16U) != 0) can.fna = 1U << 2U;
  return can;
}

// Whether on every drive the joined policy erases at least as well as the input does. One that
// erases by nothing leaves the device reserved.
bool erases_as_well(const Clearing& joined, const Clearing& input) {
  for (unsigned bits = 0; bits < 32; ++bits) {
    const nvme::Capabilities can = drive_that_can(bits);
    const auto by = nvme::choose_method({joined.action, joined.strategy}, can);
    const auto before = nvme::choose_method({input.action, input.strategy}, can);
    if (!by.ok() || !before.ok()) continue;
    if (nvme::sanitization_class(*before) == "purge" && nvme::sanitization_class(*by) != "purge") {
      return false;
    }
  }
  return true;
}

TEST(Strictest, TheCapabilitiesOfTheTestAreAllThatDecides) {
  EXPECT_TRUE(drive_that_can(1).crypto_erase());
  EXPECT_TRUE(drive_that_can(2).block_erase());
  EXPECT_TRUE(drive_that_can(4).write_zeroes());
  EXPECT_TRUE(drive_that_can(8).format());
  EXPECT_TRUE(drive_that_can(24).format_crypto());
}

TEST(Strictest, OfWaysToClear) {
  expect_semilattice(clearings(), join, erases_as_well);
  const auto actions = [](ClearAction a, ClearAction b) {
    return join({a, ClearStrategy::auto_}, {b, ClearStrategy::auto_}).action;
  };
  EXPECT_EQ(actions(ClearAction::format, ClearAction::zero), ClearAction::zero);
  EXPECT_EQ(actions(ClearAction::zero, ClearAction::auto_), ClearAction::auto_);
  EXPECT_EQ(actions(ClearAction::auto_, ClearAction::sanitize), ClearAction::sanitize);
}

TEST(Strictest, ACertainStrategyFallsBackToNoWeakerErase) {
  const Clearing any{ClearAction::auto_, ClearStrategy::auto_};
  EXPECT_EQ(join(any, {ClearAction::auto_, ClearStrategy::block}),
            (Clearing{ClearAction::sanitize, ClearStrategy::block}));
  EXPECT_EQ(join({ClearAction::sanitize, ClearStrategy::crypto},
                 {ClearAction::sanitize, ClearStrategy::block}),
            (Clearing{ClearAction::sanitize, ClearStrategy::block}));
  // What the two come to when a section says only one of them.
  EXPECT_EQ(join({ClearAction::format, ClearStrategy::crypto},
                 {ClearAction::zero, ClearStrategy::crypto}),
            (Clearing{ClearAction::sanitize, ClearStrategy::crypto}));
}

TEST(Strictest, OfVerification) {
  const std::vector<VerifyLevel> levels{VerifyLevel::log, VerifyLevel::sample, VerifyLevel::nist,
                                        VerifyLevel::full};
  const auto join_levels = [](VerifyLevel a, VerifyLevel b) { return strictest(a, b); };
  expect_semilattice(levels, join_levels, [&levels](VerifyLevel joined, VerifyLevel input) {
    const auto place = [&levels](VerifyLevel level) {
      return std::find(levels.begin(), levels.end(), level);
    };
    return place(joined) >= place(input);
  });
}

TEST(Strictest, OfWhatIsRelaxed) {
  const auto join_relaxed = [](const Relaxations& a, const Relaxations& b) {
    return strictest(a, b);
  };
  const auto relaxes_no_more = [](const Relaxations& joined, const Relaxations& input) {
    return (!joined.global_data_erased || input.global_data_erased) &&
           (!joined.unreadable_blocks || input.unreadable_blocks) &&
           (!joined.deallocated_value || input.deallocated_value) &&
           (!joined.media_verification || input.media_verification) &&
           (joined.warnings & ~input.warnings) == 0;
  };
  expect_semilattice(relaxations(), join_relaxed, relaxes_no_more);
}

TEST(Strictest, OfLimits) {
  std::vector<HealthLimits> limits;
  for (const unsigned used : {0U, 80U, 100U, 255U}) {
    for (const std::uint64_t errors : {std::uint64_t{0}, std::uint64_t{3}, kMost}) {
      limits.push_back({static_cast<std::uint8_t>(used), errors});
    }
  }
  const auto join_limits = [](const HealthLimits& a, const HealthLimits& b) {
    return strictest(a, b);
  };
  const auto allows_no_more = [](const HealthLimits& joined, const HealthLimits& input) {
    return joined.percentage_used_max <= input.percentage_used_max &&
           joined.media_errors_delta_max <= input.media_errors_delta_max;
  };
  expect_semilattice(limits, join_limits, allows_no_more);
  const std::vector<std::uint64_t> rates{0, 1, 1000, kMost};
  expect_semilattice(rates, strictest_rate, [](std::uint64_t joined, std::uint64_t input) {
    return input == 0 || (joined != 0 && joined <= input);
  });
  const std::vector<std::int64_t> times{60'000, 900'000, 604'800'000};
  expect_semilattice(times, strictest_timeout_ms,
                     [](std::int64_t joined, std::int64_t input) { return joined >= input; });
}

OperatorStep step(const std::string& name) {
  OperatorStep out;
  out.name = name;
  return out;
}

std::vector<std::string> names(const std::vector<OperatorStep>& steps) {
  std::vector<std::string> out;
  for (const OperatorStep& each : steps) out.push_back(each.name);
  return out;
}

TEST(Strictest, OfStepsIsAllOfThem) {
  EXPECT_THAT(names(strictest({step("b"), step("a")}, {step("c"), step("a")})),
              ElementsAre("b", "a", "c"));
  EXPECT_THAT(names(strictest({step("a")}, {step("a")})), ElementsAre("a"));
  EXPECT_THAT(names(strictest(std::vector<OperatorStep>{}, {})), IsEmpty());
}

RolePolicy gold() {
  RolePolicy policy;
  policy.name = "gold";
  policy.verify = VerifyLevel::full;
  policy.manual = true;
  policy.steps = {step("audit")};
  return policy;
}

RolePolicy silver() {
  RolePolicy policy;
  policy.name = "silver";
  policy.verify = VerifyLevel::nist;
  policy.strategy = ClearStrategy::block;
  policy.relaxed = Relaxations{};
  policy.percentage_used_max = 80;
  policy.cleanup_timeout_ms = 3'600'000;
  return policy;
}

DevicePolicy entry() {
  DevicePolicy policy;
  policy.origin.entry = "r.conf:3";
  policy.rules.relaxed.unreadable_blocks = true;
  policy.cleanup_timeout_ms = 900'000;
  RolePolicy empty;
  empty.name = "empty";
  policy.roles = std::make_shared<const std::vector<RolePolicy>>(
      std::vector<RolePolicy>{gold(), silver(), empty});
  return policy;
}

TEST(RolePolicies, RaiseWhatTheEntrySaysInAnyOrder) {
  for (const bool turned : {false, true}) {
    const std::vector<std::string> traits =
        turned ? std::vector<std::string>{"CUSTOM_RECLAIM_SILVER", "CUSTOM_RECLAIM_GOLD"}
               : std::vector<std::string>{"CUSTOM_RECLAIM_GOLD", "CUSTOM_RECLAIM_SILVER"};
    const DevicePolicy policy = raised_by_traits(entry(), traits);
    EXPECT_EQ(policy.rules.action, ClearAction::sanitize);
    EXPECT_EQ(policy.rules.strategy, ClearStrategy::block);
    EXPECT_EQ(policy.rules.verify, VerifyLevel::full);
    EXPECT_FALSE(policy.rules.relaxed.any());
    EXPECT_EQ(policy.rules.health.percentage_used_max, 80);
    EXPECT_EQ(policy.cleanup_timeout_ms, 3'600'000);
    EXPECT_TRUE(policy.manual);
    EXPECT_THAT(names(policy.steps), ElementsAre("audit"));
    EXPECT_THAT(why_unknown(policy), IsEmpty());
  }
}

TEST(RolePolicies, WhatASectionDoesNotSayItHasNoSayIn) {
  const DevicePolicy before = entry();
  const DevicePolicy after = raised_by_traits(before, {"CUSTOM_RECLAIM_EMPTY"});
  EXPECT_EQ(after.rules, before.rules);
  EXPECT_EQ(after.manual, before.manual);
  EXPECT_EQ(after.cleanup_timeout_ms, before.cleanup_timeout_ms);
  EXPECT_THAT(describe_origin(after), HasSubstr("empty (by trait CUSTOM_RECLAIM_EMPTY): nothing"));
}

TEST(RolePolicies, NoneWeakensTheEntry) {
  DevicePolicy strict = entry();
  strict.rules = {
      ClearAction::sanitize, ClearStrategy::block, VerifyLevel::full, {}, {50, 0}, {}, 1000};
  strict.manual = true;
  RolePolicy weak;
  weak.name = "weak";
  weak.action = ClearAction::format;
  weak.verify = VerifyLevel::log;
  weak.relaxed = Relaxations{true, true, true};
  weak.percentage_used_max = 255;
  weak.media_errors_delta_max = 9;
  weak.zero_bytes_per_s_max = 0;
  weak.cleanup_timeout_ms = 60'000;
  weak.manual = false;
  strict.roles = std::make_shared<const std::vector<RolePolicy>>(std::vector<RolePolicy>{weak});
  const DevicePolicy after = raised(strict, {{"weak", "tag weak"}});
  EXPECT_EQ(after.rules, strict.rules);
  EXPECT_TRUE(after.manual);
  EXPECT_EQ(after.cleanup_timeout_ms, 900'000);
  EXPECT_THAT(after.origin.raised_by, IsEmpty());
}

TEST(RolePolicies, SayWhereEachFieldCameFrom) {
  const DevicePolicy policy =
      raised_by_traits(raised(entry(), {{"gold", "tag gold"}}), {"CUSTOM_RECLAIM_SILVER"});
  EXPECT_EQ(describe_origin(policy),
            "device_spec at r.conf:3; gold (by tag gold): clean=manual, steps=audit, verify=full; "
            "silver (by trait CUSTOM_RECLAIM_SILVER): cleanup_timeout=3600, clear_action=sanitize, "
            "clear_strategy=block, percentage_used_max=80, relax=nothing");
  EXPECT_EQ(describe_origin(entry()), "device_spec at r.conf:3");
}

TEST(RolePolicies, ATraitWithoutASectionForbidsTheCleaning) {
  const DevicePolicy policy = raised_by_traits(entry(), {"CUSTOM_RECLAIM_BRONZE"});
  EXPECT_THAT(why_unknown(policy),
              AllOf(HasSubstr("[policy:bronze]"), HasSubstr("trait CUSTOM_RECLAIM_BRONZE"),
                    HasSubstr("add the section")));
  EXPECT_THAT(chosen_names(policy), ElementsAre("bronze"));
  EXPECT_THAT(describe_origin(policy), HasSubstr("no such section"));
  DevicePolicy alone;  // without any section
  EXPECT_THAT(why_unknown(raised_by_traits(alone, {"CUSTOM_RECLAIM_X"})), Not(IsEmpty()));
}

TEST(RolePolicies, ThoseOfTheRecordCountBesideTheTags) {
  const DevicePolicy tagged = raised(entry(), {{"gold", "tag gold"}});
  const DevicePolicy policy = raised_by_names(tagged, {"gold", "silver"});
  EXPECT_THAT(chosen_names(policy), ElementsAre("gold", "silver"));
  EXPECT_EQ(policy.rules.strategy, ClearStrategy::block);
  EXPECT_THAT(why_unknown(raised_by_names(tagged, {"gone"})), HasSubstr("[policy:gone]"));
}

}  // namespace
}  // namespace reclaim
