// What a reload takes over, and what it says.
#include "config/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/module_options.h"
#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Settings with(std::string_view text) {
  const CheckedSettings checked = build(std::string(kBase) + std::string(text));
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  return checked.settings;
}

constexpr std::string_view kStep =
    "[step:reflash]\ncommand = /a\npriority = 60\ndevices = {}\nargs = {\"key\": \"s3cret\"}\n";

TEST(Reload, NothingChangedIsNothingTaken) {
  const Settings settings = with(kStep);
  const Changes same = changes(settings, with(kStep));
  EXPECT_THAT(same.taken, IsEmpty());
  EXPECT_THAT(same.later, IsEmpty());
}

TEST(Reload, SaysWhatChangesNowAndWhatWithTheNextStart) {
  const Changes told =
      changes(with("[nvme]\nmax_parallel = 4\n"),
              with("[nvme]\nmax_parallel = 5\ndevice_spec = {\"vendor_id\": \"8086\"}\n"
                   "[clean]\nautomated = false\n"));
  EXPECT_THAT(told.taken, ElementsAre("[clean] automated: false, was: not set",
                                      HasSubstr("[nvme] device_spec: ")));
  EXPECT_THAT(told.later, ElementsAre("[nvme] max_parallel"));
}

TEST(Reload, TellsNobodyWhatAStepIsTold) {
  const Changes told = changes(with(""), with(kStep));
  EXPECT_THAT(told.taken, Contains("[step:reflash] args: set, was: not set"));
  for (const std::string& line : told.taken) EXPECT_THAT(line, Not(HasSubstr("s3cret")));
}

TEST(Reload, TakesOverWhatCanChangeAndNothingElse) {
  const Settings before = with("[nvme]\nmax_parallel = 4\n");
  const Settings read = with(
      "[nvme]\nmax_parallel = 5\ndevice_spec = {\"vendor_id\": \"8086\", \"verify\": \"full\"}\n"
      "[devices]\ndevice_spec = {\"vendor_id\": \"15b3\"}\nclean_step_priority_override = "
      "pci.reset:0\n[clean]\nautomated = false\n" +
      std::string(kStep));
  const Settings after = with_changes(before, read);
  const auto policy = device_policy_lookup(after)(0x8086, 1, PciAddress{0, 0xc1, 0, 0});
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->steps.size(), 1U);
  EXPECT_TRUE(policy->manual);
  EXPECT_TRUE(function_policy_lookup(after)(0x15b3, 1, PciAddress{}).has_value());
  EXPECT_EQ(after.conductor.function_step_priorities.at("pci.reset"), 0);
  EXPECT_EQ(after.conductor.cleanings_max, 4U);
  // What is in force only with the next start is told again by the next reload.
  EXPECT_THAT(changes(after, read).taken, IsEmpty());
  EXPECT_THAT(changes(after, read).later, ElementsAre("[nvme] max_parallel"));
}

}  // namespace
}  // namespace reclaim::config
