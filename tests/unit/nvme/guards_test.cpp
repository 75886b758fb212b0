// Every guard of the host's side, each by a host on which that one thing stands in the way.
#include "nvme/host/guards.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/unit/nvme/host_tree.h"

namespace reclaim::nvme {
namespace {

void expect_refused(const GuardResult& result, Errc code, std::string_view says) {
  EXPECT_FALSE(result.finding.passed) << result.finding.guard << ": " << result.finding.detail;
  EXPECT_EQ(result.code, code);
  EXPECT_NE(result.finding.detail.find(says), std::string::npos) << result.finding.detail;
}

TEST(Guards, AllPassOnAFreeDrive) {
  const HostTree tree;
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok());
  const GuardContext context{tree.options, tree.request, *drive};
  for (const auto* guards : {&guards_before_opening(), &guards_before_command()}) {
    for (const GuardResult& result : look_at(*guards, context, true)) {
      EXPECT_TRUE(result.finding.passed) << result.finding.guard << ": " << result.finding.detail;
      EXPECT_FALSE(result.finding.detail.empty());
    }
  }
}

TEST(Guards, TheFirstRefusalEndsTheLookUnlessAllIsAskedFor) {
  HostTree tree;
  tree.request.resource_class = "CUSTOM_PCI_8086_0A54";
  const auto drive = tree.read();
  const GuardContext context{tree.options, tree.request, *drive};
  EXPECT_EQ(look_at(guards_before_opening(), context, false).back().finding.guard, "pci_ids");
  EXPECT_EQ(look_at(guards_before_opening(), context, true).size(), guards_before_opening().size());
}

TEST(GuardPciClass, OnlyNvme) {
  const HostTree tree;
  tree.write(std::string(HostTree::kFunction) + "/class", "0x030000\n");
  expect_refused(tree.look(guard_pci_class), Errc::refused, "0x030000");
}

TEST(GuardPciIds, MustMatchTheResourceClass) {
  HostTree tree;
  tree.request.resource_class = "CUSTOM_PCI_144D_A825";
  expect_refused(tree.look(guard_pci_ids), Errc::refused, "144d:a824");
  tree.request.resource_class = "CUSTOM_FAST_NVME";
  expect_refused(tree.look(guard_pci_ids), Errc::refused, "CUSTOM_PCI_144D_A824");
  tree.request.resource_class_override = "CUSTOM_FAST_NVME";
  EXPECT_TRUE(tree.look(guard_pci_ids).finding.passed);
  tree.request.resource_class = "CUSTOM_PCI_144D_A824";  // the override says otherwise
  expect_refused(tree.look(guard_pci_ids), Errc::refused, "CUSTOM_FAST_NVME");
}

TEST(GuardSriov, NoVirtualFunctions) {
  const HostTree tree;
  tree.write(std::string(HostTree::kFunction) + "/sriov_numvfs", "4\n");
  expect_refused(tree.look(guard_sriov), Errc::refused, "4 virtual functions");
  tree.write(std::string(HostTree::kFunction) + "/sriov_numvfs", "0\n");
  tree.link(std::string(HostTree::kFunction) + "/physfn", "../0000:c1:00.1");
  expect_refused(tree.look(guard_sriov), Errc::refused, "virtual function");
}

TEST(GuardDriver, AnotherDriverMayPassByItself) {
  const HostTree tree;
  tree.link(std::string(HostTree::kFunction) + "/driver",
            tree.root / "sys/bus/pci/drivers/vfio-pci");
  expect_refused(tree.look(guard_driver), Errc::busy, "vfio-pci");
  tree.remove(std::string(HostTree::kFunction) + "/driver");
  expect_refused(tree.look(guard_driver), Errc::busy, "no driver");
}

TEST(GuardLive, OnlyLive) {
  const HostTree tree;
  tree.write(std::string(HostTree::kController) + "/state", "resetting\n");
  expect_refused(tree.look(guard_live), Errc::busy, "resetting");
  tree.remove(std::string(HostTree::kFunction) + "/nvme");
  expect_refused(tree.look(guard_live), Errc::busy, "no controller");
}

TEST(GuardSubsystemPeers, NoSecondControllerOfTheSubsystem) {
  const HostTree tree;
  tree.write("sys/class/nvme/nvme6/subsysnqn", "nqn.other\n");
  EXPECT_TRUE(tree.look(guard_subsystem_peers).finding.passed);
  tree.write("sys/class/nvme/nvme7/subsysnqn", "nqn.1994-11.com.samsung:nvme:PM1733:S4YPNE0N\n");
  expect_refused(tree.look(guard_subsystem_peers), Errc::refused, "nvme7");
}

constexpr const char* kHostdev =
    "<domain type='kvm'><name>instance-0000002a</name><devices>"
    "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
    "<address domain='0x0000' bus='0xc1' slot='0x00' function='0x0'/></source>"
    "<address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/></hostdev>"
    "</devices></domain>";

TEST(GuardLibvirtDomain, DefinedOrRunningDomainsThatNameTheFunction) {
  const HostTree tree;
  tree.write("etc/libvirt/qemu/instance-0000002a.xml", kHostdev);
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "instance-0000002a");
  tree.remove("etc/libvirt/qemu/instance-0000002a.xml");
  EXPECT_TRUE(tree.look(guard_libvirt_domain).finding.passed);
  tree.write(
      "run/libvirt/qemu/instance-0000002a.xml",
      std::string("<!-- WARNING --><domstatus state='running'>") + kHostdev + "</domstatus>");
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "instance-0000002a");
}

TEST(GuardLibvirtDomain, TheGuestsOwnAddressDoesNotCount) {
  const HostTree tree;
  tree.write("etc/libvirt/qemu/a.xml",
             "<domain><name>a</name><devices><controller type='nvme'><address type='pci' "
             "domain='0x0000' bus='0xc1' slot='0x00' function='0x0'/></controller></devices>"
             "</domain>");
  tree.write("etc/libvirt/qemu/networks/default.xml", "not read");
  tree.write("etc/libvirt/qemu/notes.txt", kHostdev);
  EXPECT_TRUE(tree.look(guard_libvirt_domain).finding.passed);
}

TEST(GuardLibvirtDomain, NvmeDisksAndBlockDisksCount) {
  const HostTree tree;
  tree.write("etc/libvirt/qemu/a.xml",
             "<domain><name>a</name><devices><disk type='nvme'><source type='pci' managed='yes' "
             "namespace='1'><address domain='0x0000' bus='193' slot='0' function='0'/></source>"
             "</disk></devices></domain>");
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "the PCI function");
  tree.write("etc/libvirt/qemu/a.xml",
             "<domain><name>a</name><devices><disk type='block'><source dev='/dev/nvme3n1p1'/>"
             "</disk></devices></domain>");
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "/dev/nvme3n1p1");
  tree.write("dev/nvme3n1", "");
  tree.link("dev/disk/by-id/nvme-SAMSUNG", "../../nvme3n1");
  tree.write("etc/libvirt/qemu/a.xml",
             "<domain><name>a</name><devices><disk type='block'>"
             "<source dev='/dev/disk/by-id/nvme-SAMSUNG'/></disk></devices></domain>");
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "by-id");
}

TEST(GuardLibvirtDomain, WhatCannotBeReadRefuses) {
  const HostTree tree;
  tree.write("etc/libvirt/qemu/a.xml", "<domain><name>a</name><dev");
  expect_refused(tree.look(guard_libvirt_domain), Errc::refused, "a.xml may name the drive");
  tree.write("etc/libvirt/qemu/a.xml",
             "<domain><name>a</name><devices><hostdev><source><address bus='0xzz' slot='0x00'/>"
             "</source></hostdev></devices></domain>");
  expect_refused(tree.look(guard_libvirt_domain), Errc::refused, "cannot be read");
  tree.remove("etc/libvirt/qemu/a.xml");
  tree.write("etc/libvirt/qemu/b.xml/is-a-folder", "");
  expect_refused(tree.look(guard_libvirt_domain), Errc::refused, "b.xml");
}

TEST(GuardLibvirtDomain, OneThatNamesItIsToldOfThoughAnotherCannotBeRead) {
  const HostTree tree;
  tree.write("run/libvirt/qemu/a.xml", "<domain><name>a</name><dev");
  tree.write("etc/libvirt/qemu/instance-0000002a.xml", kHostdev);
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "instance-0000002a");
}

TEST(GuardLibvirtDomain, NeitherAnAbsentDirectoryNorAnUnreadableOneNamesNoDomain) {
  HostTree tree;
  tree.remove("etc/libvirt");
  expect_refused(tree.look(guard_libvirt_domain), Errc::refused, "etc/libvirt/qemu does not exist");
  // A link that leads nowhere but to itself cannot be listed, not even by root.
  tree.link("etc/libvirt/qemu", "qemu");
  expect_refused(tree.look(guard_libvirt_domain), Errc::refused, "cannot list");
}

TEST(GuardLibvirtDomain, AHostWithoutLibvirtHasToSaySo) {
  HostTree tree;
  tree.options.libvirt_dirs.clear();
  const GuardResult result = tree.look(guard_libvirt_domain);
  EXPECT_TRUE(result.finding.passed);
  EXPECT_EQ(result.finding.detail, "libvirt_dirs = none: there is no libvirt on this host");
}

TEST(GuardLibvirtDomain, DomainsInTheVolumesOfAContainerCount) {
  HostTree tree;
  const std::string volume = "var/lib/docker/volumes/nova_libvirt_qemu/_data";
  tree.options.libvirt_dirs.back() = tree.root / volume;
  tree.write(volume + "/instance-00000001.xml",
             "<domain><name>instance-00000001</name><devices><hostdev type='pci'><source>"
             "<address domain='0x0000' bus='0xc1' slot='0x00' function='0x0'/></source></hostdev>"
             "</devices></domain>");
  expect_refused(tree.look(guard_libvirt_domain), Errc::busy, "instance-00000001");
}

TEST(GuardProcessView, OnlyTheHostsOwn) {
  const HostTree tree;
  EXPECT_TRUE(tree.look(guard_process_view).finding.passed);
  tree.link("proc/1/ns/pid", "pid:[4026532205]");
  expect_refused(tree.look(guard_process_view), Errc::refused, "host's PID namespace");
  tree.remove("proc/1/ns");
  expect_refused(tree.look(guard_process_view), Errc::refused, "cannot be known");
}

// A container has nodes of its own: what is open is told by its device number. (claim_guest_test
// does the same with the kernel's own /proc.)
struct UnderAnotherName : ::testing::Test {
  // Makes a node that a process has open.
  void make(mode_t type, DeviceNumber number) {
    tree.write("container/dev/README", "");
    const std::string node = tree.root / "container/dev/data";
    ::unlink(node.c_str());
    if (::mknod(node.c_str(), type | 0600, makedev(number.major, number.minor)) != 0) {
      GTEST_SKIP() << "this machine lets us make no device nodes";
    }
    tree.process(4711, "postgres", node);
  }
  HostTree tree;
};

TEST_F(UnderAnotherName, ABlockNodeIsSeen) {
  make(S_IFBLK, {259, 77});
  if (IsSkipped()) return;
  EXPECT_TRUE(tree.look(guard_node_open).finding.passed) << "another drive's";
  for (const unsigned minor : {4U, 5U}) {  // the disk, its partition
    make(S_IFBLK, {259, minor});
    expect_refused(tree.look(guard_node_open), Errc::busy, "4711 (postgres)");
    make(S_IFCHR, {259, minor});
    EXPECT_TRUE(tree.look(guard_node_open).finding.passed) << "a character device";
  }
}

TEST_F(UnderAnotherName, ACharacterNodeIsSeen) {
  tree.write(std::string(HostTree::kController) + "/ng5n1/dev", "240:1\n");
  for (const DeviceNumber number : {DeviceNumber{238, 5}, DeviceNumber{240, 1}}) {
    make(S_IFCHR, number);
    if (IsSkipped()) return;
    expect_refused(tree.look(guard_node_open), Errc::busy, "4711 (postgres)");
  }
}

TEST_F(UnderAnotherName, AVfioGroupOrDeviceIsSeen) {
  tree.write("sys/class/vfio/41/dev", "235:0\n");
  tree.write(std::string(HostTree::kFunction) + "/vfio-dev/vfio3/dev", "236:3\n");
  for (const DeviceNumber number : {DeviceNumber{235, 0}, DeviceNumber{236, 3}}) {
    make(S_IFCHR, number);
    if (IsSkipped()) return;
    expect_refused(tree.look(guard_vfio_open), Errc::busy, "4711 (postgres)");
  }
}

TEST(GuardVfioOpen, NobodyHoldsTheGroup) {
  const HostTree tree;
  tree.process(4711, "qemu-system-x86", "/dev/vfio/4");
  tree.process(4712, "qemu-system-x86", "/dev/vfio/vfio");
  EXPECT_TRUE(tree.look(guard_vfio_open).finding.passed);
  tree.process(4713, "qemu-system-x86", "/dev/vfio/41");
  expect_refused(tree.look(guard_vfio_open), Errc::busy, "4713 (qemu-system-x86)");
}

TEST(GuardVfioOpen, NobodyHoldsTheDevice) {
  const HostTree tree;
  tree.write(std::string(HostTree::kFunction) + "/vfio-dev/vfio3/dev", "240:3\n");
  tree.process(4711, "qemu-system-x86", "/dev/vfio/devices/vfio33");
  EXPECT_TRUE(tree.look(guard_vfio_open).finding.passed);
  tree.process(4713, "qemu-system-x86", "/dev/vfio/devices/vfio3");
  expect_refused(tree.look(guard_vfio_open), Errc::busy, "vfio3");
}

TEST(GuardVfioOpen, AProcessThatCannotBeLookedAtRefusesAVanishedOneDoesNot) {
  const HostTree tree;
  tree.write("proc/77/comm", "gone\n");  // its fd folder is not there any more
  EXPECT_TRUE(tree.look(guard_vfio_open).finding.passed);
  tree.write("proc/78/comm", "secret\n");
  tree.link("proc/78/fd", "fd");
  expect_refused(tree.look(guard_vfio_open), Errc::refused, "78 (secret)");
}

TEST(GuardVfioOpen, WithoutAProcTreeNothingIsKnown) {
  const HostTree tree;
  tree.remove("proc");
  expect_refused(tree.look(guard_vfio_open), Errc::refused, "proc");
}

TEST(GuardVfioOpen, AHolderIsToldOfThoughAnotherProcessCannotBeLookedAt) {
  const HostTree tree;
  tree.write("proc/78/comm", "secret\n");
  tree.link("proc/78/fd", "fd");
  tree.process(4713, "qemu-system-x86", "/dev/vfio/41");
  expect_refused(tree.look(guard_vfio_open), Errc::busy, "4713 (qemu-system-x86)");
}

// However many drives it is compared with; whoever decides anew takes a new look.
TEST(HostLook, DomainsAndProcessesAreReadOnce) {
  const HostTree tree;
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok());
  const auto host = std::make_shared<HostLook>();
  const auto passes = [&](Guard guard) {
    const GuardContext context{
        .options = tree.options, .request = tree.request, .drive = *drive, .host = host};
    return guard(context).finding.passed;
  };
  EXPECT_TRUE(passes(guard_libvirt_domain));
  EXPECT_TRUE(passes(guard_vfio_open));
  tree.write("etc/libvirt/qemu/instance-0000002a.xml", kHostdev);
  tree.process(4713, "qemu-system-x86", "/dev/vfio/41");
  EXPECT_TRUE(passes(guard_libvirt_domain));
  EXPECT_TRUE(passes(guard_vfio_open));
  EXPECT_FALSE(tree.look(guard_libvirt_domain).finding.passed);
  EXPECT_FALSE(tree.look(guard_vfio_open).finding.passed);
}

TEST(GuardNodeOpen, NobodyHasABlockNodeOpen) {
  const HostTree tree;
  tree.process(99, "dd", tree.root / "dev/nvme3n10");
  EXPECT_TRUE(tree.look(guard_node_open).finding.passed);
  tree.process(100, "dd", tree.root / "dev/nvme3n1p1");
  expect_refused(tree.look(guard_node_open), Errc::busy, "100 (dd)");
  // We ourselves may.
  tree.remove("proc/100");
  tree.process(::getpid(), "reclaim", tree.root / "dev/nvme3n1");
  EXPECT_TRUE(tree.look(guard_node_open).finding.passed);
}

TEST(GuardNodeOpen, NorACharacterNodeByWhichCommandsPass) {
  const HostTree tree;
  tree.process(99, "smartd", tree.root / "dev/nvme3");  // that is another controller
  EXPECT_TRUE(tree.look(guard_node_open).finding.passed);
  tree.process(99, "smartd", tree.root / "dev/nvme5");
  expect_refused(tree.look(guard_node_open), Errc::busy, "99 (smartd)");
  tree.process(99, "fio", tree.root / "dev/ng5n1");
  EXPECT_TRUE(tree.look(guard_node_open).finding.passed);
  tree.write(std::string(HostTree::kController) + "/ng5n1/dev", "240:1\n");
  expect_refused(tree.look(guard_node_open), Errc::busy, "ng5n1");
}

TEST(GuardNodeOpen, NorTheGenericNodeOfAMultipathHead) {
  const HostTree tree;
  tree.remove(HostTree::kDisk);
  tree.write(std::string(HostTree::kController) + "/nvme2c5n7/hidden", "1\n");
  const std::string head = "sys/devices/virtual/nvme-subsystem/nvme-subsys2/nvme2n7";
  tree.block(head, "259:9", "1024");
  tree.write(head + "/nsid", "7\n");
  EXPECT_TRUE(tree.look(guard_node_open).finding.passed);
  tree.process(99, "fio", tree.root / "dev/ng2n7");
  expect_refused(tree.look(guard_node_open), Errc::busy, "ng2n7");
}

TEST(GuardOwnDisk, TheHostsRootAndWhatItIsStackedOn) {
  const HostTree tree;
  tree.write("proc/1/mountinfo", "22 1 259:5 / / rw shared:1 - ext4 /dev/root rw\n");
  expect_refused(tree.look(guard_own_disk), Errc::refused, "nvme3n1 carries the host's own /");
  tree.block("sys/devices/virtual/block/dm-0", "253:0", "1000");
  tree.link("sys/devices/virtual/block/dm-0/slaves/nvme3n1p1",
            tree.root / "sys/class/block/nvme3n1p1");
  tree.write("proc/1/mountinfo", "22 1 253:0 / / rw shared:1 - ext4 /dev/mapper/vg-root rw\n");
  expect_refused(tree.look(guard_own_disk), Errc::refused, "dm-0");
  tree.write("proc/1/mountinfo", "22 1 0:44 /@ / rw - btrfs /dev/nvme3n1p1 rw\n");
  expect_refused(tree.look(guard_own_disk), Errc::refused, "nvme3n1");
}

TEST(GuardHolders, NothingIsStackedOnDiskOrPartition) {
  const HostTree tree;
  tree.write(std::string(HostTree::kDisk) + "/nvme3n1p1/holders/dm-3", "");
  expect_refused(tree.look(guard_holders), Errc::refused, "nvme3n1p1 is held by dm-3");
  tree.remove(std::string(HostTree::kDisk) + "/nvme3n1p1/holders/dm-3");
  tree.write(std::string(HostTree::kDisk) + "/holders/md127", "");
  expect_refused(tree.look(guard_holders), Errc::refused, "md127");
}

TEST(GuardHolders, ACacheOfBcacheHasNoHolderButAFolder) {
  const HostTree tree;
  tree.write(std::string(HostTree::kDisk) + "/bcache/label", "");
  expect_refused(tree.look(guard_holders), Errc::refused, "nvme3n1 is held by bcache");
}

TEST(GuardMounted, ByNumberByNameAndOfPartitions) {
  const HostTree tree;
  const std::string root = "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n";
  tree.write("proc/1/mountinfo", root + "40 22 259:4 / /srv\\040x rw - ext4 /dev/whatever rw\n");
  expect_refused(tree.look(guard_mounted), Errc::refused, "nvme3n1 is mounted on /srv x");
  tree.write("proc/1/mountinfo", root + "40 22 259:5 / /srv rw master:3 shared:2 - xfs x rw\n");
  expect_refused(tree.look(guard_mounted), Errc::refused, "nvme3n1p1");
  tree.write("proc/1/mountinfo", root + "40 22 0:77 / /srv rw - btrfs /dev/nvme3n1p1 rw\n");
  expect_refused(tree.look(guard_mounted), Errc::refused, "nvme3n1p1");
  tree.write("proc/1/mountinfo", root + "40 22 259:44 / /srv rw - ext4 /dev/nvme3n1p11 rw\n");
  EXPECT_TRUE(tree.look(guard_mounted).finding.passed);
}

TEST(GuardMounted, FallsBackToItsOwnMountsAndRefusesWithoutAny) {
  const HostTree tree;
  tree.remove("proc/1/mountinfo");
  tree.write("proc/self/mountinfo", "40 22 259:5 / /srv rw - xfs x rw\n");
  expect_refused(tree.look(guard_mounted), Errc::refused, "nvme3n1p1");
  tree.remove("proc/self/mountinfo");
  expect_refused(tree.look(guard_mounted), Errc::refused, "mountinfo");
  tree.write("proc/1/mountinfo", "40 22 259:5 / /srv rw\n");
  expect_refused(tree.look(guard_mounted), Errc::refused, "cannot be read");
}

TEST(GuardSwap, NoSwapOnDiskOrPartition) {
  const HostTree tree;
  tree.write("proc/swaps", "Filename Type\n/dev/nvme3n1p1   partition 9 0 -2\n");
  expect_refused(tree.look(guard_swap), Errc::refused, "swapoff /dev/nvme3n1p1");
  tree.remove("proc/swaps");
  EXPECT_TRUE(tree.look(guard_swap).finding.passed);
}

TEST(GuardBtrfsMember, TheSecondDeviceOfAFilesystem) {
  const HostTree tree;
  tree.write("sys/fs/btrfs/features/raid56", "0\n");
  tree.write("sys/fs/btrfs/0d2a-uuid/devices/sdb/x", "");
  EXPECT_TRUE(tree.look(guard_btrfs_member).finding.passed);
  tree.write("sys/fs/btrfs/0d2a-uuid/devices/nvme3n1/x", "");
  expect_refused(tree.look(guard_btrfs_member), Errc::refused, "0d2a-uuid");
}

TEST(GuardLoop, ALoopDeviceOpensWithoutClaiming) {
  const HostTree tree;
  tree.write("dev/nvme3n1", "");
  tree.write("sys/devices/virtual/block/loop0/dev", "7:0\n");
  tree.link("sys/class/block/loop0", tree.root / "sys/devices/virtual/block/loop0");
  EXPECT_TRUE(tree.look(guard_loop).finding.passed);
  const std::string backing = "sys/devices/virtual/block/loop0/loop/backing_file";
  tree.write(backing, "/srv/images/nvme3n1\n");
  EXPECT_TRUE(tree.look(guard_loop).finding.passed);
  tree.write(backing, "/dev/nvme3n1p1\n");
  expect_refused(tree.look(guard_loop), Errc::refused, "losetup -d /dev/loop0");
  tree.remove(backing);
  tree.write(backing + "/folder", "");
  expect_refused(tree.look(guard_loop), Errc::refused, "backing_file");
}

TEST(GuardExported, AnNvmeTargetOpensWithoutClaiming) {
  const HostTree tree;
  tree.write("dev/nvme3n1", "");
  tree.link("dev/disk/by-id/nvme-SAMSUNG", "../../nvme3n1");
  EXPECT_TRUE(tree.look(guard_exported).finding.passed);
  const std::string path = "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path";
  tree.write(path, "/dev/nvme4n1\n");
  EXPECT_TRUE(tree.look(guard_exported).finding.passed);
  tree.write(path, "/dev/disk/by-id/nvme-SAMSUNG\n");
  expect_refused(tree.look(guard_exported), Errc::refused, "namespace 1 of the NVMe target nqn.x");
}

// Unmanaged drives, before they are taken over.
GuardResult look_unmanaged(const HostTree& tree, Guard guard) {
  const auto drive = tree.read();
  CHECK(drive.ok());
  return guard(GuardContext{tree.options, tree.request, *drive, true});
}

void put_on_vfio(const HostTree& tree) {
  tree.link(std::string(HostTree::kFunction) + "/driver",
            tree.root / "sys/bus/pci/drivers/vfio-pci");
  tree.link("sys/kernel/iommu_groups/41/devices/0000:c1:00.0", tree.root / HostTree::kFunction);
}

TEST(GuardDriver, AnUnmanagedDriveStandsOnVfioOrIsLeftTakenOver) {
  const HostTree tree;
  expect_refused(look_unmanaged(tree, guard_driver), Errc::failed, "managed=no: bind it");
  tree.write("run/reclaim/0000:c1:00.0.driver", "driver=vfio-pci\noverride=\n");
  EXPECT_TRUE(look_unmanaged(tree, guard_driver).finding.passed);
  tree.write("run/reclaim/0000:c1:00.0.driver", "driver=\n");
  expect_refused(look_unmanaged(tree, guard_driver), Errc::failed, "by hand");
  tree.remove("run/reclaim/0000:c1:00.0.driver");
  tree.remove(std::string(HostTree::kFunction) + "/driver");
  expect_refused(look_unmanaged(tree, guard_driver), Errc::busy, "no driver is bound");
  put_on_vfio(tree);
  EXPECT_TRUE(look_unmanaged(tree, guard_driver).finding.passed);
  EXPECT_TRUE(look_unmanaged(tree, guard_live).finding.passed);
  // What a managed drive needs is not changed by any of this.
  expect_refused(tree.look(guard_driver), Errc::busy, "vfio-pci");
}

TEST(GuardIommuGroup, OtherFunctionsOfTheGroupAreNotTheHosts) {
  const HostTree tree;
  EXPECT_TRUE(tree.look(guard_iommu_group).finding.passed);
  expect_refused(look_unmanaged(tree, guard_iommu_group), Errc::refused, "cannot list");
  put_on_vfio(tree);
  EXPECT_TRUE(look_unmanaged(tree, guard_iommu_group).finding.passed);
  const std::string other = "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.1";
  tree.link("sys/bus/pci/devices/0000:c1:00.1", tree.root / other);
  tree.link("sys/kernel/iommu_groups/41/devices/0000:c1:00.1", tree.root / other);
  expect_refused(look_unmanaged(tree, guard_iommu_group), Errc::refused, "0000:c1:00.1");
  tree.write(other + "/class", "0x020000\n");
  tree.write(other + "/vendor", "0x8086\n");
  tree.write(other + "/device", "0x1234\n");
  EXPECT_TRUE(look_unmanaged(tree, guard_iommu_group).finding.passed);
  for (const char* harmless : {"vfio-pci", "mlx5_vfio_pci", "pcieport", "pci-stub"}) {
    tree.link(other + "/driver", tree.root / "sys/bus/pci/drivers" / harmless);
    EXPECT_TRUE(look_unmanaged(tree, guard_iommu_group).finding.passed) << harmless;
  }
  tree.link(other + "/driver", tree.root / "sys/bus/pci/drivers/igb");
  expect_refused(look_unmanaged(tree, guard_iommu_group), Errc::refused, "bound to igb");
  tree.remove(std::string(HostTree::kFunction) + "/iommu_group");
  expect_refused(look_unmanaged(tree, guard_iommu_group), Errc::refused, "enable the IOMMU");
}

GuardResult look_opened(const HostTree& tree, const Identity& identity,
                        GuardResult (*guard)(const GuardContext&, const Identity&)) {
  const auto drive = tree.read();
  CHECK(drive.ok());
  return guard(GuardContext{tree.options, tree.request, *drive}, identity);
}

TEST(GuardSerial, SysfsRecordAndControllerAgree) {
  HostTree tree;
  Identity identity;
  identity.serial = "S4YPNE0N";
  EXPECT_TRUE(look_opened(tree, identity, guard_serial).finding.passed);
  tree.request.expected_serial = "S4YPNE0N";
  EXPECT_TRUE(look_opened(tree, identity, guard_serial).finding.passed);
  tree.request.expected_serial = "OLD1";
  expect_refused(look_opened(tree, identity, guard_serial), Errc::failed,
                 "serial changed: was OLD1, is S4YPNE0N; enrol");
  identity.serial = "OLD1";
  expect_refused(look_opened(tree, identity, guard_serial), Errc::failed, "sysfs says S4YPNE0N");
}

TEST(GuardSharedSubsystem, CmicOnlyWithTheOperatorsWord) {
  HostTree tree;
  Identity identity;
  for (const std::uint8_t cmic : std::initializer_list<std::uint8_t>{1, 2, 4}) {
    identity.cmic = cmic;
    expect_refused(look_opened(tree, identity, guard_shared_subsystem), Errc::refused,
                   "shared_subsystem = allow");
  }
  tree.request.shared_subsystem_allowed = true;
  EXPECT_TRUE(look_opened(tree, identity, guard_shared_subsystem).finding.passed);
  tree.request.shared_subsystem_allowed = false;
  identity.cmic = 8;  // asymmetric namespace access alone shares nothing
  EXPECT_TRUE(look_opened(tree, identity, guard_shared_subsystem).finding.passed);
}

}  // namespace
}  // namespace reclaim::nvme
