// The table of options itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::UnorderedElementsAre;

TEST(Schema, IsSound) {
  std::vector<std::string> names;
  for (const Option& option : schema()) {
    names.push_back(std::string(option.group) + "." + std::string(option.name));
    EXPECT_FALSE(option.help.empty()) << names.back();
    // A value that may be refused is quoted, so a secret must be one that is taken as it is.
    if (option.secret) {
      EXPECT_EQ(option.type, OptionType::string) << names.back();
      EXPECT_TRUE(option.choices.empty()) << names.back();
    }
    EXPECT_EQ(option.help.ends_with('.'), option.name != "device_spec") << names.back();
    const bool group = option.group == kAuthGroup ||
                       std::any_of(schema_groups().begin(), schema_groups().end(),
                                   [&](const OptionGroup& g) { return g.name == option.group; });
    EXPECT_TRUE(group) << names.back();
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Schema, TheseOptionsAreReadByCodeOfTheirOwn) {
  std::vector<std::string> names;
  for (const Option& option : schema()) {
    if (option.fill != nullptr || option.group == "policy:") continue;
    names.push_back(std::string(option.group) + "." + std::string(option.name));
  }
  EXPECT_THAT(
      names,
      UnorderedElementsAre(
          "@auth.auth_section", "DEFAULT.service_config", "DEFAULT.transport_url",
          "api.unix_socket_mode", "cyborg.enabled", "devices.clean_step_priority_override",
          "devices.device_spec", "keystone_authtoken.interface",
          "nvme.clean_step_priority_override", "nvme.device_spec", "nvme.firmware_images",
          "nvme.zero_rate_max", "notifications.transport_url",
          "notifications.versioned_notifications_topics", "oslo_messaging_notifications.driver",
          "oslo_messaging_notifications.topics", "oslo_messaging_notifications.transport_url",
          "oslo_messaging_rabbit.rabbit_login_method", "oslo_messaging_rabbit.ssl_version",
          "pci.passthrough_whitelist", "reclaim.survey_delays_s", "redis.url", "step:.devices"));
}

}  // namespace
}  // namespace reclaim::config
