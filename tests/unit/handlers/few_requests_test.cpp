// How often Placement is asked of one device while it is cleaned, and that less is not asked than
// is needed.
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

struct FewRequests : ::testing::Test {
  // A worker that has cleaned before, so that nothing of its start is counted, and a tenant.
  void begin(bool cyborg) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    world.emplace(options);
    world->conductor_options.survey_interval_ms = kDayMs;  // none but those asked for
    world->start_worker();
    world->pass(kMinuteMs);
    for (int tenant = 0; tenant < 2; ++tenant) {
      if (tenant > 0) clean();
      world->tenancy_begins(0);
      look();
    }
    ASSERT_EQ(world->record().stage, Stage::allocated);
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void clean() {
    world->tenancy_ends();
    look();
  }
  // Once the record of that stage is saved.
  void at(Stage stage, std::function<void()> what) {
    world->store.on_saved = [stage, what = std::move(what), checks = world->store.on_saved](
                                const Record& record, const JournalEntry& entry) {
      checks(record, entry);
      if (record.stage == stage) what();
    };
  }
  // Of the device's provider, from the admission to the PUT.
  [[nodiscard]] int reads_of_a_clean() {
    int at_admission = 0;
    int at_release = 0;
    at(Stage::guarding, [&] { at_admission = world->placement.requests().read; });
    at(Stage::releasing, [&] { at_release = world->placement.requests().read; });
    clean();
    EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
    return at_release - at_admission;
  }
  void TearDown() override {
    if (world) {
      EXPECT_EQ(world->failure.value_or(""), "");
    }
  }

  std::optional<World> world;
};

TEST_F(FewRequests, RecheckAndLastLookAreOneEach) {
  begin(false);
  EXPECT_EQ(reads_of_a_clean(), 2);
}

TEST_F(FewRequests, WhatMovedInBetweenIsReadInFull) {
  begin(false);
  at(Stage::verifying, [this] { world->placement.touch(world->provider().row.uuid); });
  EXPECT_EQ(reads_of_a_clean(), 3);
}

// Its provider was deleted and made again meanwhile, and has come to the same generation.
TEST_F(FewRequests, ACyborgsProviderIsReadInFull) {
  begin(true);
  const auto released = world->releases;
  at(Stage::verifying, [this] { world->provider().consumers = {"another"}; });
  clean();
  EXPECT_EQ(world->releases, released);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_EQ(world->record().instance, "another");
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

// Nova's versioned notification and its legacy one, or two that only look alike.
struct ToldTwice : FewRequests {
  void SetUp() override {
    begin(false);
    world->pass(kMinuteMs / 6);
  }
  [[nodiscard]] std::uint64_t surveys_of(const char* second, const char* instance) {
    const auto before = world->conductor->counters().surveys;
    world->conductor->take(told("compute.instance.delete.end", "an-instance"));
    world->pass(kApartMs);
    world->conductor->take(told(second, instance));
    world->pass(kMinuteMs / 6);
    return world->conductor->counters().surveys - before;
  }
  [[nodiscard]] Kick told(const char* event, const char* instance) const {
    Kick kick;
    kick.reason = event;
    kick.instance = instance;
    kick.host = world->conductor_options.host;
    kick.delays_s = {0};
    return kick;
  }
  static constexpr std::int64_t kApartMs = 20;
};

TEST_F(ToldTwice, TheSameEventIsOneSurvey) {
  EXPECT_EQ(surveys_of("instance.delete.end", "an-instance"), 1U);
}

TEST_F(ToldTwice, AnotherInstanceIsAnotherSurvey) {
  EXPECT_EQ(surveys_of("instance.delete.end", "another"), 2U);
}

TEST_F(ToldTwice, AnotherEventIsAnotherSurvey) {
  EXPECT_EQ(surveys_of("instance.shelve_offload.end", "an-instance"), 2U);
}

TEST_F(ToldTwice, TheFirstIsServedAtOnce) {
  const int before = world->placement.requests().list_tree;
  world->conductor->take(told("instance.delete.end", "an-instance"));
  world->pass(60);  // the heartbeat's answer and the listing's, 20 ms each at most
  EXPECT_GT(world->placement.requests().list_tree, before);
}

// `instance.evacuate` and `resize_revert.end` say nothing of the host whose device is freed.
struct NamesNoHost : FewRequests {
  void SetUp() override {
    begin(false);
    world->pass(kMinuteMs / 6);
  }
  [[nodiscard]] std::uint64_t surveys_of(const std::string& instance, const char* host = "") {
    const auto before = world->conductor->counters().surveys;
    Kick kick;
    kick.reason = "instance.evacuate";
    kick.instance = instance;
    kick.host = host;
    kick.delays_s = {0, 5, 30};
    world->conductor->take(kick);
    world->pass(kMinuteMs);
    return world->conductor->counters().surveys - before;
  }
};

TEST_F(NamesNoHost, IsForWhomHasADeviceOfItsInstance) {
  EXPECT_EQ(surveys_of("an-instance"), 0U);
  EXPECT_GT(surveys_of("an-instance", "compute-1"), 0U) << "a host is named";
  EXPECT_EQ(surveys_of(world->record().instance), 1U) << "an evacuation frees nothing at once";
  EXPECT_GT(surveys_of(""), 1U) << "nobody can tell";
}

// By the versioned notification and the legacy one.
TEST_F(NamesNoHost, ToldTwiceIsOneSurvey) {
  const auto before = world->conductor->counters().surveys;
  for (const char* reason : {"instance.evacuate", "compute.instance.evacuate"}) {
    Kick kick;
    kick.reason = reason;
    kick.instance = world->record().instance;
    kick.delays_s = {0, 5, 30};
    world->conductor->take(kick);
    world->pass(20);
  }
  world->pass(kMinuteMs);
  EXPECT_EQ(world->conductor->counters().surveys, before + 1);
}

TEST_F(NamesNoHost, IsForWhereItsInstanceWasHeardToBegin) {
  const std::string instance = "4dee8fde-fe92-4c46-bd4d-bc755777eeeb";
  Kick begun;
  begun.reason = "instance.create.end";
  begun.instance = instance;
  begun.host = world->conductor_options.host;
  begun.life = Life::begins;
  begun.delays_s = {0};
  world->conductor->take(begun);
  world->pass(kMinuteMs);
  EXPECT_GT(surveys_of(instance), 0U) << "no survey saw it, and it may have had a device";
}

TEST_F(NamesNoHost, IsForTheHostOfAMigration) {
  world->provider().consumers = {"a-migration"};
  look();
  ASSERT_EQ(world->record().stage, Stage::allocated);
  EXPECT_GT(surveys_of(world->record().instance), 0U);
}

// Most instances have no device of ours.
struct Deleted : FewRequests {
  [[nodiscard]] std::uint64_t surveys_of(const std::string& instance) {
    const auto before = world->conductor->counters().surveys;
    Kick kick;
    kick.reason = "instance.delete.end";
    kick.instance = instance;
    kick.host = world->conductor_options.host;
    kick.delays_s = {0, 5, 30};
    world->conductor->take(kick);
    world->pass(kMinuteMs);
    return world->conductor->counters().surveys - before;
  }
};

TEST_F(Deleted, OneWithoutADeviceIsOneSurvey) {
  begin(false);
  EXPECT_EQ(surveys_of("an-instance"), 1U);
  EXPECT_EQ(surveys_of("an-instance"), 1U);
}

TEST_F(Deleted, OneWhoseAllocationIsThereIsLookedForAgain) {
  begin(false);
  EXPECT_EQ(surveys_of(world->record().instance), 3U);
  world->provider().consumers = {"a-migration"};
  world->placement.touch(world->provider().row.uuid);
  EXPECT_EQ(surveys_of("a-migration"), 3U) << "no record has it yet";
}

TEST_F(Deleted, OneThatNoSurveyCouldLookForIsLookedForAgain) {
  begin(false);
  world->placement.set_away(true);
  world->scheduler.outside(kMinuteMs / 60, [this] { world->placement.set_away(false); });
  EXPECT_GT(surveys_of("an-instance"), 2U);
}

}  // namespace
}  // namespace reclaim::sim
