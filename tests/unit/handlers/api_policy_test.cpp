// The policy's language, and which sets of rules are refused before anybody is asked by them. That
// we and oslo.policy answer alike is held by tests/integration/policy_oslo.py.
#include "handlers/api/policy.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/api/policy_check.h"

namespace reclaim::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

placement::Identity with_roles(std::vector<std::string> roles) {
  placement::Identity who;
  who.user_id = "u1";
  who.project_id = "p1";
  who.roles = std::move(roles);
  return who;
}

std::string error_of(const std::map<std::string, std::string>& overrides) {
  const auto policy = Policy::create(overrides);
  return policy.ok() ? "accepted" : policy.error().what;
}

bool clean_allowed(const std::string& rule, const placement::Identity& who,
                   const Target& target = {}) {
  const auto policy = Policy::create({{"cyborg:device:clean", rule}});
  EXPECT_TRUE(policy.ok()) << policy.error().what;
  return policy.ok() && policy->allows("cyborg:device:clean", who, target);
}

TEST(ApiPolicyTest, CleanIsForAdminsUnlessAFileSaysOtherwise) {
  const Policy policy = Policy::defaults();
  EXPECT_EQ(policy.texts().at("cyborg:device:clean"), "role:admin");
  EXPECT_TRUE(policy.allows("cyborg:device:clean", with_roles({"admin"}), {}));
  EXPECT_TRUE(policy.allows("cyborg:device:clean", with_roles({"Admin"}), {}));
  EXPECT_FALSE(policy.allows("cyborg:device:clean", with_roles({"manager", "member"}), {}));
  EXPECT_FALSE(policy.allows("cyborg:device:clean", with_roles({}), {}));
  EXPECT_TRUE(clean_allowed("rule:admin_api or role:cleaner", with_roles({"cleaner"})));
}

// A service's login stands on each compute host.
TEST(ApiPolicyTest, WhatAcceptsApprovesOrUndoesIsForOperatorsAndNoService) {
  const Policy policy = Policy::defaults();
  for (const char* rule :
       {"cyborg:device:clean_steps", "cyborg:device:clean_error", "cyborg:device:unhold",
        "cyborg:device:disown", "cyborg:device:retire", "cyborg:device:enrol",
        "cyborg:device:abort", "cyborg:device:enable", "cyborg:device:disable"}) {
    EXPECT_TRUE(policy.allows(rule, with_roles({"admin"}), {})) << rule;
    EXPECT_FALSE(policy.allows(rule, with_roles({"admin", "service"}), {})) << rule;
    EXPECT_FALSE(policy.allows(rule, with_roles({"service"}), {})) << rule;
  }
}

TEST(ApiPolicyTest, CyborgsDefaultsForReading) {
  const Policy policy = Policy::defaults();
  const Target own{{"project_id", "p1"}};
  const Target other{{"project_id", "p2"}};
  EXPECT_TRUE(policy.allows("cyborg:device:get_all", with_roles({"manager"}), own));
  EXPECT_FALSE(policy.allows("cyborg:device:get_all", with_roles({"manager"}), other));
  EXPECT_FALSE(policy.allows("cyborg:device:get_one", with_roles({"reader"}), own));
  EXPECT_TRUE(policy.allows("cyborg:arq:get_one", with_roles({"reader"}), own));
  EXPECT_FALSE(policy.allows("cyborg:arq:get_all", with_roles({"reader"}), other));
  EXPECT_TRUE(policy.allows("cyborg:arq:get_all", with_roles({"admin"}), other));
}

TEST(ApiPolicyTest, AnUnknownRuleIsRefused) {
  EXPECT_FALSE(Policy::defaults().allows("cyborg:device:burn", with_roles({"admin"}), {}));
}

TEST(ApiPolicyTest, AFactThatIsNotThereEqualsNothing) {
  placement::Identity unscoped = with_roles({"reader"});
  unscoped.project_id.clear();
  EXPECT_FALSE(clean_allowed("project_id:%(project_id)s", unscoped, {}));
  EXPECT_FALSE(clean_allowed("project_id:%(project_id)s", unscoped, {{"project_id", ""}}));
  EXPECT_FALSE(clean_allowed("project_id:", unscoped, {}));
}

TEST(ApiPolicyTest, AWrongRuleIsAnErrorThatNamesIt) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"role:admin and", "it ends where a check is expected"},
      {"and role:admin", "'and' is where a check is expected"},
      {"(role:admin", "a parenthesis is not closed"},
      {"role:admin)", "')' is where"},
      {"()", "')' is where a check is expected"},
      {"not", "it ends where"},
      {" ", "it ends where"},
      {"admin", "'admin' is not a check"},
      {"role:a role:b", "'role:b' is where `and`, `or` or the end is expected"},
      {"http://example.org/%(x)s", "asks for 'http'"},
      {"is_admin_project:True", "asks for 'is_admin_project'"},
      {"tenant:%(x)s", "accepted are role, rule, a literal such as 'all', and is_admin"},
      {"project_id:%s", "begins neither %(name)s nor %%"},
      {"project_id:%(x)", "begins neither"},
      {"project_id:%()s", "begins neither"},
      {"'a\\'b':c", "asks for"},
      {"'role:admin'", "asks for"},
  };
  for (const auto& [text, why] : table) {
    EXPECT_THAT(error_of({{"cyborg:device:clean", text}}),
                AllOf(HasSubstr("policy rule 'cyborg:device:clean'"), HasSubstr(why)))
        << text;
  }
}

TEST(ApiPolicyTest, ACheckThatCanNeverHoldIsAnError) {
  for (const char* text : {"role:%(foo)s", "not (role:a or 'x':%(foo)s)", "user_id:%(foo)s"}) {
    EXPECT_THAT(error_of({{"cyborg:device:clean", text}}),
                AllOf(HasSubstr("policy rule 'cyborg:device:clean': '%(foo)s' is not a fact"),
                      HasSubstr("accepted are project_id, user_id")))
        << text;
  }
  for (const char* text : {"is_admin:1", "is_admin:true", "is_admin:", "is_admin:%(user_id)s"}) {
    EXPECT_THAT(error_of({{"cyborg:device:clean", text}}), HasSubstr("is_admin is True or False"))
        << text;
  }
  EXPECT_EQ(error_of({{"cyborg:device:clean", "role:%(user_id)s or is_admin:False"}}), "accepted");
  // The rules of calls that only Cyborg answers are Cyborg's to judge.
  EXPECT_EQ(error_of({{"cyborg:arq:delete", "project_id:%(target.arq.project_id)s"}}), "accepted");
}

TEST(ApiPolicyTest, AReferenceToNothingIsAnError) {
  EXPECT_THAT(error_of({{"cyborg:device:clean", "rule:cleaners"}}),
              HasSubstr("refers to rule 'cleaners', which is not there"));
  EXPECT_EQ(error_of({{"cyborg:device:clean", "rule:cleaners"}, {"cleaners", "role:cleaner"}}),
            "accepted");
}

TEST(ApiPolicyTest, ACircleIsAnError) {
  EXPECT_THAT(error_of({{"cyborg:device:clean", "rule:a"}, {"a", "rule:b"}, {"b", "not rule:a"}}),
              HasSubstr("a circle: a -> b -> a"));
  EXPECT_THAT(error_of({{"cyborg:device:clean", "rule:cyborg:device:clean"}}),
              HasSubstr("a circle"));
  EXPECT_THAT(error_of({{"admin_api", "rule:is_admin"}}), HasSubstr("a circle"));
}

TEST(ApiPolicyTest, ARuleThatNothingAsksForIsAnError) {
  EXPECT_THAT(
      error_of({{"cyborg:device:claen", "role:nobody"}}),
      AllOf(HasSubstr("policy rule 'cyborg:device:claen'"), HasSubstr("cyborg:device:clean, ")));
  EXPECT_THAT(error_of({{"device:clean", "!"}}), HasSubstr("nothing asks for it"));
  EXPECT_EQ(error_of({{"cyborg:device:enable", "role:admin"}}), "accepted")
      << "Cyborg's own rule, in a file that both read";
}

TEST(ApiPolicyTest, LengthNestingReferencesAndNumberAreLimited) {
  const std::string deep = std::string(kPolicyNestingMax + 1, '(') + "role:admin" +
                           std::string(kPolicyNestingMax + 1, ')');
  EXPECT_THAT(error_of({{"cyborg:device:clean", deep}}), HasSubstr("nested deeper than 32"));
  EXPECT_EQ(error_of({{"cyborg:device:clean", deep.substr(1, deep.size() - 2)}}), "accepted");
  EXPECT_THAT(error_of({{"cyborg:device:clean", std::string(4'097, 'a')}}),
              HasSubstr("over the limit of 4096 bytes"));
  std::map<std::string, std::string> chain{{"cyborg:device:clean", "rule:r000"}};
  for (int i = 0; i < 40; ++i) chain[fmt::format("r{:03}", i)] = fmt::format("rule:r{:03}", i + 1);
  chain["r040"] = "@";
  EXPECT_THAT(error_of(chain), HasSubstr("more than 32 deep"));
  std::map<std::string, std::string> many;
  for (int i = 0; i <= 500; ++i) many[fmt::format("r{}", i)] = "@";
  EXPECT_THAT(error_of(many), HasSubstr("over the limit of 500"));
}

// Each rule asks the next one twice: without a memory that is 2^30 questions.
TEST(ApiPolicyTest, ARuleIsAskedOnceHoweverOftenItIsReferredTo) {
  std::map<std::string, std::string> rules{{"cyborg:device:clean", "rule:r00"}};
  for (int i = 0; i < 29; ++i) {
    rules[fmt::format("r{:02}", i)] = fmt::format("rule:r{0:02} or rule:r{0:02}", i + 1);
  }
  rules["r29"] = "!";
  const auto policy = Policy::create(rules);
  ASSERT_TRUE(policy.ok()) << policy.error().what;
  EXPECT_FALSE(policy->allows("cyborg:device:clean", with_roles({"admin"}), {}));
}

}  // namespace
}  // namespace reclaim::api
