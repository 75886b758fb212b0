// reclaim doctor: whether every sentinel of [redis] url answers, and all name the same master.
#include <fmt/format.h>

#include <set>

#include "cli/doctor_checks.h"
#include "cli/session.h"
#include "state/redis/sentinel.h"

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "redis sentinels";

Result<RedisAddress> ask(Session& session, const RedisAddress& sentinel) {
  const RedisOptions& redis = session.settings().redis;
  Result<RedisAddress> master = Error{Errc::unavailable, "no answer"};
  const RedisGreeting question{sentinel_question(redis), [&](const RedisReply& answer) -> Status {
                                 master = master_in(answer, redis);
                                 return master ? Status(Ok{}) : Status(master.error());
                               }};
  const Status asked = ask_redis(session, sentinel_options(redis, sentinel), question);
  return asked ? master : Result<RedisAddress>(asked.error());
}

}  // namespace

void check_sentinels(Session& session, Chart& chart) {
  const RedisOptions& redis = session.settings().redis;
  if (redis.sentinels.empty()) return;
  std::set<std::string> masters;
  std::vector<std::string> failed;
  for (const RedisAddress& sentinel : redis.sentinels) {
    const auto master = ask(session, sentinel);
    if (master) masters.insert(describe(*master));
    if (!master) failed.push_back(master.error().what);
  }
  if (masters.size() > 1) {
    return chart.error(kCheck,
                       fmt::format("they disagree who is the master of '{}': {}",
                                   redis.sentinel_service, fmt::join(masters, ", ")),
                       "wait for a failover to end; else see `SENTINEL CKQUORUM` on each");
  }
  if (!failed.empty()) {
    return chart.warning(
        kCheck,
        fmt::format("{} of {} do not answer: {}", failed.size(), redis.sentinels.size(),
                    fmt::join(failed, "; ")),
        "start them, or correct [redis] url; without a majority of them nobody replaces a master");
  }
  chart.ok(kCheck, fmt::format("{} that {} is the master of '{}'",
                               counted(redis.sentinels.size(), "sentinel says", "sentinels say"),
                               *masters.begin(), redis.sentinel_service));
}

}  // namespace reclaim::cli
