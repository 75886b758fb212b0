// The whole way of a drive through Lanes, Sanitize included, on real blocks behind a real PCI
// function (hybrid/hybrid.h).
#include <sys/wait.h>

#include "nvme/lanes.h"
#include "tests/guest/guest_fixture.h"
#include "tests/guest/hybrid/hybrid.h"

namespace reclaim::guest {
namespace {

using nvme::Baseline;
using nvme::EraseEvidence;
using nvme::EraseRequest;
using nvme::VerifyReport;

constexpr const char* kImage = "hybrid1";
constexpr std::uint64_t kWhole = 32U << 10U;  // tenant texts on a full medium
constexpr const char* kPreload = "LD_PRELOAD=/tests/libreclaim_hybrid.so ";

class HybridGuestTest : public GuestTest {
 protected:
  void SetUp() override {
    GuestTest::SetUp();
    reset();
    fill(node(kHybrid));
    ASSERT_EQ(kept(kImage), kWhole);
  }
  void TearDown() override { lanes_.reset(); }

  void reset() const {
    const nvme::UniqueFd fd(::open(controller_node(kHybrid).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    reset_hybrid(fd.get());
    ASSERT_EQ(run("nvme ns-rescan " + controller_node(kHybrid)), 0);
    ASSERT_TRUE(eventually([this] {
      const auto drive = look(kHybrid);
      return drive.ok() && drive->namespaces.size() == 1 && drive->namespaces[0].nsid == 1 &&
             ::access(node(kHybrid).c_str(), F_OK) == 0;
    }));
  }
  static void set_duration_ms(std::uint32_t duration_ms) {
    with_hybrid([&](auto& drive) { drive.sanitize.duration_ms = duration_ms; });
  }

  // Lanes' answers, waited for.
  template <typename T>
  Result<T> await(const std::function<void(nvme::Callback<T>)>& begin) {
    std::optional<Result<T>> answer;
    begin([&answer](Result<T> got) { answer.emplace(std::move(got)); });
    turn_until([&answer] { return answer.has_value(); });
    return answer ? *std::move(answer) : Result<T>(Error{Errc::unknown, "no answer"});
  }
  void turn_until(const std::function<bool()>& done) {
    const std::int64_t deadline = clock_.now().mono.ms + 120'000;
    uv::Timer tick(loop_.raw());
    tick.start(20, 20, [] {});
    while (!done() && clock_.now().mono.ms < deadline) loop_.run_once();
  }
  Result<nvme::ClaimReport> claim_in_lane() {
    lanes_.emplace(loop_.raw(), options_, clock_, log_);
    return await<nvme::ClaimReport>([&](auto done) { lanes_->claim(shared(kHybrid), done); });
  }
  Result<Baseline> take_baseline() {
    return await<Baseline>([&](auto done) { lanes_->take_baseline(address_, done); });
  }
  Result<EraseEvidence> erase(
      const EraseRequest& request, std::function<void()> on_progress = [] {}) {
    return await<EraseEvidence>([&](auto done) {
      lanes_->erase(
          address_, request, [on_progress](auto) { on_progress(); }, done);
    });
  }
  Result<VerifyReport> verify(const Baseline& baseline, const EraseEvidence& evidence) {
    return await<VerifyReport>([&](auto done) {
      lanes_->verify(
          address_, baseline, evidence, [](auto) {}, done);
    });
  }
  void drop() {
    bool dropped = false;
    lanes_->drop(address_, [&] { dropped = true; });
    turn_until([&] { return dropped; });
    EXPECT_TRUE(dropped);
  }

  // From the claim to the last look; all of it must succeed.
  void whole_way(const EraseRequest& request) {
    const auto claimed = claim_in_lane();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    const auto baseline = take_baseline();
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    EXPECT_GT(baseline->counted(), 0U);
    const auto evidence = erase(request);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    const auto verified = verify(*baseline, *evidence);
    ASSERT_TRUE(verified.ok()) << verified.error().what;
    EXPECT_EQ(verified->samples_unchanged, 0U);
    const auto ours = await<nvme::Counters>(
        [&](auto done) { lanes_->still_ours(address_, verified->counters, done); });
    ASSERT_TRUE(ours.ok()) << ours.error().what;
    drop();
  }

  const PciAddress address_ = *parse_pci_address(kHybrid);
  uv::Loop loop_;
  std::optional<nvme::Lanes> lanes_;
};

TEST_F(HybridGuestTest, CryptoSanitizeGoesItsWholeWayAndTheHostFindsNothing) {
  whole_way({});
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, BlockSanitizeGoesItsWholeWayAndTheHostFindsNothing) {
  EraseRequest request;
  request.method = nvme::EraseMethod::sanitize_block;
  whole_way(request);
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, NvmeCliSeesTheSameDrive) {
  const std::string controller = controller_node(kHybrid);
  EXPECT_EQ(run(kPreload + ("nvme id-ctrl " + controller + " | grep -q 'sanicap *: 0x3'")), 0);
  EXPECT_EQ(run(kPreload + ("nvme sanitize -a 4 " + controller)), 0);
  // -H: whether Global Data Erased is set is not in the short form.
  EXPECT_TRUE(eventually([&] {
    return run(kPreload +
               ("nvme sanitize-log -H " + controller + " | grep -q 'Global Data Erased set'")) == 0;
  }));
  EXPECT_EQ(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, ADriveThatKeepsTheDataIsNotVerified) {
  with_hybrid([](auto& drive) { drive.faults.lies_keeps_data = true; });
  ASSERT_TRUE(claim_in_lane().ok());
  const auto baseline = take_baseline();
  ASSERT_TRUE(baseline.ok()) << baseline.error().what;
  const auto evidence = erase({});
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  expect_error(verify(*baseline, *evidence), Errc::failed, "");
  EXPECT_GT(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, ASanitizeThatFailsHalfwayIsFailed) {
  with_hybrid([](auto& drive) { drive.faults.fails_at = 60; });
  ASSERT_TRUE(claim_in_lane().ok());
  ASSERT_TRUE(take_baseline().ok());
  expect_error(erase({}), Errc::failed, "");
  EXPECT_GT(kept(kImage), 0U);
}

TEST_F(HybridGuestTest, AWriteAfterTheEraseIsNoticed) {
  ASSERT_TRUE(claim_in_lane().ok());
  const auto baseline = take_baseline();
  ASSERT_TRUE(baseline.ok()) << baseline.error().what;
  const auto evidence = erase({});
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  const auto verified = verify(*baseline, *evidence);
  ASSERT_TRUE(verified.ok()) << verified.error().what;
  // O_EXCL keeps nobody out who does not ask for it.
  fill(node(kHybrid));
  expect_error(await<nvme::Counters>(
                   [&](auto done) { lanes_->still_ours(address_, verified->counters, done); }),
               Errc::refused, "written to since it was verified");
}

TEST_F(HybridGuestTest, ADriveRemovedInTheMiddleEndsUnknown) {
  set_duration_ms(3'600'000);
  ASSERT_TRUE(claim_in_lane().ok());
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
    if (!claim_in_lane().ok() || !take_baseline().ok()) ::_exit(1);
    (void)erase({}, [] { ::kill(::getpid(), SIGKILL); });
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_GT(kept(kImage), 0U);
  const auto claimed = claim_in_lane();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  with_hybrid([](auto& drive) { drive.clock_offset_ms += 3'600'000; });
  EraseRequest adopt;
  adopt.adopt_ours = true;
  const auto evidence = erase(adopt);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_TRUE(evidence->adopted);
  EXPECT_EQ(kept(kImage), 0U);
}

}  // namespace
}  // namespace reclaim::guest
