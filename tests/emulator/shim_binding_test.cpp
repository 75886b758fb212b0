// The emulated host as a program sees it: drivers, vfio, and drives that come up late or never.
#include "tests/emulator/shim_fixture.h"

namespace reclaim::emulator {
namespace {

using BindingTest = ShimTest;

TEST_F(BindingTest, DriversAreBoundThroughSysfs) {
  const fs::path device = root_ / "sys/bus/pci/devices" / kAddress;
  const auto put = [](const fs::path& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const ssize_t done = ::write(fd, text.data(), text.size());
    ::close(fd);
    return done == static_cast<ssize_t>(text.size());
  };
  const int old = open_node("nvme0", O_RDONLY);
  EXPECT_TRUE(put(device / "driver_override", "vfio-pci\n"));
  EXPECT_TRUE(put(device / "driver/unbind", kAddress));
  EXPECT_FALSE(fs::exists(fs::symlink_status(device / "driver")));
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0"));
  nvme_id_ctrl id{};
  EXPECT_EQ(::nvme_identify_ctrl(old, &id), -1);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_TRUE(put(root_ / "sys/bus/pci/drivers_probe", kAddress));
  EXPECT_EQ(fs::canonical(device / "driver").filename(), "vfio-pci");
  const std::string group = fs::canonical(device / "iommu_group").filename();
  const int claim = open_node("vfio/" + group, O_RDWR);
  ASSERT_GE(claim, 0);
  EXPECT_EQ(open_node("vfio/" + group, O_RDWR), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_TRUE(put(device / "driver_override", "\n"));
  EXPECT_EQ(line_of(device / "driver_override"), "(null)");
  EXPECT_TRUE(put(root_ / "sys/bus/pci/drivers/vfio-pci/unbind", kAddress));
  EXPECT_FALSE(put(root_ / "sys/bus/pci/drivers/vfio-pci/bind", kAddress)) << "it does not match";
  EXPECT_TRUE(put(root_ / "sys/bus/pci/drivers/nvme/bind", kAddress));
  EXPECT_EQ(line_of(device / "nvme/nvme0/state"), "live");
  EXPECT_EQ(::nvme_identify_ctrl(old, &id), -1) << "a new binding is a new device";
  ::close(claim);
  ::close(old);
}

TEST_F(BindingTest, AVfioDeviceInUseIsNotUnbound) {
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  const fs::path device = root_ / "sys/bus/pci/devices" / kAddress;
  const std::string group = fs::canonical(device / "iommu_group").filename();
  const auto unbind = [&] {
    const int fd = ::open((device / "driver/unbind").c_str(), O_WRONLY | O_CLOEXEC);
    const bool done = ::write(fd, kAddress, std::strlen(kAddress)) > 0;
    ::close(fd);
    return done;
  };
  set("vfio_user", "1");
  EXPECT_EQ(open_node("vfio/" + group, O_RDWR), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_FALSE(unbind()) << "a kernel would hang";
  set("vfio_user", "0");
  const int cdev = open_node("vfio/devices/vfio0", O_RDWR);
  const int again = open_node("vfio/devices/vfio0", O_RDWR);
  EXPECT_GE(cdev, 0);
  EXPECT_GE(again, 0) << "a cdev that is merely opened excludes nobody";
  ::close(again);
  EXPECT_FALSE(unbind()) << "and yet holds the device";
  ::close(cdev);
  const int held = open_node("vfio/" + group, O_RDWR);
  ASSERT_GE(held, 0);
  EXPECT_TRUE(unbind()) << "the group's descriptor holds no device";
  EXPECT_FALSE(fs::exists(root_ / "dev/vfio" / group)) << "it went with its last device";
  ::close(held);
  const int container = open_node("vfio/vfio", O_RDWR);
  EXPECT_GE(open_node("vfio/vfio", O_RDWR), 0) << "everybody may have a container";
  ::close(container);
}

TEST_F(BindingTest, AGroupOfTwoLivesOnWithTheOther) {
  const std::string other = "0000:c1:00.0";
  set("iommu_group", "33");
  ASSERT_TRUE(host_->set(other, "iommu_group", "33").ok());
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  ASSERT_TRUE(host_->bind(other, "variant-vfio-pci").ok());
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  EXPECT_TRUE(fs::exists(root_ / "dev/vfio/33"));
  ASSERT_TRUE(host_->bind(other, "nvme").ok());
  EXPECT_FALSE(fs::exists(root_ / "dev/vfio/33"));
}

TEST_F(BindingTest, ADriveTakesItsTimeToComeUp) {
  set("settle_ms", "3600000");
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "resetting");
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0n1"));
  EXPECT_EQ(open_node("nvme0", O_RDONLY), -1);
  EXPECT_EQ(errno, EAGAIN);
  set("settle_ms", "1");
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  int fd = -1;
  while (fd < 0) fd = open_node("nvme0n1", O_RDWR | O_EXCL);  // ends when the drive is up
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "live");
  ::close(fd);
  ASSERT_TRUE(host_->reset(kAddress).ok());
  EXPECT_TRUE(fs::exists(root_ / "dev/nvme0n1")) << "a reset takes no disk away";
}

TEST_F(BindingTest, ProbesFailAndResetsMend) {
  const fs::path device = root_ / "sys/bus/pci/devices" / kAddress;
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  set("probe_fails", "unbound");
  EXPECT_FALSE(host_->bind(kAddress, "nvme").ok());
  EXPECT_FALSE(fs::exists(device / "driver"));
  const int probe = ::open((root_ / "sys/bus/pci/drivers_probe").c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_GT(::write(probe, kAddress, std::strlen(kAddress)), 0) << "which says nothing";
  ::close(probe);
  EXPECT_FALSE(fs::exists(device / "driver"));
  set("probe_fails", "released");
  EXPECT_TRUE(host_->bind(kAddress, "nvme").ok());
  EXPECT_FALSE(fs::exists(device / "driver"));
  set("probe_fails", "dead");
  EXPECT_TRUE(host_->bind(kAddress, "nvme").ok());
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "dead");
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0n1"));
  const auto reset = [&] {
    const int fd = ::open((device / "reset").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::write(fd, "1", 1), 1);
    ::close(fd);
  };
  set("reset_fails", "1");
  reset();
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "dead");
  set("reset_fails", "0");
  reset();
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "live");
  EXPECT_TRUE(fs::exists(root_ / "dev/nvme0n1"));
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "live") << "it is mended for good";
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  set("probe_fails", "unbound");
  reset();
  EXPECT_TRUE(host_->bind(kAddress, "nvme").ok()) << "a function without a driver is mended too";
}

TEST_F(BindingTest, AFunctionPluggedInAnewIsAnother) {
  const fs::path device = root_ / "sys/bus/pci/devices" / kAddress;
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  const int folder = ::open(device.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat before {};
  ASSERT_EQ(::fstat(folder, &before), 0);
  set("replug", "1");
  struct stat after {};
  ASSERT_EQ(::stat(device.c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
  EXPECT_EQ(fs::canonical(device / "driver").filename(), "nvme");
  EXPECT_TRUE(fs::exists(root_ / "dev/nvme0n1"));
  EXPECT_FALSE(fs::exists(root_ / "dev/vfio" / "20"));
  ::close(folder);
}

TEST_F(BindingTest, UnderMultipathTheDiskIsTheSubsystems) {
  set("multipath", "1");
  const fs::path controller = fs::canonical(root_ / "sys/class/nvme/nvme0");
  EXPECT_FALSE(fs::exists(controller / "nvme0n1"));
  EXPECT_EQ(line_of(controller / "nvme0c0n1/hidden"), "1");
  EXPECT_FALSE(fs::exists(controller / "nvme0c0n1/dev")) << "a hidden disk has no node";
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0c0n1"));
  const fs::path disk = fs::canonical(root_ / "sys/block/nvme0n1");
  EXPECT_EQ(disk.parent_path().filename(), "nvme-subsys0");
  EXPECT_EQ(line_of(disk / "nsid"), "1");
  const int fd = open_node("nvme0n1", O_RDWR | O_EXCL);
  EXPECT_GE(fd, 0);
  ::close(fd);
  set("multipath", "0");
  EXPECT_TRUE(fs::exists(controller / "nvme0n1"));
  EXPECT_FALSE(fs::exists(controller / "nvme0c0n1"));
}

TEST_F(BindingTest, TwoControllersOfOneSubsystem) {
  const std::string other = "0000:c1:00.0";
  const std::string nqn = line_of(root_ / "sys/class/nvme/nvme0/subsysnqn");
  ASSERT_TRUE(host_->set(other, "detach", "1").ok());
  ASSERT_TRUE(host_->bind(other, "").ok());
  ASSERT_TRUE(host_->set(other, "subsysnqn", nqn).ok());
  ASSERT_TRUE(host_->set(other, "disk", "0").ok());
  ASSERT_TRUE(host_->bind(other, "nvme").ok());
  const fs::path subsystem = root_ / "sys/class/nvme-subsystem/nvme-subsys0";
  EXPECT_TRUE(fs::exists(subsystem / "nvme0"));
  EXPECT_TRUE(fs::exists(subsystem / "nvme1"));
  EXPECT_TRUE(fs::exists(root_ / "dev/nvme0n1")) << "it is the first controller's";
  ASSERT_TRUE(host_->bind(other, "").ok());
  EXPECT_TRUE(fs::exists(subsystem / "nvme0"));
  EXPECT_FALSE(fs::exists(subsystem / "nvme1"));
  set("other_controller", "2");
  set("other_attached", "1:1");
  const int fd = open_node("nvme0", O_RDONLY);
  nvme_ctrl_list list{};
  ASSERT_EQ(::nvme_identify_nsid_ctrl_list(fd, 1, 0, &list), 0);
  EXPECT_EQ(list.num, 2);
  ::close(fd);
}

}  // namespace
}  // namespace reclaim::emulator
