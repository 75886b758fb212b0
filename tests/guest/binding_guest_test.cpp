// Unmanaged drives (managed=no): taken over from vfio-pci and given back, by the real drivers.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <iostream>

#include "nvme/host/driver_binding.h"
#include "tests/guest/drive_thread_fixture.h"
#include "tests/guest/vfio_group.h"

namespace reclaim::guest {
namespace {

// A process that after a delay tries to open the group all the time, and keeps it once it has it.
class Racer final {
 public:
  Racer(int group, unsigned delay_us) {
    void* const page = ::mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    won_ = static_cast<std::atomic<bool>*>(page);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::usleep(delay_us);
    while (true) {
      const UniqueFd fd = open_group(group);
      if (!fd.valid()) continue;
      *won_ = true;
      while (true) ::pause();
    }
  }
  ~Racer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(won_, sizeof(std::atomic<bool>));
  }
  Racer(const Racer&) = delete;
  Racer& operator=(const Racer&) = delete;
  [[nodiscard]] bool won() const { return *won_; }

 private:
  std::atomic<bool>* won_ = nullptr;
  pid_t pid_ = -1;
};

class BindingGuestTest : public DriveThreadTest {
 protected:
  BindingGuestTest() : DriveThreadTest(kPassed) {}
  void SetUp() override {
    DriveThreadTest::SetUp();
    const auto drive = look(kPassed);
    ASSERT_TRUE(drive.ok());
    group_ = drive->iommu_group;
  }
  void TearDown() override {
    DriveThreadTest::TearDown();
    EXPECT_TRUE(bind(kPassed, "nvme"));
  }
  // As driverctl and the like leave it: bound, and the override says so.
  void give_to_vfio() const {
    ASSERT_TRUE(bind(kPassed, "vfio-pci"));
    ASSERT_EQ(write_sysfs(function(kPassed) + "/driver_override", "vfio-pci"), 0);
  }
  [[nodiscard]] static nvme::ClaimRequest unmanaged() {
    nvme::ClaimRequest asked = request(kPassed);
    asked.managed = false;
    return asked;
  }
  [[nodiscard]] std::string driver() const {
    const auto drive = look(kPassed);
    return drive.ok() ? drive->driver : drive.error().what;
  }
  void expect_as_before() const {
    EXPECT_EQ(driver(), "vfio-pci");
    const auto override = nvme::read_file(function(kPassed) + "/driver_override", 64);
    ASSERT_TRUE(override.ok());
    EXPECT_EQ(*override, "vfio-pci");
    EXPECT_TRUE(nvme::drives_left_taken_over(options_).empty());
  }
  Status restore() {
    return await<Ok>(
        [this](auto done) { drive_threads_->restore_driver(address_, std::move(done)); });
  }

  int group_ = -1;
};

TEST_F(BindingGuestTest, TakenOverErasedGivenBackAndHeldUntilTheRelease) {
  fill(node(kPassed));
  give_to_vfio();
  const auto claimed = claim_on_thread(unmanaged());
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_EQ(driver(), "nvme");
  erase_and_verify(EraseMethod::write_zeroes);
  EXPECT_EQ(kept("passed1"), 0U);
  const auto restored = restore();
  ASSERT_TRUE(restored.ok()) << restored.error().what;
  expect_as_before();
  const auto ours = still_ours(report_.counters);
  EXPECT_TRUE(ours.ok()) << ours.error().what;
  int error = 0;
  EXPECT_FALSE(Holder(group_, kPassed, false).holds()) << "before the release nobody gets it";
  drop();
  EXPECT_TRUE(open_group(group_, &error).valid()) << std::strerror(error);
}

TEST_F(BindingGuestTest, ADriveAGuestHasIsNotTouched) {
  give_to_vfio();
  be_impatient();
  for (const bool device : {false, true}) {
    const Holder guest(group_, kPassed, device);
    ASSERT_TRUE(guest.holds());
    const auto claimed = claim_on_thread(unmanaged());
    ASSERT_FALSE(claimed.ok());
    EXPECT_EQ(claimed.error().code, Errc::busy) << claimed.error().what;
    drop();
    expect_as_before();
  }
}

TEST_F(BindingGuestTest, WhoeverRacesForTheDriveOneHasIt) {
  give_to_vfio();
  options_.driver_wait_ms = 2'000;
  int ours = 0;
  for (unsigned round = 0; round < 10; ++round) {
    const Racer racer(group_, round * 10'000);
    const auto claimed = claim_on_thread(unmanaged());
    if (!claimed.ok()) {
      EXPECT_EQ(claimed.error().code, Errc::busy) << claimed.error().what;
      EXPECT_TRUE(eventually([&racer] { return racer.won(); })) << claimed.error().what;
      drop();
      continue;
    }
    ++ours;
    EXPECT_FALSE(racer.won());
    const auto restored = restore();
    // From the bind on the node is everybody's; who is faster then shows, and is never missed.
    if (restored.ok()) {
      EXPECT_FALSE(racer.won());
    } else {
      EXPECT_TRUE(eventually([&racer] { return racer.won(); }));
      EXPECT_EQ(restored.error().code, Errc::refused) << restored.error().what;
    }
    drop();
    EXPECT_TRUE(eventually([&racer] { return racer.won(); }));
  }
  std::cout << "ours in " << ours << " rounds of 10\n";
}

TEST_F(BindingGuestTest, DroppedInTheMiddleItIsGivenBack) {
  give_to_vfio();
  ASSERT_TRUE(claim_on_thread(unmanaged()).ok());
  EXPECT_EQ(driver(), "nvme");
  drop();
  expect_as_before();
}

TEST_F(BindingGuestTest, AfterAKillTheNextWorkerGivesItBack) {
  give_to_vfio();
  const pid_t worker = ::fork();
  if (worker == 0) {
    if (!claim_on_thread(unmanaged()).ok()) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(driver(), "nvme");
  EXPECT_EQ(nvme::drives_left_taken_over(options_).size(), 1U);
  // What a worker does at its start; not while the host still looks at the fresh nodes.
  EXPECT_TRUE(eventually([this] {
    nvme::give_back_drive_left(options_, address_, log_);
    return nvme::drives_left_taken_over(options_).empty();
  }));
  expect_as_before();
}

TEST_F(BindingGuestTest, AfterAKillTheNextWorkerCanGoOn) {
  give_to_vfio();
  const pid_t worker = ::fork();
  if (worker == 0) {
    if (!claim_on_thread(unmanaged()).ok()) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);
  // Not through DriveThreads, whose first deed would be to give it back.
  auto again = claim(unmanaged());
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(driver(), "nvme");
  again->reset();
  expect_as_before();
}

TEST_F(BindingGuestTest, ReboundBehindOurBackIsNoticedBeforeTheRelease) {
  give_to_vfio();
  ASSERT_TRUE(claim_on_thread(unmanaged()).ok());
  erase_and_verify(EraseMethod::write_zeroes);
  ASSERT_TRUE(restore().ok());
  write_sysfs(function(kPassed) + "/driver/unbind", kPassed);
  write_sysfs("/sys/bus/pci/drivers_probe", kPassed);
  ASSERT_TRUE(wait_for_driver(kPassed, "vfio-pci"));
  expect_error(still_ours(report_.counters), Errc::refused, "is not ours any more");
  drop();
}

}  // namespace
}  // namespace reclaim::guest
