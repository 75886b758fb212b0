// How fast recorded traffic is decoded and filtered, on one core. The mix is Nova 2026.2's as
// recorded; `exact` is the reading that kicks and odd messages get, over the whole mix.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>
#include <vector>

#include "handlers/bus/kick.h"
#include "state/base/json.h"
#include "tests/source_path.h"

namespace reclaim {
namespace {

std::vector<std::string> recorded_bodies() {
  std::vector<std::string> bodies;
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  for (std::string line; std::getline(in, line);) {
    bodies.push_back(*json::get_string(*json::parse(line, 1U << 20U), "body"));
  }
  CHECK(!bodies.empty());
  return bodies;
}

template <typename Decide>
void run(benchmark::State& state, Decide decide) {
  const auto bodies = recorded_bodies();
  KickDecider decider;
  std::size_t bytes = 0;
  for (const std::string& body : bodies) bytes += body.size();
  for (auto _ : state) {
    for (const std::string& body : bodies) benchmark::DoNotOptimize(decide(decider, body));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(bodies.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void fast(benchmark::State& state) {
  run(state,
      [](KickDecider& decider, const std::string& body) { return decider.decide_fast(body); });
}
BENCHMARK(fast);

void exact(benchmark::State& state) {
  run(state,
      [](KickDecider& decider, const std::string& body) { return decider.decide_exact(body); });
}
BENCHMARK(exact);

// A peer in the same run: both texts parsed into documents, as one would at first.
void rapidjson_dom(benchmark::State& state) {
  run(state, [](KickDecider&, const std::string& body) {
    const auto outer = json::parse(body, 1U << 20U);
    const auto inner = json::parse(*json::get_string(*outer, "oslo.message"), 1U << 20U);
    return is_kick_event(*json::get_string(*inner, "event_type"));
  });
}
BENCHMARK(rapidjson_dom);

// The longest time one body can hold the loop up: as big as is accepted, and of interest.
void biggest_body(benchmark::State& state) {
  std::string inner =
      R"({"event_type": "compute.instance.delete.end", "payload": {"host": "h", "m": [")";
  while (inner.size() < 12U << 20U) inner += R"(value", "another one", ")";
  inner += "\"]}}";
  std::string body = R"({"oslo.version": "2.0", "oslo.message": )";
  json::append_string(inner, body);
  body += '}';
  CHECK(body.size() < kBodyBytesMax);
  KickDecider decider;
  for (auto _ : state) {
    const Decision decision = decider.decide_fast(body);
    CHECK(decision.verdict == Verdict::kick);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(biggest_body)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reclaim

BENCHMARK_MAIN();
