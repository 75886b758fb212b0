// Claims over the emulated host: what is in the way, when it is there before and when it comes
// in the middle. (Each guard's own rules are in tests/unit/nvme/guards_test.cpp.)
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

using ClaimTest = NvmeFixture;

TEST_F(ClaimTest, AFreeDriveIsClaimedWithAllGuardsPassed) {
  make_drive();
  request_.expected_serial = "S1";
  const auto drive = claim();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  const DriveFacts facts = (*drive)->facts();
  ASSERT_TRUE(facts.identity.has_value());
  EXPECT_EQ(facts.identity->serial, "S1");
  EXPECT_TRUE(facts.identity->capabilities.crypto_erase());
  ASSERT_EQ(facts.namespaces.size(), 1U);
  EXPECT_EQ(facts.namespaces[0].capacity_bytes, 16U << 20U);
  EXPECT_TRUE(facts.counters.has_value());
  EXPECT_EQ(findings_.back().guard, "claim");
  for (const GuardFinding& finding : findings_) EXPECT_TRUE(finding.passed) << finding.guard;
  EXPECT_TRUE((*drive)->claim().recheck().ok());
}

// An --enrol may name a drive by its Device Serial Number alone, and the claim is compared with it.
TEST_F(ClaimTest, TheClaimTellsWhatStaysWithTheHardware) {
  make_drive();
  std::string config(0x10c, '\0');
  config.replace(0x100, 12, std::string("\x03\0\x01\0\x78\x56\x34\x12\xef\xcd\xab\x90", 12));
  write("sys/bus/pci/devices/0000:01:00.0/config", config);
  const auto drive = claim();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  const DriveFacts facts = (*drive)->facts();
  EXPECT_EQ(facts.hardware.serial_number, "90-ab-cd-ef-12-34-56-78");
  const auto seen = look_at_drive(options_, request_.address, true);
  ASSERT_TRUE(seen.ok()) << seen.error().what;
  EXPECT_EQ(encode_hardware(facts.hardware), encode_hardware(seen->hardware));
}

TEST_F(ClaimTest, TheClaimIsExclusiveAndEndsWithTheObject) {
  make_drive();
  auto drive = claim();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  expect_error(claim(), Errc::busy, "guard host_lock");
  // Also for a worker that looks for its lock elsewhere.
  options_.run_path = root_ / "run/other";
  expect_error(claim(), Errc::refused, "held exclusively");
  drive->reset();
  EXPECT_TRUE(claim().ok());
}

TEST_F(ClaimTest, WithoutAPlaceForTheHostsLockNothingIsOpened) {
  make_drive();
  options_.run_path = root_ / "absent/folder";
  expect_error(claim(), Errc::refused, "guard host_lock: cannot create");
}

TEST_F(ClaimTest, WhateverHoldsItExclusivelyRefuses) {
  make_drive("claimed=1");
  expect_error(claim(), Errc::refused, "guard claim");
}

TEST_F(ClaimTest, UsesOfTheHostRefuseByName) {
  make_drive();
  ASSERT_TRUE(host_->mount(kAddress, "/srv/data").ok());
  expect_error(claim(), Errc::refused, "/srv/data");
  ASSERT_TRUE(host_->mount(kAddress, "").ok());
  ASSERT_TRUE(host_->swap_on(kAddress, true).ok());
  expect_error(claim(), Errc::refused, "swapoff");
  ASSERT_TRUE(host_->swap_on(kAddress, false).ok());
  ASSERT_TRUE(host_->hold(kAddress, "dm-0").ok());
  expect_error(claim(), Errc::refused, "dm-0");
  ASSERT_TRUE(host_->hold(kAddress, "").ok());
  EXPECT_TRUE(claim().ok());
}

TEST_F(ClaimTest, ADriveWithAGuestIsBusy) {
  make_drive();
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  expect_error(claim(), Errc::busy, "vfio-pci");
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  expect_error(claim(), Errc::busy, "no driver");
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  EXPECT_TRUE(claim().ok());
}

TEST_F(ClaimTest, LibvirtIsGivenTimeToBindTheDriver) {
  make_drive();
  options_.driver_wait_ms = 30'000;
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  std::thread libvirt([this] { EXPECT_TRUE(host_->bind(kAddress, "nvme").ok()); });
  EXPECT_TRUE(claim().ok());
  libvirt.join();
}

TEST_F(ClaimTest, WaitingEndsWhenItIsToldTo) {
  make_drive();
  options_.driver_wait_ms = 3'600'000;
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  std::thread operator_of_it([this] { stop_.request(); });
  expect_error(claim(), Errc::cancelled, "stopped");
  operator_of_it.join();
}

TEST_F(ClaimTest, AControllerThatHangsIsResetOnce) {
  make_drive("state=resetting");
  EXPECT_TRUE(claim().ok());
  set("state", "dead");
  EXPECT_TRUE(claim().ok());
  // A drive on its way out is left alone.
  set("state", "deleting");
  expect_error(claim(), Errc::busy, "deleting");
}

TEST_F(ClaimTest, AControllerThatAResetDoesNotBringBackIsForTheOperator) {
  make_drive("state=dead,reset_fails=1");
  expect_error(claim(), Errc::failed, "power-cycle its slot");
}

TEST_F(ClaimTest, NothingIsResetThatIsNotOurs) {
  make_drive("state=dead");
  const auto state = [this] { return read_file(root_ / "sys/class/nvme/nvme0/state", 99); };
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(claim(), Errc::busy, "is dead");
  request_.resource_class = "CUSTOM_PCI_1_2";
  ASSERT_TRUE(host_->mount(kAddress, "").ok());
  expect_error(claim(), Errc::refused, "pci_ids");
  request_.resource_class = "CUSTOM_PCI_144D_A80A";
  std::filesystem::create_directories(options_.run_path);
  const auto other_worker = HostLock::take(options_.run_path, request_.address);
  ASSERT_TRUE(other_worker.ok());
  expect_error(claim(), Errc::busy, "host_lock");
  EXPECT_EQ(*state(), "dead");
}

TEST_F(ClaimTest, ADriveWithoutAnyNamespaceIsClaimed) {
  make_drive("", false);
  auto drive = host_->drive(kAddress);
  ASSERT_TRUE(drive.ok());
  (*drive)->with([](auto&, auto& state) { state.namespaces[0].attached = false; });
  ASSERT_TRUE(host_->sync(**drive).ok());
  const auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_TRUE((*claimed)->facts().namespaces.empty());
  EXPECT_TRUE((*claimed)->claim().recheck().ok());
}

TEST_F(ClaimTest, NamespacesThatTheKernelListsLateAreWaitedFor) {
  make_drive();
  auto drive = host_->drive(kAddress);
  ASSERT_TRUE(drive.ok());
  const auto folder = std::filesystem::canonical(root_ / "sys/class/nvme/nvme0/nvme0n1");
  std::filesystem::rename(folder, root_ / "later");
  const auto early = claim();
  ASSERT_TRUE(early.ok()) << early.error().what;
  EXPECT_EQ((*early)->facts().namespaces.size(), 0U);
  EXPECT_NE(findings_[findings_.size() - 2].detail.find("0 of 1"), std::string::npos);
  options_.driver_wait_ms = 30'000;
  options_.run_path = root_ / "run/other";
  std::thread kernel([this, folder] { std::filesystem::rename(root_ / "later", folder); });
  const auto claimed = claim();
  kernel.join();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_EQ((*claimed)->facts().namespaces.size(), 1U);
}

TEST_F(ClaimTest, AMonitorThatIsGoneInAMomentIsWaitedFor) {
  make_drive();
  options_.driver_wait_ms = 30'000;
  std::filesystem::create_directories(root_ / "proc/4711/fd");
  std::filesystem::create_symlink(root_ / "dev/nvme0", root_ / "proc/4711/fd/9");
  std::thread monitor([this] { std::filesystem::remove(root_ / "proc/4711/fd/9"); });
  EXPECT_TRUE(claim().ok());
  monitor.join();
}

TEST_F(ClaimTest, SerialChangesAreForTheOperator) {
  make_drive();
  request_.expected_serial = "S0";
  expect_error(claim(), Errc::failed, "serial changed: was S0, is S1; enrol");
  request_.expected_serial = "S1";
  set("serial_changes", "1");
  expect_error(claim(), Errc::failed, "serial");
}

TEST_F(ClaimTest, GarbageFromTheControllerIsRefused) {
  make_drive("garbage_identify=1");
  expect_error(claim(), Errc::failed, "serial");
}

TEST_F(ClaimTest, SharedSubsystemsNeedTheOperatorsWord) {
  make_drive("cmic=2");
  expect_error(claim(), Errc::refused, "shared_subsystem");
  request_.shared_subsystem_allowed = true;
  EXPECT_TRUE(claim().ok());
}

TEST_F(ClaimTest, ASecondControllerOfTheSubsystemRefusesWhateverTheOperatorSays) {
  make_host({"address=0000:01:00.0,serial=S1,size=16M,subsysnqn=nqn.one",
             "address=0000:02:00.0,serial=S1,size=16M,subsysnqn=nqn.one"});
  request_.shared_subsystem_allowed = true;
  expect_error(claim(), Errc::refused, "nqn.one");
}

TEST_F(ClaimTest, VirtualFunctionsRefuse) {
  make_drive("sriov_total=8,sriov_enabled=2");
  expect_error(claim(), Errc::refused, "2 virtual functions");
}

TEST_F(ClaimTest, TheNodeMustBeTheDeviceSysfsSpeaksOf) {
  // The controller's and the disk's numbers differ, and a second drive has the other's.
  make_host({"address=0000:01:00.0,serial=S1,size=16M,instance=0,disk=1",
             "address=0000:02:00.0,serial=S2,size=16M,instance=1,disk=0"});
  auto drive = claim();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_EQ((*drive)->claim().sys().controller, "nvme0");
  EXPECT_EQ((*drive)->claim().namespaces()[0].facts.node, "nvme1n1");
  drive->reset();
  const auto disk = root_ / "sys/class/block/nvme1n1/dev";
  std::ofstream(disk) << "259:77\n";
  expect_error(claim(), Errc::refused, "sysfs says 259:77");
  ASSERT_TRUE(host_->sync(**host_->drive(kAddress)).ok());
  std::ofstream(root_ / "sys/class/nvme/nvme0/dev") << "238:1\n";
  expect_error(claim(), Errc::refused, "sysfs says 238:1");
}

TEST_F(ClaimTest, AnAbsentDriveMayComeBack) {
  make_drive();
  request_.address = *parse_pci_address("0000:09:00.0");
  expect_error(claim(), Errc::busy, "0000:09:00.0");
}

// What appears between claim and command stops the command, and the canary before it.
class AppearsInTheMiddle : public NvmeFixture {
 protected:
  void expect_stopped(std::string_view says, Errc code = Errc::refused) {
    auto before_canary = drive_->take_baseline(stop_);
    expect_error(before_canary, code, says);
    expect_error(erase(*drive_), code, says);
    EXPECT_EQ(sanitizes(), 0U);
    EXPECT_EQ(writes_before_, writes());
  }
  void SetUp() override {
    NvmeFixture::SetUp();
    make_drive();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
    writes_before_ = writes();
  }
  [[nodiscard]] std::uint64_t writes() {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) {
      return state.smart.host_writes;
    });
  }
  std::uint64_t writes_before_ = 0;
};

TEST_F(AppearsInTheMiddle, AMount) {
  ASSERT_TRUE(host_->mount(kAddress, "/mnt").ok());
  expect_stopped("guard mounted");
}

TEST_F(AppearsInTheMiddle, ADomain) {
  write("run/libvirt/qemu/instance-1.xml",
        "<domain><name>instance-1</name><devices><hostdev mode='subsystem' type='pci'><source>"
        "<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source></hostdev>"
        "</devices></domain>");
  expect_stopped("instance-1", Errc::busy);
}

TEST_F(AppearsInTheMiddle, AProcessWithTheVfioGroup) {
  const auto group =
      std::filesystem::read_symlink(root_ / "sys/bus/pci/devices" / kAddress / "iommu_group")
          .filename()
          .string();
  std::filesystem::create_directories(root_ / "proc/4711/fd");
  std::filesystem::create_symlink("/dev/vfio/" + group, root_ / "proc/4711/fd/9");
  expect_stopped("guard vfio_open", Errc::busy);
}

TEST_F(AppearsInTheMiddle, AProcessWithTheControllersNode) {
  std::filesystem::create_directories(root_ / "proc/4711/fd");
  std::filesystem::create_symlink(root_ / "dev/nvme0", root_ / "proc/4711/fd/9");
  expect_stopped("guard node_open", Errc::busy);
}

TEST_F(AppearsInTheMiddle, AnotherState) {
  set("state", "resetting");
  expect_stopped("guard live", Errc::busy);
}

TEST_F(AppearsInTheMiddle, AnotherSerial) {
  set("serial_changes", "1");
  expect_stopped("serial");
}

TEST_F(AppearsInTheMiddle, AHolder) {
  ASSERT_TRUE(host_->hold(kAddress, "md0").ok());
  expect_stopped("md0");
}

}  // namespace
}  // namespace reclaim::nvme
