// Whether an erasure is verified: each rule by one world that breaks it and nothing else.
#include "nvme/verify/verdict.h"

#include <gtest/gtest.h>

#include <string>

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kLength = 4096;

Sample sample(std::uint64_t offset, const std::string& digest, bool blank = false) {
  return Sample{1, offset, kLength, digest, blank};
}

Reading zeroes() {
  return Reading{"zero", kLength, kLength, 0, true, {}};
}
Reading ones() {
  return Reading{"ones", kLength, 0, kLength, true, {}};
}
Reading noise(const std::string& digest) {
  return Reading{digest, kLength, 16, 16, false, {}};
}

struct World {
  Baseline baseline;
  std::vector<Reading> samples;   // one for each of the baseline's
  std::vector<Reading> canaries;  // the same
  std::vector<Place> further;
  std::vector<Reading> further_readings;  // one for each of `further`
  std::vector<NamespaceFacts> namespaces;
  EraseMethod method = EraseMethod::sanitize_crypto;
  VerifyLevel level = VerifyLevel::sample;
  Relaxations relaxed;
  bool global_data_erased = true;
  bool first_unreadable = false;  // the first sample
  bool canaries_unreadable = false;

  explicit World(std::uint8_t dlfeat) {
    namespaces.push_back(NamespaceFacts{1, "nvme0n1", 1U << 30U, 512, dlfeat});
    baseline.samples = {sample(0, "a"), sample(8192, "zero", true)};
    baseline.canaries = {sample(65'536, "canary")};
    const Reading erased = dlfeat == 2 ? ones() : zeroes();
    samples = {erased, erased};
    canaries = {erased};
  }
  void read_further(std::uint64_t offset, const Reading& reading) {
    level = VerifyLevel::full;
    further.push_back(Place{1, offset, reading.length_bytes});
    further_readings.push_back(reading);
  }
  [[nodiscard]] Result<VerifyReport> judge() const {
    Judge judge(baseline, method, namespaces, level, relaxed);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (i == 0 && first_unreadable) {
        judge.cannot_reread(baseline.samples[0], Error{Errc::failed, "cannot read it", 61});
      } else {
        judge.look(baseline.samples[i], samples[i], false);
      }
    }
    for (std::size_t i = 0; i < canaries.size(); ++i) {
      if (canaries_unreadable) {
        judge.cannot_reread(baseline.canaries[i], Error{Errc::failed, "cannot read it", 61});
      } else {
        judge.look(baseline.canaries[i], canaries[i], true);
      }
    }
    std::vector<Stretch> stretches;
    for (std::size_t i = 0; i < further.size(); ++i) {
      stretches.push_back(
          Stretch{further[i].nsid, further[i].offset_bytes, further[i].length_bytes});
      if (i < further_readings.size()) judge.look_further(further[i], further_readings[i]);
    }
    judge.expect_further(stretches);
    return judge.verdict(Counters{5, 6}, global_data_erased);
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

TEST(Verdict, ItSaysHowMuchWasVerified) {
  World world(0);
  world.namespaces.push_back(NamespaceFacts{2, "nvme0n2", 4096, 512, 0});
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->capacity_bytes, (1U << 30U) + 4096U);
}

TEST(Verdict, OldContentIsAFailure) {
  World world(0);
  world.samples[0] = noise("a");
  world.expect_failure("old content is still there");
}

TEST(Verdict, ACanaryStillThereIsAFailure) {
  World world(0);
  world.canaries[0] = noise("canary");
  world.expect_failure("canary");
}

TEST(Verdict, DlfeatPromisesAreHeldToTheByte) {
  World zero(1);
  zero.samples[0] = noise("b");
  zero.expect_failure("do not read as zeroes");
  World blank(1);  // also where the sample was blank before and counts for nothing
  blank.samples[1] = ones();
  blank.expect_failure("do not read as zeroes");
  World one(2);
  one.samples[0] = zeroes();
  one.expect_failure("do not read as ones");
}

TEST(Verdict, WithoutAPromiseChangedIsEnough) {
  for (const EraseMethod method : {EraseMethod::sanitize_crypto, EraseMethod::sanitize_block}) {
    World world(0);
    world.method = method;
    world.samples[0] = noise("b");
    world.samples[1] = noise("c");
    world.canaries[0] = noise("d");
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
  world.canaries.clear();
  world.expect_failure("nothing shows that it happened");
}

TEST(Verdict, SamplesAloneAreNotOfThisCleaning) {
  World world(0);
  world.baseline.canaries.clear();
  world.canaries.clear();
  world.expect_failure("no canary was written before the erase");
}

TEST(Verdict, NothingCountedIsUnverified) {
  World world(1);
  world.baseline = Baseline{};
  world.samples.clear();
  world.canaries.clear();
  world.expect_failure("no canary was written");
}

TEST(Verdict, GlobalDataErasedMustStillBeSet) {
  World world(1);
  world.global_data_erased = false;
  world.expect_failure("Global Data Erased");
}

TEST(Verdict, EveryPlaceMustHaveBeenReadInFull) {
  World missing(1);
  missing.samples.pop_back();
  missing.expect_failure("2 of 3 places were read again");
  World brief(1);
  brief.samples[0].length_bytes = 512;
  brief.samples[0].zero_bytes = 512;
  brief.expect_failure("only 512 bytes");
  World gone(1);
  gone.namespaces.clear();
  gone.expect_failure("namespace 1 is gone");
}

TEST(Verdict, OldContentIsNoticedWhereverItIsMet) {
  World moved(0);  // the first sample's content where the second was
  moved.samples[1] = noise("a");
  moved.samples[0] = noise("b");
  moved.expect_failure("content of before the erase is met again");
  World canary(0);
  canary.samples[0] = noise("b");
  canary.samples[0].pieces = {"x", "canary"};
  canary.expect_failure("a canary written before the erase is met again");
  World further(0);
  further.read_further(1U << 20U, noise(""));
  further.further_readings[0].pieces = {"x", "a"};
  further.expect_failure("content of before the erase is met again");
  World blank(0);  // what was blank may be met everywhere
  blank.samples[0] = zeroes();
  blank.read_further(1U << 20U, noise("zero"));
  EXPECT_TRUE(blank.judge().ok());
}

TEST(Verdict, AfterZeroingEveryByteIsZero) {
  for (const EraseMethod method : {EraseMethod::write_zeroes, EraseMethod::overwrite}) {
    for (const std::uint8_t dlfeat : {std::uint8_t{0}, std::uint8_t{1},
                                      std::uint8_t{2}}) {  // which is of deallocated blocks only
      World world(dlfeat);
      world.method = method;
      world.samples = {zeroes(), zeroes()};
      world.canaries = {zeroes()};
      world.global_data_erased = false;  // it was written to, after all
      const auto report = world.judge();
      ASSERT_TRUE(report.ok()) << report.error().what;
      EXPECT_EQ(report->expectation, "zeroes (written)");
      EXPECT_FALSE(report->global_data_erased);
      world.relaxed = Relaxations{true, true, true};
      World byte = world;
      byte.samples[1].zero_bytes -= 1;
      byte.expect_failure("1 bytes were zeroed and do not read as zeroes");
      World further = world;
      further.read_further(1U << 20U, ones());
      further.expect_failure("do not read as zeroes");
      World unreadable = world;
      unreadable.first_unreadable = true;
      unreadable.expect_failure("replace the drive");
    }
  }
}

TEST(Verdict, AfterAFormatChangedIsWanted) {
  World world(1);  // DLFEAT promises nothing of formatted blocks
  world.method = EraseMethod::format_user_data;
  world.samples[0] = noise("b");
  world.global_data_erased = false;
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->expectation, "changed (format_user_data)");
  world.samples[0] = noise("a");
  world.expect_failure("old content is still there");
}

TEST(Verdict, ARelaxedPromiseIsCountedAndChangeStillWanted) {
  World world(1);
  world.samples[0] = noise("b");
  world.expect_failure("put deallocated_value into relax");
  world.relaxed.deallocated_value = true;
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->places_off_value, 1U);
  EXPECT_TRUE(report->relaxed.deallocated_value);
  world.samples[0] = noise("a");
  world.expect_failure("old content is still there");
}

TEST(Verdict, ARelaxedUnreadableBlockIsCountedAndProvesNothing) {
  World world(1);
  world.first_unreadable = true;
  world.expect_failure("put unreadable_blocks into relax");
  world.relaxed.unreadable_blocks = true;
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->places_unreadable, 1U);
  EXPECT_EQ(report->bytes_unreadable, kLength);
  EXPECT_EQ(report->samples_counted, 1U);  // the canary
  world.canaries_unreadable = true;
  world.expect_failure("nothing that held data before the erase can be read");
}

TEST(Verdict, ARelaxedGlobalDataErasedIsToldAsItIs) {
  World world(1);
  world.global_data_erased = false;
  world.relaxed.global_data_erased = true;
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_FALSE(report->global_data_erased);
  EXPECT_TRUE(report->relaxed.global_data_erased);
}

TEST(Verdict, WhatWasToBeReadFurtherMustHaveBeenRead) {
  World world(1);
  world.read_further(1U << 20U, zeroes());
  world.read_further(2U << 20U, zeroes());
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->samples_read, 5U);
  EXPECT_EQ(report->bytes_read, 5U * kLength);
  EXPECT_EQ(to_string(report->level), "full");
  world.further_readings.pop_back();
  world.expect_failure("4096 of 8192 bytes of the media were read");
  World none(1);
  none.level = VerifyLevel::nist;
  none.expect_failure("0 of 0 bytes");
}

TEST(Verdict, TheLogAloneNeedsGlobalDataErased) {
  World world(1);
  world.level = VerifyLevel::log;
  world.samples.clear();
  world.canaries.clear();
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->bytes_read, 0U);
  EXPECT_EQ(report->expectation, "nothing was read (verify=log)");
  world.global_data_erased = false;
  world.expect_failure("Global Data Erased");
}

TEST(Verdict, NamespacesMayDiffer) {
  World world(1);
  world.namespaces.push_back(NamespaceFacts{2, "nvme0n2", 1U << 30U, 512, 0});
  world.baseline.samples.push_back(Sample{2, 0, kLength, "x", false});
  world.samples.push_back(noise("y"));
  const auto report = world.judge();
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->expectation, "differs by namespace");
}

}  // namespace
}  // namespace reclaim::nvme
