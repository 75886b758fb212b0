// reclaim doctor: whether the nodes that [redis] url names answer, who has the slots, and who would
// take over. Whether each master persists is told with the line of Redis.
#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor_checks.h"
#include "cli/session.h"
#include "state/redis/slot_search.h"

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "redis cluster";
constexpr const char* kSeeTool = "see `redis-cli --cluster check HOST:PORT`";

Result<SlotMap> ask(Session& session, const RedisAddress& node) {
  Result<SlotMap> map = Error{Errc::unavailable, "no answer"};
  const RedisGreeting question{slots_question(), [&](const RedisReply& answer) -> Status {
                                 map = slot_map_from(answer, node);
                                 return map ? Status(Ok{}) : Status(map.error());
                               }};
  const Status asked = ask_redis(session, node_options(session.settings().redis, node), question);
  if (asked) return map;
  return Error{asked.error().code, asked.error().what + cluster_remedy(asked.error().what)};
}

std::string replicas_text(const std::vector<SlotMaster>& masters) {
  const auto [least, most] = std::minmax_element(
      masters.begin(), masters.end(),
      [](const SlotMaster& a, const SlotMaster& b) { return a.replicas < b.replicas; });
  if (least->replicas == most->replicas)
    return fmt::format("replicas of each: {}", least->replicas);
  return fmt::format("replicas of each: {} to {}", least->replicas, most->replicas);
}

}  // namespace

void judge_cluster(const std::vector<Result<SlotMap>>& told, Chart& chart) {
  std::vector<SlotMap> maps;
  std::vector<std::string> failed;
  for (const auto& one : told) {
    if (!one) {
      failed.push_back(one.error().what);
    } else if (one->masters().empty()) {
      failed.push_back(no_cluster().what);
    } else {
      maps.push_back(*one);
    }
  }
  if (maps.empty()) return;  // told by check_redis()
  const std::vector<SlotMaster>& masters = maps.front().masters();
  if (const std::size_t uncovered = maps.front().uncovered(); uncovered > 0) {
    return chart.error(kCheck,
                       fmt::format("{}; {} of {} slots have none",
                                   counted(masters.size(), "master"), uncovered, kSlotCount),
                       "`redis-cli --cluster fix HOST:PORT`");
  }
  if (std::adjacent_find(maps.begin(), maps.end(), std::not_equal_to<>()) != maps.end()) {
    return chart.warning(
        kCheck, "its nodes do not agree who has which slot and replica",
        fmt::format("wait for a failover or a resharding to end; else {}", kSeeTool));
  }
  const std::string found =
      fmt::format("{} all {} slots; {}", counted(masters.size(), "master has", "masters have"),
                  kSlotCount, replicas_text(masters));
  if (!failed.empty()) {
    return chart.warning(kCheck,
                         fmt::format("{}; of [redis] url, {} of {} do not answer: {}", found,
                                     failed.size(), told.size(), fmt::join(failed, "; ")),
                         "start them, or correct [redis] url");
  }
  std::vector<std::string> alone;
  for (const SlotMaster& master : masters) {
    if (master.replicas == 0) alone.push_back(describe(master.address));
  }
  if (!alone.empty()) {
    return chart.warning(
        kCheck, fmt::format("{}; nobody takes over from {}", found, fmt::join(alone, ", ")),
        "`redis-cli --cluster add-node NEW HOST:PORT --cluster-slave`");
  }
  chart.ok(kCheck, found);
}

void check_cluster(Session& session, Chart& chart) {
  std::vector<Result<SlotMap>> told;
  for (const RedisAddress& node : session.settings().redis.cluster) {
    told.push_back(ask(session, node));
  }
  judge_cluster(told, chart);
}

}  // namespace reclaim::cli
