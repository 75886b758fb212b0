// DriveThreads: drives in parallel, every callback once and on the loop's thread, stop, drop and
// the end.
#include "nvme/drive_threads.h"

#include <fcntl.h>

#include <future>
#include <optional>
#include <thread>

#include "nvme/host/driver_binding.h"
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

class DriveThreadsTest : public NvmeFixture {
 protected:
  static constexpr const char* kSecond = "0000:02:00.0";

  void make_two(const std::string& more = "") {
    const std::string rest = ",size=16M,duration_ms=200" + (more.empty() ? "" : "," + more);
    make_host({"address=0000:01:00.0,serial=S1" + rest, "address=0000:02:00.0,serial=S2" + rest});
    ASSERT_TRUE(host_->fill(kSecond, kSeed).ok());
    drive_threads_.emplace(loop_.raw(), options_, clock_, log_);
  }
  void TearDown() override {
    drive_threads_.reset();
    NvmeFixture::TearDown();
  }
  [[nodiscard]] ClaimRequest request_of(const char* address) const {
    ClaimRequest request = request_;
    request.address = *parse_pci_address(address);
    return request;
  }
  // A callback that keeps its answer and insists on being called once, on this thread.
  template <typename T>
  Callback<T> keep(std::optional<Result<T>>& into) {
    return [this, &into](Result<T> answer) {
      EXPECT_EQ(std::this_thread::get_id(), loop_thread_);
      EXPECT_FALSE(into.has_value()) << "called twice";
      into.emplace(std::move(answer));
    };
  }
  template <typename Done>
  void run_until(const Done& done) {
    const std::int64_t deadline = clock_.now().mono.ms + 300'000;
    uv::Timer tick(loop_.raw());
    tick.start(5, 5, [] {});
    while (!done() && clock_.now().mono.ms < deadline) loop_.run_once();
    EXPECT_TRUE(done());
  }
  template <typename T>
  Result<T> await(const std::function<void(Callback<T>)>& begin) {
    std::optional<Result<T>> answer;
    begin(keep(answer));
    EXPECT_FALSE(answer.has_value()) << "called before its time";
    run_until([&] { return answer.has_value(); });
    return answer ? *std::move(answer) : Result<T>(Error{Errc::unknown, "no answer"});
  }
  Result<ClaimReport> claim_now(const char* address) {
    return await<ClaimReport>(
        [&](auto done) { drive_threads_->claim(request_of(address), std::move(done)); });
  }
  void drop_now(const char* address) {
    bool dropped = false;
    drive_threads_->drop(*parse_pci_address(address), [&] { dropped = true; });
    run_until([&] { return dropped; });
  }

  uv::Loop loop_;
  std::thread::id loop_thread_ = std::this_thread::get_id();
  std::optional<DriveThreads> drive_threads_;
};

TEST_F(DriveThreadsTest, TwoDrivesGoTheirWholeWayAtOnce) {
  make_two();
  int verified = 0;
  int progress = 0;
  for (const char* name : {kAddress, kSecond}) {
    const PciAddress address = *parse_pci_address(name);
    drive_threads_->claim(request_of(name), [&, address](Result<ClaimReport> report) {
      ASSERT_TRUE(report.ok()) << report.error().what;
      drive_threads_->take_baseline(address, [&, address](Result<Baseline> baseline) {
        ASSERT_TRUE(baseline.ok()) << baseline.error().what;
        const Baseline kept = *baseline;
        drive_threads_->erase(
            address, {}, [&](EraseProgress) { ++progress; },
            [&, address, kept](Result<EraseEvidence> evidence) {
              ASSERT_TRUE(evidence.ok()) << evidence.error().what;
              drive_threads_->verify(
                  address, kept, *evidence, [&](EraseProgress) { ++progress; },
                  [&, address](Result<VerifyReport> verdict) {
                    ASSERT_TRUE(verdict.ok()) << verdict.error().what;
                    drive_threads_->still_ours(address, verdict->counters,
                                               [&](Result<Counters> now) {
                                                 ASSERT_TRUE(now.ok()) << now.error().what;
                                                 ++verified;
                                               });
                  });
            });
      });
    });
  }
  EXPECT_EQ(drive_threads_->threads(), 2U);
  run_until([&] { return verified == 2; });
  EXPECT_GT(progress, 2);
  drop_now(kAddress);
  drop_now(kSecond);
  EXPECT_EQ(drive_threads_->threads(), 0U);
  EXPECT_EQ(media().tenant_blocks_kept, 0U);
}

TEST_F(DriveThreadsTest, DiscoveryTellsOfAllDrivesAlsoOfThoseOnAThread) {
  make_two();
  ASSERT_TRUE(claim_now(kAddress).ok());
  ASSERT_TRUE(host_->bind(kSecond, "vfio-pci").ok());
  const auto drives = await<std::vector<DriveFacts>>(
      [&](auto done) { drive_threads_->discover({}, std::move(done)); });
  ASSERT_TRUE(drives.ok()) << drives.error().what;
  ASSERT_EQ(drives->size(), 2U);
  ASSERT_TRUE((*drives)[0].identity.has_value());
  EXPECT_EQ((*drives)[0].identity->serial, "S1");
  EXPECT_FALSE((*drives)[1].identity.has_value());
  EXPECT_EQ((*drives)[1].problem, "bound to vfio-pci");
}

TEST_F(DriveThreadsTest, InspectionClaimsNothingAndReportsAll) {
  make_two();
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  const auto findings = await<std::vector<GuardFinding>>(
      [&](auto done) { drive_threads_->inspect(request_of(kAddress), std::move(done)); });
  ASSERT_TRUE(findings.ok()) << findings.error().what;
  EXPECT_EQ(findings->size(), guards_before_opening().size() + 2);
  EXPECT_EQ(std::count_if(findings->begin(), findings->end(),
                          [](const GuardFinding& finding) { return !finding.passed; }),
            1);
  EXPECT_EQ(drive_threads_->threads(), 0U);
}

TEST_F(DriveThreadsTest, SignaturesAreLookedForUnlessTheDriveIsClaimed) {
  make_two();
  put_media(0, std::string(510, '\0') + "\x55\xaa");
  put_media(446 + 4, "\x83");
  put_media(446 + 8, std::string("\0\x08\0\0\0\x10\0\0", 8));
  const auto find = [&](const char* address) {
    return await<std::vector<std::string>>([&](auto done) {
      drive_threads_->find_signatures(*parse_pci_address(address), std::move(done));
    });
  };
  ASSERT_TRUE(claim_now(kSecond).ok());
  const auto found = find(kAddress);
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_EQ(*found, std::vector<std::string>{"nvme0n1: dos partition table"});
  expect_error(find(kSecond), Errc::busy, "is claimed");
  drop_now(kSecond);
  EXPECT_TRUE(find(kSecond).ok());
}

TEST_F(DriveThreadsTest, ARefusedClaimLeavesNoThread) {
  make_two();
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(claim_now(kAddress), Errc::refused, "guard mounted");
  run_until([&] { return drive_threads_->threads() == 0; });
  ASSERT_TRUE(host_->mount(kAddress, "").ok());
  EXPECT_TRUE(claim_now(kAddress).ok());
  expect_error(claim_now(kAddress), Errc::busy, "claimed already");
}

TEST_F(DriveThreadsTest, MoreDrivesThanThreadsAreBusy) {
  options_.threads_max = 1;
  make_two();
  ASSERT_TRUE(claim_now(kAddress).ok());
  expect_error(claim_now(kSecond), Errc::busy, "as many as are allowed");
  drop_now(kAddress);
  EXPECT_TRUE(claim_now(kSecond).ok());
}

TEST_F(DriveThreadsTest, WithoutAClaimNothingIsDone) {
  make_two();
  const PciAddress address = *parse_pci_address(kAddress);
  expect_error(
      await<Baseline>([&](auto done) { drive_threads_->take_baseline(address, std::move(done)); }),
      Errc::refused, "not claimed");
  expect_error(await<EraseEvidence>([&](auto done) {
                 drive_threads_->erase(
                     address, {}, [](auto) {}, std::move(done));
               }),
               Errc::refused, "not claimed");
  drive_threads_->stop(address);
  drop_now(kAddress);
  EXPECT_EQ(sanitizes(), 0U);
}

TEST_F(DriveThreadsTest, StopEndsWhatRunsAndWhatWaitsButNotWhatComesLater) {
  make_two("duration_ms=3600000");
  const PciAddress address = *parse_pci_address(kAddress);
  ASSERT_TRUE(claim_now(kAddress).ok());
  ASSERT_TRUE(await<Baseline>([&](auto done) {
                drive_threads_->take_baseline(address, std::move(done));
              }).ok());
  std::optional<Result<EraseEvidence>> erased;
  std::optional<Result<Baseline>> waiting;
  bool running = false;
  drive_threads_->erase(
      address, {}, [&](EraseProgress) { running = true; }, keep(erased));
  drive_threads_->take_baseline(address, keep(waiting));
  run_until([&] { return running; });
  drive_threads_->stop(address);
  run_until([&] { return erased.has_value() && waiting.has_value(); });
  expect_error(*erased, Errc::unknown, "goes on in the drive");
  expect_error(*waiting, Errc::cancelled, "stopped");
  EraseRequest adopt;
  adopt.adopt_ours = true;
  const auto adopted = await<EraseEvidence>([&](auto done) {
    drive_threads_->erase(
        address, adopt, [&](EraseProgress) { set("advance_ms", "3600000"); }, std::move(done));
  });
  ASSERT_TRUE(adopted.ok()) << adopted.error().what;
  EXPECT_TRUE(adopted->adopted);
}

TEST_F(DriveThreadsTest, DropAnswersEverythingFirstAndGivesTheDriveBack) {
  make_two("duration_ms=3600000");
  const PciAddress address = *parse_pci_address(kAddress);
  ASSERT_TRUE(claim_now(kAddress).ok());
  ASSERT_TRUE(await<Baseline>([&](auto done) {
                drive_threads_->take_baseline(address, std::move(done));
              }).ok());
  std::optional<Result<EraseEvidence>> erased;
  drive_threads_->erase(
      address, {}, [](EraseProgress) {}, keep(erased));
  int dropped = 0;
  drive_threads_->drop(address, [&] {
    EXPECT_TRUE(erased.has_value());
    ++dropped;
  });
  drive_threads_->drop(address, [&] { ++dropped; });  // idempotent
  run_until([&] { return dropped == 2; });
  EXPECT_EQ(drive_threads_->threads(), 0U);
  EXPECT_TRUE(claim().ok());  // nobody holds it any more
}

TEST_F(DriveThreadsTest, TheEndWaitsForTheThreadsAndClosesTheirDrives) {
  make_two("duration_ms=3600000");
  const PciAddress address = *parse_pci_address(kAddress);
  ASSERT_TRUE(claim_now(kAddress).ok());
  ASSERT_TRUE(await<Baseline>([&](auto done) {
                drive_threads_->take_baseline(address, std::move(done));
              }).ok());
  bool running = false;
  drive_threads_->erase(
      address, {}, [&](EraseProgress) { running = true; }, [](auto) {});
  run_until([&] { return running; });
  drive_threads_.reset();
  EXPECT_TRUE(claim().ok());
}

// A drive thread that does not move, and all that others want meanwhile.
class StuckDriveThreadTest : public DriveThreadsTest {
 protected:
  // The first drive's whole way, and a look at both, while the second one's drive thread is stuck.
  void expect_nobody_waits() {
    const PciAddress address = *parse_pci_address(kAddress);
    const auto claimed = claim_now(kAddress);
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    ASSERT_TRUE(await<Baseline>([&](auto done) {
                  drive_threads_->take_baseline(address, std::move(done));
                }).ok());
    const auto erased = await<EraseEvidence>([&](auto done) {
      drive_threads_->erase(
          address, {}, [](auto) {}, std::move(done));
    });
    ASSERT_TRUE(erased.ok()) << erased.error().what;
    const auto drives = await<std::vector<DriveFacts>>(
        [&](auto done) { drive_threads_->discover({}, std::move(done)); });
    ASSERT_TRUE(drives.ok()) << drives.error().what;
    EXPECT_EQ(drives->size(), 2U);
    drop_now(kAddress);
    EXPECT_FALSE(stuck_.has_value());
  }
  void erase_second() {
    const PciAddress second = *parse_pci_address(kSecond);
    ASSERT_TRUE(claim_now(kSecond).ok());
    ASSERT_TRUE(await<Baseline>([&](auto done) {
                  drive_threads_->take_baseline(second, std::move(done));
                }).ok());
    drive_threads_->erase(
        second, {}, [this](EraseProgress) { running_ = true; }, keep(stuck_));
    run_until([&] { return running_; });
  }
  bool running_ = false;  // progress goes on being told
  std::optional<Result<EraseEvidence>> stuck_;
};

TEST_F(StuckDriveThreadTest, AStalledSanitizeDelaysNobody) {
  make_two();
  ASSERT_TRUE(host_->set(kSecond, "stalls_at", "10").ok());
  erase_second();
  expect_nobody_waits();
  drop_now(kSecond);
  EXPECT_TRUE(stuck_.has_value());
}

TEST_F(StuckDriveThreadTest, ACommandThatHangsDelaysNobody) {
  make_two();
  ASSERT_TRUE(host_->set(kSecond, "duration_ms", "3600000").ok());
  erase_second();
  auto drive = host_->drive(kSecond);
  ASSERT_TRUE(drive.ok());
  // Whoever asks the drive anything gets no answer until it is let go.
  std::promise<void> hangs;
  std::promise<void> let_go;
  std::thread firmware([&] {
    (*drive)->with([&](auto&, auto&) {
      hangs.set_value();
      let_go.get_future().wait();
    });
  });
  hangs.get_future().wait();
  expect_nobody_waits();
  let_go.set_value();
  firmware.join();
  drop_now(kSecond);
  EXPECT_TRUE(stuck_.has_value());
}

TEST_F(DriveThreadsTest, ADriveThatMayNotBeAskedGetsNoCommand) {
  make_two();
  const PciAddress second = *parse_pci_address(kSecond);
  drive_threads_.reset();
  drive_threads_.emplace(loop_.raw(), options_, clock_, log_,
                         [&second](const DriveFacts& drive) { return drive.address != second; });
  const auto drives = await<std::vector<DriveFacts>>(
      [&](auto done) { drive_threads_->discover({}, std::move(done)); });
  ASSERT_TRUE(drives.ok()) << drives.error().what;
  EXPECT_TRUE((*drives)[0].identity.has_value());
  EXPECT_FALSE((*drives)[1].identity.has_value());
  EXPECT_FALSE((*drives)[1].counters.has_value());
  EXPECT_NE((*drives)[1].problem.find("no [nvme] device_spec entry"), std::string::npos);
}

TEST_F(DriveThreadsTest, AnUnmanagedDriveIsNotOpenedToBeDiscovered) {
  make_two();
  ASSERT_TRUE(host_->bind(kSecond, "vfio-pci").ok());
  const auto group =
      root_ / "dev/vfio" /
      std::filesystem::read_symlink(root_ / "sys/bus/pci/devices" / kSecond / "iommu_group")
          .filename();
  const UniqueFd guest(::open(group.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(guest.valid());
  const auto drives = await<std::vector<DriveFacts>>(
      [&](auto done) { drive_threads_->discover({}, std::move(done)); });
  ASSERT_TRUE(drives.ok()) << drives.error().what;
  EXPECT_EQ((*drives)[1].driver, "vfio-pci");
  EXPECT_GE((*drives)[1].iommu_group, 0);
  EXPECT_FALSE((*drives)[1].identity.has_value());
}

TEST_F(DriveThreadsTest, DrivesLeftTakenOverAreGivenBackAtTheStart) {
  make_two();
  // As a worker leaves it that is killed after the takeover.
  write("run/reclaim/0000:02:00.0.driver", "driver=vfio-pci\noverride=vfio-pci\n");
  drive_threads_.reset();
  drive_threads_.emplace(loop_.raw(), options_, clock_, log_);
  EXPECT_EQ(drives_left_taken_over(options_).size(), 1U);  // looking alone changes nothing
  drive_threads_->give_back_drives_left();
  run_until([&] { return drives_left_taken_over(options_).empty(); });
  const auto drive = read_drive(options_.sysfs_root, *parse_pci_address(kSecond));
  ASSERT_TRUE(drive.ok());
  EXPECT_EQ(drive->driver, "vfio-pci");
  // The other was never taken over.
  EXPECT_EQ(read_drive(options_.sysfs_root, request_.address)->driver, "nvme");
}

TEST_F(DriveThreadsTest, AnUnmanagedDriveIsRestoredAndGivenBackWhenDropped) {
  make_two();
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  request_.managed = false;
  const PciAddress address = *parse_pci_address(kAddress);
  for (const bool restored_first : {true, false}) {
    const auto claimed = claim_now(kAddress);
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    EXPECT_EQ(claimed->facts.driver, "nvme");
    if (restored_first) {
      const auto restored =
          await<Ok>([&](auto done) { drive_threads_->restore_driver(address, std::move(done)); });
      ASSERT_TRUE(restored.ok()) << restored.error().what;
      const auto now = await<Counters>(
          [&](auto done) { drive_threads_->still_ours(address, {}, std::move(done)); });
      EXPECT_TRUE(now.ok()) << now.error().what;
    }
    drop_now(kAddress);
    EXPECT_EQ(read_drive(options_.sysfs_root, address)->driver, "vfio-pci");
  }
}

}  // namespace
}  // namespace reclaim::nvme
