// What the modules are told is what the operator wrote.
#include "config/module_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::config {
namespace {

Settings settings_of(const std::string& text) {
  CheckedSettings checked =
      build_settings({{parse_ini(text, "r.conf"), false}}, "node-1", Purpose::tool);
  EXPECT_TRUE(checked.problems.empty()) << to_text(checked.problems);
  return std::move(checked.settings);
}

TEST(ModuleOptions, ADriveGetsTheRulesOfTheFirstEntryThatMatches) {
  const auto lookup = device_policy_lookup(settings_of(
      "[nvme]\nverify = nist\n"
      "device_spec = {\"vendor_id\": \"144d\", \"clear_action\": \"sanitize\", \"managed\": "
      "false,\n"
      "  \"relax\": [\"global_data_erased\"], \"percentage_used_max\": 90, \"zero_rate\": \"1M\",\n"
      "  \"cleanup_timeout\": 3600}\n"
      "device_spec = {\"clear_strategy\": \"block\", \"verify\": \"full\"}\n"));
  const PciAddress address{0, 1, 0, 0};
  const auto first = lookup(0x144d, 1, address);
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->managed);
  EXPECT_EQ(first->rules.action, nvme::ClearAction::sanitize);
  EXPECT_EQ(first->rules.verify, nvme::VerifyLevel::nist);
  EXPECT_TRUE(first->rules.relaxed.global_data_erased);
  EXPECT_EQ(first->rules.health.percentage_used_max, 90);
  EXPECT_EQ(first->rules.zero_bytes_per_s_max, 1U << 20U);
  EXPECT_EQ(first->cleanup_timeout_ms, 3'600'000);
  const auto second = lookup(0x8086, 1, address);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->managed);
  EXPECT_EQ(second->rules.strategy, nvme::ClearStrategy::block);
  EXPECT_EQ(second->rules.verify, nvme::VerifyLevel::full);
  EXPECT_EQ(second->cleanup_timeout_ms, std::nullopt) << "that of [nvme]";
}

TEST(ModuleOptions, TheWhitelistTellsManagedOfTheDevicesItMatches) {
  const Settings settings = settings_of(
      "[nvme]\ndevice_spec = {\"vendor_id\": \"144d\"}\n"
      "[pci]\npassthrough_whitelist = {\"address\": \"0000:02:00.0\", \"managed\": false}\n");
  const auto lookup = device_policy_lookup(settings);
  EXPECT_TRUE(lookup(0x144d, 1, {0, 1, 0, 0})->managed);
  EXPECT_FALSE(lookup(0x144d, 1, {0, 2, 0, 0})->managed);
  const Whitelist listed = passthrough_whitelist(settings);
  EXPECT_TRUE(listed(0x10de, 1, {0, 2, 0, 0}));
  EXPECT_FALSE(listed(0x10de, 1, {0, 1, 0, 0}));
}

// Nova's name of the node is the hypervisor's: with most, the full one of this host.
TEST(ModuleOptions, TheNodeIsCalledAsTheHostOrInFullUnlessTheOperatorSaysOtherwise) {
  using ::testing::ElementsAre;
  MachineFacts machine;
  machine.fqdn = "node-1.example.org";
  EXPECT_THAT(host_names(settings_of(""), machine).nodes,
              ElementsAre("node-1", "node-1.example.org"));
  EXPECT_THAT(host_names(settings_of("[reclaim]\nprovider_name = hv.example\n"), machine).nodes,
              ElementsAre("hv.example"));
  EXPECT_THAT(host_names(settings_of(""), {}).nodes, ElementsAre("node-1"));
  EXPECT_EQ(host_names(settings_of("[reclaim]\nprovider_name = hv.example\n"), machine).host,
            "node-1");
}

// Else the pauses of a fleet's hosts would be the same.
TEST(ModuleOptions, EachSessionKnowsItsHost) {
  const std::string login =
      "auth_type = password\nauth_url = http://k\nusername = u\npassword = p\n"
      "user_domain_name = Default\nproject_name = s\nproject_domain_name = Default\n";
  const Settings settings =
      settings_of("[placement]\n" + login + "[cyborg]\nenabled = true\n" + login);
  EXPECT_EQ(placement_options(settings, {})->host, "node-1");
  EXPECT_EQ(cyborg_options(settings)->session.host, "node-1");
}

TEST(ModuleOptions, ManageProvidersReachesTheConductor) {
  EXPECT_TRUE(conductor_options(settings_of("[nvme]\nmanage_providers = true\n"), {}, "1")
                  .manage_providers);
  EXPECT_FALSE(conductor_options(settings_of(""), {}, "1").manage_providers);
  EXPECT_TRUE(
      conductor_options(settings_of("[cyborg]\nlisten_rpc = true\n"), {}, "1").hears_cleanups);
  EXPECT_FALSE(conductor_options(settings_of(""), {}, "1").hears_cleanups);
}

TEST(ModuleOptions, TheHostsLimitsReachNvme) {
  const nvme::Options options =
      settings_of("[nvme]\nzero_rate_max = 3G\nverify_samples = 100\nmax_parallel = 3\n").nvme;
  EXPECT_EQ(options.zero_bytes_per_s_max, 3ULL << 30U);
  EXPECT_EQ(options.samples_max, 100U);
  EXPECT_EQ(options.threads_max, 3U);
  EXPECT_EQ(settings_of("").nvme.zero_bytes_per_s_max, 0U);
  EXPECT_EQ(settings_of("[nvme]\ncleanup_timeout = 70\n").nvme.foreign_sanitize_timeout_ms, 70'000);
}

TEST(ModuleOptions, TheOperatorsOrderReachesTheConductor) {
  const auto settings =
      settings_of("[nvme]\nclean_step_priority_override = nvme.check_health:75\n");
  EXPECT_EQ(conductor_options(settings, MachineFacts{}, "1").step_priorities,
            (StepPriorities{{"nvme.check_health", 75}}));
}

}  // namespace
}  // namespace reclaim::config
