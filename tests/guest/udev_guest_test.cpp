// The udev rules that ship beside Reclaim, with the real udevd, LVM and mdadm: what a tenant left
// on a drive is not the host's to assemble when the drive comes back to it. The control: where the
// rules name no drive, the host takes it all.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

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
  }
  // First udevd, so that nothing is assembled anew while it is taken apart.
  void TearDown() override {
    stop_udevd();
    run("vgchange -an tenant; mdadm --stop --scan");
    run("rm -rf /run/lvm/* /run/udev/* /run/mdadm/* /etc/udev/rules.d/* /dev/disk /dev/reclaim "
        "/dev/tenant");
    for (const std::uint32_t nsid : {1U, 2U, 3U}) {
      run("dd if=/dev/zero bs=1M count=16 of=" + node(kStack, nsid));
    }
  }
  // Its start and end are awaited, and the rules are there before it starts: `udevadm control`
  // proves neither. On a busy machine udevd of Debian 12 loses what is sent to its control socket
  // ("Invalid sender uid 65534, ignoring message") and udevadm ends with 0, so that an udevd that
  // was told to exit went on to handle the next test's drive, by the rules of the last test.
  void start_udevd() {
    const char* path = "/tmp/udevd-ready";
    ::unlink(path);
    const UniqueFd ready(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{AF_UNIX, {}};
    std::strcpy(address.sun_path, path);
    ASSERT_EQ(::bind(ready.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    udevd_ = ::fork();
    ASSERT_GE(udevd_, 0);
    if (udevd_ == 0) {
      ::setenv("NOTIFY_SOCKET", path, 1);
      ::execl("/usr/lib/systemd/systemd-udevd", "systemd-udevd", nullptr);
      ::_exit(127);
    }
    pollfd wait{ready.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 60'000), 1) << "udevd did not say that it is ready";
  }
  void stop_udevd() {
    if (udevd_ <= 0) return;
    int status = 0;
    EXPECT_EQ(::kill(udevd_, SIGTERM), 0);
    EXPECT_EQ(::waitpid(udevd_, &status, 0), udevd_);
    EXPECT_EQ(status, 0);
    udevd_ = -1;
    // Else LVM takes udevd for running, and waits for it.
    EXPECT_EQ(::unlink("/run/udev/control"), 0);
  }
  // With the rules in place.
  void give_back() {
    ASSERT_NO_FATAL_FAILURE(start_udevd());
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

 private:
  pid_t udevd_ = -1;
};

TEST_F(UdevGuestTest, RulesThatNameNoDriveLeaveItToTheHost) {
  ASSERT_EQ(run("cp /usr/share/reclaim/59-reclaim.rules /etc/udev/rules.d/"), 0);
  give_back();
  EXPECT_TRUE(eventually([this] { return holders() == 2; })) << "the volume group and the mirror";
  EXPECT_TRUE(eventually([] { return ::access("/dev/disk/by-label/TENANT", F_OK) == 0; }));
  expect_error(claim(shared(kStack)), Errc::refused, "guard holders");
}

// Nothing can be asked about the drive: the programs of the rules do not start.
constexpr const char* kBreakPrograms =
    "sed 's,PROGRAM=\"/bin/sh,PROGRAM=\"/bin/none,' /usr/share/reclaim/59-reclaim.rules "
    ">/etc/udev/rules.d/59-reclaim.rules && grep -q /bin/none /etc/udev/rules.d/59-reclaim.rules";

TEST_F(UdevGuestTest, InDoubtADriveIsLeftAlone) {
  ASSERT_EQ(run(kBreakPrograms), 0);
  give_back();
  expect_left_alone();
}

TEST_F(UdevGuestTest, InDoubtLaterADriveStaysTheHosts) {
  ASSERT_EQ(run("cp /usr/share/reclaim/59-reclaim.rules /etc/udev/rules.d/"), 0);
  give_back();
  ASSERT_TRUE(eventually([] { return ::access("/dev/disk/by-label/TENANT", F_OK) == 0; }));
  stop_udevd();
  ASSERT_EQ(run(kBreakPrograms), 0);
  ASSERT_NO_FATAL_FAILURE(start_udevd());
  ASSERT_EQ(run("udevadm trigger --subsystem-match=block "
                "--action=change && udevadm settle --timeout=60"),
            0);
  EXPECT_EQ(::access("/dev/disk/by-label/TENANT", F_OK), 0);
  EXPECT_EQ(run("udevadm info --query=property " + node(kStack, 3) + " | grep -q RECLAIM_OWNED=0"),
            0);
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
