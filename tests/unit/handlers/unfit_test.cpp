// Health decides whether a drive is given back, and not whether it is erased: what is too unwell is
// erased, verified and certified, and stays reserved, wherever its worker died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Unfit : ::testing::Test {
  Unfit() {
    WorldOptions options;
    options.scripted = options.trace = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    look();
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void clean() {
    world->tenancy_ends();
    look();
  }
  void clean_again() {
    world->command("clean", world->slots.front().address);
    world->pass(kMinuteMs);
  }
  // Once, when a record of that stage has been written.
  void when_saved(Stage stage, std::function<void()> what) {
    world->store.on_saved = [stage, what = std::move(what), checks = world->store.on_saved,
                             done = false](const Record& record,
                                           const JournalEntry& entry) mutable {
      checks(record, entry);
      if (record.stage == stage && !std::exchange(done, true)) what();
    };
  }
  Certificate certificate_of(const std::string& why) {
    for (const auto& [id, text] : world->disk.certificates) {
      const auto certificate = decode_certificate(text);
      if (certificate && certificate->not_returned.find(why) != std::string::npos) {
        return *certificate;
      }
    }
    ADD_FAILURE() << "no certificate says " << why;
    return {};
  }
  // Erased, with the proof of it, and kept.
  void expect_kept() {
    const Record& record = world->record();
    EXPECT_EQ(record.stage, Stage::error);
    EXPECT_THAT(record.last_error,
                AllOf(HasSubstr("erased, not returned: health: 101 % of its endurance is used"),
                      HasSubstr("`reclaim device clean`")));
    EXPECT_EQ(world->drive().owner, 0U);
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_TRUE(world->disk.entries.at(record.address).dirty);
    EXPECT_EQ(world->releases, 0U);
    EXPECT_EQ(record.certificate_pending, "") << "it is sealed";
    EXPECT_EQ(record.certificate_id, "");
    EXPECT_FALSE(world->drives->claimed(record.address));
    const Certificate certificate = certificate_of("101 % of its endurance is used");
    EXPECT_EQ(certificate.serial, world->drive().serial);
    EXPECT_EQ(certificate.released_at, WallMs{});
    EXPECT_EQ(certificate.sanitization_class, "purge");
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  std::optional<World> world;
};

TEST_F(Unfit, IsErasedCertifiedAndKept) {
  world->drive().unfit = true;
  clean();
  expect_kept();
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->disk.certificates.size(), 1U);
  EXPECT_EQ(certificate_of("101 %").instance, world->record().instance);
  world->pass(kHourMs);
  expect_kept();
  EXPECT_EQ(world->erases, 1U) << "an operator has to act";
}

TEST_F(Unfit, IsGivenBackWhereItsOperatorPutsUpWithThat) {
  world->drive().unfit = true;
  clean();
  clean_again();
  expect_kept();
  EXPECT_EQ(world->erases, 2U) << "as unwell as before";
  world->drive().unfit = false;  // as if its limit were raised
  clean_again();
  EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
  EXPECT_EQ(world->provider().inventory.reserved, 0);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->disk.certificates.size(), 3U);
}

// What makes it unfit would not be seen again, were it enrolled as it is.
TEST_F(Unfit, IsNotEnrolledAsItIs) {
  world->drive().unfit = true;
  clean();
  EXPECT_EQ(world->record().enrolment, "");
  world->drive().unfit = false;
  clean_again();
  EXPECT_NE(world->record().enrolment, "");
}

struct UnfitWithoutItsWorker : Unfit, ::testing::WithParamInterface<Stage> {};

TEST_P(UnfitWithoutItsWorker, ComesToTheSameEnd) {
  world->drive().unfit = true;
  when_saved(GetParam(), [this] {
    world->scheduler.outside(0, [this] {
      world->kill_worker();
      world->start_worker();
    });
  });
  clean();
  world->pass(5 * kMinuteMs);
  expect_kept();
}

INSTANTIATE_TEST_SUITE_P(Stages, UnfitWithoutItsWorker,
                         ::testing::Values(Stage::guarding, Stage::preparing, Stage::baselining,
                                           Stage::erasing, Stage::verifying, Stage::error),
                         [](const auto& stage) { return std::string(to_string(stage.param)); });

TEST_F(Unfit, IsCertifiedThoughItsWorkerDiesRightBeforeTheRecordSaysSo) {
  world->drive().unfit = true;
  bool died = false;
  world->ledger->on_durable = [this, &died, checks = world->ledger->on_durable](
                                  const PciAddress& at, const LedgerEntry& entry) {
    checks(at, entry);
    if (entry.certificate_pending.empty() || std::exchange(died, true)) return;
    world->scheduler.outside(0, [this] {
      world->kill_worker();
      world->start_worker();
    });
  };
  clean();
  world->pass(5 * kMinuteMs);
  EXPECT_TRUE(died);
  expect_kept();
}

TEST_F(Unfit, IsHotAndWaitsUntilItIsNot) {
  world->drive().hot_until_ms = world->scheduler.now_ms() + kHalfHourMs;
  clean();
  EXPECT_EQ(world->record().stage, Stage::looking);
  EXPECT_THAT(world->record().waiting_for,
              AllOf(HasSubstr("erased and verified, and kept so"), HasSubstr("too hot")));
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->drive().owner, 0U);
  const auto steps = world->scheduler.steps();
  world->pass(10 * kMinuteMs);
  EXPECT_LT(world->scheduler.steps() - steps, 10'000U) << "it is not looked at all the time";
  EXPECT_EQ(world->releases, 0U);
  world->pass(kHalfHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->erases, 1U) << "once is enough";
}

}  // namespace
}  // namespace reclaim::sim
