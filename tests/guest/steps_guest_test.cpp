// The clean steps before the erase, on real controllers.
#include <gmock/gmock.h>

#include "nvme/host/device_memory.h"
#include "tests/guest/hybrid/fixture.h"

namespace reclaim::guest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HealthGuestTest : public DriveThreadTest {
 protected:
  HealthGuestTest() : DriveThreadTest(kSick) {}
  void warn(int bits) {
    const auto said = host_->monitor("qom-set /machine/peripheral/sick smart_critical_warning " +
                                     std::to_string(bits));
    ASSERT_TRUE(said.ok()) << said.error().what;
    ASSERT_EQ(*said, "");
  }
  // Why it is not going to be given back; empty: nothing speaks against that.
  std::string verdict() {
    const auto report = step("check_health", EraseMethod::overwrite);
    EXPECT_TRUE(report.ok());
    if (!report.ok() || report->findings.back().surface != "health") return "";
    return report->findings.back().found;
  }
};

TEST_F(HealthGuestTest, ADriveWithACriticalWarningIsSaidToBeKept) {
  ASSERT_TRUE(claim_on_thread(request(kSick)).ok());
  const auto well = step("check_health", EraseMethod::overwrite);
  ASSERT_TRUE(well.ok()) << well.error().what;
  warn(4);  // reliability is degraded
  EXPECT_THAT(verdict(), HasSubstr("reliability degraded"));
  warn(8);  // the media are read-only
  EXPECT_THAT(verdict(), HasSubstr("media read only"));
  warn(0);
  EXPECT_EQ(verdict(), "");
}

TEST_F(HealthGuestTest, AFirmwareLogThatContradictsIdentifyQuarantines) {
  // QEMU's own flaw: its slot 1 says 1.0, its Identify the version of QEMU.
  ASSERT_TRUE(claim_on_thread(request(kSick)).ok());
  expect_error(step("reset_controller_state", EraseMethod::overwrite), Errc::failed,
               "firmware: Identify says");
}

// Memory that no write to a block reaches.
class MemoryGuestTest : public DriveThreadTest {
 protected:
  MemoryGuestTest() : DriveThreadTest(kMemory) {}
  void TearDown() override {
    DriveThreadTest::TearDown();
    EXPECT_TRUE(bind(kMemory, "nvme"));
  }
  // Refused either way, for QEMU's firmware log.
  [[nodiscard]] std::string refusal(EraseMethod method) {
    const auto done = step("reset_controller_state", method);
    return done.ok() ? "" : done.error().what;
  }
};

TEST_F(MemoryGuestTest, IsClearedByASanitizeAlone) {
  ASSERT_TRUE(claim_on_thread(request(kMemory)).ok());
  for (const EraseMethod method :
       {EraseMethod::overwrite, EraseMethod::write_zeroes, EraseMethod::format_user_data}) {
    const std::string said = refusal(method);
    EXPECT_THAT(said, HasSubstr("also controller_memory_buffer: "));
    EXPECT_THAT(said, HasSubstr("also persistent_memory_region: "));
    EXPECT_THAT(said, HasSubstr("clean the device with clear_action=sanitize"));
  }
  EXPECT_THAT(refusal(EraseMethod::sanitize_crypto), Not(HasSubstr("memory")));
}

TEST_F(MemoryGuestTest, IsSeenInTheRegistersWhereTheKernelLetsThemBeRead) {
  const auto drive = look(kMemory);
  ASSERT_TRUE(drive.ok());
  const auto bound = nvme::read_device_memory("/sys", *drive);
  EXPECT_NE(bound.buffer, std::optional(false));
  EXPECT_NE(bound.persistent, std::optional(false));
  // vfio-pci does not claim the registers, but lets the function sleep. Some versions of QEMU then
  // show zeroes in their place.
  ASSERT_TRUE(bind(kMemory, "vfio-pci"));
  const auto asleep = nvme::read_device_memory("/sys", *drive);
  EXPECT_NE(asleep.buffer, std::optional(false));
  EXPECT_NE(asleep.persistent, std::optional(false));
  write_sysfs(function(kMemory) + "/power/control", "on");
  const auto free = nvme::read_device_memory("/sys", *drive);
  EXPECT_EQ(free.buffer, std::optional(true));
  EXPECT_EQ(free.persistent, std::optional(true));
}

TEST_F(MemoryGuestTest, IsNotSuspectedOfADriveThatShowsItsRegistersAlone) {
  const auto drive = look(kPlain);
  ASSERT_TRUE(drive.ok());
  const auto seen = nvme::read_device_memory("/sys", *drive);
  EXPECT_EQ(seen.buffer, std::optional(false));
  EXPECT_EQ(seen.persistent, std::optional(false));
}

class StepsGuestTest : public HybridTest {
 protected:
  // What a tenant made of the drive: two namespaces of half the size, both full.
  void split() const {
    ASSERT_EQ(nvme_cli("delete-ns", "-n 1"), 0);
    for (const char* nsid : {"2", "3"}) {
      ASSERT_EQ(nvme_cli("create-ns", "-s 0x4000 -c 0x4000 -f 0"), 0);
      ASSERT_EQ(nvme_cli("attach-ns", std::string("-c 0 -n ") + nsid), 0);
    }
    rescan();
    ASSERT_TRUE(wait_for_namespaces({2, 3}));
    fill(node(kHybrid, 2));
    fill(node(kHybrid, 3));
  }
  void expect_one_namespace() const {
    const auto drive = look(kHybrid);
    ASSERT_TRUE(drive.ok());
    ASSERT_EQ(drive->namespaces.size(), 1U);
    EXPECT_EQ(drive->namespaces[0].capacity_bytes, 16U << 20U);
    EXPECT_EQ(drive->namespaces[0].block_bytes, 512U);
  }
};

TEST_F(StepsGuestTest, ATenantsNamespacesBecomeOneAgainAndHideNothing) {
  split();
  ASSERT_EQ(kept(kImage), kFull);
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  all_steps(EraseMethod::sanitize_crypto);
  expect_one_namespace();
  EXPECT_EQ(kept(kImage), kFull) << "the new namespace is over the old blocks";
  erase_and_verify(EraseMethod::sanitize_crypto);
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(StepsGuestTest, AHiddenNamespaceIsFoundAndGoes) {
  split();
  ASSERT_EQ(nvme_cli("detach-ns", "-c 0 -n 3"), 0);
  rescan();
  ASSERT_TRUE(wait_for_namespaces({2}));
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  all_steps(EraseMethod::sanitize_crypto);
  expect_one_namespace();
  erase_and_verify(EraseMethod::sanitize_crypto);
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(StepsGuestTest, AChangedLbaFormatIsPutBack) {
  ASSERT_EQ(nvme_cli("format", "-n 1 -l 4 -f"), 0);
  rescan();
  ASSERT_TRUE(eventually([this] {
    const auto drive = look(kHybrid);
    return drive.ok() && !drive->namespaces.empty() && drive->namespaces[0].block_bytes == 4096;
  }));
  fill(node(kHybrid));
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  all_steps(EraseMethod::sanitize_crypto);
  erase_and_verify(EraseMethod::sanitize_crypto);
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(StepsGuestTest, ASanitizeThatATenantLeftFailedIsRecovered) {
  with_hybrid([](auto& drive) {
    drive.faults.fails_at = 10;
    drive.sanitize.duration_ms = 0;
  });
  ASSERT_EQ(nvme_cli("sanitize -a 2"), 0);
  ASSERT_NE(nvme_cli("format", "-n 1 -f"), 0) << "the drive bars all else";
  with_hybrid([](auto& drive) { drive.faults.fails_at = -1; });
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  const auto recovered = step("recover_sanitize", EraseMethod::sanitize_crypto);
  ASSERT_TRUE(recovered.ok()) << recovered.error().what;
  EXPECT_EQ(kept(kImage), 0U);
}

}  // namespace
}  // namespace reclaim::guest
