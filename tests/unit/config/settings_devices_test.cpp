// [devices]: which PCI devices that are no drives are cleaned, and what stops the start.
#include <fmt/core.h>
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

constexpr std::string_view kVerify =
    "[step:reflash]\ninterface = card\ncommand = /usr/libexec/reflash\npriority = 60\n"
    "verifies = true\ndevices = {\"vendor_id\": \"15b3\"}\n";

CheckedSettings with(std::string_view text) {
  return build(std::string(kBase) + std::string(text));
}

nvme::DriveFacts function(std::uint16_t vendor_id, std::uint32_t class_code) {
  nvme::DriveFacts facts;
  facts.vendor_id = vendor_id;
  facts.class_code = class_code;
  return facts;
}

TEST(Devices, AnEntryIsReadWhole) {
  const CheckedSettings checked = with(
      "[devices]\ndevice_spec = {\"vendor_id\": \"15b3\", \"type\": \"NIC\", \"driver\": "
      "\"mlx5_core\", \"clean\": \"manual\", \"tags\": [\"net\"], \"resource_class\": "
      "\"nic\", \"rom_sha256\": [\"" +
      std::string(64, 'a') +
      "\"], \"config_ignore\": [\"0x60\", \"64-0x67\"]}\n"
      "clean_step_priority_override = pci.reset:0, pci.check_rom:35\n" +
      std::string(kVerify));
  ASSERT_THAT(texts(checked.problems), IsEmpty());
  const auto policy =
      function_policy_lookup(checked.settings)(0x15b3, 0x1017, PciAddress{0, 0x3b, 0, 0});
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->function.type, "NIC");
  EXPECT_EQ(policy->function.driver, "mlx5_core");
  EXPECT_THAT(policy->function.roms_allowed, ElementsAre(std::string(64, 'a')));
  EXPECT_THAT(policy->function.config_ignored,
              ElementsAre(nvme::ConfigRange{0x60, 0x60}, nvme::ConfigRange{0x64, 0x67}));
  EXPECT_TRUE(policy->manual);
  EXPECT_EQ(policy->resource_class, "CUSTOM_NIC");
  ASSERT_EQ(policy->steps.size(), 1U);
  EXPECT_TRUE(policy->steps[0].verifies);
  EXPECT_THAT(checked.settings.conductor.function_step_priorities,
              ElementsAre(std::pair("pci.check_rom", 35), std::pair("pci.reset", 0)));
  EXPECT_FALSE(
      function_policy_lookup(checked.settings)(0x8086, 1, PciAddress{0, 0x3b, 0, 0}).has_value());
}

// As Nova's documents have them.
TEST(Devices, NovasEntriesAreTakenAsTheyAre) {
  const CheckedSettings checked = with(
      "[devices]\ndevice_spec = {\"vendor_id\": \"10de\", \"product_id\": \"25b6\", "
      "\"address\": \"0000:25:00.4\", \"managed\": \"no\"}\n"
      "device_spec = {\"devname\": \"eth3\", \"physical_network\": \"physnet1\", "
      "\"trusted\": \"true\"}\n" +
      std::string(kVerify));
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  ASSERT_EQ(checked.settings.function_specs.size(), 1U);
  EXPECT_EQ(checked.settings.function_specs[0].product_id, 0x25b6);
  EXPECT_THAT(texts(checked.warnings),
              Contains(HasSubstr("the entry of devname 'eth3' is left out")));
}

TEST(Devices, EachListIsOfItsOwnKind) {
  const CheckedSettings checked = with(
      "[nvme]\ndevice_spec = {\"vendor_id\": \"144d\"}\n"
      "[devices]\ndevice_spec = {\"vendor_id\": \"15b3\"}\n" +
      std::string(kVerify));
  ASSERT_THAT(texts(checked.problems), IsEmpty());
  const auto asked = may_be_asked(checked.settings);
  EXPECT_TRUE(asked(function(0x144d, 0x010802)));
  EXPECT_FALSE(asked(function(0x144d, 0x020000)));
  EXPECT_TRUE(asked(function(0x15b3, 0x020000)));
  EXPECT_FALSE(asked(function(0x15b3, 0x010802)));
}

TEST(Devices, WithoutAStepThatVerifiesTheyAreWarnedOf) {
  const CheckedSettings checked = with("[devices]\ndevice_spec = {\"vendor_id\": \"15b3\"}\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_THAT(texts(checked.warnings), Contains(HasSubstr("never given back")));
  EXPECT_THAT(
      texts(with("[devices]\ndevice_spec = {\"vendor_id\": \"15b3\"}\n" + std::string(kVerify))
                .warnings),
      Not(Contains(HasSubstr("never given back"))));
}

struct WrongEntry : ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WrongEntry, IsNamedWithWhatIsAccepted) {
  const auto& [entry, why] = GetParam();
  EXPECT_THAT(texts(with(fmt::format("[devices]\ndevice_spec = {}\n", entry)).problems),
              Contains(AllOf(HasSubstr("[devices] device_spec"), HasSubstr(why))));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, WrongEntry,
    ::testing::Values(std::pair(R"({"type": "NVME"})", "NVME is for drives"),
                      std::pair(R"({"type": "nic"})", "upper-case"),
                      std::pair(R"({"driver": "none"})", "driver"),
                      std::pair(R"({"driver": "a/b"})", "driver"),
                      std::pair(R"({"rom_sha256": ["abc"]})", "SHA-256"),
                      std::pair(R"({"rom_sha256": "abc"})", "list"),
                      std::pair(R"({"config_ignore": ["0x1000"]})", "up to fff"),
                      std::pair(R"({"config_ignore": ["7-6"]})", "ranges"),
                      std::pair(R"({"verify": "full"})",
                                "unknown key 'verify', accepted: vendor_id"),
                      std::pair(R"({"clear_action": "zero"})", "unknown key"),
                      std::pair(R"({"steps": ["nobody"]})", "there is no section [step:nobody]")));

TEST(Devices, ATieWithABuiltInStepThatNothingOrdersStopsTheStart) {
  const std::string tied =
      "[devices]\ndevice_spec = {\"vendor_id\": \"15b3\"}\n"
      "[step:log]\ninterface = card\ncommand = /a\npriority = 30\ndevices = {\"vendor_id\": "
      "\"15b3\"}\n";
  EXPECT_THAT(texts(with(tied).problems), Contains(HasSubstr("as that of pci.check_config")));
  EXPECT_THAT(texts(with(tied + "[clean]\ninterfaces = card, pci\n").problems), IsEmpty());
}

TEST(Devices, PrioritiesThatCannotBeFollowedStopTheStart) {
  const auto problems = [](const char* text) {
    return texts(
        with(fmt::format("[devices]\nclean_step_priority_override = {}\n", text)).problems);
  };
  EXPECT_THAT(problems("pci.scrub:5"), Contains(HasSubstr("there is no clean step 'pci.scrub'")));
  EXPECT_THAT(problems("pci.reset:1001"), Contains(HasSubstr("1000")));
  EXPECT_THAT(problems("pci.reset:30"), Contains(HasSubstr("have the same priority, 30")));
  EXPECT_THAT(problems("pci.reset"), Contains(HasSubstr("STEP:PRIORITY like pci.reset:0")));
}

}  // namespace
}  // namespace reclaim::config
