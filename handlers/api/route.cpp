#include "handlers/api/route.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/url.h"

namespace reclaim::api {
namespace {

// `in_query`: a plus sign is a blank there.
Result<std::string> percent_decode(std::string_view text, bool in_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && in_query) c = ' ';
    if (c == '%') {
      const auto byte = url::escaped(text.substr(i));
      if (!byte) {
        return Error{Errc::invalid, fmt::format("'{}': a '%' must be followed by two hex digits",
                                                printable_excerpt(text))};
      }
      c = *byte;
      i += 2;
    }
    if (is_control(c)) {
      return Error{Errc::invalid,
                   fmt::format("'{}' holds a control character", printable_excerpt(text))};
    }
    out += c;
  }
  return out;
}

Result<Parameters> parse_query(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view pair = take_until(query, '&');
    if (pair.empty()) continue;
    if (parameters.size() == kParametersMax) {
      return Error{Errc::limit, fmt::format("more than {} query parameters", kParametersMax)};
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), true);
    if (!name) return name.error();
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!value) return value.error();
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

Result<std::vector<std::string>> parse_path(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = percent_decode(path.substr(0, end), false);
    if (!segment) return segment.error();
    segments.push_back(*std::move(segment));
    path.remove_prefix(end);
  }
  return segments;
}

struct OrderPath {
  std::string_view name;
  Resource resource;
};
constexpr OrderPath kOrderPaths[] = {
    {"clean", Resource::clean},     {"unhold", Resource::unhold}, {"disown", Resource::disown},
    {"abort", Resource::abort},     {"enrol", Resource::enrol},   {"enable", Resource::enable},
    {"disable", Resource::disable}, {"retire", Resource::retire},
};

Resource find_order(std::string_view name) {
  for (const OrderPath& path : kOrderPaths) {
    if (path.name == name) return path.resource;
  }
  return Resource::nothing;
}

// `rest`: the segments behind the mount point.
Resource find_resource(const std::vector<std::string>& rest) {
  if (rest.empty()) return Resource::root;
  if (rest.size() == 1 && rest[0] == "healthz") return Resource::healthz;
  if (rest.size() == 1 && rest[0] == "readyz") return Resource::readyz;
  if (rest.size() == 1 && rest[0] == "metrics") return Resource::metrics;
  if (rest[0] != "v2") return Resource::nothing;
  if (rest.size() == 1) return Resource::version;
  if (rest[1] == "devices") {
    if (rest.size() == 2) return Resource::devices;
    if (rest.size() == 3) return Resource::device;
    if (rest.size() == 4 && rest[3] == "cleaning") return Resource::cleaning;
    if (rest.size() == 4) return find_order(rest[3]);
    if (rest.size() == 5 && rest[3] == "cleaning" && rest[4] == "steps") return Resource::steps;
  }
  if (rest[1] == "accelerator_requests") {
    if (rest.size() == 2) return Resource::arqs;
    if (rest.size() == 3) return Resource::arq;
  }
  if (rest[1] == "certificates") {
    if (rest.size() == 2) return Resource::certificates;
    if (rest.size() == 3) return Resource::certificate;
  }
  return Resource::nothing;
}

}  // namespace

Result<Route> parse_route(std::string_view text) {
  const std::size_t mark = std::min(text.find('?'), text.size());
  const std::string_view path = text.substr(0, mark);
  if (path.substr(0, 1) != "/") {
    return Error{Errc::invalid, fmt::format("'{}' is not a path: it must begin with a slash",
                                            printable_excerpt(path))};
  }
  auto segments = parse_path(path);
  if (!segments) return segments.error();
  auto parameters = parse_query(text.substr(std::min(mark + 1, text.size())));
  if (!parameters) return parameters.error();

  Route route;
  route.parameters = *std::move(parameters);
  if (!segments->empty() && segments->front() == "accelerator") {
    route.mount = "/accelerator";
    segments->erase(segments->begin());
  }
  route.resource = find_resource(*segments);
  if (route.resource != Resource::nothing && segments->size() > 2) route.id = (*segments)[2];
  return route;
}

std::string_view order_name(Resource resource) {
  for (const OrderPath& path : kOrderPaths) {
    if (path.resource == resource) return path.name;
  }
  return {};
}

std::string_view method_of(Resource resource) {
  return orders_something(resource) ? "POST" : "GET";
}

std::string_view allowed_methods(Resource resource) {
  return orders_something(resource) ? "POST" : "GET, HEAD";
}

}  // namespace reclaim::api
