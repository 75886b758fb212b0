// What a record found at the start is good for, by what the ledger remembers.
#include "state/ledger/trust.h"

#include <gtest/gtest.h>

#include <string>

namespace reclaim {
namespace {

std::string digest(const std::string& text) {
  return "digest of " + text;
}

Certificate certificate() {
  Certificate out;
  out.id = "11111111-1111-4111-8111-111111111111";
  out.host = "compute-1";
  out.address = "0000:c1:00.0";
  out.method = "sanitize_crypto";
  out.sanitization_class = "purge";
  out.evidence = out.verification = out.findings = "{}";
  return out;
}

// A drive whose erase was begun and verified and whose release was asked for: dirty since 1, its
// cleaning began at 2 and was verified at 3. Record and line agree, and each test spoils one thing.
struct Trust : ::testing::Test {
  Trust() {
    record.epoch = line.epoch = 7;
    record.cleaning_started_at = WallMs{2};
    record.verified_at = WallMs{3};
    record.cleaning_nonce = "nonce";
    record.baseline = "baseline";
    record.findings = "of Redis";
    record.erase_begun = true;
    line.dirty = true;
    line.dirty_since = WallMs{1};
    line.cleaning = {"nonce", digest("baseline"), "of the ledger", "mark"};
    line.certificate_pending = encode_certificate(certificate());
  }
  [[nodiscard]] bool knows() const { return knows_erase(&line, record, digest); }
  [[nodiscard]] Record confirmed() const { return confirmed_by(&line, record, digest); }

  Record record;
  LedgerEntry line;
};

struct TrustOfErase : Trust {
  void TearDown() override {
    EXPECT_FALSE(knows());
    EXPECT_FALSE(confirmed().erase_begun);
    EXPECT_EQ(mark_of_zeroing(&line, record, digest), "");
  }
};

TEST_F(Trust, AnEraseThatTheLedgerKnowsGoesOn) {
  EXPECT_TRUE(knows());
  EXPECT_TRUE(confirmed().erase_begun);
  EXPECT_EQ(confirmed().findings, "of the ledger") << "Redis could say anything";
  EXPECT_EQ(mark_of_zeroing(&line, record, digest), "mark");
  line.dirty_since = record.cleaning_started_at;
  EXPECT_TRUE(knows());
}

TEST_F(Trust, WithoutALineNoEraseWasBegun) {
  EXPECT_FALSE(knows_erase(nullptr, record, digest));
  EXPECT_FALSE(confirmed_by(nullptr, record, digest).erase_begun);
}

TEST_F(TrustOfErase, IsNoneOnceTheDeviceWasReleased) {
  line.dirty = false;
}

TEST_F(TrustOfErase, IsNoneWhereDirtCameSinceTheCleaningBegan) {
  line.dirty_since = WallMs{3};
}

TEST_F(TrustOfErase, IsNoneOfAnotherCleaning) {
  record.cleaning_nonce = "of another";
}

TEST_F(TrustOfErase, IsNoneWhereNeitherSaysWhichCleaningItIsOf) {
  record.cleaning_nonce = line.cleaning.nonce = "";
}

TEST_F(TrustOfErase, IsNoneOverAnotherBaseline) {
  record.baseline = "put there by somebody";
}

TEST_F(TrustOfErase, IsNoneOnceItsReleaseWasAskedFor) {
  line.cleaning.baseline_digest = "";
}

TEST_F(Trust, ADriveIsTakenAsFoundOnlyIfRecordAndLedgerSaySo) {
  for (const bool in_redis : {false, true}) {
    for (const bool on_ledger : {false, true}) {
      record.accepted = in_redis;
      line.accepted = on_ledger;
      EXPECT_EQ(confirmed().accepted, in_redis && on_ledger);
    }
  }
  record.accepted = true;
  EXPECT_FALSE(confirmed_by(nullptr, record, digest).accepted);
}

TEST_F(Trust, WhatIsDirtySinceItsCertificateIsNotHeld) {
  record.held = true;
  record.certificate_at = WallMs{1};
  EXPECT_TRUE(confirmed().held);
  line.dirty_since = WallMs{2};
  EXPECT_FALSE(confirmed().held);
}

TEST_F(Trust, TheDriveIsTheOneThatTheLedgerSaysWasEnrolled) {
  record.serial = "of Redis";
  record.enrolment = "of Redis";
  record.hardware = "of Redis";
  line.enrolled_serial = "enrolled";
  line.hardware = "slot";
  EXPECT_EQ(confirmed().serial, "enrolled");
  EXPECT_EQ(confirmed().hardware, "slot");
  EXPECT_EQ(confirmed().enrolment, "") << "it was another drive's";
  line.enrolment = "of the ledger";
  EXPECT_EQ(confirmed().enrolment, "of the ledger");
}

TEST_F(Trust, AnOlderRecordRestsWhereTheLedgerSaysItDid) {
  record.certificate_id = "earlier";
  record.rest = {"provider", 6, false, true};
  line.rest = {"provider", 4, false, true};
  line.certificate_id = "later";
  line.dirty = false;
  EXPECT_EQ(confirmed().rest.generation, 6) << "they are of one age";
  line.epoch = 9;
  EXPECT_EQ(confirmed().rest.generation, 4) << "its provider was made anew since";
  EXPECT_FALSE(confirmed().handed_over);
  line.handed_over = true;
  EXPECT_TRUE(confirmed().handed_over) << "as the ledger says where it rests";
  line.rest = Rest{};
  EXPECT_EQ(confirmed().rest.generation, 6) << "the ledger does not say";
  line.rest = {"provider", 4, false, true};
  line.certificate_id = "earlier";
  EXPECT_EQ(confirmed().rest.generation, 6) << "a survey may have seen it move since";
  line.certificate_id = "later";
  line.dirty = true;
  EXPECT_EQ(confirmed().rest.generation, 6) << "it is not at rest";
}

TEST_F(Trust, AnOlderRecordNamesNobodyAndGoesOnFromTheLedgersEpoch) {
  record.instance = "of then";
  record.request_id = "req-of-then";
  record.clean_start = CleanStart::ordered;
  record.steps_ordered = {CleanStep{"nvme", "check_health", 0, "{}"}};
  EXPECT_EQ(confirmed().instance, "of then");
  EXPECT_EQ(confirmed().clean_start, CleanStart::ordered);
  line.epoch = 9;
  EXPECT_EQ(confirmed().epoch, 9U);
  EXPECT_EQ(confirmed().instance, "");
  EXPECT_EQ(confirmed().request_id, "");
  EXPECT_EQ(confirmed().clean_start, CleanStart::automatic);
  EXPECT_TRUE(confirmed().steps_ordered.empty());
}

TEST_F(Trust, AnOlderRecordIsInErrorWhereTheLedgerSaysThatItWasSince) {
  line.error = true;
  for (const Stage stage : {Stage::pending_cleaning, Stage::available, Stage::erasing}) {
    record.stage = stage;
    record.clean_step = "hold.forensics";
    record.epoch = line.epoch;
    EXPECT_EQ(confirmed().stage, stage) << "an operator's order ended it, and the ledger is behind";
    record.epoch = line.epoch - 1;
    EXPECT_EQ(confirmed().stage, Stage::error);
    EXPECT_EQ(confirmed().clean_step, "") << "it waits at no hold, and nobody may think so";
    EXPECT_FALSE(confirmed().erase_begun);
    EXPECT_NE(confirmed().last_error.find("before Redis lost its record"), std::string::npos);
  }
  record.stage = Stage::error;
  record.last_error = "the drive says so";
  EXPECT_EQ(confirmed().last_error, "the drive says so");
}

TEST_F(Trust, ARetirementIsTakenBackByANewerLedgerAlone) {
  record.retired = "recycled: old";
  EXPECT_EQ(confirmed().retired, "") << "an enrolment is on the ledger before the record";
  record.epoch = line.epoch + 1;
  EXPECT_EQ(confirmed().retired, "recycled: old") << "an older ledger was put back";
  EXPECT_EQ(confirmed_by(nullptr, record, digest).retired, "recycled: old");
  EXPECT_EQ(retirement_of({}, record), "recycled: old");
}

TEST_F(Trust, ALineThatSaysNothingButAnEpochIsOfADisownedDevice) {
  const LedgerEntry dirty = line;
  line = LedgerEntry{};
  line.epoch = 9;
  EXPECT_TRUE(is_disowned_since(&line, record));
  EXPECT_FALSE(is_disowned_since(nullptr, record));
  record.epoch = 9;
  EXPECT_FALSE(is_disowned_since(&line, record)) << "it is ours again";
  record.epoch = 7;
  line.dirty = true;
  EXPECT_FALSE(is_disowned_since(&line, record)) << "what is dirty was not let go";
  line.dirty = false;
  line.error = true;
  EXPECT_FALSE(is_disowned_since(&line, record)) << "what is in error was not let go";
  EXPECT_FALSE(is_disowned_since(&dirty, record));
}

Certificate not_returned(Certificate of) {
  of.released_at = WallMs{};
  of.verified_at = WallMs{5};
  of.not_returned = "worn out";
  return of;
}

struct TrustOfRelease : Trust {
  void TearDown() override { EXPECT_FALSE(release_asked_for(&line, record).has_value()); }
};

TEST_F(Trust, AReleaseHasTheCertificateThatTheLedgerKnows) {
  const auto asked = release_asked_for(&line, record);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->id, certificate().id);
  line.dirty_since = record.verified_at;
  EXPECT_TRUE(release_asked_for(&line, record).has_value()) << "the line of the release itself";
  EXPECT_FALSE(release_asked_for(nullptr, record).has_value());
}

TEST_F(TrustOfRelease, IsNoneWhereItsDeviceIsClean) {
  line.dirty = false;
}

TEST_F(TrustOfRelease, IsNoneWhereDirtCameSinceTheErase) {
  line.dirty_since = WallMs{4};
}

TEST_F(TrustOfRelease, IsNoneOfAnotherCleaning) {
  record.cleaning_nonce = "of another";
}

TEST_F(TrustOfRelease, IsNoneWhereNeitherSaysWhichCleaningItIsOf) {
  record.cleaning_nonce = line.cleaning.nonce = "";
}

TEST_F(TrustOfRelease, IsNoneOfWhatWasErasedAndNotReturned) {
  line.certificate_pending = encode_certificate(not_returned(certificate()));
}

TEST_F(TrustOfRelease, IsNoneWithoutItsText) {
  line.certificate_pending = "";
}

// Its record in Redis is from before that release.
struct TrustOfForgottenRelease : Trust {
  TrustOfForgottenRelease() {
    record.stage = Stage::verifying;
    record.provider = "of then";
    record.release_generation = 4;
    line.epoch = 9;
    line.provider = "provider";
    line.release_generation = 17;
    line.dirty_since = WallMs{3};
    Certificate pending = certificate();
    pending.released_at = WallMs{5};
    pending.evidence = R"({"of":"it"})";
    line.certificate_pending = encode_certificate(pending);
  }
};

TEST_F(TrustOfForgottenRelease, IsReadBack) {
  const Record recalled = confirmed();
  EXPECT_EQ(recalled.stage, Stage::confirming);
  EXPECT_EQ(recalled.provider, "provider");
  EXPECT_EQ(recalled.release_generation, 17);
  EXPECT_EQ(recalled.findings, "of the ledger");
  EXPECT_EQ(recalled.evidence, R"({"of":"it"})");
  EXPECT_TRUE(release_asked_for(&line, recalled).has_value());
}

// It may have become another kind of device since its record was written, or ours at all.
TEST_F(TrustOfForgottenRelease, IsOfTheKindThatTheLedgerKnows) {
  record.type = "NIC";
  EXPECT_TRUE(confirmed().is_drive());
  EXPECT_FALSE(confirmed().by_steps);
  line.by_steps = true;
  EXPECT_TRUE(confirmed().by_steps);
  EXPECT_EQ(confirmed().type, "NIC");
  record.type = kTypeNvme;
  EXPECT_FALSE(confirmed().is_drive());
}

TEST_F(TrustOfForgottenRelease, WasNotMadeWhereNothingButAFenceMovedItsProvider) {
  const Record recalled = confirmed();
  EXPECT_TRUE(shows_no_release(nullptr, recalled, 17));
  EXPECT_TRUE(shows_no_release(&line, recalled, 17));
  EXPECT_FALSE(shows_no_release(&line, recalled, 18));
  line.fence_generation = 17;
  EXPECT_TRUE(shows_no_release(&line, recalled, 18));
  EXPECT_FALSE(shows_no_release(&line, recalled, 19)) << "made, and reserved again";
  line.fence_generation = 18;
  EXPECT_TRUE(shows_no_release(&line, recalled, 18));
  EXPECT_TRUE(shows_no_release(&line, recalled, 19));
  line.provider = "another";
  EXPECT_FALSE(shows_no_release(&line, recalled, 19));
  EXPECT_TRUE(shows_no_release(&line, recalled, 17));
}

struct TrustOfNoForgottenRelease : TrustOfForgottenRelease {
  void TearDown() override {
    EXPECT_EQ(confirmed().stage, Stage::verifying);
    EXPECT_EQ(confirmed().release_generation, 4);
  }
};

TEST_F(TrustOfNoForgottenRelease, WhereItWasErasedAndNotReturned) {
  line.dirty_since = WallMs{};
  line.certificate_pending = encode_certificate(not_returned(certificate()));
}

TEST_F(TrustOfNoForgottenRelease, WhereTheRecordIsAsNewAsTheLedger) {
  record.epoch = 9;
}

TEST_F(TrustOfNoForgottenRelease, WithoutItsText) {
  line.certificate_pending = "";
}

TEST_F(TrustOfNoForgottenRelease, WhereItsGenerationIsNotKnown) {
  line.release_generation = -1;
}

TEST_F(TrustOfNoForgottenRelease, WhereItsDeviceIsClean) {
  line.dirty = false;
}

TEST_F(TrustOfNoForgottenRelease, WhereDirtCameSinceItWasAskedFor) {
  line.dirty_since = WallMs{6};
}

TEST_F(TrustOfNoForgottenRelease, WhereATenancyBeganSince) {
  line.cleaning = CleaningOnLedger{};
}

}  // namespace
}  // namespace reclaim
