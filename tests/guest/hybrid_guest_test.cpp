// The whole way of a drive through DriveThreads, Sanitize included, on real blocks behind a real
// PCI function (hybrid/hybrid.h).
#include <signal.h>
#include <sys/wait.h>

#include "tests/guest/hybrid/fixture.h"

namespace reclaim::guest {
namespace {

class HybridGuestTest : public HybridTest {
 protected:
  void whole_way(EraseMethod method) {
    const auto claimed = claim_on_thread(shared(kHybrid));
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    all_steps(method);
    erase_and_verify(method);
    drop();
  }
};

TEST_F(HybridGuestTest, CryptoSanitizeGoesItsWholeWayAndTheHostFindsNothing) {
  whole_way(EraseMethod::sanitize_crypto);
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, BlockSanitizeGoesItsWholeWayAndTheHostFindsNothing) {
  whole_way(EraseMethod::sanitize_block);
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, NvmeCliSeesTheSameDrive) {
  EXPECT_EQ(nvme_cli("id-ctrl", "| grep -q 'sanicap *: 0x3'"), 0);
  EXPECT_EQ(nvme_cli("sanitize -a 4"), 0);
  // -H: whether Global Data Erased is set is not in the short form. Debian 12's words or 13's.
  EXPECT_TRUE(eventually([this] {
    return nvme_cli("sanitize-log -H", "| grep -Eq 'Global Data Erased (set|  *: 0x1)'") == 0;
  }));
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, ADriveThatKeepsTheDataIsNotVerified) {
  with_hybrid([](auto& drive) { drive.faults.lies_keeps_data = true; });
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  const auto baseline = take_baseline();
  ASSERT_TRUE(baseline.ok()) << baseline.error().what;
  const auto evidence = erase({});
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  expect_error(verify(*baseline, *evidence), Errc::failed, "");
  EXPECT_GT(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, ASanitizeThatFailsHalfwayIsFailed) {
  with_hybrid([](auto& drive) { drive.faults.fails_at = 60; });
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  ASSERT_TRUE(take_baseline().ok());
  expect_error(erase({}), Errc::failed, "");
  EXPECT_GT(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, AWriteAfterTheEraseIsNoticed) {
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  const auto baseline = take_baseline();
  ASSERT_TRUE(baseline.ok()) << baseline.error().what;
  const auto evidence = erase({});
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  const auto verified = verify(*baseline, *evidence);
  ASSERT_TRUE(verified.ok()) << verified.error().what;
  // O_EXCL keeps nobody out who does not ask for it.
  fill(node(kHybrid));
  expect_error(still_ours(verified->counters), Errc::refused, "written to since it was verified");
}

TEST_F(HybridGuestTest, ADriveRemovedInTheMiddleEndsUnknown) {
  set_duration_ms(3'600'000);
  ASSERT_TRUE(claim_on_thread(shared(kHybrid)).ok());
  ASSERT_TRUE(take_baseline().ok());
  bool removed = false;
  const auto evidence = erase({}, [&removed] {
    if (!removed) write_sysfs(function(kHybrid) + "/remove", "1");
    removed = true;
  });
  expect_error(evidence, Errc::unknown, "is not known");
  drop();
  write_sysfs("/sys/bus/pci/rescan", "1");
  ASSERT_TRUE(wait_for_driver(kHybrid, "nvme"));
  EXPECT_GT(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, AfterAKillInTheMiddleTheSanitizeIsAdopted) {
  set_duration_ms(3'600'000);
  const pid_t worker = ::fork();
  if (worker == 0) {
    if (!claim_on_thread(shared(kHybrid)).ok() || !take_baseline().ok()) ::_exit(1);
    (void)erase({}, [] { ::kill(::getpid(), SIGKILL); });
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_GT(kept(kImage), 0U);
  const auto claimed = claim_on_thread(shared(kHybrid));
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EraseRequest adopt;
  adopt.adopt_ours = true;
  const auto evidence =
      erase(adopt, [] { with_hybrid([](auto& drive) { drive.clock_offset_ms += 3'600'000; }); });
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_TRUE(evidence->adopted);
  EXPECT_EQ(kept(kImage), 0U);
}

}  // namespace
}  // namespace reclaim::guest
