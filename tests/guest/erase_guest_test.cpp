// The ways to erase without Sanitize, on QEMU's own drives; what is left is counted in the image
// files by the host.
#include <set>

#include "tests/guest/drive_thread_fixture.h"

namespace reclaim::guest {
namespace {

constexpr std::uint64_t kPlainFull = 32U << 10U;  // tenant texts on the full PLAIN
constexpr std::uint64_t kTwoFull = 16U << 10U;    // and on each namespace of TWO

class PlainEraseGuestTest : public DriveThreadTest {
 protected:
  PlainEraseGuestTest() : DriveThreadTest(kPlain) {}
  void SetUp() override {
    DriveThreadTest::SetUp();
    fill(node(kPlain));
    ASSERT_EQ(kept("plain1"), kPlainFull);
  }
  void whole_way(EraseMethod method) {
    const auto claimed = claim_on_thread(request(kPlain));
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    for (const char* name : {"check_health", "recover_sanitize", "reset_namespaces"}) {
      const auto report = step(name, method);
      ASSERT_TRUE(report.ok()) << name << ": " << report.error().what;
    }
    erase_and_verify(method);
    drop();
    EXPECT_EQ(kept("plain1"), 0U);
  }
};

TEST_F(PlainEraseGuestTest, OverwritingLeavesNothing) {
  whole_way(EraseMethod::overwrite);
}

TEST_F(PlainEraseGuestTest, WriteZeroesLeavesNothing) {
  whole_way(EraseMethod::write_zeroes);
}

TEST_F(PlainEraseGuestTest, FormatLeavesNothing) {
  whole_way(EraseMethod::format_user_data);
}

TEST_F(PlainEraseGuestTest, EveryBlockReadBackIsZero) {
  nvme::ClaimRequest asked = request(kPlain);
  asked.rules.verify = nvme::VerifyLevel::full;
  ASSERT_TRUE(claim_on_thread(asked).ok());
  erase_and_verify(EraseMethod::write_zeroes);
  EXPECT_GE(report_.bytes_read, 32U << 20U);
  EXPECT_EQ(report_.bytes_nonzero, 0U);
}

TEST_F(PlainEraseGuestTest, AStrangersWriteAfterTheEraseIsNoticed) {
  ASSERT_TRUE(claim_on_thread(request(kPlain)).ok());
  const auto baseline = take_baseline();
  ASSERT_TRUE(baseline.ok()) << baseline.error().what;
  EraseRequest request;
  request.method = EraseMethod::write_zeroes;
  const auto evidence = erase(request);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  const auto verified = verify(*baseline, *evidence);
  ASSERT_TRUE(verified.ok()) << verified.error().what;
  // O_EXCL keeps nobody out who does not ask for it.
  fill(node(kPlain));
  expect_error(still_ours(verified->counters), Errc::refused, "written to since it was verified");
}

class TwoEraseGuestTest : public DriveThreadTest {
 protected:
  TwoEraseGuestTest() : DriveThreadTest(kTwo) {}
};

TEST_F(TwoEraseGuestTest, EveryNamespaceIsZeroed) {
  fill(node(kTwo, 1));
  fill(node(kTwo, 2));
  ASSERT_EQ(kept("two1") + kept("two2"), 2 * kTwoFull);
  ASSERT_TRUE(claim_on_thread(shared(kTwo)).ok());
  erase_and_verify(EraseMethod::write_zeroes);
  EXPECT_EQ(kept("two1") + kept("two2"), 0U);
}

TEST_F(TwoEraseGuestTest, ANamespaceThatGoesBeforeTheEraseStopsIt) {
  fill(node(kTwo, 1));
  fill(node(kTwo, 2));
  ASSERT_TRUE(claim_on_thread(shared(kTwo)).ok());
  ASSERT_TRUE(take_baseline().ok());
  const std::string controller = controller_node(kTwo);
  ASSERT_EQ(run("nvme detach-ns " + controller + " -n 2 -c 0 && nvme ns-rescan " + controller), 0);
  ASSERT_TRUE(eventually([this] { return node(kTwo, 2) == "/dev/none"; }));
  EraseRequest request;
  request.method = EraseMethod::write_zeroes;
  expect_error(erase(request), Errc::refused, "guard claim");
  drop();
  EXPECT_GT(kept("two1"), kTwoFull / 2) << "nothing was sent";
  ASSERT_EQ(run("nvme attach-ns " + controller + " -n 2 -c 0 && nvme ns-rescan " + controller), 0);
  EXPECT_TRUE(eventually([this] { return claim(shared(kTwo)).ok(); }));
}

class PulledEraseGuestTest : public DriveThreadTest {
 protected:
  PulledEraseGuestTest() : DriveThreadTest(kPulled) {}
  void TearDown() override {
    DriveThreadTest::TearDown();
    write_sysfs("/sys/bus/pci/rescan", "1");
    EXPECT_TRUE(wait_for_driver(kPulled, "nvme"));
  }
};

TEST_F(PulledEraseGuestTest, ADriveRemovedWhileItIsZeroedIsNeverOk) {
  fill(node(kPulled));
  nvme::ClaimRequest asked = request(kPulled);
  asked.rules.zero_bytes_per_s_max = 4U << 20U;  // slow enough to be in the middle
  ASSERT_TRUE(claim_on_thread(asked).ok());
  ASSERT_TRUE(take_baseline().ok());
  EraseRequest request;
  request.method = EraseMethod::overwrite;
  bool removed = false;
  const auto evidence = erase(request, [&removed] {
    if (!removed) write_sysfs(function(kPulled) + "/remove", "1");
    removed = true;
  });
  EXPECT_TRUE(removed);
  ASSERT_FALSE(evidence.ok());
  const std::set<Errc> codes{Errc::unknown, Errc::failed};
  EXPECT_EQ(codes.count(evidence.error().code), 1U) << evidence.error().what;
  EXPECT_GT(kept("pulled1"), 0U);
  drop();
}

}  // namespace
}  // namespace reclaim::guest
