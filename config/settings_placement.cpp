// [placement]: the endpoint, and the login at Keystone from wherever auth_section has it.
#include "config/settings_parts.h"

namespace reclaim::config {

void read_placement(const Reading& reading, PlacementSettings& placement) {
  read_endpoint(reading, "placement", placement);
  const bool asked = reading.purpose != Purpose::api;
  placement.auth = read_auth(reading, "placement", asked ? "to speak with Placement" : "");
}

}  // namespace reclaim::config
