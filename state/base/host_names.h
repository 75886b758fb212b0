// The names that one host goes by: [DEFAULT] host of its services, and what Nova calls its node,
// which is its root provider's name in Placement and often the full one. Cyborg's agent says the
// former; Nova binds an ARQ by the latter (nova/conductor/manager.py). Pure; thread: any.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/text.h"

namespace reclaim {

// DNS spells one host as it likes, and so does MySQL, which compares Cyborg's.
[[nodiscard]] inline bool same_host(std::string_view a, std::string_view b) {
  return same_ignoring_case(a, b);
}

// True if `name` is the fully qualified one of `host`. The name that DNS gives to a host may be
// another's: that of the machine which an alias means, or "localhost.localdomain".
[[nodiscard]] inline bool is_full_name_of(std::string_view name, std::string_view host) {
  return name.size() > host.size() + 1 && name[host.size()] == '.' &&
         same_host(name.substr(0, host.size()), host);
}

// The hosts that a name can be of, by itself: as it is, in small letters, without its domain.
[[nodiscard]] std::vector<std::string> hosts_by_name(std::string_view name);

struct HostNames {
  std::string host;
  std::vector<std::string> nodes;

  // The names, in small letters, that hosts_by_name() does not lead from to the host.
  [[nodiscard]] std::vector<std::string> aliases() const;

  [[nodiscard]] bool has(std::string_view name) const {
    return same_host(host, name) ||
           std::any_of(nodes.begin(), nodes.end(),
                       [&](const std::string& node) { return same_host(node, name); });
  }
};

}  // namespace reclaim
