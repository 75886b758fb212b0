// A qualification's pattern and its judgement: each rule by one world that breaks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nvme/qualify/judgement.h"
#include "nvme/qualify/pattern.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kUnit = Pattern::kUnitBytes;
constexpr std::uint64_t kBytes = 1 << 20;

std::vector<std::byte> written(const Pattern& pattern, std::uint64_t offset, std::size_t units) {
  std::vector<std::byte> bytes(units * kUnit);
  pattern.fill(bytes, 1, offset);
  return bytes;
}

TEST(QualifyPattern, WhatWasWrittenIsKnownAgainAtItsPlaceOnly) {
  const Pattern pattern(7);
  const auto bytes = written(pattern, 8 * kUnit, 4);
  EXPECT_EQ(count_media(bytes, 1, 8 * kUnit, {pattern}).intact, 4 * kUnit);
  // Elsewhere it is old content all the same: the drive moved it.
  const MediaCounts moved = count_media(bytes, 1, 80 * kUnit, {pattern});
  EXPECT_EQ(moved.traces, 4 * kUnit);
  EXPECT_EQ(moved.intact, 0U);
  EXPECT_EQ(moved.found_nsid, 1U);
  EXPECT_EQ(moved.found_offset, 80 * kUnit);
  EXPECT_EQ(count_media(bytes, 2, 8 * kUnit, {pattern}).traces, 4 * kUnit);
}

TEST(QualifyPattern, AnEarlierPatternIsATraceAndAForeignOneIsNot) {
  const Pattern earlier(1);
  const Pattern newest(2);
  const auto bytes = written(earlier, 0, 2);
  EXPECT_EQ(count_media(bytes, 1, 0, {earlier, newest}).traces, 2 * kUnit);
  EXPECT_EQ(count_media(bytes, 1, 0, {newest}).other, 2 * kUnit);
}

TEST(QualifyPattern, EightBytesOfAUnitAreATrace) {
  const Pattern pattern(3);
  for (std::size_t kept = 0; kept < kUnit; kept += 8) {
    const auto whole = written(pattern, 16 * kUnit, 1);
    std::vector<std::byte> bytes(kUnit);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(kept), 8,
                bytes.begin() + static_cast<std::ptrdiff_t>(kept));
    EXPECT_EQ(count_media(bytes, 1, 16 * kUnit, {pattern}).traces, kUnit) << kept;
  }
}

TEST(QualifyPattern, BlankUnitsCountByWhatTheyAre) {
  std::vector<std::byte> bytes(3 * kUnit);
  std::fill_n(bytes.begin() + kUnit, kUnit, std::byte{0xff});
  std::fill_n(bytes.begin() + 2 * kUnit, kUnit, std::byte{0x5a});
  const MediaCounts counts = count_media(bytes, 1, 0, {Pattern(4)});
  EXPECT_EQ(counts.zeroes, kUnit);
  EXPECT_EQ(counts.ones, kUnit);
  EXPECT_EQ(counts.other, kUnit);
  EXPECT_EQ(counts.bytes(), 3 * kUnit);
  EXPECT_EQ(counts.found_nsid, 0U);
}

TEST(QualifyPattern, TheFirstPlaceOfTwoCountsIsTheFirstOfBoth) {
  MediaCounts all;
  all.add(MediaCounts{.traces = kUnit, .found_nsid = 1, .found_offset = 4096});
  all.add(MediaCounts{.zeroes = kUnit});
  all.add(MediaCounts{.traces = kUnit, .found_nsid = 1, .found_offset = 512});
  EXPECT_EQ(all.found_offset, 512U);
  EXPECT_EQ(all.traces, 2 * kUnit);
}

// A drive with all methods, each of which went well.
Qualification good_world() {
  Qualification whole;
  whole.tool_version = "1";
  whole.address = "0000:01:00.0";
  whole.began_at = WallMs{1'000};
  whole.ended_at = WallMs{2'000};
  DriveSays& drive = whole.drive;
  drive.model = "MODEL \"X\"";
  drive.vendor_id = "144d";
  drive.product_id = "a80a";
  drive.capacity_bytes = kBytes;
  drive.namespaces = 1;
  drive.block_bytes = 512;
  drive.dlfeat = 1;
  drive.capabilities = {.sanicap = 3, .oncs = 8, .oacs = 2, .fna = 4};
  for (const EraseMethod method : methods_of(drive.capabilities)) {
    Trial& trial = whole.trials.emplace_back();
    trial.method = method;
    trial.finished = true;
    trial.written = trial.read_back = trial.erased = trial.looked_at = Pass{kBytes, 10};
    trial.before.intact = kBytes;
    trial.after.zeroes = kBytes;
    trial.claims_erased = true;
    trial.global_data_erased = is_sanitize(method);
    trial.sstat = 0x101;
    whole.nonces.push_back(static_cast<std::uint64_t>(method) + 1);
  }
  whole.last_erase = {"sanitize_crypto", true, "verified", 5};
  return whole;
}

Trial& trial_of(Qualification& whole, EraseMethod method) {
  for (Trial& trial : whole.trials) {
    if (trial.method == method) return trial;
  }
  ADD_FAILURE() << "no such trial";
  return whole.trials.front();
}

// The trials of `methods` alone.
void keep(Qualification& whole, const std::vector<EraseMethod>& methods) {
  std::erase_if(whole.trials, [&](const Trial& trial) {
    return std::find(methods.begin(), methods.end(), trial.method) == methods.end();
  });
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

void expect_says(const std::vector<std::string>& lines, std::string_view words) {
  EXPECT_NE(all_of(lines).find(words), std::string::npos) << all_of(lines);
}

TEST(QualifyJudgement, AGoodDriveIsRecommendedByItsBestMethod) {
  const Conclusion conclusion = judge(good_world());
  EXPECT_EQ(conclusion.verdict, Verdict::recommended);
  EXPECT_EQ(conclusion.method, "sanitize_crypto");
  EXPECT_EQ(conclusion.device_spec,
            R"({"vendor_id": "144d", "product_id": "a80a", "clear_action": "sanitize", )"
            R"("clear_strategy": "crypto", "verify": "sample"})");
  EXPECT_TRUE(conclusion.relax.empty());
}

TEST(QualifyJudgement, OldContentAfterAnyMethodCondemnsTheModel) {
  for (const EraseMethod method : methods_of(good_world().drive.capabilities)) {
    Qualification whole = good_world();
    Trial& trial = trial_of(whole, method);
    trial.after.zeroes -= 512;
    trial.after.traces = 512;
    trial.after.found_nsid = 1;
    trial.after.found_offset = 0x2000;
    const Conclusion conclusion = judge(whole);
    EXPECT_EQ(conclusion.verdict, Verdict::do_not_use) << to_string(method);
    EXPECT_TRUE(conclusion.device_spec.empty());
    expect_says(conclusion.reasons,
                "old content is still there: 512 bytes, the first in namespace "
                "1 at 0x2000");
    EXPECT_EQ(rules_for_last_erase(whole).rules.verify, VerifyLevel::full);
  }
}

TEST(QualifyJudgement, ADriveThatLosesWritesIsCondemned) {
  Qualification whole = good_world();
  Trial& trial = trial_of(whole, EraseMethod::overwrite);
  trial.before.intact -= 512;
  trial.before.other = 512;
  const Conclusion conclusion = judge(whole);
  EXPECT_EQ(conclusion.verdict, Verdict::do_not_use);
  expect_says(conclusion.reasons, "does not keep what is written");
}

TEST(QualifyJudgement, ZeroesThatAreNoZeroesCondemn) {
  for (const EraseMethod method : {EraseMethod::write_zeroes, EraseMethod::overwrite}) {
    Qualification whole = good_world();
    Trial& trial = trial_of(whole, method);
    trial.after.zeroes -= 512;
    trial.after.other = 512;
    EXPECT_EQ(judge(whole).verdict, Verdict::do_not_use);
  }
}

TEST(QualifyJudgement, AnHonestFailureLeavesTheOtherMethods) {
  Qualification whole = good_world();
  Trial& trial = trial_of(whole, EraseMethod::sanitize_crypto);
  trial.claims_erased = false;
  trial.failure = "the sanitize failed";
  trial.after = {};
  const Conclusion conclusion = judge(whole);
  EXPECT_EQ(conclusion.verdict, Verdict::recommended);
  EXPECT_EQ(conclusion.method, "sanitize_block");
  expect_says(conclusion.notes, "sanitize_crypto: the sanitize failed");
}

TEST(QualifyJudgement, AResetThatLosesTheDriveCondemnsTheModel) {
  Qualification whole = good_world();
  Trial& trial = trial_of(whole, EraseMethod::sanitize_crypto);
  trial.reset_failed = true;
  trial.reset = "a reset of the controller did not bring the drive back";
  EXPECT_EQ(judge(whole).verdict, Verdict::do_not_use);
  expect_says(judge(whole).reasons, "did not bring the drive back");
}

TEST(QualifyJudgement, WhatABrokenPromiseNeedsIsNamed) {
  struct Case {
    const char* relax;
    void (*breaks)(Trial& trial);
  };
  const Case cases[] = {
      {"global_data_erased", [](Trial& t) { t.global_data_erased = false; }},
      {"deallocated_value",
       [](Trial& t) {
         t.after.zeroes -= 512;
         t.after.other = 512;
       }},
      {"unreadable_blocks",
       [](Trial& t) {
         t.after.zeroes -= 512;
         t.after.unreadable = 512;
       }},
  };
  for (const Case& each : cases) {
    Qualification whole = good_world();
    keep(whole, {EraseMethod::sanitize_crypto});
    each.breaks(whole.trials.front());
    const Conclusion conclusion = judge(whole);
    EXPECT_EQ(conclusion.verdict, Verdict::with_relaxations);
    EXPECT_EQ(conclusion.relax, std::vector<std::string>{each.relax});
    EXPECT_NE(conclusion.device_spec.find(std::string(R"("relax": [")") + each.relax + "\"]"),
              std::string::npos);
    EXPECT_EQ(names(rules_for_last_erase(whole).rules.relaxed),
              std::vector<std::string>{each.relax});
  }
}

TEST(QualifyJudgement, MoreThanOnePercentThatCannotBeReadIsAFailureAndNoRelaxation) {
  for (const std::uint64_t unreadable : {kBytes / 100, kBytes / 100 + 1}) {
    Qualification whole = good_world();
    Trial& trial = trial_of(whole, EraseMethod::sanitize_crypto);
    trial.after.zeroes -= unreadable;
    trial.after.unreadable = unreadable;
    keep(whole, {EraseMethod::sanitize_crypto});
    const Verdict verdict = judge(whole).verdict;
    if (unreadable == kBytes / 100) {
      EXPECT_EQ(verdict, Verdict::with_relaxations);
    } else {
      EXPECT_NE(verdict, Verdict::with_relaxations);
      expect_says(judge(whole).notes, "more than one in 100");
    }
  }
}

TEST(QualifyJudgement, PurgeThatIsRelaxedComesBeforeClearAndAfterPurgeThatIsNot) {
  Qualification whole = good_world();
  trial_of(whole, EraseMethod::sanitize_crypto).global_data_erased = false;
  EXPECT_EQ(judge(whole).method, "sanitize_block");
  trial_of(whole, EraseMethod::sanitize_block).global_data_erased = false;
  EXPECT_EQ(judge(whole).method, "sanitize_crypto");
}

TEST(QualifyJudgement, AMethodThatNoEntryChoosesIsNotRecommended) {
  Qualification whole = good_world();
  keep(whole, {EraseMethod::overwrite});  // clear_action=zero means Write Zeroes here
  EXPECT_EQ(judge(whole).verdict, Verdict::undecided);
  expect_says(judge(whole).notes, "not tried: sanitize_crypto, sanitize_block, write_zeroes");
  whole.drive.capabilities.oncs = 0;
  EXPECT_EQ(judge(whole).method, "overwrite");
}

TEST(QualifyJudgement, ADriveOfWhichNothingCanBeChosenIsNotToBeUsed) {
  Qualification whole = good_world();
  for (Trial& trial : whole.trials) trial.failure = "refused";
  EXPECT_EQ(judge(whole).verdict, Verdict::do_not_use);
  EXPECT_EQ(rules_for_last_erase(whole).method, EraseMethod::overwrite);
}

TEST(QualifyJudgement, TheEntryHasToWorkAtTheEnd) {
  Qualification whole = good_world();
  whole.last_erase = {"sanitize_crypto", false, "the erasure is not verified", 0};
  const Conclusion conclusion = judge(whole);
  EXPECT_EQ(conclusion.verdict, Verdict::do_not_use);
  expect_says(conclusion.reasons, "the erasure is not verified");
}

TEST(QualifyJudgement, ASlowEraseNeedsItsTimeAndASharedSubsystemItsKey) {
  Qualification whole = good_world();
  keep(whole, {EraseMethod::sanitize_block});
  whole.trials.front().erased.duration_ms = 600'000;
  whole.drive.block_estimate_s = 60;
  whole.drive.cmic = 2;
  const Conclusion conclusion = judge(whole);
  EXPECT_NE(conclusion.device_spec.find(R"("shared_subsystem": "allow", "cleanup_timeout": 1803)"),
            std::string::npos)
      << conclusion.device_spec;
  expect_says(conclusion.notes, "took 600 s, the drive estimates 60 s");
}

TEST(QualifyJudgement, ADriveOfAnotherDriverNeedsAnEntryThatSaysSo) {
  Qualification whole = good_world();
  whole.drive.managed = false;
  EXPECT_NE(judge(whole).device_spec.find(R"("managed": false)"), std::string::npos);
}

TEST(QualifyJudgement, WhatWasNotTriedToItsEndCountsForNothing) {
  Qualification whole = good_world();
  trial_of(whole, EraseMethod::sanitize_crypto).finished = false;
  EXPECT_EQ(judge(whole).method, "sanitize_block");
}

TEST(Qualification, GoesThroughItsTextUnchanged) {
  Qualification whole = good_world();
  whole.conclusion = judge(whole);
  const auto again = decode_qualification(encode_qualification(whole));
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(*again, whole);
}

TEST(Qualification, ATextThatIsNotOneSaysWhatIsWrong) {
  const auto other = decode_qualification(R"({"schema": "reclaim.qualification/9"})");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().what.find("'schema' is 'reclaim.qualification/9'"), std::string::npos);
  const auto lacks = decode_qualification(R"({"schema": "reclaim.qualification/1"})");
  ASSERT_FALSE(lacks.ok());
  EXPECT_NE(lacks.error().what.find("'tool_version' is absent"), std::string::npos);
}

}  // namespace
}  // namespace reclaim::nvme
