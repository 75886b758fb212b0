// Discovery by address: what belongs to the function and nothing else.
#include "nvme/host/sysfs.h"

#include <gtest/gtest.h>

#include "tests/unit/nvme/host_tree.h"

namespace reclaim::nvme {
namespace {

TEST(Sysfs, EverythingIsFoundByTheAddress) {
  const HostTree tree;
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_EQ(drive->vendor_id, 0x144d);
  EXPECT_EQ(drive->device_id, 0xa824);
  EXPECT_EQ(drive->class_code, 0x010802U);
  EXPECT_EQ(drive->driver, "nvme");
  EXPECT_EQ(drive->controller, "nvme5");
  EXPECT_EQ(drive->controller_number, (DeviceNumber{238, 5}));
  EXPECT_EQ(drive->controller_state, "live");
  EXPECT_EQ(drive->serial, "S4YPNE0N");
  EXPECT_EQ(drive->iommu_group, 41);
  ASSERT_EQ(drive->namespaces.size(), 1U);
  EXPECT_EQ(drive->namespaces[0].disk.name, "nvme3n1");
  EXPECT_EQ(drive->namespaces[0].disk.number, (DeviceNumber{259, 4}));
  EXPECT_EQ(drive->namespaces[0].nsid, 1U);
  EXPECT_EQ(drive->namespaces[0].capacity_bytes, 7501476528ULL * 512);
  ASSERT_EQ(drive->namespaces[0].partitions.size(), 1U);
  EXPECT_EQ(drive->namespaces[0].partitions[0].name, "nvme3n1p1");
}

TEST(Sysfs, ANetworkCardHasTheMacOfItsOneInterface) {
  const HostTree tree;
  const std::string card = HostTree::kFunction;
  const auto mac = [&] {
    const auto read = tree.read();
    return read ? read->mac : read.error().what;
  };
  tree.remove(card + "/driver");
  tree.write(card + "/net/eth0/address", "00:1b:21:aa:00:01\n");
  EXPECT_EQ(mac(), "") << "of a drive";
  tree.write(card + "/class", "0x020000\n");
  EXPECT_EQ(mac(), "00:1b:21:aa:00:01");
  tree.write(card + "/net/eth1/address", "00:1b:21:aa:00:02\n");
  EXPECT_EQ(mac(), "") << "two ports";
  tree.remove(card + "/net/eth1");
  tree.write(card + "/net/eth0/address", "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03\n");
  EXPECT_EQ(mac(), "") << "InfiniBand";
}

// As right after it was bound, while the kernel makes its disks.
TEST(Sysfs, TheDriverIsReadThoughItsDevicesAreNotWhole) {
  const HostTree tree;
  tree.remove(std::string(HostTree::kDisk) + "/queue");
  EXPECT_FALSE(tree.read().ok());
  const auto driver = read_driver(tree.options.sysfs_root, tree.request.address);
  ASSERT_TRUE(driver.ok()) << driver.error().what;
  EXPECT_EQ(*driver, "nvme");
  tree.remove(std::string(HostTree::kFunction) + "/driver");
  EXPECT_EQ(read_driver(tree.options.sysfs_root, tree.request.address).value(), "");
  tree.remove(HostTree::kFunction);
  tree.remove("sys/bus/pci/devices");
  EXPECT_EQ(read_driver(tree.options.sysfs_root, tree.request.address).error().code,
            Errc::not_found);
}

TEST(Sysfs, WhatStaysWithTheHardwareIsReadWhateverDriverIsBound) {
  const HostTree tree;
  EXPECT_TRUE(tree.read()->hardware.empty());
  tree.link(std::string(HostTree::kFunction) + "/driver",
            tree.root / "sys/bus/pci/drivers/vfio-pci");
  std::string config(4096, '\0');
  config.replace(0x100, 12, std::string("\x03\x00\x01\x00\xe3\xbd\xc0\x11\x91\x38\x25\x00", 12));
  tree.write(std::string(HostTree::kFunction) + "/config", config);
  tree.write("sys/bus/pci/slots/7/address", "0000:c2:00\n");
  tree.write("sys/bus/pci/slots/12-1/address", "0000:c1:00\n");
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_EQ(nvme::encode_hardware(drive->hardware), "dsn=00-25-38-91-11-c0-bd-e3 slot=12-1");
  // What an unprivileged reader gets.
  tree.write(std::string(HostTree::kFunction) + "/config", config.substr(0, 64));
  EXPECT_EQ(tree.read()->hardware.serial_number, "");
}

TEST(Sysfs, UnderMultipathTheSubsystemsNodeIsTheDisk) {
  const HostTree tree;
  tree.remove(HostTree::kDisk);
  tree.remove("sys/class/block/nvme3n1");
  tree.remove("sys/class/block/nvme3n1p1");
  // The controller has only a hidden path; its first number is the subsystem's.
  tree.write(std::string(HostTree::kController) + "/nvme2c5n7/hidden", "1\n");
  const std::string head = "sys/devices/virtual/nvme-subsystem/nvme-subsys2/nvme2n7";
  tree.block(head, "259:9", "1024");
  tree.write(head + "/nsid", "7\n");
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  ASSERT_EQ(drive->namespaces.size(), 1U);
  EXPECT_EQ(drive->namespaces[0].disk.name, "nvme2n7");
  EXPECT_EQ(drive->namespaces[0].nsid, 7U);
}

TEST(Sysfs, APathWithoutItsDiskIsNoPicture) {
  const HostTree tree;
  tree.write(std::string(HostTree::kController) + "/nvme2c5n7/hidden", "1\n");
  EXPECT_EQ(tree.read().error().code, Errc::failed);
}

TEST(Sysfs, GenericAndForeignNamesAreNoDisks) {
  const HostTree tree;
  for (const char* name : {"ng3n1", "hwmon4", "nvme3n", "nvme3nx", "nvmen1", "nvme3n1p1"}) {
    tree.write(std::string(HostTree::kController) + "/" + name + "/dev", "1:1\n");
  }
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_EQ(drive->namespaces.size(), 1U);
}

TEST(Sysfs, AbsentFunctionIsNotFound) {
  const HostTree tree;
  EXPECT_EQ(read_drive(tree.options.sysfs_root, *parse_pci_address("0000:c2:00.0")).error().code,
            Errc::not_found);
}

TEST(Sysfs, WhatCannotBeReadIsAnErrorNamingTheFile) {
  const HostTree tree;
  tree.write(std::string(HostTree::kFunction) + "/vendor", "banana\n");
  const auto drive = tree.read();
  ASSERT_FALSE(drive.ok());
  EXPECT_NE(drive.error().what.find("/vendor says 'banana'"), std::string::npos);
  tree.write(std::string(HostTree::kFunction) + "/vendor", "0x144d\n");
  tree.remove(std::string(HostTree::kDisk) + "/nsid");
  EXPECT_EQ(tree.read().error().code, Errc::failed);
}

TEST(Sysfs, WithoutItsDriverOnlyTheFunctionIsKnown) {
  const HostTree tree;
  tree.link(std::string(HostTree::kFunction) + "/driver",
            tree.root / "sys/bus/pci/drivers/vfio-pci");
  tree.write(std::string(HostTree::kFunction) + "/vfio-dev/vfio3/dev", "240:3\n");
  const auto drive = tree.read();
  ASSERT_TRUE(drive.ok());
  EXPECT_EQ(drive->driver, "vfio-pci");
  EXPECT_TRUE(drive->controller.empty());
  EXPECT_TRUE(drive->namespaces.empty());
  ASSERT_EQ(drive->vfio_devices.size(), 1U);
  EXPECT_EQ(drive->vfio_devices[0].name, "vfio3");
}

TEST(Sysfs, ListsNvmeFunctionsOnly) {
  const HostTree tree;
  tree.write("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
  tree.write("sys/bus/pci/devices/0000:02:00.0/class", "0x010802\n");
  tree.write("sys/bus/pci/devices/0000:03:00.0/class", "0x010601\n");
  const auto found = list_nvme_functions(tree.options.sysfs_root);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(to_string((*found)[0]), "0000:02:00.0");
  EXPECT_EQ(to_string((*found)[1]), "0000:c1:00.0");
}

TEST(Sysfs, AHostWithoutNvmeFunctionsIsNoError) {
  const HostTree tree;
  tree.write(std::string(HostTree::kFunction) + "/class", "0x010601\n");
  const auto found = list_nvme_functions(tree.options.sysfs_root);
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_TRUE(found->empty());
}

TEST(Sysfs, StackedDevicesLeadDownToTheirDisks) {
  const HostTree tree;
  tree.block("sys/devices/virtual/block/md0", "9:0", "1000");
  tree.link("sys/devices/virtual/block/md0/slaves/nvme3n1p1",
            tree.root / "sys/class/block/nvme3n1p1");
  tree.link("sys/devices/virtual/block/md0/slaves/sda2", tree.root / "sys/class/block/sda2");
  tree.block("sys/devices/virtual/block/dm-0", "253:0", "1000");
  tree.link("sys/devices/virtual/block/dm-0/slaves/md0", tree.root / "sys/class/block/md0");
  EXPECT_EQ(disks_below(tree.options.sysfs_root, "dm-0"),
            (std::vector<std::string>{"nvme3n1", "sda"}));
  EXPECT_EQ(block_name(tree.options.sysfs_root, DeviceNumber{253, 0}), "dm-0");
  EXPECT_EQ(block_name(tree.options.sysfs_root, DeviceNumber{1, 2}), "");
  EXPECT_TRUE(disks_below(tree.options.sysfs_root, "tmpfs").empty());
}

TEST(Sysfs, FilesAreBounded) {
  const HostTree tree;
  for (const std::size_t length : {100U, 8'192U, 20'000U}) {
    tree.write("long", std::string(length, 'x'));
    EXPECT_EQ(read_file(tree.root / "long", length - 1).error().code, Errc::limit);
    EXPECT_EQ(read_file(tree.root / "long", length)->size(), length);
    const auto roomy = read_file(tree.root / "long", 16U << 20U);
    EXPECT_EQ(roomy->size(), length);
    EXPECT_LT(roomy->capacity(), 64U * 1024);
  }
}

}  // namespace
}  // namespace reclaim::nvme
