// What a survey means for one device: every reason not to touch it, and the rules of hold and
// ledger.
#include "handlers/survey/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PciAddress kAddress{0, 0xc1, 0, 0};
constexpr const char* kRoot = "5d273a28-07c3-4c08-822a-3699d9ea7392";

// A burned, unallocated, one-time-use device whose drive answers: what is cleaned. Each test spoils
// one thing of it.
struct Scene {
  Sighting sighting;
  Record record;
  LedgerEntry ledger;
  HostView host;
  std::optional<DevicePolicy> policy = DevicePolicy{};
  MethodChoice choose = [](const DevicePolicy&, const nvme::Capabilities&) {
    return Result<nvme::EraseMethod>(nvme::EraseMethod::sanitize_crypto);
  };
  ConductorOptions options;

  Scene() {
    sighting.address = kAddress;
    sighting.rows.push_back({"rp-1", "compute-2_0000:C1:00.0", kRoot, 7, true, false});
    placement::ProviderView view;
    view.uuid = "rp-1";
    view.generation = 7;
    view.inventories.push_back({"CUSTOM_PCI_144D_A80A", 1, 1, 1, 1, 1, 1.0});
    sighting.view = view;
    nvme::DriveFacts drive;
    drive.address = kAddress;
    drive.vendor_id = 0x144d;
    drive.device_id = 0xa80a;
    drive.class_code = 0x010802;
    drive.identity = nvme::Identity{"S1", "Model", "FW1", 0, {3, 8, 0, 0}};
    drive.counters = nvme::Counters{100, 200};
    sighting.drive = drive;
    sighting.ours = true;
    host.host = "compute-2";
    host.root_uuid = kRoot;
    record.host = "compute-2";
    record.address = kAddress;
    record.serial = "S1";
    record.stage = Stage::pending_cleaning;
    record.epoch = 3;
  }

  placement::Inventory& inventory() { return sighting.view->inventories.front(); }

  void be_cyborgs() {
    sighting.rows.front().one_time_use = false;
    sighting.rows.front().owner_cyborg = true;
    record.flow = Flow::cyborg;
  }
  void certify() {
    record.stage = Stage::available;
    record.certificate_id = "cert";
    record.certificate_at = WallMs{1000};
    record.certified_host_reads = 100;
    record.certified_host_writes = 200;
  }

  [[nodiscard]] std::optional<Assessment> assessed() const {
    return assess(sighting, &record, &ledger, host, WallMs{5000});
  }
  [[nodiscard]] Result<std::vector<CleanStep>> admitted() const {
    return admit(sighting, record, host, Planning{policy, choose, options});
  }
};

// On record since a survey that could not read its provider, or since it was disowned.
TEST(Admission, WhatNobodyKnowsAnythingOfIsCleanedAtFirstSight) {
  Scene scene;
  scene.record.flow = Flow::cyborg;
  scene.record.stage = Stage::available;
  scene.sighting.rows.front().one_time_use = false;
  scene.sighting.rows.front().owner_cyborg = true;
  scene.inventory().reserved = 0;
  EXPECT_FALSE(scene.assessed()->trigger.has_value());
  scene.host.clean_first = true;
  EXPECT_EQ(scene.assessed()->trigger, Trigger::unknown_offered);
  EXPECT_TRUE(scene.assessed()->reserve);
  Scene seen = scene;
  seen.record.certified_host_writes = 200;
  EXPECT_FALSE(seen.assessed()->trigger.has_value()) << "it was on offer before, as it is";
  scene.certify();
  EXPECT_FALSE(scene.assessed()->trigger.has_value());
}

// Its serial may be that of another drive, which stands in another slot.
TEST(Assessment, OnlyTheDriveOfItsCertificateIsGivenBackWhenItsMaintenanceIsOver) {
  Scene scene;
  scene.certify();
  scene.record.held = scene.ledger.taken_out = true;
  EXPECT_TRUE(scene.assessed()->give_back);
  for (const nvme::Match match : {nvme::Match::unknown, nvme::Match::different}) {
    scene.sighting.standing.match = match;
    EXPECT_FALSE(scene.assessed()->give_back);
    EXPECT_EQ(scene.assessed()->trigger, Trigger::dirty_seen);
  }
}

TEST(Admission, AdmitsWhatIsBurnedUnallocatedAndOurs) {
  const auto plan = Scene().admitted();
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(describe_plan(*plan),
            "nvme.check_health 90, nvme.recover_sanitize 85, nvme.reset_controller_state 80, "
            "nvme.reset_namespaces 70, nvme.sanitize_crypto 50");
  EXPECT_TRUE(is_whole(*plan));
}

struct Refusal {
  const char* name;
  void (*spoil)(Scene&);
  const char* says;
};

class AdmissionRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(AdmissionRefuses, WithOneLineThatSaysWhy) {
  Scene scene;
  GetParam().spoil(scene);
  const auto plan = scene.admitted();
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().what, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, AdmissionRefuses,
    ::testing::Values(
        Refusal{"maintenance", [](Scene& s) { s.record.maintenance = true; }, "maintenance"},
        Refusal{"unknown_policy",
                [](Scene& s) { s.policy = raised_by_traits({}, {"CUSTOM_RECLAIM_GOLD"}); },
                "there is no section [policy:gold]"},
        Refusal{"certificate_owed", [](Scene& s) { s.record.certificate_pending = "{}"; },
                "could not be sealed yet"},
        Refusal{"host_problem", [](Scene& s) { s.host.problem = "another machine"; },
                "another machine"},
        Refusal{"compute_id", [](Scene& s) { s.host.compute_id = "other"; },
                "another machine's books"},
        Refusal{"two_providers", [](Scene& s) { s.sighting.rows.push_back(s.sighting.rows[0]); },
                "exactly one"},
        Refusal{"no_view", [](Scene& s) { s.sighting.view.reset(); }, "exactly one"},
        Refusal{"trait_gone", [](Scene& s) { s.sighting.rows[0].one_time_use = false; },
                "HW_PCI_ONE_TIME_USE"},
        Refusal{"two_owners", [](Scene& s) { s.sighting.rows[0].owner_cyborg = true; },
                "OWNER_CYBORG"},
        Refusal{"not_burned", [](Scene& s) { s.inventory().reserved = 0; }, "not burned"},
        Refusal{"total_two",
                [](Scene& s) {
                  s.inventory().total = 2;
                  s.inventory().reserved = 2;
                },
                "not burned"},
        Refusal{"allocated", [](Scene& s) { s.sighting.view->consumers.emplace_back("vm"); },
                "not burned"},
        Refusal{"bound",
                [](Scene& s) {
                  s.be_cyborgs();
                  s.sighting.holder = Arq{};
                  s.sighting.holder->uuid = "arq-heard";
                },
                "ARQ arq-heard binds it"},
        Refusal{"cyborg_silent",
                [](Scene& s) {
                  s.be_cyborgs();
                  s.sighting.cyborg_silent = true;
                },
                "Cyborg's API does not answer"},
        Refusal{"maintaining",
                [](Scene& s) {
                  s.be_cyborgs();
                  s.sighting.cyborg_status = "maintaining";
                },
                "enable it there"},
        Refusal{"no_drive", [](Scene& s) { s.sighting.drive.reset(); }, "no NVMe controller"},
        Refusal{"no_device_spec", [](Scene& s) { s.policy.reset(); }, "not ours to touch"},
        Refusal{"silent",
                [](Scene& s) {
                  s.sighting.drive->identity.reset();
                  s.sighting.drive->problem = "bound to vfio-pci";
                },
                "bound to vfio-pci"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(Admission, ALockedPlanIsKeptThoughThePolicyChanged) {
  Scene scene;
  scene.record.plan = make_plan(nvme::EraseMethod::overwrite, {}, scene.options);
  EXPECT_EQ(scene.admitted()->back().step, "overwrite");
  scene.choose = [](const DevicePolicy&, const nvme::Capabilities&) {
    return Result<nvme::EraseMethod>(Error{Errc::refused, "cannot be satisfied"});
  };
  ASSERT_TRUE(scene.admitted().ok());
  EXPECT_EQ(scene.admitted()->back().step, "overwrite");
  // What is not whole was never locked in.
  scene.record.plan.erase(scene.record.plan.begin() + 1);
  EXPECT_THAT(scene.admitted().error().what, HasSubstr("cannot be satisfied"));
}

TEST(Admission, AnUnmanagedDriveIsAskedWhatItCanWhenItIsClaimed) {
  Scene scene;
  scene.policy->managed = false;
  scene.sighting.drive->identity.reset();
  scene.sighting.drive->counters.reset();
  const auto plan = scene.admitted();
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  EXPECT_FALSE(is_whole(*plan));
  EXPECT_EQ(plan->size(), 4U);
}

TEST(Admission, AControllerThatIsDeadIsClaimedAsOnlyThatResetsIt) {
  Scene scene;
  scene.sighting.drive->identity.reset();
  scene.sighting.drive->counters.reset();
  scene.sighting.drive->driver = "nvme";
  scene.sighting.drive->problem = "nvme0 is resetting";
  scene.sighting.drive->controller_state = "resetting";
  EXPECT_THAT(scene.admitted().error().what, HasSubstr("is resetting")) << "that passes by itself";
  scene.sighting.drive->controller_state = "dead";
  const auto plan = scene.admitted();
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  EXPECT_FALSE(is_whole(*plan)) << "what it can is not known before it answers";
  scene.sighting.drive->driver = "vfio-pci";
  EXPECT_FALSE(scene.admitted().ok());
}

Assessment resolved(Scene& scene) {
  Assessment out = *scene.assessed();
  resolve_policy(out, scene.record, scene.sighting,
                 Planning{scene.policy, scene.choose, scene.options});
  return out;
}

TEST(Policy, IsResolvedWhileNobodyHasTheDevice) {
  Scene scene;
  scene.certify();
  scene.inventory().reserved = 0;
  ASSERT_TRUE(resolved(scene).plan.has_value());
  EXPECT_EQ(resolved(scene).plan->back().step, "sanitize_crypto");
  scene.sighting.view->consumers.emplace_back("vm");
  EXPECT_FALSE(resolved(scene).plan.has_value()) << "locked in";
}

TEST(Policy, ThatCannotBeSatisfiedTakesTheDeviceOutOfThePool) {
  Scene scene;
  scene.certify();
  scene.inventory().reserved = 0;
  scene.choose = [](const DevicePolicy&, const nvme::Capabilities&) {
    return Result<nvme::EraseMethod>(Error{Errc::refused, "no sanitize: choose another policy"});
  };
  EXPECT_EQ(resolved(scene).trigger, Trigger::policy_unsatisfied);
  EXPECT_TRUE(resolved(scene).reserve);
  EXPECT_EQ(resolved(scene).facts.detail, "no sanitize: choose another policy");
  scene.policy.reset();  // not ours: not touched, whatever it can
  EXPECT_FALSE(resolved(scene).trigger.has_value());
}

TEST(Policy, OneInUseWhenItIsFirstSeenShowsItsSteps) {
  Scene scene;
  scene.sighting.view->consumers = {"i1"};
  OperatorStep own;
  own.interface = "firmware";
  own.name = "check";
  own.priority = 60;
  scene.policy->steps = {own};
  Assessment out;
  out.first_seen = scene.record;
  resolve_policy(out, scene.record, scene.sighting,
                 Planning{scene.policy, scene.choose, scene.options});
  EXPECT_EQ(describe_plan(out.first_seen->plan),
            "nvme.check_health 90, nvme.recover_sanitize 85, nvme.reset_controller_state 80, "
            "nvme.reset_namespaces 70, firmware.check 60");
  EXPECT_FALSE(is_whole(out.first_seen->plan)) << "made again when the drive can be asked";
}

TEST(Policy, OfAnUnopenedDriveIsResolvedAnewAtItsClaim) {
  Scene scene;
  scene.certify();
  scene.inventory().reserved = 0;
  scene.policy->managed = false;
  scene.sighting.drive->identity.reset();
  ASSERT_TRUE(resolved(scene).plan.has_value());
  EXPECT_FALSE(is_whole(*resolved(scene).plan));
}

TEST(Assessment, ARecordLostFromRedisComesBackFromTheLedgersCertificate) {
  Scene scene;
  scene.ledger.serial = "S1";
  scene.ledger.certificate_id = "cert";
  scene.ledger.certificate_at = WallMs{1000};
  scene.ledger.host_reads = 100;
  scene.ledger.host_writes = 200;
  scene.ledger.enrolment = "{}";
  const auto found = assess(scene.sighting, nullptr, &scene.ledger, scene.host, WallMs{3000});
  ASSERT_TRUE(found->first_seen.has_value());
  EXPECT_EQ(found->first_seen->enrolment, "{}");
  EXPECT_TRUE(found->held) << "an operator's hold outlives the record";
  scene.sighting.drive->identity->serial = "S2";
  EXPECT_EQ(assess(scene.sighting, nullptr, &scene.ledger, scene.host, WallMs{3000})->trigger,
            Trigger::dirty_seen)
      << "another drive is nobody's hold";
}

// Its record is lost, and a dirty drive of another address stands there: it is not learnt as its
// own.
TEST(Assessment, ARecordLostFromRedisIsStillOfTheDriveThatTheLedgerRemembersThere) {
  Scene scene;
  scene.ledger.serial = "S1";
  scene.ledger.dirty = true;
  scene.ledger.enrolment = "{}";
  scene.sighting.standing = {nvme::Match::different, "moved", true, "S7", "{\"of\":\"S7\"}"};
  const auto found = assess(scene.sighting, nullptr, &scene.ledger, scene.host, WallMs{3000});
  ASSERT_TRUE(found->first_seen.has_value());
  EXPECT_EQ(found->first_seen->serial, "S7");
  EXPECT_EQ(found->first_seen->enrolment, "{\"of\":\"S7\"}");
}

TEST(Assessment, IgnoresWhatIsNotOurs) {
  Scene scene;
  scene.sighting.rows[0].one_time_use = false;
  EXPECT_FALSE(assess(scene.sighting, nullptr, nullptr, scene.host, WallMs{1}).has_value());
}

TEST(Assessment, ABurnedDeviceSeenForTheFirstTimeIsDirty) {
  const Scene scene;
  const auto found = assess(scene.sighting, nullptr, nullptr, scene.host, WallMs{1});
  ASSERT_TRUE(found.has_value());
  ASSERT_TRUE(found->first_seen.has_value());
  EXPECT_EQ(found->first_seen->serial, "S1");
  EXPECT_EQ(found->trigger, Trigger::dirty_seen);
}

TEST(Assessment, WhatTheLedgerRemembersDirtyIsReservedThoughNovaOffersIt) {
  Scene scene;
  scene.inventory().reserved = 0;
  scene.ledger.dirty = true;
  scene.ledger.dirty_since = WallMs{2000};
  const auto found = assess(scene.sighting, nullptr, &scene.ledger, scene.host, WallMs{3000});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->reserve);
  EXPECT_EQ(found->trigger, Trigger::reserved_dropped);
}

TEST(Assessment, HeldWhenTheDrivesCountersStand) {
  Scene scene;
  scene.certify();
  const auto found = scene.assessed();
  EXPECT_TRUE(found->held);
  EXPECT_FALSE(found->trigger.has_value());
}

// After a renumbering the ledger finds a dirty drive again at an address that is reserved by hand.
TEST(Assessment, DirtThatCameFromAnotherAddressEndsNoHold) {
  for (const bool cyborg : {false, true}) {
    Scene scene;
    scene.certify();
    scene.sighting.rows[0].one_time_use = !cyborg;
    scene.sighting.rows[0].owner_cyborg = cyborg;
    scene.record.flow = cyborg ? Flow::cyborg : Flow::nova;
    scene.record.held = true;
    scene.ledger.dirty = true;
    scene.ledger.dirty_since = WallMs{2000};
    scene.sighting.standing.brought_dirt = true;
    const auto found = scene.assessed();
    EXPECT_TRUE(found->held) << cyborg;
    EXPECT_FALSE(found->trigger.has_value()) << cyborg;
    EXPECT_FALSE(found->strike) << "the line is of another address";
    scene.inventory().reserved = 0;
    EXPECT_TRUE(scene.assessed()->reserve) << "the hold is over, and the drive is dirty";
    EXPECT_EQ(scene.assessed()->trigger, Trigger::reserved_dropped);
  }
}

TEST(Assessment, NotHeldWhenTheDriveWasWrittenOrATenancyWasSeen) {
  Scene written;
  written.certify();
  written.sighting.drive->counters->host_writes += 1;
  EXPECT_EQ(written.assessed()->trigger, Trigger::dirty_seen);
  Scene used;
  used.certify();
  used.record.tenancy_seen_at = WallMs{1001};
  EXPECT_EQ(used.assessed()->trigger, Trigger::dirty_seen);
  Scene unknown;
  unknown.certify();
  unknown.sighting.drive->counters.reset();
  EXPECT_FALSE(unknown.assessed()->trigger.has_value());
  EXPECT_THAT(unknown.assessed()->waiting_for, HasSubstr("counters cannot be read"));
  // A hold that was recognised, and then the line that is struck with it could not be written: the
  // device may not wait dirty and without a reason.
  unknown.record.held = true;
  EXPECT_THAT(unknown.assessed()->waiting_for, IsEmpty());
  unknown.ledger.dirty = true;
  unknown.ledger.dirty_since = WallMs{900};
  EXPECT_TRUE(unknown.assessed()->held);
  EXPECT_TRUE(unknown.assessed()->unsure);
  EXPECT_THAT(unknown.assessed()->waiting_for, HasSubstr("counters cannot be read"));
}

TEST(Assessment, AnOfferedDriveThatWasSwappedOrWrittenToIsReserved) {
  Scene swapped;
  swapped.certify();
  swapped.inventory().reserved = 0;
  swapped.sighting.drive->identity->serial = "S2";
  EXPECT_TRUE(swapped.assessed()->reserve);
  EXPECT_EQ(swapped.assessed()->trigger, Trigger::reserved_dropped);
  EXPECT_THAT(swapped.assessed()->facts.detail, HasSubstr("S2"));
  Scene written;
  written.certify();
  written.inventory().reserved = 0;
  written.sighting.drive->counters->host_writes += 1;
  EXPECT_TRUE(written.assessed()->reserve);
  Scene untouched;
  untouched.certify();
  untouched.inventory().reserved = 0;
  EXPECT_FALSE(untouched.assessed()->reserve);
  EXPECT_FALSE(untouched.assessed()->trigger.has_value());
}

TEST(Assessment, AnAllocationIsATenancy) {
  Scene scene;
  scene.certify();
  scene.sighting.view->consumers.emplace_back("vm-1");
  const auto found = scene.assessed();
  EXPECT_EQ(found->trigger, Trigger::allocation_seen);
  EXPECT_EQ(found->facts.instance, "vm-1");
}

TEST(Assessment, TheTraitAloneSaysNothing) {
  Scene scene;
  scene.inventory().reserved = 0;
  scene.record.stage = Stage::available;
  const auto met = assess(scene.sighting, nullptr, nullptr, scene.host, WallMs{1});
  ASSERT_TRUE(met.has_value());
  for (const auto& found : {*met, *scene.assessed()}) {
    EXPECT_EQ(found.trigger, std::nullopt);
    EXPECT_FALSE(found.reserve);
    EXPECT_EQ(found.waiting_for, "");
  }
}

// Nova reserves it then, with the next report of its inventory.
TEST(Assessment, ADeviceThatIsTaggedInUseIsItsTenantsAndDirtyAfterHim) {
  Scene scene;
  scene.inventory().reserved = 0;
  scene.sighting.view->consumers = {"vm-1"};
  const auto met = assess(scene.sighting, nullptr, nullptr, scene.host, WallMs{1});
  ASSERT_TRUE(met.has_value());
  EXPECT_EQ(met->trigger, Trigger::allocation_seen);
  EXPECT_EQ(met->facts.instance, "vm-1");
  scene.record.stage = Stage::allocated;
  scene.record.instance = "vm-1";
  scene.record.instance_source = InstanceSource::allocation;
  scene.inventory().reserved = 1;
  EXPECT_EQ(scene.assessed()->trigger, std::nullopt);
  EXPECT_FALSE(scene.assessed()->reserve);
  scene.sighting.view->consumers.clear();
  EXPECT_EQ(scene.assessed()->trigger, Trigger::dirty_seen);
}

TEST(Assessment, TwoProvidersForOneAddressAreNobodys) {
  Scene scene;
  scene.sighting.rows.push_back(scene.sighting.rows[0]);
  scene.sighting.rows[1].name = "compute-2_0000:c1:00.0";
  EXPECT_THAT(scene.assessed()->waiting_for, HasSubstr("2 providers"));
  EXPECT_FALSE(scene.assessed()->trigger.has_value());
}

TEST(Survey, TheAddressIsWhatFollowsTheLastUnderscore) {
  EXPECT_EQ(address_of_provider("my_host_0000:C1:00.0"), kAddress);
  EXPECT_EQ(address_of_provider("host_0000:c1:00.0"), kAddress);
  EXPECT_FALSE(address_of_provider("host").has_value());
  EXPECT_FALSE(address_of_provider("host_numa0").has_value());
}

}  // namespace
}  // namespace reclaim
