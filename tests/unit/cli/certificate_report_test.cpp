// reclaim certificate report: a period's sums, its page, and what it does with a foreign chain.
#include "cli/certificate_report.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <random>
#include <sstream>

#include "cli/certificate_report_page.h"
#include "cli/chart.h"
#include "cli/commands.h"
#include "state/base/json.h"
#include "tests/test_seed.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kDayMs = 86'400'000;

WallMs at(const std::string& text) {
  const auto parsed = from_iso8601(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : WallMs{};
}

Erasure erasure(std::uint64_t sequence, const std::string& serial, const std::string& released,
                std::int64_t took_ms, const std::string& used = "3 %") {
  Erasure it;
  it.sequence = sequence;
  it.certificate.host = "c1";
  it.certificate.address = "0000:c1:00.0";
  it.certificate.model = "M";
  it.certificate.serial = serial;
  it.certificate.capacity_bytes = 1'000'000'000'000;
  it.certificate.method = "sanitize_crypto";
  it.certificate.sanitization_class = "purge";
  it.certificate.findings = fmt::format(
      R"({{"nvme.check_health":[{{"surface":"percentage_used","found":"{}","reset":false}}]}})",
      used);
  it.certificate.released_at = at(released);
  it.certificate.started_at = WallMs{it.certificate.released_at.ms - took_ms};
  return it;
}

AuditLine line(std::uint64_t sequence, AuditEvent event, const std::string& serial,
               const std::string& when) {
  AuditLine it;
  it.sequence = sequence;
  it.entry.event = event;
  it.entry.host = "c1";
  it.entry.address = "0000:c1:00.0";
  it.entry.serial = serial;
  it.entry.detail = "media errors";
  it.entry.at = at(when);
  it.file = std::to_string(sequence);
  return it;
}

Period november() {
  const auto period = parse_period("2026-11-01", "2026-11-30");
  EXPECT_TRUE(period.ok());
  return *period;
}

TEST(ReportPeriod, IsDaysOrTimes) {
  const auto days = parse_period("2026-11-25", "2026-11-25");
  ASSERT_TRUE(days.ok());
  EXPECT_EQ(days->from, at("2026-11-25T00:00:00Z"));
  EXPECT_EQ(days->to.ms - days->from.ms, kDayMs);
  const auto times = parse_period("2026-11-25T10:00:00Z", "2026-11-25T11:00:00.500Z");
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->to.ms - times->from.ms, 3'600'500);
}

TEST(ReportPeriod, SaysWhatIsWrongWithOne) {
  for (const char* bad : {"", "yesterday", "2026-11-31", "2026-13-01", "2026-1-5", "25.11.2026",
                          "2026-11-25T25:00:00Z", "2026-11-25T10:00:00+02:00", "2026-11-25x"}) {
    const auto period = parse_period(bad, "2026-11-30");
    ASSERT_FALSE(period.ok()) << bad;
    EXPECT_THAT(period.error().what,
                AllOf(HasSubstr("--from: '" + std::string(bad)), HasSubstr("a day like")));
    EXPECT_THAT(parse_period("2026-11-30", bad).error().what, HasSubstr("--to: '"));
  }
  EXPECT_THAT(parse_period("2026-11-30", "2026-11-01").error().what,
              HasSubstr("--from 2026-11-30 is not before --to 2026-11-01: exchange the two"));
  EXPECT_FALSE(parse_period("2026-11-25T10:00:00Z", "2026-11-25T10:00:00Z").ok());
}

TEST(Report, WhatWasNotReturnedIsAnErasureOfTheDayOfItsVerification) {
  ReportSource source;
  source.erasures = {erasure(1, "S1", "2026-11-01T00:00:00Z", 9000),
                     erasure(2, "S2", "2026-11-02T00:00:00Z", 9000)};
  Certificate& kept = source.erasures[1].certificate;
  kept.verified_at = std::exchange(kept.released_at, WallMs{});
  kept.not_returned = "health: worn out";
  const PeriodReport report = report_of({source}, {}, {november()});
  EXPECT_EQ(report.erasures, 2U);
  EXPECT_EQ(report.not_returned, 1U);
  ASSERT_EQ(report.methods.size(), 1U);
  EXPECT_EQ(report.methods[0].longest_ms, 9000);
}

TEST(Report, SumsWhatIsWithinThePeriodOnly) {
  ReportSource source;
  source.erasures = {erasure(1, "S1", "2026-10-31T23:59:59Z", 1000),
                     erasure(2, "S1", "2026-11-01T00:00:00Z", 9000, "3 %"),
                     erasure(3, "S2", "2026-11-02T10:00:00Z", 2000),
                     erasure(4, "S1", "2026-11-30T23:59:59Z", 4000, "5 %"),
                     erasure(7, "S1", "2026-12-01T00:00:00Z", 1000)};
  source.erasures[2].certificate.method = "write_zeroes";
  source.erasures[2].certificate.sanitization_class = "clear";
  source.audit = {line(5, AuditEvent::quarantined, "S3", "2026-11-05T00:00:00Z"),
                  line(6, AuditEvent::tenancy_seen, "S2", "2026-11-06T00:00:00Z"),
                  line(8, AuditEvent::quarantined, "S3", "2026-12-05T00:00:00Z")};
  source.events.proven = {
      {"S9", DriveEvent::Kind::tenancy, "a", at("2026-11-01T01:00:00Z"), 5, "", false, "5"},
      {"S9", DriveEvent::Kind::tenancy, "b", at("2026-11-07T01:00:00Z"), 6, "", false, "6"}};
  const PeriodReport report = report_of({source}, {}, {november()});
  EXPECT_EQ(report.erasures, 3U);
  EXPECT_EQ(report.bytes, 3'000'000'000'000U);
  source.erasures[1].certificate.capacity_bytes = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(report_of({source}, {}, {november()}).bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(report.quarantines, 1U);
  EXPECT_EQ(report.unerased, 1U);
  EXPECT_EQ(report.first_sequence, 2U);
  EXPECT_EQ(report.last_sequence, 6U);
  EXPECT_EQ(report.classes.at("purge"), 2U);
  EXPECT_EQ(report.classes.at("clear"), 1U);
  ASSERT_EQ(report.devices.size(), 3U);
  EXPECT_EQ(report.devices[0].serial, "S1");
  EXPECT_EQ(report.devices[0].erasures, 2U);
  EXPECT_EQ(report.devices[0].used_at_first, 3);
  EXPECT_EQ(report.devices[0].used_at_last, 5);
  EXPECT_EQ(report.devices[2].quarantines, 1U);
  ASSERT_EQ(report.methods.size(), 2U);
  EXPECT_EQ(report.methods[0].method, "sanitize_crypto");
  EXPECT_EQ(report.methods[0].shortest_ms, 4000);
  EXPECT_EQ(report.methods[0].longest_ms, 9000);
  ASSERT_EQ(report.stretches.size(), 30U);
  EXPECT_EQ(report.stretches.front().erasures.at("purge"), 1U);
  EXPECT_EQ(report.stretches.back().erasures.at("purge"), 1U);
  EXPECT_EQ(report.stretches[4].quarantines, 1U);
  ASSERT_EQ(report.incidents.size(), 2U);
  EXPECT_EQ(report.incidents[0].event, "quarantined");
  EXPECT_EQ(report.incidents[1].event, "unerased");
}

// Cyborg's flow: the begin knows the instance alone, and later entries the project too.
struct Handover {
  const char* what;
  std::vector<AuditLine> audit;
  std::optional<std::string> certified = {};  // the project in a certificate of the second tenancy
};

AuditLine told(std::uint64_t sequence, AuditEvent event, const std::string& instance,
               const std::string& project, const std::string& migration = "") {
  AuditLine it = line(sequence, event, "S9", fmt::format("2026-11-{:02}T00:00:00Z", sequence));
  it.entry.instance = instance;
  it.entry.project = project;
  it.entry.migration = migration;
  return it;
}

PeriodReport report_on(const Handover& handover, const Selection& asked) {
  ReportSource source;
  source.audit = handover.audit;
  std::vector<DriveEvent> events;
  for (const auto& [sequence, entry, is_void, is_unproven, file] : source.audit) {
    if (entry.event > AuditEvent::tenancy_ended) continue;
    events.push_back({entry.serial,
                      entry.event == AuditEvent::tenancy_seen ? DriveEvent::Kind::tenancy
                                                              : DriveEvent::Kind::ended,
                      entry.instance, entry.at, sequence, "", is_void, file});
  }
  source.events.proven = std::move(events);
  EXPECT_EQ(find_missing_erasures(source.events).size(), 1U) << handover.what;
  if (handover.certified) {
    source.erasures = {erasure(20, "S9", "2026-11-20T00:00:00Z", 1)};
    source.erasures[0].certificate.instance = "J";
    source.erasures[0].certificate.project = *handover.certified;
  }
  return report_of({source}, {}, asked);
}

TEST(Report, AnUnerasedTenancyIsOfWhomAnyEntryOfItNames) {
  using enum AuditEvent;
  for (const Handover& handover : std::vector<Handover>{
           {"the begin", {told(1, tenancy_seen, "I", "A"), told(3, tenancy_seen, "J", "B")}},
           {"the end",
            {told(1, tenancy_seen, "I", ""), told(2, tenancy_ended, "I", "A"),
             told(3, tenancy_seen, "J", ""), told(4, tenancy_ended, "J", "B")}},
           {"an incident in between",
            {told(1, tenancy_seen, "I", ""), told(2, released_elsewhere, "I", "A"),
             told(3, tenancy_seen, "J", "B")}},
           {"the certificate of the next",
            {told(1, tenancy_seen, "I", "A"), told(3, tenancy_seen, "J", "")},
            "B"},
           {"the end, of a begin that a migration stood for",
            {told(1, tenancy_seen, "M", ""), told(2, released_elsewhere, "I", "", "M"),
             told(3, tenancy_ended, "I", "A"), told(4, tenancy_seen, "J", "B")}}}) {
    for (const char* project : {"A", "B"}) {
      const PeriodReport report = report_on(handover, {november(), project});
      EXPECT_EQ(report.unerased, 1U) << handover.what << " names " << project;
      EXPECT_EQ(report.left_out.unerased, 0U) << handover.what;
    }
    EXPECT_EQ(report_on(handover, {november(), "C"}).unerased, 0U) << handover.what;
    EXPECT_EQ(report_on(handover, {november(), "", "I"}).unerased, 1U) << handover.what;
    EXPECT_EQ(report_on(handover, {november(), "", "K"}).unerased, 0U) << handover.what;
    EXPECT_EQ(report_on(handover, {november()}).left_out.unerased, 0U) << handover.what;
  }
}

TEST(Report, ProjectAndInstanceAreAskedForOfOneTenancy) {
  using enum AuditEvent;
  const Handover handover{"handed over",
                          {told(1, tenancy_seen, "I", "A"), told(2, released_elsewhere, "I", "A"),
                           told(3, tenancy_ended, "I", "A"), told(4, tenancy_seen, "J", "B"),
                           told(5, reserved_again, "J", "B")},
                          "B"};
  struct Asked {
    const char* project;
    const char* instance;
    std::vector<std::string> incidents;
    std::size_t erasures;
  };
  for (const auto& [project, instance, incidents, erasures] :
       std::vector<Asked>{{"A", "I", {"released_elsewhere", "unerased"}, 0},
                          {"B", "J", {"unerased", "reserved_again"}, 1},
                          {"A", "J", {}, 0},
                          {"B", "I", {}, 0}}) {
    const PeriodReport report = report_on(handover, {november(), project, instance});
    std::vector<std::string> events;
    for (const Incident& each : report.incidents) events.push_back(each.event);
    EXPECT_EQ(events, incidents) << project << " " << instance;
    EXPECT_EQ(report.erasures, erasures) << project << " " << instance;
  }
}

TEST(Report, AnUnerasedTenancyTellsHostAndAddress) {
  using enum AuditEvent;
  PeriodReport report = report_on(
      {"", {told(1, tenancy_seen, "I", ""), told(3, tenancy_seen, "J", "")}}, {november()});
  const Table table = incident_table(report, false);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][3], Cell("0000:c1:00.0"));
  EXPECT_EQ(table.rows[0][6], Cell("c1"));
  EXPECT_THAT(certificate_report_page(report, "/c"),
              AllOf(HasSubstr("host c1<"), HasSubstr("<td>0000:c1:00.0</td>"),
                    Not(HasSubstr("<td>c1</td>"))));
  report.hosts.emplace_back("c2");
  EXPECT_THAT(certificate_report_page(report, "/c"), HasSubstr("<th>Host</th>"));
  EXPECT_THAT(certificate_report_page(report, "/c"), HasSubstr("<td>c1</td>"));
  // The head names none: no entry of the period is of the project asked for.
  report.hosts.clear();
  EXPECT_THAT(certificate_report_page(report, "/c"), HasSubstr("<td>c1</td>"));
}

TEST(Report, AnUnerasedTenancyOfNobodyMayBeAnybodys) {
  using enum AuditEvent;
  const Handover nobody{"nobody", {told(1, tenancy_seen, "I", ""), told(3, tenancy_seen, "J", "")}};
  const PeriodReport report = report_on(nobody, {november(), "A"});
  EXPECT_EQ(report.unerased, 1U);
  EXPECT_EQ(report.left_out.unerased, 1U);
  ASSERT_EQ(report.incidents.size(), 1U);
  EXPECT_THAT(report.incidents[0].detail, HasSubstr("no entry tells whose it was"));
  EXPECT_THAT(certificate_report_page(report, "/c"),
              HasSubstr("1 tenancy without an erasure names no project: it may be the one"));
  EXPECT_EQ(report_on(nobody, {november(), "A", "K"}).unerased, 0U) << "another instance";
  EXPECT_EQ(report_on(nobody, {november()}).left_out.unerased, 0U) << "nobody is asked for";
  const Handover no_instance{"", {told(1, tenancy_seen, "", ""), told(3, tenancy_seen, "J", "B")}};
  EXPECT_EQ(report_on(no_instance, {november(), "", "K"}).left_out.unerased, 1U);
  EXPECT_EQ(report_on(no_instance, {november(), "A"}).left_out.unerased, 1U);
  EXPECT_EQ(report_on(no_instance, {november(), "B"}).left_out.unerased, 0U);
}

TEST(Report, ItsTablesFitATerminalAndTellWhichDeviceItWas) {
  using enum AuditEvent;
  ReportSource source;
  source.erasures = {erasure(1, "PHLN0123456789ABCD", "2026-11-02T00:00:00Z", 9000)};
  source.erasures[0].certificate.id = "5f0f7f0e-8f0c-4b51-9a55-0d1a5d0c9f11";
  source.erasures[0].certificate.project = "A";
  source.audit = {told(3, released_elsewhere, "4dee8fde-fe92-4c46-bd4d-bc755777eeeb", "A")};
  source.audit[0].entry.detail = std::string(100, 'x') + " is reserved again now";
  const PeriodReport report = report_of({source}, {}, {november(), "A"});
  View view;
  view.width = 80;
  for (const Table& table :
       {device_table(report), incident_table(report, true), report.erasures_shown}) {
    const std::string text = *format_list(table, view);
    EXPECT_THAT(text, HasSubstr(" 0000:c1:00.0 "));
    std::istringstream lines(text);
    for (std::string each; std::getline(lines, each);) EXPECT_LE(each.size(), 80U) << text;
  }
  EXPECT_THAT(*format_list(incident_table(report, true), view), HasSubstr("| 2026-11-03T00:00Z |"));
}

// Whoever has a key that leaked writes what he likes: it hides no hand-over from any report.
TEST(Report, AVoidTenancyMayBeAnybodysAtAnyTime) {
  using enum AuditEvent;
  Handover next{"the next is void",
                {told(1, tenancy_seen, "I", "A"), told(3, tenancy_seen, "J", "B")}};
  next.audit[1].is_void = true;
  next.audit[1].entry.at = at("2020-01-01T00:00:00Z");
  next.audit[1].entry.host = "elsewhere";
  EXPECT_EQ(report_on(next, {november(), "A"}).unerased, 1U);
  EXPECT_EQ(report_on(next, {november(), "C"}).left_out.unerased, 1U);
  EXPECT_EQ(report_on(next, {november(), "", "", "compute-1"}).unerased, 1U);
  // Its word alone would make the first one another's.
  Handover first{"told of by a void one",
                 {told(1, tenancy_seen, "I", ""), told(2, released_elsewhere, "I", "C"),
                  told(3, tenancy_seen, "J", "B")}};
  first.audit[1].is_void = true;
  EXPECT_EQ(report_on(first, {november(), "A"}).left_out.unerased, 1U);
}

// Whoever may write the folder adds one at another's place, and its name sorts as he likes.
TEST(Report, ATenancyIsLookedUpInItsOwnFile) {
  using enum AuditEvent;
  for (const bool added_is_first : {false, true}) {
    Handover two{"two of one sequence",
                 {told(1, tenancy_seen, "I", "A"), told(3, tenancy_seen, "J", "B"),
                  told(3, quarantined, "I", "A")}};
    two.audit[2].file = "added";
    if (added_is_first) std::swap(two.audit[1], two.audit[2]);
    for (const char* project : {"A", "B"}) {
      EXPECT_EQ(report_on(two, {november(), project}).left_out.unerased, 0U) << project;
      EXPECT_EQ(report_on(two, {november(), project}).unerased, 1U) << project << added_is_first;
    }
    EXPECT_EQ(report_on(two, {november(), "C"}).unerased, 0U) << added_is_first;
  }
}

TEST(Report, AnErasureOfAnotherHistoryIsMarked) {
  ReportSource source;
  source.verdict = ChainState::Verdict::broken;
  source.erasures = {erasure(1, "S1", "2026-11-02T00:00:00Z", 1),
                     erasure(1, "S1", "2026-11-02T00:00:00Z", 1)};
  source.erasures[1].is_disputed = true;
  const auto rows = report_of({source}, {}, {november()}).erasures_shown.rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].back(), Cell("broken"));
  EXPECT_EQ(rows[1].back(), Cell("disputed"));
}

// A year has no more columns than a month, and each moment of it one of them.
TEST(Report, LongPeriodsHaveLongerStretches) {
  ReportSource source;
  source.erasures = {erasure(1, "S1", "2026-12-31T23:59:59Z", 1)};
  const PeriodReport report = report_of({source}, {}, {*parse_period("2026-01-01", "2026-12-31")});
  EXPECT_EQ(report.stretch_days, 12);
  EXPECT_EQ(report.stretches.size(), 31U);
  EXPECT_EQ(report.stretches.back().erasures.at("purge"), 1U);
}

TEST(Report, FindingsThatSayNothingAreNoWear) {
  for (const char* used : {"", "new", "-1 %", "999 %", "3.5 %"}) {
    ReportSource source;
    source.erasures = {erasure(1, "S1", "2026-11-02T00:00:00Z", 1, used)};
    EXPECT_FALSE(report_of({source}, {}, {november()}).devices.at(0).used_at_last) << used;
  }
}

TEST(ReportPage, ShowsChartsAndSaysWhatTheChainIsWorth) {
  ReportSource source;
  ChainState chain;
  source.erasures = {erasure(1, "S1", "2026-11-02T00:00:00Z", 61'000, "47 %")};
  source.audit = {line(2, AuditEvent::quarantined, "S1", "2026-11-05T00:00:00Z")};
  chain = {ChainState::Verdict::verified, "certificates 1 to 2", {}};
  const std::string page = certificate_report_page(report_of({source}, chain, {november()}), "/c");
  EXPECT_THAT(
      page, AllOf(HasSubstr("<p class=\"verdict\">the chain is whole and signed</p>"),
                  HasSubstr("<b>1 erasure</b> of 1 device, 1.0 TB in all. 1 quarantine."),
                  HasSubstr("<svg"), HasSubstr(">40 to 49 %</text>"),
                  HasSubstr("1m1s (1m1s to 1m1s"), HasSubstr("<td>media errors</td>"),
                  HasSubstr("<h2>Erasures by day</h2>"), HasSubstr("<h2>Quarantines by day</h2>")));
  chain = {ChainState::Verdict::broken, "1 wrong", {"2.json: changed"}};
  EXPECT_THAT(certificate_report_page(report_of({source}, chain, {november()}), "/c"),
              AllOf(HasSubstr("verdict bad\">the chain is NOT whole"),
                    HasSubstr("<p>2.json: changed</p>")));
  EXPECT_THAT(certificate_report_page(report_of({}, {}, {november()}), "/c"),
              AllOf(HasSubstr("verdict doubt"), HasSubstr("<b>0 erasures</b> of 0 devices"),
                    Not(HasSubstr("<svg"))));
}

TEST(ReportPage, NothingForeignIsObeyed) {
  const std::string evil = "<script>alert(1)</script>\"'&";
  ReportSource source;
  ChainState chain;
  source.erasures = {erasure(1, evil, "2026-11-02T00:00:00Z", 1)};
  Certificate& it = source.erasures[0].certificate;
  it.model = it.host = it.address = it.method = it.sanitization_class = evil;
  source.audit = {line(2, AuditEvent::quarantined, evil, "2026-11-05T00:00:00Z")};
  source.audit[0].entry.detail = evil;
  chain = {ChainState::Verdict::broken, evil, {evil}};
  const std::string page = certificate_report_page(report_of({source}, chain, {november()}), evil);
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"),
                          Not(HasSubstr("<script"))));
  for (const char* foreign : {"http:", "https:", "url(", "<link", "<img", "@import", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  }
}

// Whatever the numbers are, no rectangle leaves its picture.
TEST(Chart, RandomValuesStayInside) {
  std::mt19937 random(test_seed());
  for (int i = 0; i < 100; ++i) {
    const std::size_t count = random() % 40;
    const std::vector<std::string> labels(count, "l");
    std::vector<Series> series(2);
    for (Series& each : series) {
      for (std::size_t n = 0; n < count; ++n) each.values.push_back(random() % 1000);
    }
    std::istringstream text(column_chart("t", labels, series));
    for (std::string row; std::getline(text, row);) {
      double x = 0;
      double y = 0;
      double width = 0;
      double height = 0;
      if (std::sscanf(row.c_str(), "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, &y,
                      &width, &height) != 4) {
        continue;
      }
      EXPECT_GE(y, 0) << row;
      EXPECT_LE(x + width, 640) << row;
      EXPECT_LE(y + height, 111) << row;
    }
  }
}

class ReportCommand : public proof::ProofTest {
 protected:
  int run(const std::string& from, const std::string& to, bool html = false,
          Format format = Format::json) {
    config::Settings settings;
    settings.state_path = state_path_;
    CertificateOptions options;
    options.from = from;
    options.to = to;
    options.html = html;
    options.view.format = format;
    out_.str("");
    err_.str("");
    return run_certificate_report(settings, options, out_, err_);
  }
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ReportCommand, ReadsVerifiesAndPrints) {
  keep(3);
  ASSERT_EQ(run("2025-11-01", "2025-11-30"), 0) << err_.str();
  const auto shown = json::parse(out_.str(), 100'000);
  ASSERT_TRUE(shown.ok()) << out_.str();
  EXPECT_EQ((*shown)["erasures"].GetInt(), 3);
  EXPECT_STREQ((*shown)["chain"].GetString(), "verified");
  EXPECT_EQ((*shown)["devices"].Size(), 3U);
  EXPECT_EQ((*shown)["methods"][0]["Erasures"].GetInt(), 3);
  ASSERT_EQ(run("2025-11-01", "2025-11-30", false, Format::table), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("Devices\n+"), HasSubstr("sanitize_crypto")));
  ASSERT_EQ(run("2025-11-01", "2025-11-30", true), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("the chain is whole and signed"), HasSubstr("<svg")));
  ASSERT_EQ(run("2024-11-01", "2024-11-30"), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\"erasures\": 0"));
}

TEST_F(ReportCommand, SaysWhatItCannotStandBehind) {
  EXPECT_EQ(run("2025-11-30", "2025-11-01"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("exchange the two"));
  EXPECT_EQ(run("2025-11-01", "2025-11-30"), 0) << "an empty folder: " << err_.str();
  keep(3);
  std::string text = content(path_of(2));
  text.replace(text.find("\"S2\""), 4, "\"S9\"");
  write(path_of(2), text);
  EXPECT_EQ(run("2025-11-01", "2025-11-30", true), 1);
  EXPECT_THAT(out_.str(), HasSubstr("the chain is NOT whole"));
  EXPECT_THAT(err_.str(), HasSubstr("not whole"));
  write(path_of(2), "torn");
  EXPECT_EQ(run("2025-11-01", "2025-11-30"), 1);
  EXPECT_THAT(err_.str(), HasSubstr(path_of(2)));
  std::filesystem::remove(key_path_ + ".pub");
  EXPECT_EQ(run("2025-11-01", "2025-11-30"), 1);
  EXPECT_THAT(out_.str(), HasSubstr("\"chain\": \"not_checked\""));
  EXPECT_THAT(err_.str(), HasSubstr("not checked: a public key is needed"));
}

}  // namespace
}  // namespace reclaim::cli
