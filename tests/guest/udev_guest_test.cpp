// The udev rules that ship beside Reclaim, with the real udevd, LVM and mdadm: what a tenant left
// on a drive is not the host's to assemble when the drive comes back to it. The control: where the
// rules name no drive, the host takes it all.
#include "tests/guest/guest_fixture.h"

namespace reclaim::guest {
namespace {

class UdevGuestTest : public GuestTest {
 protected:
  // A tenant's volume group, half of his mirror, and his file system, on a drive that the host then
  // has given to him.
  void SetUp() override {
    GuestTest::SetUp();
    const std::string pv = node(kStack, 1);
    ASSERT_EQ(run("pvcreate -ff -y " + pv + " && vgcreate tenant " + pv +
                  " && lvcreate -y -Zn -Wn -L 4m -n data tenant && vgchange -an tenant"),
              0);
    ASSERT_EQ(run("mdadm --create /dev/md9 --run --force --level=1 --raid-devices=1 " +
                  node(kStack, 2) + " && mdadm --stop /dev/md9"),
              0);
    ASSERT_EQ(run("mkfs.ext4 -q -F -L TENANT " + node(kStack, 3)), 0);
    ASSERT_EQ(write_sysfs(function(kStack) + "/driver/unbind", kStack), 0);
    ASSERT_EQ(run("/usr/lib/systemd/systemd-udevd --daemon"), 0);
  }
  void TearDown() override {
    run("vgchange -an tenant; mdadm --stop --scan");
    EXPECT_EQ(run("udevadm control --exit"), 0);
    run("rm -rf /run/lvm/* /run/udev/* /run/mdadm/* /etc/udev/rules.d/* /dev/disk /dev/reclaim");
    for (const std::uint32_t nsid : {1U, 2U, 3U}) {
      run("dd if=/dev/zero bs=1M count=16 of=" + node(kStack, nsid));
    }
  }
  void give_back() const {
    ASSERT_EQ(run("udevadm control --reload"), 0);
    write_sysfs("/sys/bus/pci/drivers_probe", kStack);
    ASSERT_TRUE(wait_for_driver(kStack, "nvme"));
    ASSERT_EQ(run("udevadm settle --timeout=60"), 0);
  }
  // The rules as they ship, with the drive put in where they say.
  void own(const std::string& line) const {
    const std::string rules = "/etc/udev/rules.d/59-reclaim.rules";
    ASSERT_EQ(
        run("sed '/^#ENV{.RECLAIM_IDS}/a " + line + "' /usr/share/reclaim/59-reclaim.rules >" +
            rules + " && grep -q '^ENV{.RECLAIM_[AI].*=\"1\"$' " + rules),
        0);
  }
  [[nodiscard]] std::size_t holders() const {
    std::size_t count = 0;
    const auto drive = look(kStack);
    EXPECT_TRUE(drive.ok());
    if (!drive.ok()) return 99;
    for (const auto* device : drive->block_devices()) count += device->holders.size();
    return count;
  }
  // The links tell that udev has been at every namespace.
  void expect_left_alone() {
    EXPECT_TRUE(eventually([this] {
      for (const std::uint32_t nsid : {1U, 2U, 3U}) {
        const std::string link = "/dev/reclaim/" + node(kStack, nsid).substr(5);
        if (::access(link.c_str(), F_OK) != 0) return false;
      }
      return true;
    }));
    EXPECT_EQ(run("udevadm settle --timeout=60"), 0);
    EXPECT_EQ(holders(), 0U);
    EXPECT_NE(::access("/dev/disk/by-label/TENANT", F_OK), 0);
    EXPECT_NE(run("udevadm info --query=property " + node(kStack, 3) + " | grep -q ID_FS_"), 0);
    const auto drive = claim(shared(kStack));
    EXPECT_TRUE(drive.ok()) << drive.error().what;
  }
};

TEST_F(UdevGuestTest, RulesThatNameNoDriveLeaveItToTheHost) {
  ASSERT_EQ(run("cp /usr/share/reclaim/59-reclaim.rules /etc/udev/rules.d/"), 0);
  give_back();
  EXPECT_TRUE(eventually([this] { return holders() == 2; })) << "the volume group and the mirror";
  EXPECT_TRUE(eventually([] { return ::access("/dev/disk/by-label/TENANT", F_OK) == 0; }));
  expect_error(claim(shared(kStack)), Errc::refused, "guard holders");
}

TEST_F(UdevGuestTest, OwnedByItsAddressADriveIsLeftAlone) {
  own(R"(ENV{.RECLAIM_ADDRESS}=="*0000:06:00.0*", ENV{RECLAIM_OWNED}="1")");
  give_back();
  expect_left_alone();
  ASSERT_EQ(run("udevadm trigger --subsystem-match=block --action=change && "
                "udevadm trigger --subsystem-match=block --action=add && udevadm settle"),
            0);
  expect_left_alone();
}

TEST_F(UdevGuestTest, OwnedByItsIdsADriveIsLeftAlone) {
  own(R"(ENV{.RECLAIM_IDS}=="*0x1b36:0x0010*", ENV{RECLAIM_OWNED}="1")");
  give_back();
  expect_left_alone();
}

}  // namespace
}  // namespace reclaim::guest
