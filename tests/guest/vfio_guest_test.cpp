// A drive on vfio-pci: what the guards say of it, and what the kernel does, on which the take-over
// of unmanaged drives relies.
#include "tests/guest/guest_fixture.h"
#include "tests/guest/vfio_group.h"

namespace reclaim::guest {
namespace {

class VfioGuestTest : public GuestTest {
 protected:
  void SetUp() override {
    GuestTest::SetUp();
    const auto drive = look(kPassed);
    ASSERT_TRUE(drive.ok());
    group_ = drive->iommu_group;
    ASSERT_GE(group_, 0);
  }
  void TearDown() override { EXPECT_TRUE(bind(kPassed, "nvme")); }

  int group_ = -1;
};

TEST_F(VfioGuestTest, ADriveGoesToVfioAndComesBackWithItsData) {
  fill(node(kPassed));
  ASSERT_TRUE(bind(kPassed, "vfio-pci"));
  const auto away = nvme::look_at_drive(options_, *parse_pci_address(kPassed), true);
  ASSERT_TRUE(away.ok());
  EXPECT_EQ(away->problem, "bound to vfio-pci");
  be_impatient();
  expect_error(claim(request(kPassed)), Errc::busy, "bound to vfio-pci");
  ASSERT_TRUE(bind(kPassed, "nvme"));
  auto back = claim(request(kPassed));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(kept("passed1"), 32U << 10U);
}

TEST_F(VfioGuestTest, AGroupSomebodyHoldsIsRefusedWithHisName) {
  ASSERT_TRUE(bind(kPassed, "vfio-pci"));
  const Holder guest(group_, kPassed, true);
  ASSERT_TRUE(guest.holds());
  be_impatient();
  expect_error(claim(request(kPassed)), Errc::busy,
               fmt::format("guard vfio_open: process {} (", guest.pid()));
}

// The facts the take-over stands on, each as the kernel has it.

TEST_F(VfioGuestTest, KernelAGroupIsOpenOnce) {
  ASSERT_TRUE(bind(kPassed, "vfio-pci"));
  const UniqueFd ours = open_group(group_);
  ASSERT_TRUE(ours.valid());
  // Looking found nobody; whoever wants it between our look and our unbind gets this:
  const Holder late(group_, kPassed, false);
  EXPECT_FALSE(late.holds());
  int error = 0;
  EXPECT_FALSE(open_group(group_, &error).valid());
  EXPECT_EQ(error, EBUSY);
}

TEST_F(VfioGuestTest, KernelLookingFirstIsARace) {
  ASSERT_TRUE(bind(kPassed, "vfio-pci"));
  const auto drive = look(kPassed);
  ASSERT_TRUE(drive.ok());
  const nvme::ClaimRequest asked = request(kPassed);
  ASSERT_TRUE(nvme::guard_vfio_open({options_, asked, *drive}).finding.passed);
  // After the look, before the unbind:
  const Holder late(group_, kPassed, false);
  EXPECT_TRUE(late.holds());
}

TEST_F(VfioGuestTest, KernelTheGroupsDescriptorDoesNotHinderUnbinding) {
  ASSERT_TRUE(bind(kPassed, "vfio-pci"));
  const UniqueFd ours = open_group(group_);
  ASSERT_TRUE(ours.valid());
  EXPECT_EQ(write_sysfs(function(kPassed) + "/driver/unbind", kPassed), 0);
  EXPECT_TRUE(eventually([this] { return ::access(group_path(group_).c_str(), F_OK) != 0; }))
      << "the node goes with the group's last device";
}

TEST_F(VfioGuestTest, KernelTheDevicesDescriptorLetsUnbindingSleep) {
  ASSERT_TRUE(bind(kPassed, "vfio-pci"));
  Holder guest(group_, kPassed, true);
  ASSERT_TRUE(guest.holds());
  const pid_t unbinder = ::fork();
  if (unbinder == 0) ::_exit(write_sysfs(function(kPassed) + "/driver/unbind", kPassed));
  ::usleep(1'000'000);
  int status = 0;
  EXPECT_EQ(::waitpid(unbinder, &status, WNOHANG), 0) << "unbinding did not wait for the guest";
  guest.end();
  EXPECT_EQ(::waitpid(unbinder, &status, 0), unbinder);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace reclaim::guest
