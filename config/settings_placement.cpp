// [placement]: the endpoint, and the login at Keystone from wherever auth_section has it.
#include "config/settings_parts.h"

namespace reclaim::config {

void read_placement(const Reading& reading, Settings& settings) {
  const Target target{settings, &settings.placement};
  read_session(reading, "placement", target);
  const bool asked = reading.purpose != Purpose::api;
  settings.logins.placement =
      read_auth(reading, "placement", asked ? "to speak with Placement" : "", target);
}

}  // namespace reclaim::config
