// A release whose outcome nobody saw, and a whole tenancy before it is read back: what the erasure
// before it and the one after it are certified with.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

WorldOptions scripted() {
  WorldOptions options;
  options.scripted = true;
  return options;
}

struct ReleaseUnseen : ::testing::Test {
  void begin() {
    checks_saved = world.store.on_saved;
    world.store.on_saved = [this](const Record& record, const JournalEntry& entry) {
      checks_saved(record, entry);
      triggers.insert(entry.trigger);
    };
    world.start_worker();
    world.pass(kMinuteMs);
    world.tenancy_begins();
    world.kick({0});
    world.pass(kMinuteMs);
    first = world.record().instance;
    ASSERT_NE(first, "");
  }
  // Calls `what` once, when the release that follows was made; its answer is lost.
  void release_unseen(std::function<void()> what) {
    world.placement.on_released = [this, what = std::move(what),
                                   checks = world.placement.on_released](Provider& provider) {
      checks(provider);
      if (std::exchange(release_made, true)) return;
      world.placement.on_release_asked = nullptr;
      what();
    };
    world.placement.on_release_asked = [this](const placement::ProviderView&) {
      world.faults.put_lost_done = 1;
      world.scheduler.outside(1'000, [this] { world.faults.put_lost_done = 0; });
    };
    leave();
    world.pass(kMinuteMs);
    world.faults.put_lost_done = 0;
  }
  // The worker dies while its release is under way, and the PUT is not made.
  void die_before_the_release() {
    world.placement.on_release_asked = [this](const placement::ProviderView&) {
      world.faults.put_lost_not = 1;
      world.scheduler.outside(0, [this] { world.kill_worker(); });
    };
    leave();
    world.pass(kMinuteMs);
    world.faults.put_lost_not = 0;
    world.placement.on_release_asked = nullptr;
    ASSERT_EQ(world.conductor, nullptr);
    ASSERT_EQ(world.releases, 0U);
  }
  void leave() {
    world.tenancy_ends();
    world.kick({0});
  }
  void a_whole_tenancy() {
    world.tenancy_begins();
    world.tenancy_ends();
  }
  void start_again() {
    world.start_worker();
    world.pass(kHourMs);
    ASSERT_EQ(world.record().stage, Stage::available);
    ASSERT_EQ(reserved(), 0);
  }
  void die() {
    world.scheduler.outside(0, [this] { world.kill_worker(); });
  }
  // What the certificates name, the last one apart.
  [[nodiscard]] std::multiset<std::string> instances() {
    std::multiset<std::string> out;
    for (const auto& [id, text] : world.disk.certificates) {
      const auto certificate = decode_certificate(text);
      EXPECT_TRUE(certificate.ok());
      if (id != world.record().certificate_id) out.insert(certificate->instance);
    }
    return out;
  }
  [[nodiscard]] Certificate last() {
    return decode_certificate(world.disk.certificates.at(world.record().certificate_id)).value();
  }
  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  World world{scripted()};
  std::function<void(const Record&, const JournalEntry&)> checks_saved;
  std::multiset<std::string> triggers;
  bool release_made = false;
  std::string first;  // the instance whose tenancy the first erasure ends
};

TEST_F(ReleaseUnseen, IsCertifiedByTheNextWorkerAndTheTenancySinceIsNobodys) {
  begin();
  release_unseen([this] { die(); });
  ASSERT_EQ(world.conductor, nullptr);
  ASSERT_EQ(world.releases, 1U);
  a_whole_tenancy();
  start_again();
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(world.releases, 2U);
  EXPECT_EQ(triggers.count("released_unseen"), 1U);
  EXPECT_EQ(instances(), std::multiset<std::string>{first});
  EXPECT_EQ(last().instance, "");
  EXPECT_EQ(last().instance_source, "not_seen");
  EXPECT_EQ(world.drive().owner, 0U);
}

TEST_F(ReleaseUnseen, IsCertifiedByTheWorkerThatAskedForIt) {
  begin();
  release_unseen([this] { a_whole_tenancy(); });
  world.pass(kHourMs);
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(world.releases, 2U);
  EXPECT_EQ(triggers.count("released_unseen"), 1U);
  EXPECT_EQ(instances(), std::multiset<std::string>{first});
  EXPECT_EQ(last().instance, "");
  EXPECT_EQ(world.record().stage, Stage::available);
}

// What it was interrupted in did happen.
TEST_F(ReleaseUnseen, IsNoErrorWhereInterruptedCleaningsAre) {
  begin();
  world.conductor_options.interrupted_cleaning = InterruptedCleaning::error;
  release_unseen([this] { die(); });
  a_whole_tenancy();
  start_again();
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(instances(), std::multiset<std::string>{first});
}

TEST_F(ReleaseUnseen, IsNotCertifiedWhereTheDriveTellsOfNobodyAndNobodyIsNamed) {
  begin();
  release_unseen([this] { die(); });
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  start_again();
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(triggers.count("released_unseen"), 0U);
  EXPECT_TRUE(instances().empty());
  EXPECT_EQ(last().instance, "");
  EXPECT_EQ(last().instance_source, "not_seen");
}

TEST_F(ReleaseUnseen, IsNotShownByAnotherDriveThatWasWrittenTo) {
  begin();
  release_unseen([this] { die(); });
  a_whole_tenancy();
  const std::string serial = world.drive().serial;
  world.drive().serial = "another";
  world.start_worker();
  world.pass(kMinuteMs);
  EXPECT_TRUE(world.disk.certificates.empty());
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(reserved(), 1);
  world.drive().serial = serial;
}

TEST_F(ReleaseUnseen, ThatWasNotMadeLeavesTheTenantThatIsOnRecord) {
  begin();
  die_before_the_release();
  start_again();
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_TRUE(instances().empty());
  EXPECT_EQ(last().instance, first);
  EXPECT_EQ(last().instance_source, "allocation");
}

// Somebody of the host: nobody has given the drive away.
TEST_F(ReleaseUnseen, ThatWasNotMadeIsNotShownByADriveThatWasWrittenTo) {
  begin();
  die_before_the_release();
  write_media(world.drive(), 0, 4711);
  start_again();
  EXPECT_EQ(triggers.count("released_unseen"), 0U);
  EXPECT_TRUE(instances().empty());
  EXPECT_EQ(last().instance, first);
}

// Every worker's fence moves the generation of the provider, as a release would.
TEST_F(ReleaseUnseen, ThatWasNotMadeIsNotShownByTheFencesOfWorkersThatDied) {
  begin();
  die_before_the_release();
  const auto checks = world.placement.on_written;
  for (int lives = 0; lives < 2; ++lives) {
    world.placement.on_written = [this, checks](const Provider& provider) {
      checks(provider);
      die();
    };
    world.start_worker();
    while (world.conductor != nullptr) world.pass(1);
  }
  world.placement.on_written = checks;
  write_media(world.drive(), 0, 4711);
  start_again();
  EXPECT_EQ(triggers.count("released_unseen"), 0U);
  EXPECT_TRUE(instances().empty());
  EXPECT_EQ(last().instance, first);
}

TEST_F(ReleaseUnseen, IsNotFencedBeforeTheLedgerHasIt) {
  begin();
  die_before_the_release();
  world.disk.full = true;
  const std::int64_t before = world.provider().row.generation;
  world.start_worker();
  world.pass(kMinuteMs);
  EXPECT_EQ(world.provider().row.generation, before);
  EXPECT_EQ(world.record().stage, Stage::confirming);
  world.disk.full = false;
  world.pass(kHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

TEST_F(ReleaseUnseen, ThatWasNotMadeIsNotShownByAnotherClientsWrite) {
  begin();
  die_before_the_release();
  world.placement.touch(world.provider().row.uuid);
  start_again();
  EXPECT_EQ(triggers.count("released_unseen"), 0U);
  EXPECT_TRUE(instances().empty());
  EXPECT_EQ(last().instance, "") << "it may have been made, and somebody may have had it";
}

// The second cleaning came to its release, and the ledger has only the first one's certificate.
TEST_F(ReleaseUnseen, IsNotShownByTheCertificateOfAnEarlierCleaning) {
  begin();
  die_before_the_release();
  world.start_worker();
  const auto seen = world.store.on_saved;
  world.store.on_saved = [this, seen](const Record& record, const JournalEntry& entry) {
    seen(record, entry);
    if (record.stage == Stage::releasing) die();
  };
  world.pass(kHourMs);
  ASSERT_EQ(world.conductor, nullptr);
  ASSERT_EQ(world.erases, 2U);
  ASSERT_EQ(world.releases, 0U);
  world.store.on_saved = seen;
  world.placement.touch(world.provider().row.uuid);
  start_again();
  EXPECT_EQ(triggers.count("released_unseen"), 0U);
  EXPECT_TRUE(instances().empty());
  EXPECT_EQ(world.erases, 3U);
}

// The next cleaning writes its canaries, the ledger's disk is full before it notes them, and the
// host goes down with what Redis had of that cleaning.
TEST_F(ReleaseUnseen, IsNotShownByWhatTheNextCleaningWritesToTheDrive) {
  begin();
  die_before_the_release();
  const std::int64_t died_ms = world.scheduler.now_ms();
  world.pass(kMinuteMs);
  world.start_worker();
  const auto seen = world.store.on_saved;
  world.store.on_saved = [this, seen](const Record& record, const JournalEntry& entry) {
    seen(record, entry);
    if (record.stage == Stage::baselining) world.disk.full = true;
  };
  world.pass(kMinuteMs);
  ASSERT_NE(world.drive().canary, 0);
  world.kill_worker();
  world.store.lose_last(world.scheduler.now_ms() - died_ms);
  world.store.on_saved = seen;
  world.disk.full = false;
  world.placement.touch(world.provider().row.uuid);
  start_again();
  EXPECT_EQ(triggers.count("released_unseen"), 0U);
  EXPECT_TRUE(instances().empty());
}

// The host goes down after its release was asked for, and the next worker finds an older record of
// the device.
struct ReleaseForgotten : ReleaseUnseen, ::testing::WithParamInterface<Stage> {
  void begin_and_remember() {
    begin();
    if (world.record().stage == GetParam()) old = world.record();
    world.store.on_saved = [this, seen = world.store.on_saved](const Record& record,
                                                               const JournalEntry& entry) {
      seen(record, entry);
      if (record.stage == GetParam()) old = record;
    };
  }
  // The disk is full when its certificate is to be sealed.
  void release_unsealed() {
    const auto released = world.placement.on_released;
    world.placement.on_released = [this, released](Provider& provider) {
      released(provider);
      world.disk.full = true;
    };
    leave();
    world.pass(kMinuteMs);
    world.placement.on_released = released;
    id = world.record().certificate_id;
    ASSERT_NE(id, "");
    ASSERT_EQ(world.record().stage, Stage::available);
    ASSERT_TRUE(world.disk.certificates.empty());
    world.kill_worker();
    world.disk.full = false;
    world.store.put_back(old.value());
  }
  std::optional<Record> old;
  std::string id;
};

TEST_P(ReleaseForgotten, IsCertifiedThoughAWholeTenancyFollowed) {
  begin_and_remember();
  release_unsealed();
  a_whole_tenancy();
  start_again();
  EXPECT_TRUE(world.disk.certificates.contains(id)) << id;
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(instances(), std::multiset<std::string>{first});
  EXPECT_EQ(last().instance, "");
}

TEST_P(ReleaseForgotten, IsCertifiedWhileTheNextTenantHasIt) {
  begin_and_remember();
  release_unsealed();
  world.tenancy_begins();
  world.start_worker();
  world.pass(kMinuteMs);
  EXPECT_TRUE(world.disk.certificates.contains(id)) << id;
  EXPECT_EQ(world.record().stage, Stage::allocated);
}

TEST_P(ReleaseForgotten, IsNotDoneAgainWhileNobodyHasTakenIt) {
  begin_and_remember();
  release_unsealed();
  start_again();
  EXPECT_TRUE(world.disk.certificates.contains(id)) << id;
  EXPECT_EQ(world.erases, 1U);
  EXPECT_EQ(world.record().certificate_id, id);
}

TEST_P(ReleaseForgotten, ThatWasNotMadeIsNotShownByADriveThatWasWrittenTo) {
  begin_and_remember();
  die_before_the_release();
  world.store.put_back(old.value());
  write_media(world.drive(), 0, 4711);
  start_again();
  EXPECT_EQ(world.releases, 1U);
  EXPECT_TRUE(instances().empty());
}

TEST_P(ReleaseForgotten, ThatWasNotMadeIsNotShownByAnotherClientsWrite) {
  begin_and_remember();
  die_before_the_release();
  world.store.put_back(old.value());
  world.placement.touch(world.provider().row.uuid);
  start_again();
  EXPECT_EQ(world.releases, 1U);
  EXPECT_TRUE(instances().empty());
}

INSTANTIATE_TEST_SUITE_P(Records, ReleaseForgotten,
                         ::testing::Values(Stage::allocated, Stage::pending_cleaning,
                                           Stage::preparing, Stage::erasing, Stage::verifying,
                                           Stage::looking, Stage::releasing),
                         [](const auto& stage) { return std::string(to_string(stage.param)); });

}  // namespace
}  // namespace reclaim::sim
