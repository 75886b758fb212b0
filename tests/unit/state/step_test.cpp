// The reducer and its table: what the record says after each move, and what is refused.
#include "state/device/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Record at(Stage stage) {
  Record record;
  record.stage = stage;
  record.epoch = 5;
  record.clean_start = CleanStart::awaited;  // or an operator has nothing to start
  return record;
}

void be_by_steps(Record& record) {
  record.type = "NIC";
  record.by_steps = true;
}

Facts with(const std::string& detail) {
  Facts facts;
  facts.detail = detail;
  return facts;
}

bool is_kept(Trigger on) {
  return on == Trigger::release_withheld || on == Trigger::provider_anew;
}

void be_verified(Record& record) {
  record.evidence = "{}";
  record.verification = "{}";
}

TEST(Step, EveryRowIsTakenAndRaisesTheEpoch) {
  for (const Row& row : machine_rows()) {
    Record record = at(row.from);
    if (row.on == Trigger::gone_uncleanable) record.type = "GPU";
    if (row.on == Trigger::steps_verified) be_by_steps(record);
    if (is_kept(row.on)) be_verified(record);
    const auto update = step(record, Event{row.on, 5, {}}, WallMs{9});
    ASSERT_TRUE(update.has_value()) << row.why;
    EXPECT_EQ(update->record.stage, row.to) << row.why;
    EXPECT_EQ(update->effect, row.effect) << row.why;
    EXPECT_EQ(update->record.epoch, 6U);
    EXPECT_EQ(update->record.updated_at, WallMs{9});
  }
}

TEST(Step, TheTimeLineSaysWhenTheCleaningReachedEachStage) {
  Record record = at(Stage::allocated);
  record.timeline = {{Stage::releasing, WallMs{1}}};  // of the cleaning before
  const auto take = [&record](Trigger on, std::int64_t now) {
    auto update = step(record, Event{on, 0, {}}, WallMs{now});
    ASSERT_TRUE(update.has_value()) << to_string(on);
    record = update->record;
  };
  take(Trigger::dirty_seen, 10);
  take(Trigger::admitted, 20);
  take(Trigger::guards_passed, 30);
  take(Trigger::placement_away, 40);  // it stays where it is
  take(Trigger::still_burned, 50);
  const std::vector<StageMark> reached{{Stage::pending_cleaning, WallMs{10}},
                                       {Stage::guarding, WallMs{20}},
                                       {Stage::rechecking, WallMs{30}},
                                       {Stage::preparing, WallMs{50}}};
  EXPECT_EQ(record.timeline, reached);
  take(Trigger::step_failed, 60);
  EXPECT_EQ(record.timeline, reached) << "error is none of its stages";
  take(Trigger::operator_clean, 70);
  EXPECT_THAT(record.timeline, ElementsAre(StageMark{Stage::pending_cleaning, WallMs{70}}));
}

TEST(Step, AStageThatIsReachedAgainCountsFromThen) {
  std::vector<StageMark> timeline;
  note_stage(timeline, Stage::releasing, WallMs{1});
  note_stage(timeline, Stage::confirming, WallMs{2});
  note_stage(timeline, Stage::releasing, WallMs{3});
  note_stage(timeline, Stage::available, WallMs{4});
  EXPECT_THAT(timeline, ElementsAre(StageMark{Stage::confirming, WallMs{2}},
                                    StageMark{Stage::releasing, WallMs{3}}));
}

TEST(Step, ATimeLineThatIsNoneIsRefused) {
  for (const char* text : {"", "{}", "[1]", R"([{"stage":"nowhere","at":""}])", R"([{"at":""}])",
                           R"([{"stage":"erasing","at":"today"}])"}) {
    EXPECT_FALSE(decode_timeline(text).ok()) << text;
  }
}

TEST(Step, OnlyAnEraseThatWasVerifiedIsKeptAndItIsKeptWhole) {
  Record record = at(Stage::looking);
  record.provider = "p1";
  Facts facts;
  facts.provider = "p2";
  facts.detail = "made anew";
  EXPECT_FALSE(step(record, Event{Trigger::provider_anew, 5, facts}, WallMs{9}).has_value());
  be_verified(record);
  const auto update = step(record, Event{Trigger::provider_anew, 5, facts}, WallMs{9});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->record.provider, "p2");
  EXPECT_EQ(update->record.evidence, "{}");
  EXPECT_EQ(update->record.verification, "{}");
  EXPECT_EQ(update->record.waiting_for, "made anew");
  be_by_steps(record);
  EXPECT_FALSE(step(record, Event{Trigger::release_withheld, 5, {}}, WallMs{9}).has_value());
}

TEST(Step, WhatTheTableDoesNotListIsRefused) {
  std::size_t refused = 0;
  for (std::size_t s = 0; s < kStageCount; ++s) {
    for (std::size_t t = 0; t < kTriggerCount; ++t) {
      const auto stage = static_cast<Stage>(s);
      const auto trigger = static_cast<Trigger>(t);
      const bool listed = find_row(stage, trigger) != nullptr;
      Record record = at(stage);
      if (trigger == Trigger::gone_uncleanable) record.type = "GPU";
      if (trigger == Trigger::steps_verified) be_by_steps(record);
      if (is_kept(trigger)) be_verified(record);
      EXPECT_EQ(step(record, Event{trigger, 0, {}}, WallMs{1}).has_value(), listed);
      refused += listed ? 0U : 1U;
    }
  }
  EXPECT_EQ(refused + machine_rows().size(), kStageCount * kTriggerCount);
}

TEST(Step, ADeviceThatIsNoDriveNeverComesToAnErase) {
  for (const Row& row : machine_rows()) {
    Record record = at(row.from);
    be_by_steps(record);
    const bool of_an_erase = row.to == Stage::baselining || row.to == Stage::erasing ||
                             row.to == Stage::verifying || row.to == Stage::concluding;
    const bool taken = step(record, Event{row.on, 5, {}}, WallMs{9}).has_value();
    const bool of_drives = row.on == Trigger::gone_uncleanable || is_kept(row.on) ||
                           row.on == Trigger::operator_retire;
    EXPECT_EQ(taken, !of_an_erase && !of_drives) << row.why;
  }
}

TEST(Step, ADriveNeverComesPastItsErase) {
  Record record = at(Stage::preparing);
  EXPECT_FALSE(step(record, Event{Trigger::steps_verified, 5, {}}, WallMs{9}).has_value());
  be_by_steps(record);
  const auto update = step(record, Event{Trigger::steps_verified, 5, {}}, WallMs{9});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->record.verified_at, WallMs{9});
  EXPECT_EQ(update->record.erases, 1U);
}

TEST(Step, WhatIsNoNvmeNeverComesNearACleaning) {
  const std::set<Stage> at_rest{Stage::available, Stage::allocated};
  for (const Row& row : machine_rows()) {
    Record record = at(row.from);
    record.type = "GPU";
    const auto update = step(record, Event{row.on, 0, {}}, WallMs{1});
    if (!update) continue;
    EXPECT_EQ(at_rest.count(row.from), 1U) << row.why;
    EXPECT_EQ(at_rest.count(row.to), 1U) << row.why;
    EXPECT_EQ(update->effect, EffectKind::none) << row.why;
  }
  EXPECT_FALSE(step(at(Stage::allocated), Event{Trigger::gone_uncleanable, 0, {}}, WallMs{1}))
      << "a drive is cleaned first";
}

TEST(Step, WhatPlacementNeverKnewIsNotInterruptedByARestart) {
  Record record = at(Stage::pending_cleaning);
  record.flow = Flow::cyborg;
  EXPECT_EQ(restart_trigger(record, InterruptedCleaning::automatic), Trigger::restarted_resume);
  record.provider = "rp-1";
  EXPECT_EQ(restart_trigger(record, InterruptedCleaning::automatic), Trigger::restarted_error);
  record.planned_stop = true;
  EXPECT_EQ(restart_trigger(record, InterruptedCleaning::automatic), Trigger::restarted_error);
  EXPECT_EQ(restart_trigger(record, InterruptedCleaning::resume), Trigger::restarted_resume);
}

TEST(Step, AnAnswerOfAnotherEpochIsDropped) {
  EXPECT_FALSE(step(at(Stage::erasing), Event{Trigger::erased, 4, {}}, WallMs{1}).has_value());
  EXPECT_FALSE(step(at(Stage::erasing), Event{Trigger::erased, 6, {}}, WallMs{1}).has_value());
  EXPECT_TRUE(step(at(Stage::erasing), Event{Trigger::erased, 5, {}}, WallMs{1}).has_value());
}

TEST(Step, AnErrorSaysWhatAndKeepsSayingIt) {
  const auto failed =
      step(at(Stage::verifying), Event{Trigger::verify_failed, 0, with("3 samples unchanged")},
           WallMs{1});
  EXPECT_EQ(failed->record.last_error, "the erasure could not be shown: 3 samples unchanged");
  const auto again = step(failed->record, Event{Trigger::reserved_dropped, 0, {}}, WallMs{2});
  EXPECT_EQ(again->record.last_error, failed->record.last_error);
}

TEST(Step, OnlyAnEraseThatMayBeRunningIsRememberedAsBegun) {
  Record erasing = at(Stage::erasing);
  erasing.erase_begun = true;
  erasing.baseline = "b";
  const auto begun = [&](Trigger on) {
    return step(erasing, Event{on, 0, {}}, WallMs{1})->record.erase_begun;
  };
  EXPECT_TRUE(begun(Trigger::erase_unknown));
  EXPECT_TRUE(begun(Trigger::restarted_resume));
  EXPECT_TRUE(begun(Trigger::overdue));
  EXPECT_FALSE(begun(Trigger::erase_failed));
  EXPECT_FALSE(begun(Trigger::erase_not_started));
  EXPECT_FALSE(begun(Trigger::erased));
}

TEST(Step, AnErasureIsForgottenOnceItsDeviceWasOnOffer) {
  for (const Stage stage : {Stage::error, Stage::pending_cleaning}) {
    Record begun = at(stage);
    begun.erase_begun = true;
    begun.baseline = "b";
    const auto offered = step(begun, Event{Trigger::reserved_dropped, 0, {}}, WallMs{1});
    ASSERT_TRUE(offered.has_value());
    EXPECT_FALSE(offered->record.erase_begun);
    EXPECT_EQ(offered->record.baseline, "");
  }
}

TEST(Step, AnErasureIsForgottenOnceAnotherProviderStandsForItsDevice) {
  Record begun = at(Stage::pending_cleaning);
  begun.erase_begun = true;
  begun.baseline = "b";
  begun.provider = "p1";
  Facts facts;
  facts.provider = "p1";
  EXPECT_TRUE(step(begun, Event{Trigger::admitted, 0, facts}, WallMs{1})->record.erase_begun);
  facts.provider = "p2";
  const auto another = step(begun, Event{Trigger::admitted, 0, facts}, WallMs{1});
  EXPECT_FALSE(another->record.erase_begun);
  EXPECT_EQ(another->record.baseline, "");
}

TEST(Step, AnEnrolledDriveForgetsWhatWasBegunOnTheOldOne) {
  Record record = at(Stage::error);
  record.erase_begun = true;
  record.baseline = "of the old drive";
  record.enrolment = "of the old drive";
  Facts facts;
  facts.serial = "NEW";
  const auto enrolled = step(record, Event{Trigger::operator_enrol, 0, facts}, WallMs{1});
  EXPECT_FALSE(enrolled->record.erase_begun);
  EXPECT_EQ(enrolled->record.baseline, "");
  EXPECT_EQ(enrolled->record.enrolment, "");
  EXPECT_EQ(enrolled->record.serial, "NEW");
  // Another try on the same drive goes on where it was.
  const auto again = step(record, Event{Trigger::operator_clean, 0, {}}, WallMs{1});
  EXPECT_TRUE(again->record.erase_begun);
}

TEST(Step, AnOperatorEnrolsADriveOfThePoolOrOneThatWaits) {
  Record record = at(Stage::available);
  record.enrolment = "of before";
  const auto offered = step(record, Event{Trigger::operator_enrol, 0, {}}, WallMs{1});
  ASSERT_TRUE(offered.has_value());
  EXPECT_EQ(offered->record.stage, Stage::pending_cleaning);
  EXPECT_EQ(offered->effect, EffectKind::reserve) << "it is offered until it is reserved";
  EXPECT_TRUE(offered->record.accepted);
  EXPECT_EQ(offered->record.enrolment, "");
  record.stage = Stage::pending_cleaning;
  const auto waits = step(record, Event{Trigger::operator_enrol, 0, {}}, WallMs{1});
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(waits->record.enrolment, "");
  EXPECT_TRUE(waits->record.accepted);
  EXPECT_EQ(find_row(Stage::allocated, Trigger::operator_enrol), nullptr);
  EXPECT_EQ(find_row(Stage::erasing, Trigger::operator_enrol), nullptr);
}

TEST(Step, WhatWasAcceptedIsNotWhatALaterTenantLeft) {
  for (const Stage stage : {Stage::pending_cleaning, Stage::available, Stage::error}) {
    Record record = at(stage);
    record.accepted = true;
    EXPECT_FALSE(step(record, Event{Trigger::allocation_seen, 0, {}}, WallMs{1})->record.accepted);
  }
  Record record = at(Stage::releasing);
  record.accepted = true;
  EXPECT_FALSE(step(record, Event{Trigger::released, 0, {}}, WallMs{1})->record.accepted);
  record.stage = Stage::guarding;
  EXPECT_TRUE(step(record, Event{Trigger::guards_passed, 0, {}}, WallMs{1})->record.accepted);
}

TEST(Step, ACertificateThatIsNotKeptYetOutlivesTheNextTenancy) {
  Record record = at(Stage::available);
  record.evidence = "e";
  record.certificate_pending = "{}";
  record = step(record, Event{Trigger::allocation_seen, 0, {}}, WallMs{1})->record;
  EXPECT_EQ(record.evidence, "");
  record = step(record, Event{Trigger::dirty_seen, 0, {}}, WallMs{2})->record;
  EXPECT_EQ(record.certificate_pending, "{}");
}

TEST(Step, WhatWasFoundStandsUntilTheNextCleaning) {
  Record record = at(Stage::available);
  record.findings = "how worn it is";
  record = step(record, Event{Trigger::allocation_seen, 0, {}}, WallMs{1})->record;
  record = step(record, Event{Trigger::reserved_dropped, 0, {}}, WallMs{1})->record;
  EXPECT_EQ(record.findings, "how worn it is");
  EXPECT_EQ(step(record, Event{Trigger::dirty_seen, 0, {}}, WallMs{2})->record.findings, "");
}

TEST(Step, TheStepsBeforeTheEraseAreCountedAndNamed) {
  Record record = at(Stage::rechecking);
  record.plan = {{"nvme", "check_health", 90, "{}"},
                 {"nvme", "reset_namespaces", 70, "{}"},
                 {"nvme", "overwrite", 50, "{}"}};
  record.findings = "of an earlier cleaning";
  record.step_index = 1;
  record = step(record, Event{Trigger::still_burned, 0, {}}, WallMs{1})->record;
  EXPECT_EQ(record.step_index, 0U);
  EXPECT_EQ(record.findings, "");
  EXPECT_EQ(record.clean_step, "nvme.check_health");
  Facts facts;
  facts.findings = "{}";
  record.progress_percent = 50;
  record.progress_message = "half";
  record = step(record, Event{Trigger::step_done, 0, facts}, WallMs{2})->record;
  EXPECT_EQ(record.clean_step, "nvme.reset_namespaces");
  EXPECT_EQ(record.progress_percent, 0);
  EXPECT_EQ(record.progress_message, "");
  facts.step_index = 2;
  record = step(record, Event{Trigger::steps_done, 0, facts}, WallMs{3})->record;
  EXPECT_EQ(record.findings, "{}") << "for the certificate";
  record = step(record, Event{Trigger::baseline_taken, 0, {}}, WallMs{4})->record;
  EXPECT_EQ(record.clean_step, "nvme.overwrite");
}

TEST(Step, AnUnfitDriveIsCertifiedAndKeptWithItsTenancy) {
  Record record = at(Stage::verifying);
  record.plan = {{"nvme", "overwrite", 50, "{}"}, {"a", "after", 9, "{}"}};
  record.instance = "the last one";
  record.certificate_id = "of the release before";
  record.certificate_at = WallMs{3};
  Facts facts;
  facts.detail = "health: worn out";
  facts.verification = "v";
  const auto update = step(record, Event{Trigger::verified_unfit, 5, facts}, WallMs{9});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->effect, EffectKind::certify);
  EXPECT_EQ(update->record.stage, Stage::error);
  EXPECT_EQ(update->record.last_error, "erased, not returned: health: worn out");
  EXPECT_EQ(update->record.verified_at, WallMs{9});
  EXPECT_EQ(update->record.verification, "v");
  EXPECT_EQ(update->record.instance, "the last one");
  EXPECT_EQ(update->record.certificate_id, "of the release before")
      << "by which a hold is told: this erasure ends in none";
  EXPECT_EQ(update->record.certificate_at, WallMs{3});
}

TEST(Step, TheStepsAfterTheVerificationAreCountedAndNamed) {
  Record record = at(Stage::verifying);
  record.plan = {{"nvme", "overwrite", 50, "{}"}, {"a", "first", 9, "{}"}, {"a", "last", 8, "{}"}};
  Facts facts;
  facts.step_index = 1;
  record = step(record, Event{Trigger::verified_more, 0, facts}, WallMs{7})->record;
  EXPECT_EQ(record.clean_step, "a.first");
  EXPECT_EQ(record.verified_at, WallMs{7});
  record = step(record, Event{Trigger::step_done, 0, {}}, WallMs{8})->record;
  EXPECT_EQ(record.clean_step, "a.last");
  record = step(record, Event{Trigger::steps_done, 0, {}}, WallMs{9})->record;
  EXPECT_EQ(record.stage, Stage::restoring);
  EXPECT_EQ(record.verified_at, WallMs{7}) << "of the verification, not of what followed";
}

TEST(Step, AnOperatorStartsWhatWaitsForHimAndNothingElse) {
  Record record = at(Stage::pending_cleaning);
  const Event word{Trigger::operator_clean, 0, {}};
  EXPECT_EQ(step(record, word, WallMs{1})->record.clean_start, CleanStart::ordered);
  record.clean_start = CleanStart::automatic;
  EXPECT_FALSE(step(record, word, WallMs{1}).has_value());
  EXPECT_EQ(step(at(Stage::error), word, WallMs{1})->record.clean_start, CleanStart::ordered);
  // The same where a release cannot be told from one that was made, and a tenancy that followed.
  record = at(Stage::confirming);
  record.clean_start = CleanStart::ordered;
  record = step(record, Event{Trigger::look_changed, 0, {}}, WallMs{1})->record;
  EXPECT_EQ(record.clean_start, CleanStart::automatic);
  // The next tenancy's cleaning is another one.
  record = at(Stage::available);
  record.clean_start = CleanStart::ordered;
  record = step(record, Event{Trigger::allocation_seen, 0, {}}, WallMs{1})->record;
  EXPECT_EQ(record.clean_start, CleanStart::automatic);
}

TEST(Step, APlanIsLockedInUntilAnErrorOrAPolicyThatCannotBe) {
  Record record = at(Stage::allocated);
  record.plan = {{"nvme", "overwrite", 50, "{}"}};
  EXPECT_EQ(step(record, Event{Trigger::dirty_seen, 0, {}}, WallMs{1})->record.plan.size(), 1U);
  record.stage = Stage::error;
  EXPECT_EQ(step(record, Event{Trigger::operator_clean, 0, {}}, WallMs{1})->record.plan.size(), 0U);
  record.stage = Stage::available;
  const auto out = step(record, Event{Trigger::policy_unsatisfied, 0, with("no")}, WallMs{1});
  EXPECT_EQ(out->record.plan.size(), 0U);
  EXPECT_EQ(out->effect, EffectKind::reserve);
  EXPECT_EQ(out->record.waiting_for, "no");
}

TEST(Step, AReleaseSeenByTheNextInstanceIsCertifiedAndDirtyAgain) {
  Record record = at(Stage::confirming);
  record.instance = "the one before";
  record.evidence = "e";
  record.attempts = 3;
  Facts facts;
  facts.certificate_id = "c";
  const auto taken = step(record, Event{Trigger::released_taken, 0, facts}, WallMs{9});
  EXPECT_EQ(taken->record.stage, Stage::allocated);
  EXPECT_EQ(taken->effect, EffectKind::finish);
  EXPECT_EQ(taken->record.certificate_id, "c");
  EXPECT_EQ(taken->record.evidence, "e");
  EXPECT_EQ(taken->record.instance, "the one before") << "whom the certificate is about";
  EXPECT_GT(taken->record.tenancy_seen_at, taken->record.certificate_at);
  EXPECT_EQ(taken->record.attempts, 0U);
}

TEST(Step, AReleaseThatIsOverAgainIsCertifiedAndItsTenantIsNobody) {
  Record record = at(Stage::confirming);
  record.instance = "the one before";
  record.instance_source = InstanceSource::allocation;
  record.evidence = "e";
  record.attempts = 3;
  record.erases = 2;
  Facts facts;
  facts.certificate_id = "c";
  const auto over = step(record, Event{Trigger::released_unseen, 0, facts}, WallMs{9});
  EXPECT_EQ(over->record.stage, Stage::pending_cleaning);
  EXPECT_EQ(over->effect, EffectKind::finish);
  EXPECT_EQ(over->record.certificate_id, "c");
  EXPECT_EQ(over->record.evidence, "") << "of the drive as it was before";
  EXPECT_EQ(over->record.instance, "");
  EXPECT_EQ(over->record.instance_source, InstanceSource::not_seen);
  EXPECT_EQ(over->record.attempts, 0U);
  EXPECT_EQ(over->record.erases, 0U);
}

TEST(Step, NobodyIsKnownToHaveHadItLastUnlessTheFactsSaySo) {
  for (const Trigger on : {Trigger::look_changed, Trigger::placement_changed}) {
    Record record = at(Stage::confirming);
    record.instance = "the one before";
    record.request_id = "req";
    EXPECT_EQ(step(record, Event{on, 0, {}}, WallMs{9})->record.instance, "");
    EXPECT_EQ(step(record, Event{on, 0, {}}, WallMs{9})->record.request_id, "");
    Facts facts;
    facts.name_tenant("the one before", InstanceSource::allocation);
    EXPECT_EQ(step(record, Event{on, 0, facts}, WallMs{9})->record.instance, "the one before");
  }
  Record record = at(Stage::looking);
  record.instance = "the one before";
  EXPECT_EQ(step(record, Event{Trigger::look_changed, 0, {}}, WallMs{9})->record.instance,
            "the one before");
  record.waiting_for = "its release is withheld";
  EXPECT_EQ(step(record, Event{Trigger::look_changed, 0, {}}, WallMs{9})->record.instance, "");
}

TEST(Step, WhatIsPassedOnIsAnotherTenancy) {
  Record record = at(Stage::allocated);
  record.instance = "the one before";
  record.migration = "its migration";
  record.project = "its project";
  record.tenancy_seen_at = WallMs{3};
  Facts facts;
  facts.name_tenant("the next", InstanceSource::allocation);
  const auto next = step(record, Event{Trigger::passed_on, 0, facts}, WallMs{9});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->record.stage, Stage::allocated);
  EXPECT_EQ(next->record.instance, "the next");
  EXPECT_EQ(next->record.migration, "");
  EXPECT_EQ(next->record.project, "");
  EXPECT_EQ(next->record.tenancy_seen_at.ms, 9);
}

TEST(Step, ATenancyThatIsSeenTellsNothingOfTheOneBefore) {
  Record record = at(Stage::available);
  record.instance = "the one before";
  record.instance_source = InstanceSource::allocation;
  record.migration = "its migration";
  record.project = "its project";
  record.user = "its user";
  record.request_id = "req-before";
  const auto bound = step(record, Event{Trigger::allocation_seen, 0, {}}, WallMs{9});
  EXPECT_EQ(bound->record.instance, "");
  EXPECT_EQ(bound->record.instance_source, InstanceSource::not_seen);
  EXPECT_EQ(bound->record.request_id, "");
  EXPECT_EQ(bound->record.migration, "");
  EXPECT_EQ(bound->record.project, "");
  EXPECT_EQ(bound->record.user, "");
  Facts facts;
  facts.name_tenant("the next", InstanceSource::arq);
  const auto next = step(record, Event{Trigger::allocation_seen, 0, facts}, WallMs{9});
  EXPECT_EQ(next->record.instance, "the next");
  EXPECT_EQ(next->record.consumer(), "") << "Placement did not show it";
}

// Anybody on the bus can invent an accelerator request.
TEST(Step, WhatAnAcceleratorRequestAloneSaysReplacesNoTenantWhomPlacementShowed) {
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (stage == Stage::available || find_row(stage, Trigger::allocation_seen) == nullptr) continue;
    Record record = at(stage);
    record.instance = "the tenant";
    record.instance_source = InstanceSource::allocation;
    record.project = "its project";
    record.migration = "its migration";
    record.evidence = "{}";
    Facts facts;
    facts.name_tenant("the invented", InstanceSource::arq);
    const auto update = step(record, Event{Trigger::allocation_seen, 0, facts}, WallMs{9});
    const bool rests = stage == Stage::pending_cleaning || stage == Stage::confirming;
    ASSERT_EQ(update.has_value(), !rests) << to_string(stage);
    if (!update) continue;
    EXPECT_TRUE(update->only_said);
    EXPECT_EQ(update->record.stage, Stage::error);
    EXPECT_EQ(update->record.consumer(), "the tenant");
    EXPECT_EQ(update->record.project, "its project");
    EXPECT_EQ(update->record.migration, "its migration");
    EXPECT_EQ(update->record.evidence, "") << "it may be true";
    // Whom only another one named has no such place.
    record.instance_source = InstanceSource::arq;
    const auto next = step(record, Event{Trigger::allocation_seen, 0, facts}, WallMs{9});
    ASSERT_TRUE(next);
    EXPECT_FALSE(next->only_said);
    EXPECT_EQ(next->record.instance, "the invented");
  }
}

TEST(Step, ErasesAreCountedUntilARelease) {
  Record record = at(Stage::baselining);
  record.erases = 2;
  record = step(record, Event{Trigger::baseline_taken, 0, {}}, WallMs{1})->record;
  EXPECT_EQ(record.erases, 3U);
  record.stage = Stage::releasing;
  EXPECT_EQ(step(record, Event{Trigger::released, 0, {}}, WallMs{1})->record.erases, 0U);
  record.stage = Stage::error;
  EXPECT_EQ(step(record, Event{Trigger::operator_clean, 0, {}}, WallMs{1})->record.erases, 0U)
      << "an operator has it tried as often again";
}

TEST(Step, AnEraseComesAfterTheCertificateBeforeItThoughTheClockWasSetBack) {
  Record record;
  record.cleaning_started_at = WallMs{100};
  record.verified_at = WallMs{200};
  EXPECT_EQ(erased_at(record), WallMs{200});
  record.certificate_at = WallMs{5'000};
  EXPECT_EQ(erased_at(record), WallMs{5'001});
}

TEST(Step, ARestartFollowsFlowPolicyAndPlannedStop) {
  Record nova = at(Stage::erasing);
  Record cyborg = nova;
  cyborg.flow = Flow::cyborg;
  using enum InterruptedCleaning;
  EXPECT_EQ(restart_trigger(nova, automatic), Trigger::restarted_resume);
  EXPECT_EQ(restart_trigger(cyborg, automatic), Trigger::restarted_error);
  EXPECT_EQ(restart_trigger(nova, error), Trigger::restarted_error);
  EXPECT_EQ(restart_trigger(cyborg, resume), Trigger::restarted_resume);
  nova.planned_stop = true;
  cyborg.planned_stop = true;
  EXPECT_EQ(restart_trigger(nova, error), Trigger::restarted_resume);
  EXPECT_EQ(restart_trigger(cyborg, error), Trigger::restarted_error);
}

TEST(Machine, ShowsFiveStatesToOperators) {
  for (std::size_t s = 0; s < kStageCount; ++s) {
    const auto stage = static_cast<Stage>(s);
    EXPECT_EQ(*parse_stage(to_string(stage)), stage);
    // What works at the device is one state; the others have the name of their stage.
    EXPECT_EQ(to_string(device_state(stage)), is_busy(stage) ? "cleaning" : to_string(stage));
  }
  EXPECT_FALSE(parse_stage("sleeping").ok());
}

TEST(Machine, IsPrintedRowByRow) {
  for (const char* format : {"text", "markdown", "dot"}) {
    const auto text = render_machine(format);
    ASSERT_TRUE(text.ok());
    for (const Row& row : machine_rows())
      EXPECT_THAT(*text, HasSubstr(std::string(to_string(row.on))));
  }
  EXPECT_FALSE(render_machine("png").ok());
}

// What fences the release of a kept erase asks whether it is withheld, after an outage as well.
TEST(Step, AnOutageOfPlacementEndsNoWaitForARelease) {
  Record record;
  record.stage = Stage::looking;
  record.epoch = 5;
  record.waiting_for = "withheld";
  const auto away = step(record, Event{Trigger::placement_away, 5, {}}, WallMs{9});
  ASSERT_TRUE(away.has_value());
  EXPECT_EQ(away->record.stage, Stage::looking);
  EXPECT_EQ(away->record.waiting_for, "withheld");
}

}  // namespace
}  // namespace reclaim
