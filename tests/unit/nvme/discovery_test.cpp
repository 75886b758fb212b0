// Looking at drives of which one hangs: opening its controller blocks in the kernel, as the FIFO
// does that takes its place here.
#include "nvme/host/discovery.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "state/base/unique_fd.h"
#include "tests/unit/nvme/host_tree.h"

namespace reclaim::nvme {
namespace {

struct DiscoveryTest : ::testing::Test {
  DiscoveryTest() {
    tree.options.discovery_timeout_ms = 50;
    const std::string other = "sys/devices/pci0000:c0/0000:c0:01.2/0000:c2:00.0";
    tree.link("sys/bus/pci/devices/0000:c2:00.0", tree.root / other);
    tree.write(other + "/class", "0x010802\n");
    tree.write(other + "/vendor", "0x144d\n");
    tree.write(other + "/device", "0xa824\n");
    CHECK(::mkfifo(node.c_str(), 0600) == 0);
  }
  [[nodiscard]] DriveFacts look_at_first(Discovery& discovery) {
    const auto found = discovery.look({}, {}, stop);
    CHECK(found.ok() && found->size() == 2);
    EXPECT_EQ((*found)[1].problem, "no driver is bound");
    return found->front();
  }

  HostTree tree;
  std::string node = tree.root / "dev/nvme5";
  SystemClock clock;
  StopFlag stop;
};

TEST_F(DiscoveryTest, ADriveThatHangsIsToldOfWithoutItsAnswerAndNotAskedAgainMeanwhile) {
  Discovery discovery(tree.options, clock, nullptr);
  for (int i = 0; i < 3; ++i) {
    const DriveFacts drive = look_at_first(discovery);
    EXPECT_EQ(drive.controller, "nvme5");
    EXPECT_FALSE(drive.identity.has_value());
    EXPECT_NE(drive.problem.find("nvme5 does not answer an Identify within 50 ms"),
              std::string::npos);
  }
  // It is let go, and asked again: what is there is no NVMe controller.
  const UniqueFd writer(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writer.valid());
  while (look_at_first(discovery).problem.find("the drive was changed") == std::string::npos) {
  }
}

TEST_F(DiscoveryTest, ADriveThatMayNotBeAskedIsNotOpened) {
  Discovery discovery(tree.options, clock, [](const DriveFacts& drive) {
    EXPECT_EQ(drive.vendor_id, 0x144d);
    return false;
  });
  const auto found = discovery.look({}, {}, stop);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].problem,
            "no [nvme] device_spec entry matches it: it is not asked anything");
}

TEST_F(DiscoveryTest, AGuestIsToldOf) {
  tree.write("etc/libvirt/qemu/a.xml",
             "<domain><name>a</name><devices><hostdev type='pci'><source><address domain='0x0000' "
             "bus='0xc1' slot='0x00' function='0x0'/></source></hostdev></devices></domain>");
  Discovery discovery(tree.options, clock, nullptr);
  EXPECT_NE(look_at_first(discovery).guest.find("libvirt domain a names the PCI function"),
            std::string::npos);
  tree.remove("etc/libvirt/qemu/a.xml");
  EXPECT_EQ(look_at_first(discovery).guest, "");
  tree.link(std::string(HostTree::kFunction) + "/driver",
            tree.root / "sys/bus/pci/drivers/vfio-pci");
  tree.process(4713, "qemu-system-x86", "/dev/vfio/41");
  EXPECT_NE(look_at_first(discovery).guest.find("4713 (qemu-system-x86)"), std::string::npos);
  const UniqueFd writer(::open(node.c_str(), O_RDWR | O_CLOEXEC));
}

}  // namespace
}  // namespace reclaim::nvme
