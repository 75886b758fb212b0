// What is in record and certificate of an erasure.
#include "handlers/conductor/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/survey/plan.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Evidence, ComesBackAsItWas) {
  nvme::EraseEvidence evidence;
  evidence.method = nvme::EraseMethod::write_zeroes;
  evidence.duration_ms = 12'000;
  evidence.bytes_zeroed = 1'000'000'000'000;
  evidence.commands = 7;
  const auto back = evidence_of_json(to_json(evidence));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(*back, evidence);
}

// Records and certificates hold it, and other versions read it.
TEST(Evidence, IsStoredToTheByte) {
  nvme::EraseEvidence evidence{
      nvme::EraseMethod::sanitize_block, 0x8000'0002,   7, 0x0104, true, true, -1,
      18'446'744'073'709'551'615ULL,     4'294'967'295U};
  EXPECT_EQ(to_json(evidence),
            R"({"method":"sanitize_block","cdw10":2147483650,"scdw10":7,"sstat":260,)"
            R"("global_data_erased":true,"adopted":true,"duration_ms":-1,)"
            R"("bytes_zeroed":18446744073709551615,"commands":4294967295})");
  nvme::VerifyReport report;
  report.level = nvme::VerifyLevel::nist;
  report.relaxed.global_data_erased = true;
  report.relaxed.unreadable_blocks = true;
  report.capacity_bytes = 1;
  report.samples_read = 2;
  report.samples_counted = 3;
  report.samples_unchanged = 4;
  report.bytes_read = 5;
  report.bytes_nonzero = 6;
  report.canaries_found = 7;
  report.places_unreadable = 8;
  report.bytes_unreadable = 9;
  report.places_off_value = 10;
  report.global_data_erased = true;
  report.counters = {11, 12};
  report.expectation = "zeroes \"(DLFEAT 1)\"";
  EXPECT_EQ(to_json(report),
            R"({"level":"nist","relaxed":["global_data_erased","unreadable_blocks"],)"
            R"("samples_read":2,"samples_counted":3,"samples_unchanged":4,"bytes_read":5,)"
            R"("bytes_nonzero":6,"places_unreadable":8,"bytes_unreadable":9,)"
            R"("places_off_value":10,"canaries_found":7,"global_data_erased":true,)"
            R"("host_reads":11,"host_writes":12,"expectation":"zeroes \"(DLFEAT 1)\""})");
  EXPECT_FALSE(is_fit_by(to_json(report)).ok()) << "nobody asked";
  report.health = {{"percentage_used", "101 %", false}};
  EXPECT_TRUE(is_fit_by(to_json(report)).ok());
  report.unfit = {"101 % of its endurance is used"};
  EXPECT_FALSE(is_fit_by(to_json(report)).ok());
  EXPECT_FALSE(is_fit_by("").ok());
  const auto counters = counters_of_verification(to_json(report));
  ASSERT_TRUE(counters.ok());
  EXPECT_EQ(*counters, report.counters);
  EXPECT_FALSE(counters_of_verification(R"({"host_reads":1})").ok());
}

TEST(Evidence, ThatAZeroingWentOnIsStoredAndTold) {
  nvme::EraseEvidence evidence;
  evidence.method = nvme::EraseMethod::overwrite;
  evidence.adopted = true;
  evidence.bytes_zeroed = 9;
  evidence.resumed_at_bytes = 4;
  EXPECT_THAT(to_json(evidence), HasSubstr(R"("resumed_at_bytes":4})"));
  EXPECT_EQ(*evidence_of_json(to_json(evidence)), evidence);
  EXPECT_THAT(summary(evidence), HasSubstr("9 bytes zeroed, of them 4 by a worker before"));
}

TEST(Evidence, WhatTheMediaHeldIsStoredAndTold) {
  nvme::EraseEvidence evidence;
  evidence.media = {8, 7, 1, 4096, 4000, ""};
  EXPECT_THAT(to_json(evidence), HasSubstr(R"("media_places_read":8,"media_places_compared":7,)"
                                           R"("media_places_unreadable":1,"media_bytes_read":4096,)"
                                           R"("media_bytes_nonzero":4000})"));
  EXPECT_EQ(*evidence_of_json(to_json(evidence)), evidence);
  EXPECT_THAT(summary(evidence),
              HasSubstr("; 8 places of the media read before they were deallocated, 7 held data"));
  evidence.media = {0, 0, 9, 0, 0, "because"};
  EXPECT_EQ(*evidence_of_json(to_json(evidence)), evidence);
  EXPECT_THAT(summary(evidence), HasSubstr("; the media was not read: because"));
  EXPECT_THAT(to_json(nvme::EraseEvidence{}), Not(HasSubstr("media")));
}

TEST(Evidence, OfAnOlderVersionIsRead) {
  const auto back = evidence_of_json(
      R"({"method":"sanitize_crypto","cdw10":4,"scdw10":4,"sstat":1,"global_data_erased":true,)"
      R"("adopted":false,"duration_ms":5})");
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(back->bytes_zeroed, 0U);
  EXPECT_TRUE(back->global_data_erased);
}

TEST(Evidence, IsToldByWhatTheMethodHas) {
  nvme::EraseEvidence evidence;
  EXPECT_THAT(summary(evidence), HasSubstr("SSTAT"));
  evidence.method = nvme::EraseMethod::overwrite;
  evidence.bytes_zeroed = 4096;
  EXPECT_EQ(summary(evidence), "overwrite in 0.0 s: 4096 bytes zeroed");
  evidence.method = nvme::EraseMethod::format_crypto;
  evidence.commands = 2;
  EXPECT_EQ(summary(evidence), "format_crypto in 0.0 s: 2 commands completed");
}

TEST(Verification, NamesItsLevelAndWhatWasRelaxed) {
  nvme::VerifyReport report;
  report.level = nvme::VerifyLevel::full;
  report.relaxed.unreadable_blocks = true;
  report.enrolment = "secret";
  report.places_unreadable = 3;
  report.bytes_unreadable = 12288;
  report.places_off_value = 5;
  const std::string text = to_json(report);
  EXPECT_THAT(text, HasSubstr(R"("level":"full")"));
  EXPECT_THAT(text, HasSubstr(R"("relaxed":["unreadable_blocks"])"));
  EXPECT_THAT(text, HasSubstr(R"("places_unreadable":3,"bytes_unreadable":12288,)"
                              R"("places_off_value":5)"));
  EXPECT_THAT(text, Not(HasSubstr("secret"))) << "the enrolment has a field of its own";
  EXPECT_THAT(summary(report), HasSubstr("full (relaxed: unreadable_blocks)"));
}

TEST(Findings, AreGatheredByStep) {
  const nvme::StepReport first{{{"spare", "100 %", false}}};
  const nvme::StepReport second{{{"namespaces", "2 of them \"hidden\"", true}}};
  std::string findings = with_findings("", "nvme.check_health", first);
  findings = with_findings(findings, "nvme.reset_namespaces", second);
  findings = with_findings(findings, "nvme.check_health", nvme::StepReport{});
  EXPECT_EQ(findings,
            R"({"nvme.reset_namespaces":[{"surface":"namespaces","found":"2 of them \"hidden\"",)"
            R"("reset":true}],"nvme.check_health":[]})");
  EXPECT_EQ(summary(second), "1 surfaces looked at, reset: namespaces");
  EXPECT_EQ(summary(first), "1 surfaces looked at, nothing had to be reset");
}

TEST(Findings, TooManyOfOneStepAreCutAndTheEarlierOnesStay) {
  const nvme::StepReport first{{{"spare", "100 %", false}}};
  nvme::StepReport many;
  for (int i = 0; i < 1000; ++i)
    many.findings.push_back({"namespace", std::string(90, '\n'), true});
  std::string findings = with_findings("", "nvme.check_health", first);
  for (const char* step : {"nvme.a", "nvme.b", "nvme.c", "nvme.d", "nvme.e", "nvme.f"}) {
    findings = with_findings(findings, step, many);
  }
  findings = with_findings(findings, "nvme.last", first);
  EXPECT_THAT(findings, HasSubstr(R"({"nvme.check_health":[{"surface":"spare")"));
  EXPECT_THAT(findings, HasSubstr(R"("found":"... and )"));
  EXPECT_THAT(findings, HasSubstr(R"("nvme.a")"));
  EXPECT_THAT(findings, HasSubstr(R"("nvme.f")"));
  EXPECT_LT(findings.size(), std::size_t{1024} * 1024);
}

TEST(Certificate, SaysThatThereWasNoBaseline) {
  Record record;
  const nvme::StepReport report{{{"enrolment", "no enrolment baseline: none", false}}};
  record.findings = with_findings("", "nvme.reset_controller_state", report);
  const auto text = encode_certificate(certificate_of(record, "1"));
  EXPECT_THAT(text, HasSubstr(R"("found":"no enrolment baseline: none")"));
}

TEST(Certificate, SaysWhatWasDoneAndOfWhichClass) {
  Record record;
  // The plan of today, made again while the device is in the pool.
  record.plan = make_plan(nvme::EraseMethod::sanitize_block, {}, ConductorOptions{});
  nvme::EraseEvidence evidence;
  evidence.method = nvme::EraseMethod::overwrite;
  record.evidence = to_json(evidence);
  record.findings = R"({"nvme.check_health":[]})";
  const Certificate zeroed = certificate_of(record, "1");
  EXPECT_EQ(zeroed.method, "overwrite");
  EXPECT_EQ(zeroed.sanitization_class, "clear");
  EXPECT_EQ(zeroed.findings, record.findings);
  evidence.method = nvme::EraseMethod::sanitize_crypto;
  record.evidence = to_json(evidence);
  EXPECT_EQ(certificate_of(record, "1").sanitization_class, "purge");
}

}  // namespace
}  // namespace reclaim
