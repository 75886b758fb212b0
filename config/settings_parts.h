// The larger groups of the settings, each read by a function of its own. Inner to config/.
#pragma once

#include <fmt/core.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/declare.h"
#include "config/oslo/reader.h"
#include "config/settings.h"

namespace reclaim::config {

// The reader of all groups, and the lists to which each group appends what is wrong.
struct Reading {
  const Reader& read;
  std::vector<Problem>& problems;
  std::vector<Problem>& warnings;
  Purpose purpose;
  std::set<std::string_view>& filled;  // the groups whose members were filled, as declared

  // Warns, with the place and the text that Reader::complain() would give.
  void warn(std::string_view group, std::string_view name, std::string_view text) const {
    warnings.push_back({read.where(group, name), fmt::format("[{}] {}{}", group, name, text)});
  }
};

// The name behind the colon of [step:NAME] and [policy:NAME]: one word of lower-case letters,
// digits and '_'.
inline constexpr std::size_t kSectionNameBytesMax = 64;
[[nodiscard]] bool is_section_name(std::string_view text);

// Fills the members that the options of `declared` name with the values of `group`, which is the
// same but for a login.
void fill_group(const Reading& reading, std::string_view declared, std::string_view group,
                const Target& target);
inline void fill_group(const Reading& reading, std::string_view group, Settings& settings) {
  fill_group(reading, group, group, Target{settings});
}

// [oslo_messaging_rabbit], where the query of transport_url was already taken into account.
void read_rabbit(const Reading& reading, Settings& settings);
void read_nvme(const Reading& reading, Settings& settings);
// Reads [nvme] firmware_images; inner to read_nvme().
void read_firmware_images(const Reading& reading, Settings& settings);
// The [policy:NAME] sections. After read_nvme(): tags of its entries choose them.
void read_policies(const Reading& reading, Settings& settings);
// Checks that the steps of the policies are there. After read_steps().
void check_policy_steps(const Reading& reading, const Settings& settings);
// Returns the entries with every step that a policy may give their devices: a trait may choose any
// policy for any device.
[[nodiscard]] std::vector<DeviceSpec> with_policy_steps(const Settings& settings,
                                                        std::vector<DeviceSpec> specs);
// [clean] and the [step:NAME] sections. After read_nvme() and read_policies(): steps are for its
// devices.
void read_steps(const Reading& reading, Settings& settings);
// [placement], [cyborg] and [keystone_authtoken], and the logins that they name.
void read_placement(const Reading& reading, Settings& settings);
void read_cyborg(const Reading& reading, Settings& settings);
// Runs after read_nvme() and read_api(), which it must not contradict.
void read_agent_door(const Reading& reading, Settings& settings);
// Runs after read_api(): only with an API there are tokens to validate, for which a login is
// needed.
void read_tokens(const Reading& reading, Settings& settings);
void read_passthrough_whitelist(const Reading& reading, Settings& settings);
void read_api(const Reading& reading, Settings& settings);

// Complains where one of two files is named without the other.
void check_pair(const Reading& reading, std::string_view group, std::string_view certificate,
                const std::string& certificate_file, std::string_view key,
                const std::string& key_file);

// A group with a session: its own options, then the login that it has, or that its auth_section
// names. The result of read_auth() is the group of that login. Empty: there is none, which is a
// problem of `serve` where it is needed for something ("to speak with Placement").
void read_session(const Reading& reading, std::string_view group, const Target& target);
[[nodiscard]] std::string read_auth(const Reading& reading, std::string_view group,
                                    std::string_view needed_for, const Target& target);

}  // namespace reclaim::config
