// The larger groups of the settings, each read by a function of its own. Inner to config/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/oslo/reader.h"
#include "config/settings.h"

namespace reclaim::config {

// What they are read with; what is wrong is appended.
struct Reading {
  const Reader& read;
  std::vector<Problem>& problems;
  std::vector<Problem>& warnings;
  Purpose purpose;
};

// All of [oslo_messaging_rabbit]; `rabbit.url` stays as it is.
void read_rabbit(const Reading& reading, RabbitSettings& rabbit);
// [placement] and the login that it names.
void read_placement(const Reading& reading, PlacementSettings& placement);
void read_nvme(const Reading& reading, NvmeSettings& nvme);

void read_cyborg(const Reading& reading, CyborgSettings& cyborg);
void read_passthrough_whitelist(const Reading& reading, Settings& settings);
void read_api(const Reading& reading, ApiSettings& api);
// `api` tells whether there are tokens to validate, for which a login is needed.
void read_tokens(const Reading& reading, const ApiSettings& api, TokenSettings& tokens);

// Our own files are stronger than a service's, and of entries the first that matches counts.
void own_entries_first(std::vector<DeviceSpec>& specs);

// The login that `group` has, or that its auth_section names; nothing: there is none, which is a
// problem of `serve` where it is needed for something ("to speak with Placement").
[[nodiscard]] std::optional<AuthSettings> read_auth(const Reading& reading, std::string_view group,
                                                    std::string_view needed_for);
// Complains of what is no http(s) URL, or holds a password.
void check_url(const Reading& reading, std::string_view group, std::string_view name);
[[nodiscard]] std::vector<std::string> read_interfaces(const Reading& reading,
                                                       std::string_view group);
// Complains of what is not an absolute path.
[[nodiscard]] std::string read_absolute_path(const Reading& reading, std::string_view group,
                                             std::string_view name);

// keystoneauth's session: how HTTPS is spoken, and the region.
template <typename T>
void read_session(const Reading& reading, std::string_view group, T& into) {
  const Reader& read = reading.read;
  into.region_name = read.string(group, "region_name");
  into.cafile = read.string(group, "cafile");
  into.certfile = read.string(group, "certfile");
  into.keyfile = read.string(group, "keyfile");
  into.insecure = read.boolean(group, "insecure");
  if (into.certfile.empty() && !into.keyfile.empty()) {
    read.complain(group, "keyfile", " needs certfile beside it");
  }
}

// And its adapter: which endpoint of the catalog.
template <typename T>
void read_endpoint(const Reading& reading, std::string_view group, T& into) {
  const Reader& read = reading.read;
  into.service_type = read.string(group, "service_type");
  into.endpoint_override = read.string(group, "endpoint_override");
  if (!into.endpoint_override.empty()) check_url(reading, group, "endpoint_override");
  read_session(reading, group, into);
  into.timeout_s = read.integer(group, "timeout");
  into.valid_interfaces = read_interfaces(reading, group);
}

inline constexpr std::size_t kSettingExcerptBytes = 255;  // of a value that an error quotes

}  // namespace reclaim::config
