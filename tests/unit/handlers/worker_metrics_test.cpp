// What a worker measures of itself, against the names and numbers that Prometheus reads.
#include "handlers/metrics/worker_metrics.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <set>

#include "handlers/api/metrics.h"
#include "handlers/conductor/evidence.h"
#include "handlers/drive_wear.h"
#include "handlers/survey/taken.h"
#include "state/device/machine.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct WorkerMetricsTest : ::testing::Test {
  WorkerMetricsTest() {
    record.address = *parse_pci_address("0000:01:00.0");
    record.cleaning_started_at = {100'000};
    record.plan = {{"nvme", "check_health", 90, "{}"}, {"nvme", "sanitize_crypto", 50, "{}"}};
  }
  void moves(Stage from, Trigger on, Stage to, std::string_view step = "",
             const std::string& detail = "") {
    record.clean_step = std::string(step);
    metrics.transition(record,
                       {"0000:01:00.0", std::string(to_string(from)), std::string(to_string(on)),
                        std::string(to_string(to)), "", detail, WallMs{130'000}});
  }
  // As a worker named c1 keeps it, and Prometheus reads it.
  [[nodiscard]] std::string text_of(const WorkerTotals& totals,
                                    const std::vector<Record>& records) const {
    const std::string kept = encode(metrics.samples(totals, records));
    HostInfo host{"c1", WallMs{1}, "", "", 0};
    api::MetricsPage page(
        {{host},
         std::make_shared<const api::Devices>(),
         std::make_shared<const api::WorkerTexts>(api::WorkerTexts{{"c1", kept}})},
        WallMs{1}, 1, false);
    while (page.go_on()) {
    }
    return page.take();
  }
  [[nodiscard]] std::string text() const { return text_of({}, {record}); }

  Record record;
  WorkerMetrics metrics{WallMs{1'000}};
};

TEST_F(WorkerMetricsTest, CleaningsThatEndedByMethodAndResult) {
  moves(Stage::releasing, Trigger::released, Stage::available);
  moves(Stage::confirming, Trigger::released_taken, Stage::allocated);
  moves(Stage::confirming, Trigger::released_unseen, Stage::pending_cleaning);
  moves(Stage::releasing, Trigger::handed_over, Stage::available);
  moves(Stage::verifying, Trigger::verify_failed, Stage::error);
  moves(Stage::guarding, Trigger::guards_wait, Stage::pending_cleaning);
  moves(Stage::pending_cleaning, Trigger::operator_abort, Stage::error);
  const std::string of = R"(reclaim_cleaning_duration_seconds_count{host="c1",method=)";
  EXPECT_THAT(text(), HasSubstr(of + R"("sanitize_crypto",result="released"} 3)"));
  EXPECT_THAT(text(), HasSubstr(of + R"("sanitize_crypto",result="handed_over"} 1)"));
  EXPECT_THAT(text(), HasSubstr(of + R"("sanitize_crypto",result="error"} 1)"));
  EXPECT_THAT(text(),
              HasSubstr(R"(seconds_sum{host="c1",method="sanitize_crypto",result="released"} 90)"));
}

// A crypto erase takes a few of them.
TEST_F(WorkerMetricsTest, CleaningsOfSecondsAreToldApart) {
  moves(Stage::releasing, Trigger::released, Stage::available);
  for (const char* bound : {"1", "2.5", "5", "10", "30", "60"}) {
    EXPECT_THAT(text(), HasSubstr(fmt::format(R"(result="released",le="{}"}})", bound)));
  }
}

TEST_F(WorkerMetricsTest, StepsThatEnded) {
  moves(Stage::rechecking, Trigger::still_burned, Stage::preparing, "nvme.check_health");
  moves(Stage::preparing, Trigger::steps_done, Stage::baselining, "nvme.baseline");
  moves(Stage::baselining, Trigger::baseline_taken, Stage::erasing, "nvme.sanitize_crypto");
  moves(Stage::erasing, Trigger::erase_failed, Stage::error);
  EXPECT_THAT(text(),
              HasSubstr(R"(steps_total{host="c1",step="nvme.check_health",result="done"} 1)"));
  EXPECT_THAT(text(),
              HasSubstr(R"(steps_total{host="c1",step="nvme.sanitize_crypto",result="failed"} 1)"));
  EXPECT_THAT(text(), Not(HasSubstr("nvme.baseline")));
}

// A counter that begins with its first event has not risen, for Prometheus: these are there before.
TEST_F(WorkerMetricsTest, WhatIsAlarmingIsCountedFromZero) {
  EXPECT_THAT(text(), HasSubstr("reclaim_dirty_offered_total{host=\"c1\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("reclaim_dirty_allocated_total{host=\"c1\"} 0\n"));
  moves(Stage::available, Trigger::reserved_dropped, Stage::pending_cleaning);
  moves(Stage::available, Trigger::allocation_seen, Stage::allocated);
  EXPECT_THAT(text(), HasSubstr("reclaim_dirty_offered_total{host=\"c1\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("reclaim_dirty_allocated_total{host=\"c1\"} 0\n"));
  moves(Stage::error, Trigger::reserved_dropped, Stage::pending_cleaning);
  moves(Stage::pending_cleaning, Trigger::allocation_seen, Stage::allocated, "",
        fmt::format("bound by consumer X: {}", kNotKnownToBeClean));
  WorkerTotals totals;
  totals.reserved_in_cleaning = 2;
  EXPECT_THAT(text_of(totals, {}), HasSubstr("reclaim_dirty_offered_total{host=\"c1\"} 3\n"));
  EXPECT_THAT(text_of(totals, {}), HasSubstr("reclaim_dirty_allocated_total{host=\"c1\"} 1\n"));
  moves(Stage::allocated, Trigger::passed_on, Stage::allocated, "",
        fmt::format("bound by consumer Y: {}", kNotKnownToBeClean));
  EXPECT_THAT(text_of(totals, {}), HasSubstr("reclaim_dirty_allocated_total{host=\"c1\"} 2\n"));
  moves(Stage::allocated, Trigger::allocation_gone, Stage::pending_cleaning);
  EXPECT_THAT(text_of(totals, {}), HasSubstr("reclaim_dirty_offered_total{host=\"c1\"} 4\n"));
}

TEST_F(WorkerMetricsTest, WearIsThatOfTheLastHealthStep) {
  EXPECT_THAT(text(), Not(HasSubstr("used_ratio{")));
  // As the conductor writes what the step found.
  nvme::StepReport report;
  report.findings = {{"critical_warning", "none", false},
                     {"percentage_used", "3 %", false},
                     {"available_spare", "97 %, threshold 10 %", false},
                     {"media_errors", "12 in all, 2 during the tenancy", false}};
  record.findings = with_findings("", "nvme.check_health", report);
  EXPECT_THAT(text(), HasSubstr(R"(used_ratio{host="c1",address="0000:01:00.0"} 0.03)"));
  EXPECT_THAT(text(), HasSubstr(R"(spare_ratio{host="c1",address="0000:01:00.0"} 0.97)"));
  EXPECT_THAT(text(), HasSubstr(R"(media_errors{host="c1",address="0000:01:00.0"} 12)"));
  for (const char* other :
       {"", "{", "[]", R"({"nvme.check_health": 1})",
        R"({"nvme.check_health": [{"surface": "percentage_used", "found": "?"}, 1]})"}) {
    record.findings = other;
    EXPECT_FALSE(wear_of(record.findings).used_percent.has_value()) << other;
    EXPECT_EQ(said_to_be_kept(record.findings), "") << other;
  }
  EXPECT_THAT(text(), Not(HasSubstr("used_ratio{"))) << "of a drive that is gone";
}

TEST_F(WorkerMetricsTest, TotalsAreWhatTheOthersCounted) {
  WorkerTotals totals{.surveys = 5,
                      .surveys_failed = 1,
                      .survey_at = WallMs{2'500},
                      .messages = 7,
                      .dead_letters = 2,
                      .bus_connected = true};
  for (int again = 0; again < 2; ++again) {
    const std::string all = text_of(totals, {});
    for (const char* line :
         {R"(reclaim_surveys_total{host="c1",result="ok"} 5)",
          R"(reclaim_surveys_total{host="c1",result="failed"} 1)",
          R"(reclaim_survey_timestamp_seconds{host="c1"} 2.5)",
          R"(reclaim_bus_messages_total{host="c1"} 7)",
          R"(reclaim_bus_dead_letters_total{host="c1"} 2)", R"(reclaim_bus_connected{host="c1"} 1)",
          R"(reclaim_start_timestamp_seconds{host="c1"} 1)"}) {
      EXPECT_THAT(all, HasSubstr(std::string(line) + "\n"));
    }
  }
}

TEST_F(WorkerMetricsTest, MessagesThatNobodyReadsAreToldOfTheQueuesThatExist) {
  const std::string of = R"(reclaim_bus_unread_messages{host="c1",queue=)";
  WorkerTotals totals;
  totals.bus_queues = {{"notifications.info", 340, 0}, {"notifications.error", 5, 1}};
  const std::string all = text_of(totals, {});
  EXPECT_THAT(all, HasSubstr(of + "\"notifications.info\"} 340\n"));
  EXPECT_THAT(all, HasSubstr(of + "\"notifications.error\"} 0\n"));
  totals.bus_queues.pop_back();
  EXPECT_THAT(text_of(totals, {}), Not(HasSubstr("notifications.error")));
}

TEST_F(WorkerMetricsTest, CertificatesOfRedisAreToldWhileThereAreSome) {
  const std::string of = R"(reclaim_redis_tls_not_after_timestamp_seconds{host="c1",certificate=)";
  EXPECT_THAT(text(), Not(HasSubstr(of)));
  WorkerTotals totals;
  totals.redis_server_ends_at = {1'800'000'000'000};
  totals.redis_client_ends_at = {1'900'000'000'000};
  std::string all = text_of(totals, {});
  EXPECT_THAT(all, HasSubstr(of + "\"server\"} 1800000000\n"));
  EXPECT_THAT(all, HasSubstr(of + "\"client\"} 1900000000\n"));
  totals.redis_server_ends_at = {1'850'000'000'000};
  totals.redis_client_ends_at = {};
  all = text_of(totals, {});
  EXPECT_THAT(all, HasSubstr(of + "\"server\"} 1850000000\n"));
  EXPECT_THAT(all, Not(HasSubstr(of + "\"client\"}")));
}

// What comes from notifications is bounded.
TEST_F(WorkerMetricsTest, ReasonsAreBounded) {
  for (int i = 0; i < 1'000; ++i) metrics.kick(fmt::format("event.{}", i));
  EXPECT_THAT(text(), HasSubstr(R"(reclaim_kicks_total{host="c1",reason="event.63"} 1)"));
  EXPECT_THAT(text(), HasSubstr(R"(reclaim_kicks_total{host="c1",reason="other"} 936)"));
}

TEST_F(WorkerMetricsTest, ABucketHasWhatTheSmallerOnesHave) {
  for (const std::int64_t ms : {-1, 1, 2, 600, 5'000}) metrics.loop_lag(ms);
  const std::string of = R"(reclaim_loop_lag_seconds_bucket{host="c1",le=)";
  EXPECT_THAT(text(), HasSubstr(of + "\"0.001\"} 2\n" + of + "\"0.005\"} 3\n"));
  EXPECT_THAT(text(), HasSubstr(of + "\"0.5\"} 3\n" + of + "\"2\"} 4\n" + of + "\"+Inf\"} 5\n"));
  EXPECT_THAT(text(), HasSubstr("lag_seconds_sum{host=\"c1\"} 5.603\n"
                                "reclaim_loop_lag_seconds_count{host=\"c1\"} 5\n"));
}

TEST(WorkerSamples, AreReadAsTheyWereWritten) {
  const WorkerSamples samples = {
      {{MetricId::kicks, {"a\"}\\\n\u2028"}}, {2.5e6}},
      {{MetricId::started_at, {}}, {1'780'000'000.125}},
      {{MetricId::loop_lag, {}}, {1, 0, 0, 3, 0, 0, 7, 0.1}},
  };
  EXPECT_EQ(decode_worker_samples(encode(samples)), samples);
  EXPECT_EQ(encode({}), "[]");
}

TEST(WorkerMetricRows, HaveNamesByPrometheusConventions) {
  std::set<std::string_view> names;
  for (const WorkerMetricRow& row : worker_metric_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.ends_with("_total"), row.type == MetricType::counter) << row.name;
    EXPECT_EQ(row.label_names().at(0), "host") << row.name;
    EXPECT_EQ(row.bounds.empty(), row.type != MetricType::histogram) << row.name;
    EXPECT_TRUE(std::is_sorted(row.bounds.begin(), row.bounds.end())) << row.name;
    EXPECT_EQ(row.help.find_first_of("\"\\"), std::string_view::npos) << row.name;
  }
}

}  // namespace
}  // namespace reclaim
