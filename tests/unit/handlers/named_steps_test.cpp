// Clean steps that an operator names for one cleaning: they run first, the whole plan follows, and
// a device in the pool is reserved before anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/named_plan.h"
#include "handlers/survey/plan.h"
#include "state/device/step.h"
#include "tests/sim/world.h"
#include "tests/unit/handlers/arq_kick.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

OperatorStep step(const std::string& name, int priority) {
  OperatorStep out;
  out.name = name;
  out.interface = "firmware";
  out.command = "/steps/" + name;
  out.priority = priority;
  out.args = R"({"image":"x.bin","psid":"MT"})";
  out.order_args = R"({"image":"[a-z]\\.bin"})";
  return out;
}

constexpr const char* kReflash =
    R"([{"interface":"firmware","step":"reflash","priority":0,"args":{"image":"y.bin"},)"
    R"("by_hand":true}])";

// One drive in the pool, with a step that is run with every cleaning, and one by hand only.
struct NamedSteps : ::testing::Test {
  explicit NamedSteps(bool cyborg = false) {
    WorldOptions options;
    options.scripted = true;
    options.cyborg = cyborg;
    options.cyborg_api = false;
    world.emplace(options);
    world->own_steps = {step("audit", 60), step("reflash", 0)};
    for (const OperatorStep& own : world->own_steps) {
      world->hardware.commands[own.command] = "content of " + own.name;
    }
    start();
    world->pass(kMinuteMs);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  void start() {
    world->start_worker();
    world->drives->on_command = [this](const nvme::Command& command) {
      ran.push_back(command.path);
      inputs.push_back(command.input);
    };
  }
  // What the operator is told.
  std::string order(const std::string& steps, std::int64_t within_ms = kHourMs) {
    Order order;
    order.order = "clean";
    order.address = to_string(world->slots.at(0).address);
    order.who = "alice@compute-1";
    order.request_id = "req-" + std::to_string(++orders);
    order.issued_at = world->scheduler.now().wall;
    order.mac = world->order_code;
    order.steps = steps;
    world->slots.at(0).clean_ordered = true;
    if (!sealed) order.mac.clear();
    world->conductor->take(order);
    world->pass(within_ms);
    const auto found = world->store.order_answers.find(order.request_id);
    return found == world->store.order_answers.end() ? "no answer" : found->second;
  }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  void expect_untouched(Stage stage) {
    EXPECT_EQ(world->record().stage, stage);
    EXPECT_THAT(ran, IsEmpty());
    EXPECT_EQ(world->releases, 0U);
  }

  std::optional<World> world;
  std::vector<std::string> ran;
  std::vector<std::string> inputs;
  int orders = 0;
  bool sealed = true;
};

// What is stored has to be readable.
TEST_F(NamedSteps, ThatDoNotFitIntoARecordAreRefused) {
  world->own_steps[1].args = R"({"image":")" + std::string(10'000, 'x') + R"("})";
  world->kill_worker();
  start();
  world->pass(kMinuteMs);
  const auto times = [](int count) {
    std::string list = "[";
    for (int i = 0; i < count; ++i) {
      list += std::string(i == 0 ? "" : ",") +
              R"({"interface":"firmware","step":"reflash","priority":0,"args":{},"by_hand":true})";
    }
    return list + "]";
  };
  EXPECT_THAT(order(times(5)), HasSubstr("49152 are allowed: name fewer"));
  expect_untouched(Stage::available);
  EXPECT_EQ(order(times(4)), "");
  const auto stored = decode_record(encode_record(world->record()));
  ASSERT_TRUE(stored) << stored.error().what;
  EXPECT_EQ(ran.size(), 5U);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(NamedSteps, ADeviceInThePoolIsReservedFirstAndCleanedWhole) {
  world->drives->on_command = [this](const nvme::Command& command) {
    ran.push_back(command.path);
    inputs.push_back(command.input);
    EXPECT_EQ(reserved(), 1);
    EXPECT_TRUE(world->disk.entries.at(world->slots[0].address).dirty);
  };
  EXPECT_EQ(order(kReflash), "");
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/audit"));
  EXPECT_THAT(inputs.at(0), HasSubstr(R"("args":{"psid":"MT","image":"y.bin"})"));
  EXPECT_THAT(inputs.at(1), HasSubstr(R"("args":{"image":"x.bin","psid":"MT"})"));
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->releases, 1U);
  const Record& record = world->record();
  EXPECT_EQ(record.stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
  EXPECT_THAT(record.steps_ordered, IsEmpty()) << "for one cleaning";
  ASSERT_EQ(world->disk.certificates.size(), 1U);
  EXPECT_THAT(
      world->disk.certificates.begin()->second,
      AllOf(HasSubstr("firmware.reflash#1"), HasSubstr("/steps/reflash sha256:content of reflash"),
            HasSubstr(R"(y.bin)"), HasSubstr("firmware.audit")));
}

TEST_F(NamedSteps, TheNextCleaningIsThePlanAlone) {
  EXPECT_EQ(order(kReflash), "");
  ran.clear();
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->tenancy_ends();
  world->kick({0});
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/audit"));
  EXPECT_EQ(world->releases, 2U);
}

TEST_F(NamedSteps, BuiltInStepsCanBeNamedTwiceAndInAnyOrder) {
  EXPECT_EQ(order(R"([{"interface":"nvme","step":"reset_namespaces","priority":0,"args":{}},)"
                  R"({"interface":"firmware","step":"reflash","priority":0,"args":{}},)"
                  R"({"interface":"nvme","step":"check_health","priority":0,"args":{}},)"
                  R"({"interface":"firmware","step":"reflash","priority":0,"args":{}}])"),
            "");
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/reflash", "/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
  EXPECT_THAT(world->record().findings,
              AllOf(HasSubstr("nvme.reset_namespaces#1"), HasSubstr("firmware.reflash#2"),
                    HasSubstr("nvme.check_health#3"), HasSubstr("firmware.reflash#4"),
                    HasSubstr(R"("nvme.check_health":)")));
}

TEST_F(NamedSteps, AStepThatFailsKeepsTheDevice) {
  world->drive().command_ends_with = Errc::failed;
  EXPECT_EQ(order(kReflash), "");
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->erases, 0U);
  world->drive().command_ends_with.reset();
  // Without steps the order is taken back, and the plan is still needed.
  ran.clear();
  EXPECT_EQ(order(""), "");
  EXPECT_THAT(ran, ElementsAre("/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(NamedSteps, InErrorTheyBeginAnotherTry) {
  world->drive().command_ends_with = Errc::failed;
  EXPECT_EQ(order(kReflash), "");
  ASSERT_EQ(world->record().stage, Stage::error);
  world->drive().command_ends_with.reset();
  ran.clear();
  EXPECT_EQ(order(kReflash), "");
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

constexpr const char* kInstance = "9d3c5e1f-8a52-4a7e-9f0d-c1f0e8a4b7d2";

struct NamedStepsOfCyborg : NamedSteps {
  NamedStepsOfCyborg() : NamedSteps(true) {}

  void hear_of_a_bind() { hear("accelerator_request.bind.end", ArqState::bound); }
  void hear_of_its_end() { hear("accelerator_request.unbind.end", ArqState::unbound); }
  void hear(const std::string& event, ArqState state) {
    Arq arq = arq_of(world->slots.at(0).address, "0b7a4b2c-52ab-5a4c-8a8b-2f0a9f0b7d11", kInstance);
    arq.state = state;
    world->conductor->take(arq_kick(event, arq));
    world->pass(kMinuteMs);
  }
};

// It is no operator's word, and anybody on the bus can say it.
TEST_F(NamedStepsOfCyborg, SurviveACleanupCast) {
  world->drive().command_ends_with = Errc::failed;
  EXPECT_EQ(order(kReflash), "");
  ASSERT_EQ(world->record().stage, Stage::error);
  world->drive().command_ends_with.reset();
  ran.clear();
  world->command("cleanup_device", world->slots.at(0).address);
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

// Nor is an accelerator request, until Placement shows its instance.
TEST_F(NamedStepsOfCyborg, SurviveATenancyThatIsOnlySaid) {
  world->manual = true;
  world->drive().guarded = true;
  EXPECT_EQ(order(kReflash, 2 * kMinuteMs), "");
  ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
  hear_of_a_bind();
  ASSERT_EQ(world->record().stage, Stage::allocated);
  ASSERT_EQ(world->record().instance_source, InstanceSource::arq);
  world->drive().guarded = false;
  hear_of_its_end();
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(NamedStepsOfCyborg, AreForgottenOnceItIsShown) {
  world->drive().guarded = true;
  EXPECT_EQ(order(kReflash, 2 * kMinuteMs), "");
  hear_of_a_bind();
  ASSERT_FALSE(world->record().steps_ordered.empty());
  world->provider().consumers.push_back(kInstance);
  world->placement.touch(world->provider().row.uuid);
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().instance_source, InstanceSource::allocation);
  EXPECT_THAT(world->record().steps_ordered, IsEmpty());
}

// Only by somebody's un-reserving can an instance get it.
TEST_F(NamedStepsOfCyborg, AreForgottenOnceItIsShownThoughItIsOnOffer) {
  world->drive().guarded = true;
  EXPECT_EQ(order(kReflash, 2 * kMinuteMs), "");
  hear_of_a_bind();
  ASSERT_FALSE(world->record().steps_ordered.empty());
  const std::string& provider = world->provider().row.uuid;
  world->placement.set_reserved_by(Offered::by_operator, provider, 0);
  ASSERT_TRUE(world->placement.allocate(provider, kInstance));
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().instance_source, InstanceSource::allocation);
  EXPECT_THAT(world->record().steps_ordered, IsEmpty());
}

TEST_F(NamedStepsOfCyborg, ATenantOfADriveInErrorEndsThem) {
  Record record = world->record();
  record.stage = Stage::error;
  record.steps_ordered = record.steps_offered;
  Facts facts;
  facts.name_tenant(kInstance, InstanceSource::arq);
  const auto said = step(record, Event{Trigger::allocation_seen, record.epoch, facts}, WallMs{9});
  ASSERT_TRUE(said.has_value());
  EXPECT_FALSE(said->record.steps_ordered.empty());
  facts.name_tenant(kInstance, InstanceSource::allocation);
  const auto shown = step(record, Event{Trigger::allocation_seen, record.epoch, facts}, WallMs{9});
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->record.stage, Stage::error);
  EXPECT_THAT(shown->record.steps_ordered, IsEmpty());
}

// The order counted for the cleaning that ended.
TEST_F(NamedStepsOfCyborg, ACastStartsNothingManualThatHadBeenStarted) {
  world->manual = true;
  world->drive().command_ends_with = Errc::failed;
  EXPECT_EQ(order(kReflash), "");
  ASSERT_EQ(world->record().stage, Stage::error);
  world->drive().command_ends_with.reset();
  ran.clear();
  world->command("cleanup_device", world->slots.at(0).address);
  world->pass(kHourMs);
  EXPECT_THAT(ran, IsEmpty());
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world->record().clean_start, CleanStart::awaited);
  EXPECT_FALSE(world->record().steps_ordered.empty());
  EXPECT_EQ(world->releases, 0U);
}

TEST_F(NamedSteps, SurviveARestart) {
  world->drive().guarded = true;
  EXPECT_EQ(order(kReflash, 2 * kMinuteMs), "");
  ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(reserved(), 1);
  world->kill_worker();
  world->drive().guarded = false;
  start();
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(NamedSteps, ALostRedisForgetsThemAndNotThatItIsDirty) {
  world->drive().guarded = true;
  EXPECT_EQ(order(kReflash, 2 * kMinuteMs), "");
  world->kill_worker();
  world->store.lose_everything();
  world->drive().guarded = false;
  start();
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(NamedSteps, ATenantWhoWasFasterKeepsTheDevice) {
  world->conductor->take([this] {
    Order order;
    order.order = "clean";
    order.address = to_string(world->slots.at(0).address);
    order.who = "alice@compute-1";
    order.issued_at = world->scheduler.now().wall;
    order.mac = world->order_code;
    order.steps = kReflash;
    return order;
  }());
  world->tenancy_begins();
  world->kick({0});
  world->pass(10 * kMinuteMs);
  expect_untouched(Stage::allocated);
  EXPECT_EQ(world->erases, 0U);
  world->tenancy_ends();
  world->kick({0});
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/audit")) << "the word was for before that tenancy";
}

TEST_F(NamedSteps, ATenantWhoGotItAllTheSameEndsThem) {
  Record record = world->record();
  record.stage = Stage::pending_cleaning;
  record.steps_ordered = record.steps_offered;
  ASSERT_FALSE(record.steps_ordered.empty());
  const auto update = step(record, Event{Trigger::allocation_seen, record.epoch, {}}, WallMs{9});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->record.stage, Stage::allocated);
  EXPECT_THAT(update->record.steps_ordered, IsEmpty());
}

TEST_F(NamedSteps, OneThatIsNotDefinedAnyMoreKeepsItWaiting) {
  world->drive().guarded = true;
  EXPECT_EQ(order(kReflash, 2 * kMinuteMs), "");
  world->own_steps.pop_back();
  world->drive().guarded = false;
  world->pass(kHourMs);
  expect_untouched(Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for,
              AllOf(HasSubstr("of the clean steps that an operator named"),
                    HasSubstr("firmware.reflash"), HasSubstr("reclaim device abort")));
  EXPECT_EQ(reserved(), 1);
}

TEST_F(NamedSteps, AManualDeviceIsStartedByThem) {
  world->manual = true;
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->tenancy_ends();
  world->kick({0});
  world->pass(kHourMs);
  ASSERT_EQ(world->record().clean_start, CleanStart::awaited);
  EXPECT_EQ(order(kReflash), "");
  EXPECT_THAT(ran, ElementsAre("/steps/reflash", "/steps/audit"));
  EXPECT_EQ(world->releases, 1U);
}

// About when its cleaning begins: whoever is told that they were accepted sees them run.
TEST_F(NamedSteps, AreRunWhereTheyWereAccepted) {
  world->manual = true;
  // 7 is a prime: the tries do not keep step with the worker's own timers.
  for (std::int64_t behind_ms = 0; behind_ms < 300; behind_ms += 7) {
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->tenancy_ends();
    world->kick({0});
    world->pass(kMinuteMs);
    ASSERT_EQ(world->record().clean_start, CleanStart::awaited);
    ran.clear();
    world->command("clean", world->slots.at(0).address);
    world->pass(behind_ms);
    const bool is_accepted = order(kReflash).empty();
    EXPECT_EQ(ran.size(), is_accepted ? 2U : 1U) << behind_ms;
  }
}

// -------------------------------------------------------------------------------------------------
// Refused.

TEST_F(NamedSteps, AnUnknownStepOrArgumentIsNamed) {
  EXPECT_THAT(order(R"([{"interface":"firmware","step":"burn","priority":0,"args":{}}])"),
              HasSubstr("'firmware.burn' is not a step"));
  EXPECT_THAT(order(R"([{"interface":"firmware","step":"reflash","priority":0,)"
                    R"("args":{"force":1}}])"),
              HasSubstr("an order may not set 'force'; it may set image"));
  EXPECT_THAT(order(R"([{"interface":"firmware","step":"reflash","priority":0,)"
                    R"("args":{"image":"/bin/sh"}}])"),
              HasSubstr("'image' may not be '/bin/sh'"));
  EXPECT_THAT(order("[]"), HasSubstr("1 to 16 are accepted"));
  EXPECT_THAT(order("nonsense"), Not(HasSubstr("no answer")));
  expect_untouched(Stage::available);
  EXPECT_EQ(reserved(), 0);
}

// Its record lies in Redis until the step is run.
TEST_F(NamedSteps, APlanThatWasChangedIsNotRun) {
  const std::vector<OperatorStep>& own = world->own_steps;
  const auto named = decode_plan(kReflash);
  ASSERT_TRUE(named);
  DevicePolicy policy;
  policy.steps = own;
  const auto plan = named_part(*named, policy, {}, false);
  ASSERT_TRUE(plan) << plan.error().what;
  CleanStep step = plan->at(0);
  ASSERT_TRUE(definition_of(step, own));
  EXPECT_EQ(definition_of(step, own)->args, R"({"psid":"MT","image":"y.bin"})");
  const auto with_image = [&step](const std::string& image) {
    CleanStep changed = step;
    changed.args.replace(changed.args.find("y.bin"), 5, image);
    return changed;
  };
  EXPECT_TRUE(definition_of(with_image("z.bin"), own));
  EXPECT_FALSE(definition_of(with_image("/bin/sh"), own));
}

TEST_F(NamedSteps, TheyHaveToBeAuthenticated) {
  sealed = false;
  EXPECT_THAT(order(kReflash), HasSubstr("not authenticated"));
  expect_untouched(Stage::available);
}

TEST_F(NamedSteps, RefusedWhileATenantHasItOrItIsCleanedOrHeld) {
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  EXPECT_THAT(order(kReflash), HasSubstr("it is allocated"));
  world->drive().sanitize_ms = 10 * kMinuteMs;
  world->tenancy_ends();
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::erasing);
  EXPECT_THAT(order(kReflash, 1'000), HasSubstr("it is cleaning"));
  world->pass(kHourMs);
  ASSERT_EQ(world->record().stage, Stage::available);
  ran.clear();
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  EXPECT_THAT(order(kReflash), HasSubstr("Placement shows it reserved"));
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_TRUE(world->record().held);
  EXPECT_THAT(order(kReflash), HasSubstr("an operator holds it"));
  EXPECT_THAT(ran, IsEmpty());
}

constexpr const char* kHealth =
    R"([{"interface":"nvme","step":"check_health","priority":0,"args":{}}])";

// So an operator's command makes the worker know that it is going to be dirty.
TEST_F(NamedSteps, InMaintenanceTheyMakeItDirtyAtOnceAndCleanItBehindIt) {
  ASSERT_EQ(order(kReflash), "");  // with a certificate it stays available in maintenance
  world->command("maintenance_on", world->slots[0].address);
  world->pass(kMinuteMs);
  ASSERT_TRUE(world->record().held);
  ASSERT_EQ(world->record().stage, Stage::available);
  ASSERT_EQ(reserved(), 1);
  EXPECT_EQ(order(kHealth), "");
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_TRUE(world->record().maintenance);
  EXPECT_FALSE(world->record().erase_begun);
  EXPECT_TRUE(world->disk.entries.at(world->slots[0].address).dirty);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->erases, 1U) << "nothing is done to it in maintenance";
  world->command("maintenance_off", world->slots[0].address);
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->releases, 2U);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(NamedSteps, InMaintenanceAHoldOfAnOperatorsStands) {
  ASSERT_EQ(order(kReflash), "");
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->kick({0});
  world->pass(kMinuteMs);
  world->command("maintenance_on", world->slots[0].address);
  world->pass(kMinuteMs);
  ASSERT_TRUE(world->record().held);
  EXPECT_THAT(order(kHealth), HasSubstr("an operator holds it"));
  EXPECT_EQ(world->record().stage, Stage::available);
}

TEST_F(NamedSteps, WhatMayBeNamedIsInTheRecord) {
  std::vector<std::string> names;
  for (const CleanStep& offered : world->record().steps_offered) names.push_back(offered.step);
  EXPECT_THAT(names, ElementsAre("check_health", "restore_firmware", "recover_sanitize",
                                 "reset_controller_state", "reset_namespaces", "audit", "reflash"));
  world->slots[0].ours = false;
  world->kick({0});
  world->pass(kMinuteMs);
  EXPECT_THAT(world->record().steps_offered, IsEmpty());
}

}  // namespace
}  // namespace reclaim::sim
