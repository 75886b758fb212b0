// Whether an erasure is verified: each rule by one world that breaks it and nothing else.
#include "nvme/verdict.h"

#include <gtest/gtest.h>

#include <string>

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kLength = 4096;

Sample sample(std::uint64_t offset, const std::string& digest, bool blank = false) {
  return Sample{1, offset, kLength, digest, blank};
}

Reading zeroes() {
  return Reading{"zero", kLength, kLength, 0, true};
}
Reading ones() {
  return Reading{"ones", kLength, 0, kLength, true};
}
Reading noise(const std::string& digest) {
  return Reading{digest, kLength, 16, 16, false};
}

struct World {
  Baseline baseline;
  Rereading after;
  std::vector<NamespaceFacts> namespaces;
  EraseMethod method = EraseMethod::sanitize_crypto;

  explicit World(std::uint8_t dlfeat) {
    namespaces.push_back(NamespaceFacts{1, "nvme0n1", 1U << 30U, 512, dlfeat});
    baseline.samples = {sample(0, "a"), sample(8192, "zero", true)};
    baseline.canaries = {sample(65'536, "canary")};
    const Reading erased = dlfeat == 2 ? ones() : zeroes();
    after.samples = {erased, erased};
    after.canaries = {erased};
    after.counters = Counters{5, 6};
    after.global_data_erased = true;
  }
  [[nodiscard]] Result<VerifyReport> judge() const {
    return judge_verification(baseline, after, method, namespaces);
  }
  void expect_failure(std::string_view says) const {
    const auto verdict = judge();
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().code, Errc::failed);
    EXPECT_NE(verdict.error().what.find(says), std::string::npos) << verdict.error().what;
  }
};

TEST(Verdict, AGoodEraseIsVerifiedWithItsNumbers) {
  const auto report = World(1).judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->samples_read, 3U);
  EXPECT_EQ(report->samples_counted, 2U);
  EXPECT_EQ(report->samples_unchanged, 0U);
  EXPECT_EQ(report->canaries_found, 0U);
  EXPECT_EQ(report->bytes_read, 3U * kLength);
  EXPECT_EQ(report->bytes_nonzero, 0U);
  EXPECT_TRUE(report->global_data_erased);
  EXPECT_EQ(report->counters, (Counters{5, 6}));
  EXPECT_EQ(report->expectation, "zeroes (DLFEAT 1)");
}

TEST(Verdict, OldContentIsAFailure) {
  World world(0);
  world.after.samples[0] = noise("a");
  world.expect_failure("old content is still there");
}

TEST(Verdict, ACanaryStillThereIsAFailure) {
  World world(0);
  world.after.canaries[0] = noise("canary");
  world.expect_failure("canary");
}

TEST(Verdict, DlfeatPromisesAreHeldToTheByte) {
  World zero(1);
  zero.after.samples[0] = noise("b");
  zero.expect_failure("do not read as zeroes");
  World blank(1);  // also where the sample was blank before and counts for nothing
  blank.after.samples[1] = ones();
  blank.expect_failure("do not read as zeroes");
  World one(2);
  one.after.samples[0] = zeroes();
  one.expect_failure("do not read as ones");
}

TEST(Verdict, WithoutAPromiseChangedIsEnough) {
  for (const EraseMethod method : {EraseMethod::sanitize_crypto, EraseMethod::sanitize_block}) {
    World world(0);
    world.method = method;
    world.after.samples[0] = noise("b");
    world.after.samples[1] = noise("c");
    world.after.canaries[0] = noise("d");
    const auto report = world.judge();
    ASSERT_TRUE(report.ok()) << report.error().what;
    EXPECT_EQ(report->bytes_nonzero, 3U * (kLength - 16));
    EXPECT_NE(report->expectation.find("DLFEAT 0"), std::string::npos);
  }
}

TEST(Verdict, BlankSamplesDoNotCount) {
  World world(0);
  world.baseline.samples = {sample(0, "zero", true), sample(8192, "zero", true)};
  const auto with_canary = world.judge();
  ASSERT_TRUE(with_canary.ok()) << with_canary.error().what;
  EXPECT_EQ(with_canary->samples_counted, 1U);
  world.baseline.canaries.clear();
  world.after.canaries.clear();
  world.expect_failure("nothing shows that it happened");
}

TEST(Verdict, NothingCountedIsUnverified) {
  World world(1);
  world.baseline = Baseline{};
  world.after.samples.clear();
  world.after.canaries.clear();
  world.expect_failure("nothing shows that it happened");
}

TEST(Verdict, GlobalDataErasedMustStillBeSet) {
  World world(1);
  world.after.global_data_erased = false;
  world.expect_failure("Global Data Erased");
}

TEST(Verdict, EveryPlaceMustHaveBeenReadInFull) {
  World missing(1);
  missing.after.samples.pop_back();
  missing.expect_failure("places were read again");
  World brief(1);
  brief.after.samples[0].length_bytes = 512;
  brief.after.samples[0].zero_bytes = 512;
  brief.expect_failure("only 512 bytes");
  World gone(1);
  gone.namespaces.clear();
  gone.expect_failure("namespace 1 is gone");
}

TEST(Verdict, NamespacesMayDiffer) {
  World world(1);
  world.namespaces.push_back(NamespaceFacts{2, "nvme0n2", 1U << 30U, 512, 0});
  world.baseline.samples.push_back(Sample{2, 0, kLength, "x", false});
  world.after.samples.push_back(noise("y"));
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->expectation, "differs by namespace");
}

}  // namespace
}  // namespace reclaim::nvme
