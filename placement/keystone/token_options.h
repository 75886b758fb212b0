// The options by which callers' tokens are validated, as a plain struct; config/ fills it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/options.h"

namespace reclaim::placement {

struct TokenOptions {
  // Our login, TLS, limits of a request. Keystone's own endpoint is the catalog's of type identity,
  // by valid_interfaces and region_name; endpoint_override comes before.
  Options session = [] {
    Options options;
    options.service_type = "identity";
    options.timeout_ms = 10'000;
    options.connect_retries = 1;
    options.connect_retry_delay_ms = 200;
    options.status_code_retries = 1;
    options.status_code_retry_delay_ms = 200;
    options.body_bytes_max = std::int64_t{1} * 1'024 * 1'024;
    return options;
  }();
  // These three are options of keystonemiddleware's.
  std::int64_t cache_time_ms = 300'000;  // 0: every call asks Keystone
  std::vector<std::string> service_token_roles = {"service"};
  bool service_token_roles_required = true;

  std::int64_t refused_time_ms = 5'000;
  std::size_t good_max = 4'096;  // tokens remembered; the one not used for longest goes first
  std::size_t refused_max = 4'096;
  std::size_t in_flight_max = 8;  // tokens being asked about
  std::size_t waiting_max = 512;  // tokens that wait for that
  std::size_t callers_max = 4'096;
};

}  // namespace reclaim::placement
