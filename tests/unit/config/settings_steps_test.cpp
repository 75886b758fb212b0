// [clean] and [step:NAME]: what is read of them, and what stops the start.
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

std::string with(std::string_view text) {
  return std::string(kBase) + std::string(text);
}

constexpr std::string_view kReflash =
    "[step:reflash]\ninterface = firmware\ncommand = /usr/libexec/reflash\npriority = 60\n"
    "devices = {\"vendor_id\": \"15b3\"}\n";

TEST(StepSections, AreReadWhole) {
  const CheckedSettings checked = build(
      with("[clean]\nautomated = false\ninterfaces = firmware, nvme\n"
           "[step:reflash]\ninterface = firmware\ncommand = /usr/libexec/reflash\npriority = 60\n"
           "devices = {\"vendor_id\": \"15b3\"}\ntimeout_s = 30\nabortable = no\nverifies = yes\n"
           "network = yes\n"
           "args = {\"image\": \"/x.bin\"}\n"
           "[step:eyes]\ninterface = hold\npriority = 55\napprovals = 2\ndevices = {}\n"));
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_THAT(texts(checked.warnings), Not(Contains(HasSubstr("step:"))));
  ASSERT_EQ(checked.settings.steps.size(), 2U);
  const OperatorStep& step = checked.settings.steps[0].step;
  EXPECT_EQ(step.name, "reflash");
  EXPECT_EQ(step.interface, "firmware");
  EXPECT_EQ(step.command, "/usr/libexec/reflash");
  EXPECT_EQ(step.priority, 60);
  EXPECT_EQ(step.timeout_ms, 30'000);
  EXPECT_FALSE(step.abortable);
  EXPECT_TRUE(step.verifies);
  EXPECT_TRUE(step.network);
  EXPECT_EQ(step.driver, "keep");
  EXPECT_EQ(step.stage, StepStage::before);
  EXPECT_EQ(step.args, R"({"image":"/x.bin"})");
  const OperatorStep& eyes = checked.settings.steps[1].step;
  EXPECT_TRUE(eyes.is_hold());
  EXPECT_EQ(eyes.approvals, 2);
  EXPECT_FALSE(checked.settings.conductor.clean_automated);
  EXPECT_THAT(checked.settings.conductor.clean_interfaces, ElementsAre("firmware", "nvme"));
}

TEST(StepSections, SayWhatAnOrderMaySet) {
  const auto read = [](const std::string& args, const std::string& order_args) {
    return build(with(std::string(kReflash) + "args = " + args + "\norder_args = " + order_args));
  };
  CheckedSettings checked = read(R"({"bus": "01"})", R"({"bus": "[0-9a-f]{2}", "mode": ["fast"]})");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_THAT(texts(checked.warnings), Not(Contains(HasSubstr("order_args"))));
  EXPECT_EQ(checked.settings.steps[0].step.order_args,
            R"({"bus": "[0-9a-f]{2}", "mode": ["fast"]})");
  const auto problem = [&](const std::string& order_args) {
    return texts(read("{}", order_args).problems);
  };
  EXPECT_THAT(problem("[1]"), Contains(HasSubstr("[step:reflash] order_args: it is not a JSON")));
  EXPECT_THAT(problem(R"({"bus": 1})"), Contains(HasSubstr("'bus' has neither a pattern nor")));
  EXPECT_THAT(problem(R"({"bus": "("})"), Contains(HasSubstr("a pattern that cannot be read")));
  EXPECT_THAT(problem(R"({"bus": []})"), Contains(HasSubstr("a list without a text")));
  EXPECT_THAT(
      texts(build(with("[step:x]\ninterface = hold\npriority = 60\norder_args = {\"a\": \"b\"}\n"))
                .problems),
      Contains(HasSubstr("[step:x] order_args is set, and a hold is told nothing")));
}

// Its command runs as root.
TEST(StepSections, WarnWhereAnOrderCouldNameAFile) {
  const auto warnings = [](const std::string& args, const std::string& order_args) {
    return texts(
        build(with(std::string(kReflash) + "args = " + args + "\norder_args = " + order_args))
            .warnings);
  };
  const auto warned = Contains(
      HasSubstr("[step:reflash] order_args: an order could set 'image' to a path, for a command"));
  EXPECT_THAT(warnings("{}", R"({"image": ".*"})"), Not(warned)) << "no pattern accepts a path";
  EXPECT_THAT(warnings("{}", R"({"image": ["a", "/x"]})"), warned);
  EXPECT_THAT(warnings(R"({"image": "/x.bin"})", R"({"image": "[a-z]+"})"), warned);
  EXPECT_THAT(warnings(R"({"image": "a"})", R"({"image": "[a-z]+"})"), Not(warned));
}

// A plan that has them all fits into a record.
TEST(StepSections, TheirArgumentsAreBoundedTogether) {
  std::string text;
  for (const char* name : {"a", "b", "c"}) {
    text += std::string("[step:") + name + "]\ninterface = firmware\ncommand = /x\npriority = 0\n" +
            "args = {\"image\": \"" + std::string(12'000, 'x') + "\"}\n";
  }
  const CheckedSettings checked = build(with(text));
  EXPECT_THAT(texts(checked.problems),
              ElementsAre(HasSubstr("[step:c] args: with it the [step:NAME] sections have more "
                                    "than 32768 bytes of args and order_args together")));
}

TEST(StepSections, AreForTheDevicesThatTheyOrTheirEntriesName) {
  const CheckedSettings checked = build(
      {own(with("[nvme]\ndevice_spec = {\"address\": \"0000:0b:00.0\", \"steps\": [\"named\"], "
                "\"clean\": \"manual\"}\n"
                "[step:named]\ncommand = /a\npriority = 60\n"
                "[step:matched]\ncommand = /b\npriority = 61\ndevices = {\"vendor_id\": "
                "\"15b3\"}\n"))});
  ASSERT_THAT(texts(checked.problems), IsEmpty());
  const auto lookup = device_policy_lookup(checked.settings);
  const auto names = [&lookup](std::uint16_t vendor, const PciAddress& at) {
    std::vector<std::string> out;
    const auto policy = lookup(vendor, 1, at);
    for (const OperatorStep& step : policy->steps) out.push_back(step.name);
    return out;
  };
  EXPECT_THAT(names(0x8086, {0, 0x0a, 0, 0}), IsEmpty());
  EXPECT_THAT(names(0x15b3, {0, 0x0a, 0, 0}), ElementsAre("matched"));
  EXPECT_THAT(names(0x15b3, {0, 0x0b, 0, 0}), ElementsAre("named", "matched"));
  EXPECT_FALSE(lookup(1, 1, {0, 0x0a, 0, 0})->manual);
  EXPECT_TRUE(lookup(1, 1, {0, 0x0b, 0, 0})->manual);
}

TEST(StepSections, WhatIsWrongIsSaidWithItsPlace) {
  const auto first = [](std::string_view text) {
    const auto all = problems(with(text));
    return all.empty() ? std::string("nothing") : all.front();
  };
  EXPECT_THAT(first("[step:Re-flash]\ncommand = /x\npriority = 1\n"),
              HasSubstr("r.conf:13: [step:re-flash]: a step's name has 1 to 64"));
  EXPECT_THAT(first("[step:x]\ncommand = /x\n"), HasSubstr("[step:x] has no priority"));
  EXPECT_THAT(first("[step:x]\npriority = 60\n"), HasSubstr("[step:x] has no command"));
  EXPECT_THAT(first("[step:x]\ncommand = x\npriority = 60\n"),
              HasSubstr("[step:x] command: 'x' is not an absolute path"));
  EXPECT_THAT(first("[step:x]\ncommand = /x\npriority = 60\ninterface = nvme\n"),
              HasSubstr("which are Reclaim's own"));
  EXPECT_THAT(first("[step:x]\ncommand = /x\npriority = 60\nargs = [1]\n"),
              HasSubstr("[step:x] args must be a JSON object"));
  EXPECT_THAT(first("[step:x]\ncommand = /x\npriority = 60\ndevices = {\"tags\": []}\n"),
              HasSubstr("[step:x] devices: unknown key 'tags', accepted: vendor_id, product_id, "
                        "address"));
  EXPECT_THAT(first("[step:x]\ninterface = hold\ncommand = /x\npriority = 60\n"),
              HasSubstr("[step:x] command is set, and a hold runs nothing"));
  EXPECT_THAT(first("[step:x]\ncommand = /x\npriority = 60\napprovals = 2\n"),
              HasSubstr("[step:x] approvals is of a hold only"));
  EXPECT_THAT(first("[step:x]\ncommand = /x\npriority = 60\ncomand = /x\n"),
              HasSubstr("unknown option 'comand' in group [step:x], did you mean 'command'?"));
  EXPECT_THAT(first("[nvme]\ndevice_spec = {\"steps\": [\"gone\"]}\n"),
              HasSubstr("'steps' names 'gone', and there is no section [step:gone]"));
  EXPECT_THAT(first("[nvme]\ndevice_spec = {\"clean\": \"never\"}\n"),
              HasSubstr("'clean' is 'never', accepted: auto, manual"));
}

TEST(StepSections, ADrivesStepsStandOnTheirSideOfTheErase) {
  const auto first = [](std::string_view text) {
    const auto all = problems(with("[step:x]\ncommand = /x\ndevices = {}\n" + std::string(text)));
    return all.empty() ? std::string("nothing") : all.front();
  };
  EXPECT_EQ(first("priority = 51\n"), "nothing");
  EXPECT_EQ(first("priority = 0\n"), "nothing");
  EXPECT_EQ(first("priority = 49\nstage = after\n"), "nothing");
  EXPECT_THAT(first("priority = 50\n"), HasSubstr("before the erase it is 51 to 1000"));
  EXPECT_THAT(first("priority = 50\nstage = after\n"), HasSubstr("after it, 1 to 49"));
  EXPECT_THAT(first("priority = 60\ndriver = none\n"), HasSubstr("only keep"));
}

TEST(StepSections, EqualPrioritiesOfOneDeviceStopTheStart) {
  const std::string two = "[step:other]\ninterface = firmware\ncommand = /o\npriority = 60\n";
  EXPECT_THAT(problems(with(std::string(kReflash) + two + "devices = {\"vendor_id\": \"15b3\"}\n")),
              ElementsAre(HasSubstr("[step:other] priority is 60, as that of firmware.reflash")));
  EXPECT_THAT(problems(with(std::string(kReflash) + two + "devices = {\"vendor_id\": \"8086\"}\n")),
              IsEmpty())
      << "never of one device";
  EXPECT_THAT(problems(with(std::string(kReflash) + two)), IsEmpty()) << "for no device";
  const std::string else_where =
      "[step:other]\ninterface = audit\ncommand = /o\npriority = 60\ndevices = {}\n";
  EXPECT_THAT(problems(with(std::string(kReflash) + else_where)),
              ElementsAre(HasSubstr("list both interfaces in [clean] interfaces")));
  EXPECT_THAT(problems(with("[clean]\ninterfaces = audit, firmware\n" + std::string(kReflash) +
                            else_where)),
              IsEmpty());
  const std::string built_in = "[step:x]\ncommand = /x\npriority = 70\ndevices = {}\n";
  EXPECT_THAT(problems(with(built_in)),
              ElementsAre(HasSubstr("priority is 70, as that of nvme.reset_namespaces")));
  EXPECT_THAT(problems(with("[clean]\ninterfaces = operator,nvme\n" + built_in)), IsEmpty());
}

TEST(StepSections, OneForNoDeviceIsAWarning) {
  EXPECT_THAT(warnings(with("[step:x]\ncommand = /x\npriority = 60\n")),
              Contains(HasSubstr("[step:x] is for no device")));
}

}  // namespace
}  // namespace reclaim::config
