#include "placement/keystone/role_names.h"

#include <utility>

#include "state/base/json.h"

namespace reclaim::placement {

std::vector<std::string> role_names(const rapidjson::Value& token) {
  std::vector<std::string> names;
  const rapidjson::Value* roles = json::find(token, "roles");
  if (roles == nullptr || !roles->IsArray()) return names;
  for (const rapidjson::Value& role : roles->GetArray()) {
    if (auto name = json::maybe_string(role, "name")) names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace reclaim::placement
