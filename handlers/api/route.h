// Takes a request line apart: its path, and which of the API's resources that is. Pure; thread:
// any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/base/result.h"

namespace reclaim::api {

inline constexpr std::size_t kParametersMax = 32;

using Parameters = std::vector<std::pair<std::string, std::string>>;

enum class Resource {
  root,     // /
  version,  // /v2
  healthz,  // /healthz
  readyz,   // /readyz
  metrics,  // /metrics
  devices,  // /v2/devices
  device,   // /v2/devices/ID
  clean,    // /v2/devices/ID/clean, and so on: orders.h
  unhold,
  disown,
  retire,
  abort,
  enrol,
  enable,
  disable,
  cleaning,      // /v2/devices/ID/cleaning
  steps,         // /v2/devices/ID/cleaning/steps
  arqs,          // /v2/accelerator_requests
  arq,           // /v2/accelerator_requests/ID
  certificates,  // /v2/certificates
  certificate,   // /v2/certificates/ID
  nothing,
};

struct Route {
  Resource resource = Resource::nothing;
  std::string id;     // decoded
  std::string mount;  // "/accelerator" if the path began with it, as behind Cyborg's usual proxy
  Parameters parameters;  // decoded, in their order
};

// A request line's target: a path, percent-encoded, with or without a slash at its end, and
// perhaps a query. The error is a 400's text: bad encoding, too many parameters.
[[nodiscard]] Result<Route> parse_route(std::string_view text);

// An order for the worker of a device, by POST; everything else is read. The order's name is the
// last part of its path; empty: it is none.
[[nodiscard]] std::string_view order_name(Resource resource);
[[nodiscard]] inline bool orders_something(Resource resource) {
  return !order_name(resource).empty();
}
// "GET" or "POST"; the HTTP server turns a HEAD into a GET and keeps the body to itself.
[[nodiscard]] std::string_view method_of(Resource resource);
// The methods that a 405's Allow names.
[[nodiscard]] std::string_view allowed_methods(Resource resource);

}  // namespace reclaim::api
