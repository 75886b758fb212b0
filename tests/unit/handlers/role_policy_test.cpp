// Policies by role in a scripted world: a trait of the provider makes the cleaning stricter, one
// that no section is for ends it, and tags stand in the record and in the certificate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RolePolicies roles() {
  RolePolicy gold;
  gold.name = "gold";
  gold.manual = true;
  OperatorStep audit;
  audit.name = "audit";
  audit.interface = "gold";
  audit.command = "/steps/audit";
  audit.priority = 60;
  audit.args = "{}";
  RolePolicy audited;
  audited.name = "audited";
  audited.steps = {audit};
  RolePolicy thorough;
  thorough.name = "thorough";
  thorough.verify = nvme::VerifyLevel::full;
  return std::make_shared<const std::vector<RolePolicy>>(
      std::vector<RolePolicy>{gold, audited, thorough});
}

// One drive in the pool, with sections that a trait may choose.
struct Roles : ::testing::Test {
  void SetUp() override {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->roles = roles();
    world->tags = {"db", "tier=1"};
    world->hardware.commands["/steps/audit"] = "content";
    start();
    world->pass(kMinuteMs);
  }
  void start() {
    world->start_worker();
    world->drives->on_command = [this](const nvme::Command& command) {
      inputs.push_back(command.input);
    };
  }
  void trait(const std::string& name) {
    world->provider().row.policy_traits = {name};
    world->provider().row.generation += 1;
  }
  void dirty() {
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->tenancy_ends();
    world->kick({0});
    world->pass(60 * kMinuteMs);
  }
  void until(Stage stage) {
    for (int i = 0; i < 100'000 && world->record().stage != stage; ++i) world->pass(1);
    ASSERT_EQ(world->record().stage, stage);
  }
  void expect_waits(const std::string& note) {
    EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
    EXPECT_THAT(world->record().waiting_for, HasSubstr(note));
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_EQ(world->erases, 0U);
    EXPECT_EQ(world->releases, 0U);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  std::optional<World> world;
  std::vector<std::string> inputs;
};

TEST_F(Roles, TagsAreInTheRecordTheStepsInputAndTheCertificate) {
  trait("CUSTOM_RECLAIM_AUDITED");
  dirty();
  EXPECT_EQ(world->releases, 1U);
  EXPECT_THAT(world->record().tags, ElementsAre("db", "tier=1"));
  EXPECT_THAT(world->record().policies, ElementsAre("audited"));
  ASSERT_EQ(inputs.size(), 1U) << "the policy's step";
  EXPECT_THAT(inputs.front(), HasSubstr(R"("tags":["db","tier=1"])"));
  ASSERT_EQ(world->disk.certificates.size(), 1U);
  const std::string& certificate = world->disk.certificates.begin()->second;
  EXPECT_THAT(certificate, HasSubstr(R"("tags":["db","tier=1"],"policies":["audited"])"));
}

TEST_F(Roles, WithoutATraitNoneCounts) {
  dirty();
  EXPECT_EQ(world->releases, 1U);
  EXPECT_THAT(world->record().policies, IsEmpty());
  EXPECT_THAT(inputs, IsEmpty());
}

TEST_F(Roles, ATraitMakesTheCleaningAnOperatorsToBegin) {
  trait("CUSTOM_RECLAIM_GOLD");
  dirty();
  expect_waits("cleaned only when an operator says so");
  world->command("clean", world->slots.at(0).address, "alice");
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(Roles, ADirtyDeviceWithAnUnknownTraitWaitsReserved) {
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  trait("CUSTOM_RECLAIM_BRONZE");
  world->tenancy_ends();
  world->kick({0});
  world->pass(60 * kMinuteMs);
  expect_waits("there is no section [policy:bronze], which its provider asks for");
  world->provider().row.policy_traits.clear();
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U) << "goes on by itself";
}

TEST_F(Roles, AnOfferedDeviceWithAnUnknownTraitLeavesThePool) {
  trait("CUSTOM_RECLAIM_BRONZE");
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("[policy:bronze]"));
}

TEST_F(Roles, ASectionThatIsGoneBeforeTheClaimIsMissed) {
  trait("CUSTOM_RECLAIM_THOROUGH");
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->tenancy_ends();
  world->kick({0});
  until(Stage::guarding);
  world->roles = nullptr;
  world->pass(60 * kMinuteMs);
  expect_waits("there is no section [policy:thorough]");
}

TEST_F(Roles, ASectionThatIsGoneAfterARestartIsMissed) {
  trait("CUSTOM_RECLAIM_THOROUGH");
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->tenancy_ends();
  world->kick({0});
  until(Stage::erasing);
  ASSERT_THAT(world->record().policies, ElementsAre("thorough"));
  world->kill_worker();
  world->roles = nullptr;
  start();
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(world->releases, 0U);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("there is no section [policy:thorough]"));
}

}  // namespace
}  // namespace reclaim::sim
