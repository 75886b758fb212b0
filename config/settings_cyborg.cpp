// [cyborg] and [agent_door]: what of Cyborg is asked, heard and answered.
#include <fmt/core.h>

#include <algorithm>

#include "config/settings_parts.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kNameBytesMax = 255;        // a short string of AMQP 0-9-1
constexpr std::size_t kSocketPathBytesMax = 107;  // of sun_path, less its end
constexpr std::string_view kDoor = "agent_door";

// A name that becomes an exchange's, or a part of a routing key.
void check_name(const Reader& read, std::string_view name, const std::string& value) {
  const bool good = !value.empty() && value.size() <= kNameBytesMax &&
                    std::all_of(value.begin(), value.end(), [](char c) {
                      return static_cast<unsigned char>(c) > ' ' && c != '\x7f';
                    });
  if (good) return;
  read.refuse(
      "cyborg", name, value,
      fmt::format("is not a usable name (1 to {} characters without white space)", kNameBytesMax));
}

// Nothing: Cyborg's API is not asked. A login of our own files that nobody would use is a mistake,
// that of a nova.conf is Nova's.
std::string read_login(const Reading& reading, const Target& target) {
  const Reader& read = reading.read;
  if (read.boolean("cyborg", "enabled")) {
    return read_auth(reading, "cyborg",
                     reading.purpose != Purpose::api ? "to ask Cyborg's REST API" : "", target);
  }
  for (const std::string_view name : {"auth_type", "auth_section", "auth_url", "password"}) {
    if (!read.given_by_us("cyborg", name)) continue;
    read.complain("cyborg", name,
                  " is set but enabled is not, so that Cyborg's API would not be asked (enabled = "
                  "true, or take the login out)");
    break;
  }
  return {};
}

}  // namespace

void read_agent_door(const Reading& reading, Settings& settings) {
  AgentDoorSettings& door = settings.agent_door;
  fill_group(reading, kDoor, settings);
  const bool registers = settings.conductor.manage_providers;
  settings.conductor.agent_door = !door.socket.empty();
  if (door.socket.empty()) {
    if (registers && reading.purpose != Purpose::api) {
      reading.warn(
          "nvme", "manage_providers",
          ": Cyborg cannot bind the drives that Reclaim registers (404, for only what its "
          "agent reports is in its database); they are for what allocates in Placement and "
          "attaches drives by itself. For Cyborg set [agent_door] socket instead, and "
          "reclaim_nvme in cyborg.conf's enabled_drivers");
    }
    return;
  }
  if (registers) {
    reading.read.complain("nvme", "manage_providers",
                          " and [agent_door] socket are both set: drives are registered for "
                          "Cyborg's agent as it is, so set manage_providers = false");
  }
  if (door.socket.size() > kSocketPathBytesMax) {
    reading.read.complain(kDoor, "socket",
                          fmt::format(" is longer than {} bytes, which is all a socket's path may "
                                      "have",
                                      kSocketPathBytesMax));
  }
  if (door.socket == settings.api.http.unix_socket) {
    reading.read.complain(kDoor, "socket", " is that of [api] unix_socket: each needs its own");
  }
}

void read_cyborg(const Reading& reading, Settings& settings) {
  const Target target{settings, &settings.cyborg.session};
  read_session(reading, "cyborg", target);
  settings.logins.cyborg = read_login(reading, target);
  settings.listen_rpc = settings.listen_rpc || settings.rpc.serve;
  check_name(reading.read, "rpc_exchange", settings.rpc.exchange);
  check_name(reading.read, "rpc_topic", settings.rpc.topic);
}

}  // namespace reclaim::config
