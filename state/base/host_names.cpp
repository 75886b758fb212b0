#include "state/base/host_names.h"

namespace reclaim {
namespace {

void add_once(std::string name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

}  // namespace

std::vector<std::string> hosts_by_name(std::string_view name) {
  std::vector<std::string> hosts{std::string(name)};
  const std::string small = lower(name);
  add_once(small, hosts);
  if (const std::size_t dot = small.find('.'); dot != std::string::npos && dot > 0) {
    add_once(small.substr(0, dot), hosts);
  }
  return hosts;
}

std::vector<std::string> HostNames::aliases() const {
  std::vector<std::string> out;
  const auto consider = [&](const std::string& name) {
    const std::vector<std::string> found = hosts_by_name(lower(name));
    if (std::find(found.begin(), found.end(), host) == found.end()) add_once(lower(name), out);
  };
  consider(host);
  for (const std::string& node : nodes) consider(node);
  return out;
}

}  // namespace reclaim
