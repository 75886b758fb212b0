// The options by which Cyborg's REST API is asked, as a plain struct; config/ fills it in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "placement/options.h"

namespace reclaim::placement {

struct CyborgOptions {
  // Our login, the endpoint of the catalog, TLS, limits of a request. The lists are of the whole
  // cloud, so the body may be larger than Placement's.
  Options session = [] {
    Options options;
    options.service_type = "accelerator";
    options.body_bytes_max = std::int64_t{32} * 1'024 * 1'024;
    return options;
  }();
  std::size_t arqs_max = 20'000;         // of the whole cloud
  std::size_t devices_max = 1'024;       // of the host
  std::size_t deployables_max = 20'000;  // of the whole cloud
  std::int64_t deployables_fresh_ms = 900'000;
};

}  // namespace reclaim::placement
