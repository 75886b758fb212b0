// reclaim doctor: whether our Lua is called as functions of Redis.
#include <fmt/core.h>

#include "cli/doctor_checks.h"
#include "state/redis/library.h"
#include "version.h"

namespace reclaim::cli {

void check_redis_functions(RedisLua lua, Chart& chart) {
  constexpr const char* kCheck = "redis functions";
  switch (lua) {
    case RedisLua::functions:
      return chart.ok(kCheck, fmt::format("those of Reclaim {} are loaded (library {})", kVersion,
                                          RedisLibrary::ours().name()));
    case RedisLua::missing:
      return chart.error(kCheck, "those of this version are not loaded, and this login may not",
                         "reclaim redis install, with an operator's user (docs/redis.md)");
    case RedisLua::server_has_none:
      return chart.warning(
          kCheck, "Redis is older than 7.0: a script of anyone with a host's login can stop it",
          "install Redis 7.0 or later");
    case RedisLua::login_calls_none:
      return chart.warning(
          kCheck,
          "the user of [redis] url sends scripts: with its login, one that never ends stops Redis",
          "make the user anew, as docs/redis.md says (Access rights)");
  }
}

}  // namespace reclaim::cli
