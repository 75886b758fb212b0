// A drive that goes away, or sickens, under a claim.
#include "tests/guest/guest_fixture.h"

namespace reclaim::guest {
namespace {

class RemovalGuestTest : public GuestTest {
 protected:
  void TearDown() override {
    write_sysfs("/sys/bus/pci/rescan", "1");
    EXPECT_TRUE(wait_for_driver(kPulled, "nvme"));
  }
};

TEST_F(RemovalGuestTest, ADriveRemovedUnderAClaimIsOursNoMore) {
  auto drive = claim(request(kPulled));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  ASSERT_TRUE((*drive)->claim().still_same_drive().ok());
  ASSERT_EQ(write_sysfs(function(kPulled) + "/remove", "1"), 0);
  expect_error((*drive)->claim().still_same_drive(), Errc::refused, "does not answer any more");
  expect_error((*drive)->claim().recheck(), Errc::refused, "");
}

TEST_F(RemovalGuestTest, TheSameDriveUnderItsOldNameIsNotTheClaimedOne) {
  auto drive = claim(request(kPulled));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  ASSERT_EQ(write_sysfs(function(kPulled) + "/remove", "1"), 0);
  write_sysfs("/sys/bus/pci/rescan", "1");
  ASSERT_TRUE(wait_for_driver(kPulled, "nvme"));
  expect_error((*drive)->claim().recheck(), Errc::refused, "");
  EXPECT_FALSE((*drive)->claim().still_same_drive().ok());
  drive->reset();
  EXPECT_TRUE(claim(request(kPulled)).ok());
}

TEST_F(RemovalGuestTest, AControllerResetLeavesTheClaimWhole) {
  auto drive = claim(request(kPulled));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  ASSERT_EQ(run("nvme reset " + controller_node(kPulled)), 0);
  ASSERT_TRUE(wait_for_driver(kPulled, "nvme"));
  EXPECT_TRUE((*drive)->claim().recheck().ok()) << "the same nodes of the same drive";
}

TEST_F(RemovalGuestTest, UnboundUnderAClaimItIsRefusedByTheRecheck) {
  auto drive = claim(request(kPulled));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  ASSERT_EQ(write_sysfs(function(kPulled) + "/driver/unbind", kPulled), 0);
  expect_error((*drive)->claim().recheck(), Errc::busy, "no driver is bound");
  EXPECT_FALSE((*drive)->claim().still_same_drive().ok());
  write_sysfs("/sys/bus/pci/drivers_probe", kPulled);
}

TEST_F(RemovalGuestTest, ADrivePulledByTheMachineIsOursNoMore) {
  auto drive = claim(request(kGone));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  ASSERT_EQ(*host_->monitor("device_del gone"), "");
  ASSERT_TRUE(eventually([] { return ::access(function(kGone).c_str(), F_OK) != 0; }));
  expect_error((*drive)->claim().still_same_drive(), Errc::refused, "does not answer any more");
  drive->reset();
  be_impatient();
  expect_error(claim(request(kGone)), Errc::busy, kGone);
}

}  // namespace
}  // namespace reclaim::guest
