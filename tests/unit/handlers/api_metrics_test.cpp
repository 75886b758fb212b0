// /metrics: what Prometheus reads of the fleet; docs/metrics.md against the table it is made from.
#include "handlers/api/metrics.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <random>

#include "handlers/metrics/worker_metrics.h"
#include "tests/source_path.h"
#include "tests/test_seed.h"
#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct ApiMetricsTest : ApiTest {
  ApiMetricsTest() {
    Options options;
    options.metrics = true;
    start({}, options);
  }
  Response scrape(const std::string& accept = "") {
    Request made = request("GET", "/metrics", "", "");
    if (!accept.empty()) made.headers.push_back({"Accept", accept});
    return ask(made);
  }
};

TEST_F(ApiMetricsTest, AreOffUnlessTheyAreSwitchedOn) {
  start({}, {});
  const Response response = scrape();
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(fault_of(response), HasSubstr("set [api] metrics = true"));
  EXPECT_EQ(store.hosts_asked, 0);
}

TEST_F(ApiMetricsTest, TellTheWorkers) {
  store.workers.push_back({"stopped", clock.now().wall, "1.1", "m3", 0});
  store.workers.back().stopped = true;
  store.workers.push_back({"silent", {clock.now().wall.ms - 300'001}, "1.1", "m4", 0});
  store.workers.push_back({"watching", clock.now().wall, "1.1", "m5", 0});
  store.workers.back().observes = true;
  store.workers.push_back({"expired", {}, "", "", 0});
  const std::string text = scrape().body;
  EXPECT_THAT(text, HasSubstr("# TYPE reclaim_worker_up gauge\n"
                              "reclaim_worker_up{host=\"compute-1\"} 1\n"
                              "reclaim_worker_up{host=\"compute-2\"} 1\n"
                              "reclaim_worker_up{host=\"expired\"} 0\n"
                              "reclaim_worker_up{host=\"silent\"} 0\n"
                              "reclaim_worker_up{host=\"stopped\"} 0\n"
                              "reclaim_worker_up{host=\"watching\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr(R"(reclaim_worker_info{host="watching",version="1.1",mode="observe"} 1)"));
  EXPECT_THAT(
      text,
      HasSubstr("reclaim_worker_heartbeat_timestamp_seconds{host=\"compute-1\"} 1780000000.000\n"));
  EXPECT_THAT(text, Not(HasSubstr("heartbeat_timestamp_seconds{host=\"expired\"}")));
}

TEST_F(ApiMetricsTest, WhatAHostCallsItselfStaysInItsLabel) {
  store.workers = {{"a\"} 1\nb\\", clock.now().wall, "1", "m", 0}};
  EXPECT_THAT(scrape().body, HasSubstr(R"(reclaim_worker_up{host="a\"} 1\\x0ab\\"} 1)"));
}

TEST_F(ApiMetricsTest, TellTheDevices) {
  drive("compute-1", "0000:01:00.0", Stage::error).stage_since = {1'700'000'000'000};
  drive("compute-1", "0000:02:00.0", Stage::error).stage_since = {1'600'000'000'500};
  Record& ours = drive("compute-1", "0000:03:00.0", Stage::erasing);
  ours.flow = Flow::nova;
  ours.certificate_pending = "{}";
  Record& out = drive("compute-1", "0000:04:00.0", Stage::error);
  out.maintenance = true;
  out.stage_since = {1'000};
  out.waiting_for = "in maintenance, set by an operator";
  drive("compute-1", "0000:05:00.0", Stage::available).waiting_for = "its counters cannot be read";
  drive("compute-2", "0000:01:00.0", Stage::available).held = true;
  const std::string text = scrape().body;
  for (const char* line : {
           R"(reclaim_devices{host="compute-1",flow="cyborg",state="error"} 3)",
           R"(reclaim_devices{host="compute-1",flow="nova",state="cleaning"} 1)",
           R"(reclaim_devices{host="compute-1",flow="nova",state="error"} 0)",
           R"(reclaim_devices_maintenance{host="compute-1"} 1)",
           R"(reclaim_devices_held{host="compute-2"} 1)",
           R"(reclaim_devices_waiting{host="compute-1"} 1)",
           R"(reclaim_devices_waiting{host="compute-2"} 0)",
           R"(reclaim_certificates_pending{host="compute-1"} 1)",
           R"(reclaim_certificates_pending{host="compute-2"} 0)",
       }) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
  const std::string since = "reclaim_device_state_since_timestamp_seconds";
  EXPECT_THAT(text, HasSubstr(since + R"({host="compute-1",state="error"} 1600000000.500)" + "\n"));
  const std::string each = R"(reclaim_device_unavailable_since_timestamp_seconds{host="compute-1")";
  EXPECT_THAT(text, HasSubstr(each + R"(,address="0000:01:00.0",state="error"} 1700000000.000)"));
  EXPECT_THAT(text, HasSubstr(each + R"(,address="0000:02:00.0",state="error"} 1600000000.500)"));
  EXPECT_THAT(text, HasSubstr(each + R"(,address="0000:03:00.0",state="cleaning"} )"));
  EXPECT_THAT(text, Not(HasSubstr(each + R"(,address="0000:04:00.0")"))) << "in maintenance";
  EXPECT_THAT(text, Not(HasSubstr(each + R"(,address="0000:05:00.0")"))) << "available";
}

TEST_F(ApiMetricsTest, AreOpenMetricsForThoseWhoAskForIt) {
  const Response plain = scrape("text/plain;version=0.0.4");
  EXPECT_EQ(header(plain, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(plain.body, Not(HasSubstr("# EOF")));
  const Response open = scrape("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
  EXPECT_EQ(header(open, "Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(open.body, plain.body + "# EOF\n");
}

// Half a fleet would be taken for the whole one: an alert on what is missing would not fire.
TEST_F(ApiMetricsTest, AHostThatCannotBeReadIsNoFleet) {
  drive("compute-2", "0000:01:00.0", Stage::available);
  store.broken_host = "compute-2";
  EXPECT_EQ(scrape().status, 503);
  store.away = true;
  clock.advance(10'000);
  EXPECT_EQ(scrape().status, 503);
  EXPECT_EQ(ask(request("POST", "/metrics", "", "")).status, 405);
}

// What one host's login wrote into its keys keeps nobody from seeing the others.
TEST_F(ApiMetricsTest, AHostWhoseKeysNoWorkerWroteCountsNoDevices) {
  drive("compute-1", "0000:01:00.0", Stage::error);
  drive("compute-2", "0000:01:00.0", Stage::error);
  store.forged_host = "compute-2";
  const Response response = scrape();
  EXPECT_EQ(response.status, 200);
  const std::string cyborgs = R"(",flow="cyborg",state="error"} )";
  EXPECT_THAT(response.body, HasSubstr(R"(reclaim_devices{host="compute-1)" + cyborgs + "1\n"));
  EXPECT_THAT(response.body, HasSubstr(R"(reclaim_devices{host="compute-2)" + cyborgs + "0\n"));
}

// In pieces, and each of them all the same: any number of hosts, whatever they call themselves.
TEST_F(ApiMetricsTest, EveryMetricHasOneHeadAndALineOfEveryHost) {
  std::mt19937 random(test_seed());
  constexpr std::string_view kLetters = "ab\"\\\n\x01\xff{}";
  for (const std::size_t hosts :
       {std::size_t{0}, std::size_t{1}, std::size_t{128}, std::size_t{100} + random() % 400}) {
    store.workers.clear();
    for (std::size_t n = 0; n < hosts; ++n) {
      std::string name = fmt::format("h{}-", n);
      for (int i = 0; i < 6; ++i) name += kLetters[random() % kLetters.size()];
      store.workers.push_back({name, clock.now().wall, "1.0", "m", 0});
    }
    clock.advance(10'000);
    const std::string text = scrape().body;
    std::map<std::string, std::size_t> heads;
    std::map<std::string, std::size_t> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) {
      if (line.starts_with("# TYPE ")) {
        heads[line.substr(7, line.find(' ', 7) - 7)] += 1;
      } else if (!line.starts_with("# HELP ")) {
        ASSERT_EQ(line.find("{host=\"h"), line.find('{')) << line;
        ASSERT_TRUE(line.find("\"} ") != std::string::npos) << line;
        lines[line.substr(0, line.find('{'))] += 1;
      }
    }
    EXPECT_EQ(heads.size(), metrics().size());
    for (const auto& [name, count] : heads) EXPECT_EQ(count, 1U) << name;
    EXPECT_EQ(lines["reclaim_worker_up"], hosts);
    EXPECT_EQ(lines["reclaim_devices"], hosts * kFlows * kDeviceStates);
  }
}

// What each worker measures: one head for all hosts, and nothing of a worker that is gone.
TEST_F(ApiMetricsTest, TellWhatTheWorkersMeasure) {
  WorkerMetrics one({1'000});
  WorkerMetrics two({2'000});
  one.request("redis", "ok", 7);
  two.request("redis", "ok", 3'000);
  store.worker_texts["compute-1"] = encode(one.samples({.surveys = 3}, {}));
  store.worker_texts["compute-2"] = encode(two.samples({.surveys = 4}, {}));
  store.worker_texts["stopped"] = encode(WorkerMetrics({3'000}).samples({}, {}));
  store.workers.push_back({"stopped", clock.now().wall, "1.1", "m3", 0});
  store.workers.back().stopped = true;
  const std::string text = scrape().body;
  EXPECT_THAT(text, HasSubstr("# TYPE reclaim_surveys_total counter\n"
                              "reclaim_surveys_total{host=\"compute-1\",result=\"failed\"} 0\n"
                              "reclaim_surveys_total{host=\"compute-1\",result=\"ok\"} 3\n"
                              "reclaim_surveys_total{host=\"compute-2\",result=\"failed\"} 0\n"
                              "reclaim_surveys_total{host=\"compute-2\",result=\"ok\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("reclaim_start_timestamp_seconds{host=\"compute-1\"} 1\n"
                              "reclaim_start_timestamp_seconds{host=\"compute-2\"} 2\n"));
  const std::string bucket = "reclaim_request_duration_seconds_bucket{";
  EXPECT_THAT(text, HasSubstr(bucket + R"(host="compute-2",peer="redis",outcome="ok",le="2"} 0)"));
  EXPECT_THAT(text, HasSubstr(bucket + R"(host="compute-2",peer="redis",outcome="ok",le="10"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("timestamp_seconds{host=\"stopped\"} 3")));
  // A counter's head loses its end in OpenMetrics; its samples keep it.
  const std::string open = scrape("application/openmetrics-text").body;
  EXPECT_THAT(open, HasSubstr("# TYPE reclaim_surveys counter\nreclaim_surveys_total{"));
}

// One line that Prometheus cannot read would cost it all the others.
TEST_F(ApiMetricsTest, WhatIsNoSampleIsLeftOut) {
  store.worker_texts["compute-1"] = R"([["reclaim_kicks_total", ["a\"}\\\n"], [2.5]],
    ["reclaim_kicks_total", ["a\"}\\\n"], [3]], ["reclaim_kicks_total", ["b", "c"], [1]],
    ["reclaim_kicks_total", [], [1]], ["reclaim_kicks_total", [1], [1]],
    ["reclaim_kicks_total", ["d"], [1, 2]], ["reclaim_kicks_total", ["d"], []],
    ["reclaim_kicks_total", ["d"], ["1"]], ["reclaim_kicks_total", ["d"], [-1]],
    ["reclaim_kicks_total", ["d"], 1], ["reclaim_kicks_total", ["d"]], ["reclaim_kicks_total"],
    ["reclaim_devices", ["nova", "error"], [7]], ["other", [], [7]], [7, [], [7]],
    ["reclaim_loop_lag_seconds", [], [7]], {}, 7, null, "x", []])";
  store.worker_texts["compute-1"].insert(
      1, "[\"reclaim_kicks_total\", [\"" + std::string(2'000, 'k') + "\"], [1]],");
  store.worker_texts["compute-2"] = R"([["reclaim_dirty_offered_total", [], [1]]])";
  EXPECT_THAT(scrape().body,
              ::testing::EndsWith(
                  "# TYPE reclaim_dirty_offered_total counter\n"
                  "reclaim_dirty_offered_total{host=\"compute-2\"} 1\n"
                  "# HELP reclaim_kicks_total Kicks of this host by reason: the event type of the "
                  "notification.\n# TYPE reclaim_kicks_total counter\n"
                  R"(reclaim_kicks_total{host="compute-1",reason="a\"}\\\\x0a"} 2.5)"
                  "\n"));
}

TEST_F(ApiMetricsTest, AWorkersTextThatCannotBeReadCostsItsOwnSamplesAlone) {
  for (const char* text : {"", "{", "[", "{}", "7", R"([["reclaim_kicks_total", ["a"], [1e999]]])",
                           "[[\"reclaim_kicks_total\", [\"\xff\"], [1]]]",
                           "# TYPE reclaim_kicks_total counter\nreclaim_kicks_total 1\n"}) {
    store.worker_texts["compute-1"] = text;
    store.worker_texts["compute-2"] = R"([["reclaim_kicks_total", ["b"], [1]]])";
    clock.advance(10'000);
    EXPECT_THAT(scrape().body,
                ::testing::EndsWith("# TYPE reclaim_kicks_total counter\n"
                                    "reclaim_kicks_total{host=\"compute-2\",reason=\"b\"} 1\n"))
        << text;
  }
}

// RECLAIM_WRITE_GOLDEN=1 writes the table.
TEST(MetricsDoc, TheTableIsTheCodes) {
  const std::string path = source_path("docs/metrics.md");
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string page = read.str();
  std::string table = "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const Metric& metric : metrics()) {
    table += fmt::format("| `{}` | gauge | {} | {} |\n", metric.name, metric.labels, metric.help);
  }
  for (const WorkerMetricRow& row : worker_metric_rows()) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", row.name, to_string(row.type), row.labels,
                         row.help);
  }
  const std::size_t begin = page.find("| metric |");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page.find("\n\n", begin) + 1;
  if (std::getenv("RECLAIM_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << page.substr(0, begin) + table + page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), table);
}

}  // namespace
}  // namespace reclaim::api
