// reclaim doctor: one question to one server.
#include "cli/doctor_checks.h"
#include "cli/session.h"
#include "state/redis/client.h"

namespace reclaim::cli {

Status ask_redis(Session& session, const RedisOptions& server, const RedisGreeting& question) {
  NullLogger silent;
  auto client = RedisClient::create(session.loop(), server, silent, question);
  if (!client) return std::move(client).error();
  (*client)->start();
  const RedisState& state = (*client)->state();
  session.run_until([&state] { return state.connected || !state.last_error.empty(); },
                    server.connect_timeout_ms);
  if (state.connected) return Ok{};
  return Error{Errc::unavailable, state.last_error.empty()
                                      ? "no answer of " + server.called + " at " + describe(server)
                                      : state.last_error};
}

}  // namespace reclaim::cli
