// Nova 2026.2's traffic as it stood on RabbitMQ: every kick by event type and host, none missed,
// none invented. What is expected is found twice: counted by hand below, and derived from a slow
// reading of each message with RapidJSON and a plain list of names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "handlers/bus/kick.h"
#include "state/base/json.h"
#include "tests/source_path.h"

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::string> recorded_bodies() {
  std::vector<std::string> bodies;
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const auto document = json::parse(line, 1U << 20U);
    bodies.push_back(*json::get_string(*document, "body"));
  }
  return bodies;
}

// "event_type host,host" or nothing for a message that is not a kick.
std::string slow_reading(const std::string& body) {
  static const std::set<std::string> kNames{
      "instance.delete.end", "instance.shelve_offload.end", "instance.resize_confirm.end",
      "instance.create.end", "instance.delete.start", "compute.instance.delete.end",
      "compute.instance.shelve_offload.end", "compute.instance.resize.confirm.end",
      "compute.instance.create.end", "compute.instance.delete.start",
      // in the table, and not in this traffic
      "instance.resize_revert.end", "instance.evacuate", "instance.create.error",
      "instance.live_migration_post.end", "instance.live_migration_rollback.end",
      "instance.live_migration_rollback_dest.end", "compute.instance.resize.revert.end",
      "compute.instance.evacuate", "compute.instance.create.error",
      "compute.instance.live_migration._post.end", "compute.instance.live_migration._rollback.end",
      "compute.instance.live_migration.rollback.dest.end",
      // a tenancy begins
      "instance.resize_prep.start", "instance.resize_prep.end", "instance.resize_finish.end",
      "instance.rebuild.end", "compute.instance.resize.prep.start",
      "compute.instance.resize.prep.end", "compute.instance.finish_resize.end",
      "compute.instance.rebuild.end"};
  const auto outer = json::parse(body, 1U << 20U);
  const auto inner = json::parse(*json::get_string(*outer, "oslo.message"), 1U << 20U);
  const std::string event_type = *json::get_string(*inner, "event_type");
  if (kNames.count(event_type) == 0) return {};
  const rapidjson::Value* payload = json::find(*inner, "payload");
  if (const auto* data = json::find(*payload, "nova_object.data")) payload = data;
  std::set<std::string> hosts;
  if (const auto host = json::maybe_string(*payload, "host")) hosts.insert(*host);
  const std::string publisher = *json::get_string(*inner, "publisher_id");
  if (publisher.rfind("nova-compute:", 0) == 0) hosts.insert(publisher.substr(13));
  if (publisher.rfind("compute.", 0) == 0) hosts.insert(publisher.substr(8));
  std::string out = event_type + " ";
  for (const std::string& host : hosts) out += (out.back() == ' ' ? "" : ",") + host;
  return hosts.empty() ? out + "any" : out;
}

std::string reading(const Decision& decision) {
  if (decision.verdict == Verdict::ignore) return {};
  if (decision.verdict == Verdict::reject) return "reject: " + decision.why;
  std::string out = decision.event_type + " ";
  for (const std::string& host : decision.hosts) out += (out.back() == ' ' ? "" : ",") + host;
  return decision.any_host ? out + "any" : out;
}

TEST(Recorded, EveryMessageIsReadAsTheSlowReadingHasIt) {
  const auto bodies = recorded_bodies();
  ASSERT_EQ(bodies.size(), 384U);
  KickDecider decider;
  for (const std::string& body : bodies) {
    const std::string expected = slow_reading(body);
    EXPECT_EQ(reading(decider.decide_fast(body)), expected);
    EXPECT_EQ(reading(decider.decide_exact(body)), expected);
  }
}

TEST(Recorded, TheCountsAreExact) {
  const std::map<std::string, int> expected{
      {"compute.instance.create.end compute-1", 1},
      {"compute.instance.create.end compute-2", 6},
      {"compute.instance.delete.end compute-1", 1},
      {"compute.instance.delete.end compute-2", 4},
      {"compute.instance.delete.start compute-1", 2},
      {"compute.instance.delete.start compute-1,compute-2", 1},
      {"compute.instance.delete.start compute-2", 4},
      {"compute.instance.finish_resize.end compute-1", 1},
      {"compute.instance.finish_resize.end compute-2", 1},
      {"compute.instance.rebuild.end compute-2", 1},
      {"compute.instance.resize.confirm.end compute-2", 1},
      {"compute.instance.resize.prep.end compute-1,compute-2", 2},
      {"compute.instance.resize.prep.end compute-2", 1},
      {"compute.instance.resize.prep.start compute-1,compute-2", 2},
      {"compute.instance.resize.prep.start compute-2", 1},
      {"compute.instance.shelve_offload.end compute-2", 1},
      {"instance.create.end compute-1", 1},
      {"instance.create.end compute-2", 6},
      {"instance.delete.end compute-1", 1},
      {"instance.delete.end compute-2", 4},
      {"instance.delete.start any", 1},
      {"instance.delete.start compute-1", 1},
      {"instance.delete.start compute-2", 5},
      {"instance.rebuild.end compute-2", 1},
      {"instance.resize_confirm.end compute-2", 1},
      {"instance.resize_finish.end compute-1", 1},
      {"instance.resize_finish.end compute-2", 1},
      {"instance.resize_prep.end compute-1,compute-2", 2},
      {"instance.resize_prep.end compute-2", 1},
      {"instance.resize_prep.start compute-1,compute-2", 2},
      {"instance.resize_prep.start compute-2", 1},
      {"instance.shelve_offload.end compute-2", 1},
  };
  std::map<std::string, int> counts;
  std::map<std::string, int> kicks_by_host;
  std::map<std::string, int> marks_by_host;
  int ignored = 0;
  KickDecider decider;
  for (const std::string& body : recorded_bodies()) {
    const Decision decision = decider.decide_fast(body);
    if (decision.verdict == Verdict::ignore) {
      ++ignored;
      continue;
    }
    ++counts[reading(decision)];
    auto& by_host = decision.mark_allocated ? marks_by_host : kicks_by_host;
    for (const std::string& host : decision.hosts) ++by_host[host];
    if (decision.any_host) ++by_host["any"];
    EXPECT_FALSE(decision.instance_uuid.empty());
    EXPECT_EQ(decision.request_id.rfind("req-", 0), 0U);
  }
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(ignored, 324);
  EXPECT_THAT(kicks_by_host, ElementsAre(Pair("compute-1", 2), Pair("compute-2", 12)));
  EXPECT_THAT(marks_by_host,
              ElementsAre(Pair("any", 1), Pair("compute-1", 16), Pair("compute-2", 38)));
}

TEST(Recorded, MostAreDoneWithAtTheirEventType) {
  int peeked = 0;
  for (const std::string& body : recorded_bodies()) {
    peeked += NotificationDecoder::peek_event_type(body).has_value() ? 1 : 0;
  }
  EXPECT_EQ(peeked, 384);
}

}  // namespace
}  // namespace reclaim
