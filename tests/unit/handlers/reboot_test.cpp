// A host that is started again with other bus numbers: which drive stands where is told by what
// stays with the hardware, and what cannot be told stays reserved and is not erased.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

// What a platform lets be told of its drives without their driver.
enum class Told { nothing, slot, serial_number };

struct Reboot : ::testing::Test {
  void make(bool managed, Told told, int slots = 2) {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = slots;
    world.emplace(options);
    for (Slot& slot : world->slots) {
      Drive& drive = world->hardware.drives.at(slot.address);
      slot.managed = managed;
      if (!managed) drive.home = drive.driver = "vfio-pci";
      if (told == Told::slot) drive.hardware.slot = "bay-" + drive.serial;
      if (told == Told::serial_number) drive.hardware.serial_number = "dsn-" + drive.serial;
    }
  }
  void power_fails() { world->kill_worker(); }
  void starts_again(bool renumbered) {
    auto& drives = world->hardware.drives;
    if (renumbered) {
      std::swap(drives.at(world->slots[0].address), drives.at(world->slots[1].address));
      for (auto& [address, drive] : drives) drive.address = address;
    }
    world->conductor_options.boot_id += "+";
    world->start_worker();
    world->pass(kHourMs);
  }
  void begins(std::size_t slot) {
    world->tenancy_begins(slot);
    world->kick({0});
    world->pass(kMinuteMs);
  }
  // Left where its guest had it.
  void ends(std::size_t slot) {
    world->tenancy_ends(slot);
    world->drive(slot).driver = world->drive(slot).home;
  }
  void clean_once(std::size_t slot) {
    begins(slot);
    ends(slot);
    world->kick({0});
    world->pass(kHourMs);
    ASSERT_EQ(world->record(slot).stage, Stage::available);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  std::optional<World> world;
};

struct Unmanaged : Reboot, ::testing::WithParamInterface<std::tuple<bool, Told>> {};

TEST_P(Unmanaged, ADirtyDriveThatMovesIntoThePoolIsReserved) {
  const auto [cleaned_before, told] = GetParam();
  make(false, told);
  world->start_worker();
  world->pass(kMinuteMs);
  for (std::size_t slot : {0U, 1U}) {
    if (cleaned_before) clean_once(slot);
  }
  const std::uint64_t erases = world->erases;
  begins(0);
  const std::uint64_t tenancy = world->drive(0).owner;
  ASSERT_NE(tenancy, 0U);
  power_fails();
  ends(0);
  starts_again(true);
  ASSERT_EQ(world->drive(1).owner, tenancy);
  EXPECT_EQ(world->provider(1).inventory.reserved, 1) << "a dirty drive is on offer";
  EXPECT_EQ(world->provider(0).inventory.reserved, 1) << "whose drive this is nobody knows";
  EXPECT_EQ(world->erases, erases);
  // An operator looked.
  for (const Slot& slot : world->slots) world->command("enrol", slot.address);
  world->pass(kHourMs);
  for (std::size_t slot : {0U, 1U}) {
    EXPECT_EQ(world->record(slot).stage, Stage::available) << world->record(slot).waiting_for;
    EXPECT_EQ(world->drive(slot).owner, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, Unmanaged,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Told::nothing, Told::slot,
                                                              Told::serial_number)));

TEST_F(Reboot, ADriveThatIsKnownByItsHardwareStaysInThePool) {
  make(false, Told::serial_number);
  world->start_worker();
  world->pass(kMinuteMs);
  clean_once(0);
  const std::uint64_t erases = world->erases;
  power_fails();
  starts_again(false);
  EXPECT_EQ(world->erases, erases);
  for (std::size_t slot : {0U, 1U}) EXPECT_EQ(world->provider(slot).inventory.reserved, 0);
}

TEST_F(Reboot, AnExchangedDriveIsNoticedInTheSameBootToo) {
  make(false, Told::serial_number, 1);
  world->start_worker();
  world->pass(kMinuteMs);
  Drive& drive = world->drive();
  drive.hardware.serial_number = "dsn-another";
  drive.serial = "another";
  write_media(drive, 4711, 1);
  world->pass(kHourMs);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->erases, 0U);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("another drive is at this address"));
}

TEST_F(Reboot, AnExchangedDriveThatTellsNoSerialNumberIsNoticedInTheSameBootToo) {
  make(false, Told::serial_number, 1);
  world->start_worker();
  world->pass(kMinuteMs);
  Drive& drive = world->drive();
  drive.hardware.serial_number.clear();
  drive.serial = "another";
  write_media(drive, 4711, 1);
  world->pass(kHourMs);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->erases, 0U);
}

// An operator reserved it by hand, and puts another drive in its place: nothing is done to that
// one, and the note says what is there.
TEST_F(Reboot, ADriveThatIsExchangedUnderAHoldStaysReservedAndTheNoteSaysSo) {
  make(false, Told::serial_number, 1);
  world->start_worker();
  world->pass(kMinuteMs);
  clean_once(0);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_TRUE(world->record().held) << world->record().waiting_for;
  const std::uint64_t erases = world->erases;
  Drive& drive = world->drive();
  const std::string former = drive.serial;
  drive.hardware.serial_number = "dsn-another";
  drive.serial = "another";
  write_media(drive, 4711, 1);
  world->slots[0].expected_serial = former;
  for (const char* order : {"", "clean", "abort"}) {
    if (*order != 0) world->command(order, world->slots[0].address);
    world->pass(kHourMs);
    EXPECT_EQ(world->provider().inventory.reserved, 1) << order;
    EXPECT_THAT(world->record().waiting_for, HasSubstr("another drive is at this address"));
    EXPECT_THAT(world->record().waiting_for, HasSubstr("it stays reserved"));
  }
  // His hold ends, and the drive is still another.
  world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  world->kick({0});
  world->pass(kHourMs);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("--enrol"));
  EXPECT_EQ(world->erases, erases);
  EXPECT_EQ(world->drive().owner, 4711U);
  world->command("enrol", world->slots[0].address);
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, erases + 1);
  EXPECT_EQ(world->record().stage, Stage::available);
}

// Between the look at the held drive's counters and the survey that was to use them.
TEST_F(Reboot, CountersOfOneDriveSayNothingOfTheNext) {
  make(false, Told::serial_number, 1);
  world->start_worker();
  world->pass(kMinuteMs);
  clean_once(0);
  world->drives->on_claim = [this](const PciAddress&) {
    world->scheduler.outside(2, [this] {
      world->drive().hardware.serial_number = "dsn-another";
      world->drive().serial = "another";
    });
  };
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->kick({0});
  world->pass(kHourMs);
  EXPECT_FALSE(world->record().held) << "nothing is known of the drive that is there now";
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("another drive is at this address"));
}

TEST_F(Reboot, OfWhichNothingButTheSerialIsKnownIsCleanedOnceMore) {
  make(false, Told::nothing, 1);
  world->start_worker();
  world->pass(kMinuteMs);
  clean_once(0);
  const std::uint64_t erases = world->erases;
  power_fails();
  starts_again(false);
  EXPECT_EQ(world->erases, erases + 1);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, erases + 1) << "known again, and left alone";
}

// It was enrolled elsewhere since, given to a tenant there, and addresses are as before again.
TEST_F(Reboot, ADriveThatIsDirtyAtAnotherAddressTooIsNotErased) {
  make(true, Told::nothing);
  world->start_worker();
  world->pass(kMinuteMs);
  begins(0);
  power_fails();
  ends(0);
  starts_again(true);
  world->command("enrol", world->slots[1].address);
  world->pass(kHourMs);
  ASSERT_EQ(world->record(1).stage, Stage::available) << world->record(1).waiting_for;
  ASSERT_EQ(world->record(1).serial, world->record(0).serial);
  const std::uint64_t erases = world->erases;
  begins(1);
  const std::uint64_t tenancy = world->drive(1).owner;
  ASSERT_NE(tenancy, 0U);
  power_fails();
  world->drive(1).guest = 0;
  world->drive(1).driver = world->drive(1).home;
  starts_again(true);
  world->command("clean", world->slots[0].address);
  world->pass(kHourMs);
  EXPECT_EQ(world->drive(0).owner, tenancy) << "an instance that is shut off has lost its data";
  EXPECT_EQ(world->erases, erases);
  EXPECT_THAT(world->record(0).last_error, HasSubstr("is recorded as dirty at"));
  // It is deleted, and an operator looked.
  world->tenancy_ends(1);
  world->command("enrol", world->slots[0].address);
  world->pass(kHourMs);
  EXPECT_EQ(world->record(0).stage, Stage::available) << world->record(0).last_error;
  EXPECT_EQ(world->drive(0).owner, 0U);
}

// Some makers give all their drives one number.
TEST_F(Reboot, DrivesThatShareOneSerialNumberAreNotCleanedOverAndOver) {
  make(false, Told::serial_number);
  for (std::size_t slot : {0U, 1U}) world->drive(slot).hardware.serial_number = "dsn-of-all";
  world->start_worker();
  world->pass(kMinuteMs);
  clean_once(0);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

// It was told once in this boot.
TEST_F(Reboot, ADriveThatTellsNoSerialNumberAnyMoreIsCleanedOnce) {
  make(false, Told::serial_number, 1);
  world->start_worker();
  world->pass(kMinuteMs);
  clean_once(0);
  world->drive().hardware.serial_number.clear();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

// First met while tenants have them, so that no serial is on record; guests are shut off after a
// reboot, which is Nova's default, and libvirt's managed mode has given the drives back.
struct ShutOff : Reboot, ::testing::WithParamInterface<Told> {
  void meet_and_reboot(bool renumbered) {
    make(true, GetParam());
    for (std::size_t slot : {0U, 1U}) world->tenancy_begins(slot);
    world->start_worker();
    world->pass(kHourMs);
    ASSERT_EQ(world->record(0).serial, "");
    power_fails();
    for (std::size_t slot : {0U, 1U}) {
      world->drive(slot).guest = 0;
      world->drive(slot).driver = "nvme";
    }
    starts_again(renumbered);
    world->tenancy_ends(0);
    world->kick({0});
    world->pass(kHourMs);
  }
};

TEST_P(ShutOff, TheDriveOfAnotherInstanceIsNotErased) {
  meet_and_reboot(true);
  const std::uint64_t victim = world->slots[1].tenancy;
  ASSERT_NE(victim, 0U);
  EXPECT_EQ(world->drive(0).owner, victim) << "erased while an instance may still use it";
  EXPECT_EQ(world->erases, 0U);
  EXPECT_EQ(world->record(0).serial, "");
  EXPECT_EQ(world->provider(0).inventory.reserved, 1);
  EXPECT_THAT(world->record(0).waiting_for, HasSubstr("--enrol"));
}

INSTANTIATE_TEST_SUITE_P(Hosts, ShutOff,
                         ::testing::Values(Told::nothing, Told::slot, Told::serial_number));

struct ShutOffInPlace : ShutOff {};

TEST_P(ShutOffInPlace, TheSerialIsLearntWhereTheHardwareIsKnown) {
  meet_and_reboot(false);
  EXPECT_EQ(world->record(0).serial, world->drive(0).serial);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->provider(0).inventory.reserved, 0);
  EXPECT_EQ(world->drive(1).owner, world->slots[1].tenancy);
}

INSTANTIATE_TEST_SUITE_P(Hosts, ShutOffInPlace, ::testing::Values(Told::serial_number));

TEST_F(Reboot, ADriveThatAnswersElsewhereLeavesTheDeviceThatHadItInDoubt) {
  make(true, Told::nothing);
  world->start_worker();
  world->pass(kMinuteMs);
  for (std::size_t slot : {0U, 1U}) clean_once(slot);
  power_fails();
  // What stands at the first address now does not answer.
  auto& drives = world->hardware.drives;
  std::swap(drives.at(world->slots[0].address), drives.at(world->slots[1].address));
  world->drive(0).driver = "vfio-pci";
  starts_again(false);
  for (std::size_t slot : {0U, 1U}) EXPECT_EQ(world->provider(slot).inventory.reserved, 1);
}

// Its own drive answers at another address, and what is in its place tells nothing.
TEST_F(Reboot, ADriveThatAnswersElsewhereInTheSameBootTakesItsDeviceOffThePool) {
  make(true, Told::nothing);
  world->start_worker();
  world->pass(kMinuteMs);
  for (std::size_t slot : {0U, 1U}) clean_once(slot);
  auto& drives = world->hardware.drives;
  std::swap(drives.at(world->slots[0].address), drives.at(world->slots[1].address));
  world->drive(0).driver = "vfio-pci";
  world->pass(kHourMs);
  for (std::size_t slot : {0U, 1U}) EXPECT_EQ(world->provider(slot).inventory.reserved, 1);
}

}  // namespace
}  // namespace reclaim::sim
