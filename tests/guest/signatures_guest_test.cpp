// What real tools put on a drive, found on it by the shipped code over the guest's kernel.
#include <gmock/gmock.h>

#include "nvme/host/signatures.h"
#include "tests/guest/guest_fixture.h"

namespace reclaim::guest {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

class SignaturesGuestTest : public GuestTest {
 protected:
  void SetUp() override {
    GuestTest::SetUp();
    wipe();
  }
  void TearDown() override { wipe(); }
  void wipe() const { EXPECT_EQ(run("dd if=/dev/zero of=" + node(kPlain) + " bs=1M count=32"), 0); }
  [[nodiscard]] std::vector<std::string> found() const {
    const auto found = nvme::find_signatures(options_, *parse_pci_address(kPlain), stop_);
    EXPECT_TRUE(found.ok()) << found.error().what;
    return found.ok() ? *found : std::vector<std::string>{"an error"};
  }
  // "nvme0n1: ext4"
  [[nodiscard]] std::string line(const std::string& what) const {
    return node(kPlain).substr(5) + ": " + what;
  }
};

TEST_F(SignaturesGuestTest, WhatToolsLeaveIsFoundAndZeroesAreNothing) {
  const std::string disk = node(kPlain);
  EXPECT_THAT(found(), IsEmpty());
  ASSERT_EQ(run("mkfs.ext4 -q -F " + disk), 0);
  EXPECT_THAT(found(), Contains(line("ext4")));
  wipe();
  EXPECT_THAT(found(), IsEmpty());
  ASSERT_EQ(run("mkswap " + disk), 0);
  EXPECT_THAT(found(), Contains(line("swap")));
  wipe();
  ASSERT_EQ(run("printf 'n\\np\\n1\\n\\n\\nw\\n' | fdisk " + disk), 0);
  EXPECT_THAT(found(), Contains(line("dos partition table")));
  wipe();
  ASSERT_EQ(run("blockdev --rereadpt " + disk), 0);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(SignaturesGuestTest, MembersOfLvmAndMdAreFoundAlsoWhileTheyAreUsed) {
  const std::string disk = node(kPlain);
  ASSERT_EQ(run("pvcreate -ff -y " + disk), 0);
  EXPECT_THAT(found(), Contains(line("LVM2_member")));
  ASSERT_EQ(run("vgcreate tenant " + disk + " && lvcreate -y -Zn -Wn -L 8m -n data tenant"), 0);
  EXPECT_THAT(found(), Contains(::testing::StartsWith(line("held by dm-"))));
  ASSERT_EQ(run("vgremove -f tenant && pvremove -f " + disk), 0);
  ASSERT_EQ(run("mdadm --create /dev/md9 --run --force --level=1 --raid-devices=1 " + disk), 0);
  EXPECT_THAT(found(), Contains(line("linux_raid_member")));
  ASSERT_EQ(run("mdadm --stop /dev/md9 && mdadm --zero-superblock " + disk), 0);
}

}  // namespace
}  // namespace reclaim::guest
