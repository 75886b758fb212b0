// Reads the roles of a token's object, as Keystone writes it. Pure; thread: any.
#pragma once

#include <string>
#include <vector>

#include "state/base/rapidjson.h"

namespace reclaim::placement {

// The names under `roles`, where it has them.
[[nodiscard]] std::vector<std::string> role_names(const rapidjson::Value& token);

}  // namespace reclaim::placement
