// A claim of a PCI function: every guard by a host on which that one thing stands in the way, what
// keeps others off, the driver while a step runs, and what is put back after a crash.
#include "nvme/pci/pci_claim.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "nvme/host/driver_binding.h"
#include "tests/unit/nvme/pci_fixture.h"

namespace reclaim::nvme {
namespace {

class PciClaimTest : public PciFixture {
 protected:
  void expect_refused(Errc code, std::string_view says) {
    expect_error(claim(), code, says);
    ASSERT_FALSE(findings_.empty());
    EXPECT_FALSE(findings_.back().passed);
    EXPECT_FALSE(std::filesystem::exists(note())) << says;
  }
  [[nodiscard]] UniqueFd open_group() const {
    return UniqueFd(::open((root_ / "dev/vfio/60").c_str(), O_RDWR | O_CLOEXEC));
  }
  void process(int pid, const std::string& name, const std::filesystem::path& open_file) const {
    const std::string folder = "proc/" + std::to_string(pid);
    write(folder + "/comm", name + "\n");
    std::filesystem::create_directories(root_ / folder / "fd");
    std::filesystem::create_symlink(open_file, root_ / folder / "fd/7");
  }
  void domain(const std::string& function) const {
    write("etc/libvirt/qemu/guest.xml",
          "<domain><name>guest</name><devices><hostdev><source><address domain='0x0000' "
          "bus='0x3b' slot='0x00' function='0x" +
              function +
              "'/></source></hostdev></devices>"
              "</domain>");
  }
  [[nodiscard]] std::filesystem::path folder() const {
    return std::filesystem::canonical(root_ / "sys/bus/pci/devices" / kCard);
  }
};

TEST_F(PciClaimTest, HoldsTheGroupUntilItEnds) {
  ASSERT_TRUE(claim().ok());
  for (const GuardFinding& each : findings_) {
    EXPECT_TRUE(each.passed) << each.guard << ": " << each.detail;
  }
  EXPECT_EQ(findings_.front().guard, "pci_class");
  EXPECT_EQ(findings_.back().guard, "claim");
  EXPECT_FALSE(open_group().valid());
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_TRUE(claim_->recheck().ok());
  EXPECT_TRUE(claim_->still_ours().ok());
  claim_.reset();
  EXPECT_TRUE(open_group().valid());
  EXPECT_FALSE(std::filesystem::exists(note()));
}

TEST_F(PciClaimTest, OneAtATime) {
  ASSERT_TRUE(claim().ok());
  std::vector<GuardFinding> findings;
  const auto second = PciClaim::create(options_, request_, &findings, stop_, log_);
  expect_error(second, Errc::busy, "is locked by process");
  EXPECT_EQ(findings.back().guard, "host_lock");
}

TEST_F(PciClaimTest, WhatItIsHasToFit) {
  request_.resource_class = "CUSTOM_PCI_15B3_1017";
  expect_refused(Errc::refused, "guard pci_ids");
  request_.resource_class = "CUSTOM_NIC";
  request_.resource_class_override = "CUSTOM_NIC";
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  request_.expected = HardwareIdentity{"3c-fd-fe-ff-ff-12-34-56", ""};
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  request_.expected.serial_number = "00-00-00-00-00-00-00-01";
  expect_refused(Errc::failed, "the device changed: was dsn=00-00-00-00-00-00-00-01");
  request_.expected = {};
  request_.address = *parse_pci_address("0000:3c:00.0");
  expect_refused(Errc::refused, "there is no PCI function 0000:3c:00.0");
}

TEST_F(PciClaimTest, DrivesAndBridgesAreOthersBusiness) {
  write("sys/bus/pci/devices/0000:3b:00.0/class", "0x010802\n");
  expect_refused(Errc::refused, "name it in [nvme] device_spec");
  write("sys/bus/pci/devices/0000:3b:00.0/class", "0x060400\n");
  expect_refused(Errc::refused, "is a bridge");
}

TEST_F(PciClaimTest, VirtualFunctions) {
  write("sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "4\n");
  expect_refused(Errc::refused, "4 virtual functions are enabled");
  write("sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "0\n");
  std::filesystem::create_symlink("../other", folder() / "physfn");
  expect_refused(Errc::refused, "its device is shared with others");
}

TEST_F(PciClaimTest, Guests) {
  domain("0");
  expect_refused(Errc::busy, "libvirt domain guest names the PCI function");
  domain("1");
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  process(4711, "qemu", "/dev/vfio/60");
  expect_refused(Errc::busy,
                 "process 4711 (qemu) holds /dev/vfio/60; a guest still has the device");
  std::filesystem::remove_all(root_ / "proc/4711");
  process(4712, "qemu", "/dev/vfio/devices/vfio60");
  expect_refused(Errc::busy, "vfio60");
  std::filesystem::remove_all(root_ / "proc/4712");
  set("vfio_user", "1");  // of which no process shows
  expect_refused(Errc::busy, "guard claim");
}

TEST_F(PciClaimTest, GuestsOfOthersInItsGroup) {
  ASSERT_TRUE(host_->add_function("address=0000:3b:00.1,bound=vfio-pci").ok());
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  domain("1");
  expect_refused(Errc::busy,
                 "guard iommu_group: 0000:3b:00.1 is in the same IOMMU group 60: libvirt domain");
  std::filesystem::remove(root_ / "sys/kernel/iommu_groups/60/devices/0000:3b:00.1");
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  std::filesystem::remove_all(root_ / "sys/kernel/iommu_groups/60/devices");
  expect_refused(Errc::refused, "cannot list");
}

TEST_F(PciClaimTest, WhereNothingIsSeenNothingIsClaimed) {
  std::filesystem::remove_all(root_ / "etc/libvirt");
  expect_refused(Errc::refused, "whether a domain names the device cannot be known");
  std::filesystem::create_directories(root_ / "etc/libvirt/qemu");
  std::filesystem::remove(root_ / "proc/1/ns/pid");
  expect_refused(Errc::refused, "guard process_view");
}

TEST_F(PciClaimTest, ADriverOfTheHost) {
  set("bound", "i40e");
  expect_refused(Errc::failed,
                 "guard driver: bound to i40e, which serves the host: bind it to vfio-pci");
  request_.driver = "i40e";
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  set("up", "1");
  expect_refused(Errc::refused, "its network interface eth60 is up");
  set("up", "0");
  set("master", "br0");
  expect_refused(Errc::refused, "eth60 is part of br0");
}

TEST_F(PciClaimTest, AnInterfaceUnderAnother) {
  set("bound", "i40e");
  request_.driver = "i40e";
  set("upper", "vlan7");
  expect_refused(Errc::refused, "eth60 is part of vlan7");
}

TEST_F(PciClaimTest, NodesOfTheHost) {
  set("bound", "i40e");
  request_.driver = "i40e";
  const std::string card = "sys/bus/pci/devices/0000:3b:00.0/drm/card0";
  write(card + "/dev", "226:0\n");
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  process(4713, "Xorg", root_ / "dev/card0");
  expect_refused(Errc::busy, "process 4713 (Xorg) has");
  std::filesystem::remove_all(root_ / "proc/4713");
  const std::string disk = "sys/bus/pci/devices/0000:3b:00.0/host0/block/sdz";
  write(disk + "/dev", "8:400\n");
  std::filesystem::create_symlink("../../../../../../../class/block",
                                  std::filesystem::canonical(root_ / disk) / "subsystem");
  std::filesystem::create_directories(root_ / disk / "holders");
  EXPECT_TRUE(claim().ok());
  claim_.reset();
  std::ofstream(root_ / "proc/1/mountinfo", std::ios::app)
      << "97 22 8:400 / /srv rw shared:5 - ext4 /dev/sdz rw\n";
  expect_refused(Errc::refused, "/dev/sdz is mounted on /srv");
}

TEST_F(PciClaimTest, FunctionsBehindItAreNotSeenThrough) {
  set("bound", "i40e");
  request_.driver = "i40e";
  std::filesystem::create_directories(folder() / "pci10000:00/10000:00:00.0");
  expect_refused(Errc::refused, "there are PCI functions behind it (10000:00:00.0)");
}

TEST_F(PciClaimTest, OfADeadFunctionThereIsNone) {
  set("config", "00:ffffffff");
  expect_refused(Errc::failed, "does not answer");
  set("config", "00:86801710");
  expect_refused(Errc::failed, "the device was changed under the kernel");
  EXPECT_TRUE(open_group().valid());
}

TEST_F(PciClaimTest, WithoutADriverAnOverrideKeepsOthersOff) {
  set("bound", "");
  ASSERT_TRUE(claim().ok());
  EXPECT_EQ(attribute("driver_override"), "reclaim-claimed");
  EXPECT_EQ(driver(), "");
  EXPECT_TRUE(claim_->still_ours().ok());
  claim_.reset();
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_FALSE(std::filesystem::exists(note()));
}

TEST_F(PciClaimTest, AGuestInBetweenIsFoundOut) {
  set("bound", "");
  ASSERT_TRUE(claim().ok());
  // What libvirt does at a guest's start and end.
  std::ofstream(folder() / "driver_override") << "vfio-pci\n";
  set("bound", "vfio-pci");
  expect_error(claim_->still_ours(), Errc::refused, "another program bound the device meanwhile");
  set("bound", "");
  std::ofstream(folder() / "driver_override") << "(null)\n";
  expect_error(claim_->still_ours(), Errc::refused, "another program bound the device meanwhile");
  expect_error(claim_->use_driver(named("vfio-pci")), Errc::failed, "another program");
  claim_.reset();
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_TRUE(std::filesystem::exists(note())) << "for the next worker";
  ASSERT_TRUE(claim().ok());
  claim_.reset();
  EXPECT_FALSE(std::filesystem::exists(note()));
}

TEST_F(PciClaimTest, AGroupThatWentAndCameIsNotOurs) {
  ASSERT_TRUE(claim().ok());
  set("bound", "");
  expect_error(claim_->still_ours(), Errc::refused, "is bound to no driver, not to vfio-pci");
  set("bound", "vfio-pci");
  expect_error(claim_->still_ours(), Errc::refused, "is not ours any more");
}

TEST_F(PciClaimTest, AnotherDeviceIsNotTheClaimedOne) {
  ASSERT_TRUE(claim().ok());
  set("config", "14c:ffffffff");
  expect_error(claim_->still_ours(), Errc::refused, "is not the one that was claimed");
  expect_error(claim_->recheck(), Errc::refused, "is not the one that was claimed");
}

TEST_F(PciClaimTest, GuardsAreLookedAtAgain) {
  ASSERT_TRUE(claim().ok());
  domain("0");
  expect_error(claim_->recheck(), Errc::busy, "guard libvirt_domain");
  step_.step = PciStep::check_config;
  expect_error(run(PciStep::reset), Errc::busy, "guard libvirt_domain");
  EXPECT_EQ(host_->function(kCard)->resets(), "");
}

TEST_F(PciClaimTest, AStepHasTheDriverItWants) {
  ASSERT_TRUE(claim().ok());
  ASSERT_TRUE(claim_->use_driver(none()).ok());
  EXPECT_EQ(driver(), "");
  EXPECT_EQ(attribute("driver_override"), "reclaim-claimed");
  EXPECT_TRUE(std::filesystem::exists(note()));
  EXPECT_TRUE(claim_->recheck().ok());
  ASSERT_TRUE(claim_->use_driver(named("i40e")).ok());
  EXPECT_EQ(driver(), "i40e");
  EXPECT_TRUE(claim_->recheck().ok());
  expect_error(claim_->still_ours(), Errc::refused, "bound to i40e, not to vfio-pci");
  ASSERT_TRUE(claim_->put_driver_back().ok());
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_FALSE(std::filesystem::exists(note()));
  EXPECT_FALSE(open_group().valid());
  EXPECT_TRUE(claim_->still_ours().ok());
}

TEST_F(PciClaimTest, ADriverThatIsNotThere) {
  ASSERT_TRUE(claim().ok());
  step_.step = PciStep::check_config;
  expect_error(run(PciStep::check_config, named("mlx5_core")), Errc::failed, "modprobe mlx5_core");
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_TRUE(claim_->still_ours().ok());
}

TEST_F(PciClaimTest, ADriverThatDoesNotLetGo) {
  ASSERT_TRUE(claim().ok());
  set("unbinds", "0");
  expect_error(run(PciStep::check_config), Errc::failed, "unbind");
  set("unbinds", "1");
  claim_.reset();
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_FALSE(std::filesystem::exists(note()));
}

TEST_F(PciClaimTest, AFormerDriverThatDoesNotComeBack) {
  ASSERT_TRUE(claim().ok());
  ASSERT_TRUE(claim_->use_driver(none()).ok());
  std::filesystem::rename(root_ / "sys/bus/pci/drivers/vfio-pci", root_ / "elsewhere");
  expect_error(claim_->put_driver_back(), Errc::failed, "modprobe vfio-pci");
  EXPECT_TRUE(std::filesystem::exists(note()));
  std::filesystem::rename(root_ / "elsewhere", root_ / "sys/bus/pci/drivers/vfio-pci");
  claim_.reset();  // the last try
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_FALSE(std::filesystem::exists(note()));
}

TEST_F(PciClaimTest, SomebodyFasterIsFoundOut) {
  ASSERT_TRUE(claim().ok());
  ASSERT_TRUE(claim_->use_driver(none()).ok());
  set("vfio_user", "1");
  expect_error(claim_->put_driver_back(), Errc::refused, "before it was released");
  EXPECT_EQ(driver(), "vfio-pci");
  expect_error(claim_->still_ours(), Errc::refused, "is not ours any more");
  set("vfio_user", "0");
}

TEST_F(PciClaimTest, IsNotTakenFromAHostThatUsesItMeanwhile) {
  ASSERT_TRUE(claim().ok());
  ASSERT_TRUE(claim_->use_driver(named("i40e")).ok());
  set("up", "1");
  expect_error(claim_->put_driver_back(), Errc::refused, "eth60 is up");
  claim_.reset();
  EXPECT_EQ(driver(), "i40e");
  ASSERT_TRUE(std::filesystem::exists(note()));
  give_back_drive_left(options_, request_.address, log_);
  EXPECT_EQ(driver(), "i40e");
  set("up", "0");
  give_back_drive_left(options_, request_.address, log_);
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_FALSE(std::filesystem::exists(note()));
}

// A worker that is killed in a step, and the next one.
class PciLeft : public PciClaimTest {
 protected:
  void die_in(const std::string& bound, const StepDriver& wanted) {
    set("bound", bound);
    request_.driver = bound;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool there = claim().ok() && claim_->use_driver(wanted).ok();
      ::_exit(there ? 0 : 1);  // without destructors
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(std::filesystem::exists(note()));
  }
  void expect_back(const std::string& bound) {
    EXPECT_EQ(driver(), bound);
    EXPECT_EQ(attribute("driver_override"), "(null)");
    EXPECT_FALSE(std::filesystem::exists(note()));
  }
};

TEST_F(PciLeft, IsPutBackAtTheNextStart) {
  const std::vector<std::pair<std::string, StepDriver>> ways = {
      {"vfio-pci", none()}, {"vfio-pci", named("i40e")}, {"", StepDriver{}}, {"", named("i40e")},
      {"i40e", none()},     {"i40e", StepDriver{}}};
  for (const auto& [bound, wanted] : ways) {
    SCOPED_TRACE(bound + " " + wanted.name);
    die_in(bound, wanted);
    EXPECT_THAT(drives_left_taken_over(options_), ::testing::ElementsAre(request_.address));
    give_back_drive_left(options_, request_.address, log_);
    expect_back(bound);
  }
}

TEST_F(PciLeft, OrByTheNextClaim) {
  die_in("vfio-pci", none());
  ASSERT_TRUE(claim().ok());
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_FALSE(open_group().valid());
  EXPECT_TRUE(claim_->still_ours().ok());
  claim_.reset();
  expect_back("vfio-pci");
}

TEST_F(PciLeft, UnlessAnotherProgramBoundIt) {
  die_in("vfio-pci", none());
  std::filesystem::create_directories(root_ / "sys/bus/pci/drivers/igb");
  set("bound", "igb");
  request_.driver = "igb";
  expect_error(claim(), Errc::failed, "bind it as it should be and remove");
}

TEST_F(PciClaimTest, InspectingTellsAllAndTouchesNothing) {
  set("bound", "i40e");
  set("up", "1");
  const auto findings = inspect_function(options_, request_);
  ASSERT_TRUE(findings.ok()) << findings.error().what;
  std::vector<std::string> refused;
  for (const GuardFinding& each : *findings) {
    EXPECT_FALSE(each.detail.empty()) << each.guard;
    if (!each.passed) refused.push_back(each.guard);
  }
  EXPECT_THAT(refused, ::testing::ElementsAre("driver", "network"));
  EXPECT_EQ(findings->size(), 18U);
  EXPECT_FALSE(std::filesystem::exists(options_.run_path));
}

TEST(FormerDriver, OfAFunctionTellsWhatItIsBoundToMeanwhile) {
  for (const FormerDriver& former :
       {FormerDriver{"vfio-pci", "", "nvme"}, FormerDriver{"", "", ""},
        FormerDriver{"vfio-pci", "vfio-pci", ""}, FormerDriver{"", "x", "i40e"}}) {
    const auto back = decode_former_driver(encode_former_driver(former));
    ASSERT_TRUE(back.ok()) << encode_former_driver(former);
    EXPECT_EQ(*back, former);
  }
  EXPECT_EQ(encode_former_driver({"vfio-pci", "", "nvme"}), "driver=vfio-pci\noverride=\n");
  for (const char* wrong : {"driver=\noverride=\n", "driver=a\noverride=\nmeanwhile=a/b\n",
                            "driver=a\noverride=\nmeanwhile=b\nmore", "driver=a\nmeanwhile=b\n"}) {
    EXPECT_FALSE(decode_former_driver(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace reclaim::nvme
