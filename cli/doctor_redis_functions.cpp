// reclaim doctor: whether our Lua is called as functions of Redis.
#include <fmt/core.h>

#include "cli/doctor_checks.h"
#include "state/redis/library.h"
#include "version.h"

namespace reclaim::cli {

void check_redis_functions(RedisLua lua, Chart& chart) {
  constexpr const char* kCheck = "redis functions";
  if (lua == RedisLua::functions) {
    return chart.ok(kCheck, fmt::format("those of Reclaim {} are loaded (library {})", kVersion,
                                        RedisLibrary::ours().name()));
  }
  const auto [what, remedy] = no_functions(lua);
  if (lua == RedisLua::missing) return chart.error(kCheck, std::string(what), std::string(remedy));
  chart.warning(kCheck, std::string(what), std::string(remedy));
}

}  // namespace reclaim::cli
