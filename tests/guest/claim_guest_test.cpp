// Discovery, the claim and every guard that a real kernel can speak to.
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/guest/guest_fixture.h"

namespace reclaim::guest {
namespace {

class ClaimGuestTest : public GuestTest {};

TEST_F(ClaimGuestTest, DiscoveryFindsEveryDriveByItsFunction) {
  const auto functions = nvme::list_nvme_functions("/sys");
  ASSERT_TRUE(functions.ok()) << functions.error().what;
  EXPECT_EQ(functions->size(), 9U);
  const auto plain = nvme::look_at_drive(options_, *parse_pci_address(kPlain), true);
  ASSERT_TRUE(plain.ok()) << plain.error().what;
  EXPECT_EQ(plain->problem, "");
  ASSERT_TRUE(plain->identity.has_value());
  EXPECT_EQ(plain->identity->serial, "PLAIN");
  EXPECT_EQ(plain->vendor_id, 0x1b36);
  EXPECT_GE(plain->iommu_group, 0);
  ASSERT_EQ(plain->namespaces.size(), 1U);
  EXPECT_EQ(plain->namespaces[0].capacity_bytes, 32U << 20U);
  EXPECT_EQ(plain->namespaces[0].dlfeat & 7U, 1U);
  const auto two = nvme::look_at_drive(options_, *parse_pci_address(kTwo), true);
  ASSERT_TRUE(two.ok()) << two.error().what;
  EXPECT_EQ(two->namespaces.size(), 2U);
}

TEST_F(ClaimGuestTest, AClaimHoldsTheDriveAgainstTheHost) {
  auto drive = claim(request(kPlain));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_NE(run("mkfs.ext4 -q " + node(kPlain)), 0);
  EXPECT_NE(run("mount -t ext4 " + node(kPlain) + " /mnt"), 0);
  const UniqueFd second(::open(node(kPlain).c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  EXPECT_FALSE(second.valid());
  be_impatient();
  expect_error(claim(request(kPlain)), Errc::busy, "guard host_lock");
  EXPECT_TRUE((*drive)->claim().recheck().ok());
  drive->reset();
  EXPECT_TRUE(claim(request(kPlain)).ok());
}

TEST_F(ClaimGuestTest, AMountedDriveIsRefused) {
  ASSERT_EQ(run("mkfs.ext4 -q -F " + node(kPlain)), 0);
  ASSERT_EQ(run("mount -t ext4 " + node(kPlain) + " /mnt"), 0);
  expect_error(claim(request(kPlain)), Errc::refused, "guard mounted");
  ASSERT_EQ(run("umount /mnt"), 0);
  EXPECT_TRUE(claim(request(kPlain)).ok());
}

TEST_F(ClaimGuestTest, ADriveMountedInAnotherMountNamespaceIsRefused) {
  ASSERT_EQ(run("mkfs.ext4 -q -F " + node(kPlain)), 0);
  ASSERT_EQ(run("unshare -m sh -c 'mount -t ext4 " + node(kPlain) +
                " /mnt && touch /tmp/mounted && while [ -e /tmp/mounted ]; do usleep 50000; done'"
                " </dev/null >/dev/null 2>&1 &"),
            0);
  ASSERT_TRUE(eventually([] { return ::access("/tmp/mounted", F_OK) == 0; }));
  expect_error(claim(request(kPlain)), Errc::refused, "held exclusively by something");
  ::unlink("/tmp/mounted");
  EXPECT_TRUE(eventually([this] { return claim(request(kPlain)).ok(); }));
}

TEST_F(ClaimGuestTest, ADriveTheHostSwapsOnIsRefused) {
  ASSERT_EQ(run("mkswap " + node(kPlain) + " && swapon " + node(kPlain)), 0);
  expect_error(claim(request(kPlain)), Errc::refused, "guard swap");
  ASSERT_EQ(run("swapoff " + node(kPlain)), 0);
  EXPECT_TRUE(claim(request(kPlain)).ok());
}

TEST_F(ClaimGuestTest, ADriveThatLvmHoldsIsRefused) {
  const std::string disk = node(kPlain);
  ASSERT_EQ(run("pvcreate -ff -y " + disk + " && vgcreate tenant " + disk +
                " && lvcreate -y -Zn -Wn -L 8m -n data tenant"),
            0);
  expect_error(claim(request(kPlain)), Errc::refused, "guard holders");
  ASSERT_EQ(run("vgremove -f tenant && pvremove -f " + disk), 0);
  EXPECT_TRUE(claim(request(kPlain)).ok());
}

TEST_F(ClaimGuestTest, ADriveThatMdHoldsIsRefused) {
  const std::string disk = node(kPlain);
  ASSERT_EQ(run("mdadm --create /dev/md9 --run --force --level=1 --raid-devices=1 " + disk), 0);
  expect_error(claim(request(kPlain)), Errc::refused, "guard holders");
  ASSERT_EQ(run("mdadm --stop /dev/md9 && mdadm --zero-superblock " + disk), 0);
  EXPECT_TRUE(claim(request(kPlain)).ok());
}

TEST_F(ClaimGuestTest, AnOpenNodeIsRefusedByTheProcessThatHasIt) {
  ASSERT_EQ(run("sh -c 'exec 9<" + node(kPlain) +
                "; touch /tmp/open; while [ -e /tmp/open ]; do usleep 50000; done'"
                " </dev/null >/dev/null 2>&1 &"),
            0);
  ASSERT_TRUE(eventually([] { return ::access("/tmp/open", F_OK) == 0; }));
  be_impatient();
  expect_error(claim(request(kPlain)), Errc::busy, "guard node_open");
  ::unlink("/tmp/open");
  EXPECT_TRUE(eventually([this] { return claim(request(kPlain)).ok(); }));
}

// As docker's --device A:B and raw block volumes have it; in a container, in a mount namespace
// where no other process finds the name.
TEST_F(ClaimGuestTest, ANodeThatIsOpenUnderAnotherNameIsRefused) {
  be_impatient();
  const auto drive = look(kPlain);
  ASSERT_TRUE(drive.ok());
  ASSERT_EQ(drive->generic_nodes.size(), 1U);
  const std::string generic = "/dev/" + drive->generic_nodes[0].name;
  for (const std::string& path : {node(kPlain), controller_node(kPlain), generic}) {
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    const std::string other =
        fmt::format("mknod /tmp/private/other {} {} {}", S_ISBLK(info.st_mode) ? "b" : "c",
                    major(info.st_rdev), minor(info.st_rdev));
    for (const std::string around : {"", "unshare -m "}) {
      SCOPED_TRACE(around + other);
      const std::string hidden = around.empty() ? "" : "mount -t tmpfs none /tmp/private && ";
      ASSERT_EQ(run("mkdir -p /tmp/private; " + around + "sh -c '" + hidden + other +
                    " && exec 9</tmp/private/other; touch /tmp/open; while [ -e /tmp/open ]; do "
                    "usleep 50000; done' </dev/null >/dev/null 2>&1 &"),
                0);
      ASSERT_TRUE(eventually([] { return ::access("/tmp/open", F_OK) == 0; }));
      EXPECT_EQ(::access("/tmp/private/other", F_OK) == 0, around.empty());
      expect_error(claim(request(kPlain)), Errc::busy, "guard node_open");
      ::unlink("/tmp/open");
      ::unlink("/tmp/private/other");
      EXPECT_TRUE(eventually([this] { return claim(request(kPlain)).ok(); }));
    }
  }
}

TEST_F(ClaimGuestTest, AnotherSerialThanTheRecordedOneIsRefused) {
  nvme::ClaimRequest asked = request(kPlain);
  asked.expected_serial = "OTHER";
  expect_error(claim(asked), Errc::failed, "serial changed: was OTHER, is PLAIN");
  asked.expected_serial = "PLAIN";
  EXPECT_TRUE(claim(asked).ok());
}

TEST_F(ClaimGuestTest, OtherIdsThanPlacementsAreRefused) {
  nvme::ClaimRequest asked = request(kPlain);
  asked.resource_class = "CUSTOM_PCI_144D_A80A";
  expect_error(claim(asked), Errc::refused, "guard pci_ids");
}

TEST_F(ClaimGuestTest, ASharedSubsystemIsRefusedUnlessItIsAllowed) {
  expect_error(claim(request(kTwo)), Errc::refused, "guard shared_subsystem");
  auto drive = claim(shared(kTwo));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_EQ((*drive)->claim().namespaces().size(), 2U);
}

TEST_F(ClaimGuestTest, ADetachedNamespaceIsNoticedByTheRecheck) {
  auto drive = claim(shared(kTwo));
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  const std::string controller = controller_node(kTwo);
  ASSERT_EQ(run("nvme detach-ns " + controller + " -n 2 -c 0"), 0);
  ASSERT_EQ(run("nvme ns-rescan " + controller), 0);
  ASSERT_TRUE(eventually([this] { return node(kTwo, 2) == "/dev/none"; }));
  expect_error((*drive)->claim().recheck(), Errc::refused, "guard claim");
  drive->reset();
  ASSERT_EQ(run("nvme attach-ns " + controller + " -n 2 -c 0"), 0);
  ASSERT_EQ(run("nvme ns-rescan " + controller), 0);
  EXPECT_TRUE(eventually([this] { return claim(shared(kTwo)).ok(); }));
}

}  // namespace
}  // namespace reclaim::guest
