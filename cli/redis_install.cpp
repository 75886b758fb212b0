// reclaim redis install: loads our functions, and writes reclaim:schema, with an operator's login.
#include <fmt/core.h>

#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "state/redis/library.h"
#include "version.h"

namespace reclaim::cli {

int run_redis_install(Session& session, const RedisInstallOptions&, std::ostream& out,
                      std::ostream& err) {
  const auto store = session.store();  // to connect is to load them
  if (!store) return complain(err, store.error());
  const RedisLua lua = (*store)->state().lua;
  if (lua != RedisLua::functions) {
    return complain(err, Error{Errc::refused, why_no_functions(lua)});
  }
  const auto servers =
      session.wait<std::size_t>([&](auto done) { (*store)->install(std::move(done)); });
  if (!servers) return complain(err, with_login_remedy(servers.error()));
  out << fmt::format("the functions of Reclaim {} are loaded on {} (library {})\n", kVersion,
                     counted(*servers, "server"), RedisLibrary::ours().name());
  return 0;
}

}  // namespace reclaim::cli
