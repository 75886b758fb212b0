// The clean steps before the erase, on real controllers.
#include "tests/guest/hybrid/fixture.h"

namespace reclaim::guest {
namespace {

class HealthGuestTest : public LaneTest {
 protected:
  HealthGuestTest() : LaneTest(kSick) {}
  void warn(int bits) {
    const auto said = host_->monitor("qom-set /machine/peripheral/sick smart_critical_warning " +
                                     std::to_string(bits));
    ASSERT_TRUE(said.ok()) << said.error().what;
    ASSERT_EQ(*said, "");
  }
};

TEST_F(HealthGuestTest, ADriveWithACriticalWarningIsNotGivenBack) {
  ASSERT_TRUE(claim_in_lane(request(kSick)).ok());
  const auto well = step("check_health", EraseMethod::overwrite);
  ASSERT_TRUE(well.ok()) << well.error().what;
  warn(4);  // reliability is degraded
  expect_error(step("check_health", EraseMethod::overwrite), Errc::failed, "reliab");
  warn(8);  // the media are read-only
  expect_error(step("check_health", EraseMethod::overwrite), Errc::failed, "media read only");
  warn(0);
  EXPECT_TRUE(step("check_health", EraseMethod::overwrite).ok());
}

TEST_F(HealthGuestTest, AFirmwareLogThatContradictsIdentifyQuarantines) {
  // QEMU's own flaw: its slot 1 says 1.0, its Identify the version of QEMU.
  ASSERT_TRUE(claim_in_lane(request(kSick)).ok());
  expect_error(step("reset_controller_state", EraseMethod::overwrite), Errc::failed,
               "firmware: Identify says");
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
  ASSERT_TRUE(claim_in_lane(shared(kHybrid)).ok());
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
  ASSERT_TRUE(claim_in_lane(shared(kHybrid)).ok());
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
  ASSERT_TRUE(claim_in_lane(shared(kHybrid)).ok());
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
  ASSERT_TRUE(claim_in_lane(shared(kHybrid)).ok());
  const auto recovered = step("recover_sanitize", EraseMethod::sanitize_crypto);
  ASSERT_TRUE(recovered.ok()) << recovered.error().what;
  EXPECT_EQ(kept(kImage), 0U);
}

}  // namespace
}  // namespace reclaim::guest
