// Tokens: the seam between the device API and Keystone: who is it that calls? One real
// implementation (placement/keystone/token_validator.h: cached, expiry honoured), fakes in tests.
//
// Thread: the loop's; each callback is called exactly once, later. A token is a secret: it is never
// logged, stored in clear, or part of an error.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "placement/providers.h"

namespace reclaim::placement {

struct Identity {
  std::string user_id, user_name, user_domain_id;
  std::string project_id, project_name, project_domain_id;  // empty: not scoped to a project
  std::string domain_id;                                    // of a domain's token
  std::string system_scope;                                 // "all", or empty
  std::vector<std::string> roles;                           // names, as Keystone has them
  bool delegated = false;  // somebody or something else may act by it in the user's name
  std::vector<std::string> service_roles;  // of a valid X-Service-Token; empty: none was given
  // Nobody acts in the user's name, and he is no service, whose login stands on each host. Beside a
  // service's token an expired one of anybody's is good. Without Keystone nobody has shown who he
  // is.
  [[nodiscard]] bool is_in_person() const {
    return !user_id.empty() && !delegated && service_roles.empty() &&
           std::find(roles.begin(), roles.end(), "service") == roles.end();
  }
};

class Tokens {
 public:
  virtual ~Tokens() = default;

  // Errc::refused: no such token, expired, or a service token without a service's role: 401.
  // unavailable or unknown: Keystone does not answer: 503. With a valid service token an expired
  // user token is good, as in keystonemiddleware. `service_token` may be empty.
  virtual void validate(const std::string& token, const std::string& service_token,
                        Callback<Identity> done) = 0;
};

}  // namespace reclaim::placement
