// Unmanaged drives over the emulated host: taken over from vfio-pci, cleaned, given back; and what
// is put back when anything goes wrong, up to a worker that is killed in the middle.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "nvme/host/driver_binding.h"
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

class Lines final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    all += std::string(text) + "\n";
  }
  std::string all;
};

class BindingTest : public NvmeFixture {
 protected:
  void SetUp() override {
    NvmeFixture::SetUp();
    request_.managed = false;
  }
  void make_unmanaged(const std::string& more = "") {
    make_drive(more);
    ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  }
  [[nodiscard]] SysDrive sys() const {
    auto drive = read_drive(options_.sysfs_root, request_.address);
    EXPECT_TRUE(drive.ok());
    return drive.ok() ? *drive : SysDrive{};
  }
  [[nodiscard]] std::filesystem::path function() const {
    return root_ / "sys/bus/pci/devices" / kAddress;
  }
  [[nodiscard]] std::string driver_override() const {
    const auto text = read_file(function() / "driver_override", 100);
    return text ? *text : text.error().what;
  }
  void set_override(const std::string& name) const {
    std::ofstream(function() / "driver_override") << name << "\n";
  }
  [[nodiscard]] std::filesystem::path note() const {
    return root_ / "run/reclaim" / (std::string(kAddress) + ".driver");
  }
  [[nodiscard]] std::filesystem::path group() const {
    return root_ / "dev/vfio" / std::to_string(sys().iommu_group);
  }
  // What a guest's QEMU does.
  [[nodiscard]] UniqueFd open_group() const {
    return UniqueFd(::open(group().c_str(), O_RDWR | O_CLOEXEC));
  }
  void expect_untouched(const std::string& override_before = "(null)") const {
    EXPECT_EQ(sys().driver, "vfio-pci");
    EXPECT_EQ(driver_override(), override_before);
    EXPECT_FALSE(std::filesystem::exists(note()));
  }
};

TEST_F(BindingTest, IsTakenOverCleanedGivenBackAndHeld) {
  make_unmanaged();
  set_override("vfio-pci");
  erase_fully();
  EXPECT_EQ(sys().driver, "nvme");
  EXPECT_TRUE(std::filesystem::exists(note()));
  const auto verdict = drive_->verify(
      baseline_, evidence_, [](EraseProgress) {}, stop_);
  ASSERT_TRUE(verdict.ok()) << verdict.error().what;
  EXPECT_TRUE(drive_->still_ours(verdict->counters).ok());
  const auto restored = drive_->restore_driver(stop_);
  ASSERT_TRUE(restored.ok()) << restored.error().what;
  expect_untouched("vfio-pci");
  EXPECT_FALSE(open_group().valid()) << "nobody else can have it";
  const auto counters = drive_->still_ours(verdict->counters);
  ASSERT_TRUE(counters.ok()) << counters.error().what;
  EXPECT_EQ(*counters, verdict->counters);
  drive_.reset();
  expect_untouched("vfio-pci");
  EXPECT_TRUE(open_group().valid());
  EXPECT_EQ(media().tenant_blocks_kept, 0U);
}

TEST_F(BindingTest, AManagedDriveHasNothingToRestore) {
  request_.managed = true;
  make_drive();
  auto drive = claim();
  ASSERT_TRUE(drive.ok()) << drive.error().what;
  EXPECT_TRUE((*drive)->restore_driver(stop_).ok());
  EXPECT_FALSE((*drive)->claim().restored());
  EXPECT_EQ(sys().driver, "nvme");
  EXPECT_TRUE((*drive)->claim().recheck().ok());
}

TEST_F(BindingTest, AGuestThatHasTheGroupOpenKeepsTheDrive) {
  make_unmanaged();
  const UniqueFd guest = open_group();
  ASSERT_TRUE(guest.valid());
  expect_error(claim(), Errc::busy, "a guest still has the drive");
  expect_untouched();
}

TEST_F(BindingTest, TheTakeoverAloneHoldsNoNodeOfTheDrive) {
  make_unmanaged();
  std::filesystem::create_directories(options_.run_path);
  auto takeover = Takeover::create(options_, sys(), log_);
  ASSERT_TRUE(takeover.ok()) << takeover.error().what;
  EXPECT_EQ(sys().driver, "nvme");
  EXPECT_FALSE(open_group().valid());  // it went with the last device of the group
  EXPECT_TRUE((*takeover)->still_held().error().code == Errc::refused);
  takeover->reset();
  expect_untouched();
}

TEST_F(BindingTest, WithoutAVfioGroupNothingIsTakenOver) {
  make_unmanaged();
  std::filesystem::remove(group());
  expect_error(claim(), Errc::refused, "CONFIG_VFIO_GROUP");
  expect_untouched();
}

TEST_F(BindingTest, WhateverDriverWithAVfioDeviceIsAVariant) {
  SysDrive drive;
  drive.driver = "vfio-pci";
  EXPECT_TRUE(on_vfio(drive));
  drive.driver = "xe";
  EXPECT_FALSE(on_vfio(drive));
  drive.vfio_devices = {{"vfio0", std::nullopt}};
  EXPECT_TRUE(on_vfio(drive));
  drive.driver = "nvme";
  EXPECT_FALSE(on_vfio(drive));
  drive.driver = "";
  EXPECT_FALSE(on_vfio(drive));
}

TEST_F(BindingTest, ADriveOfTheHostIsNotTakenOver) {
  make_drive();
  expect_error(claim(), Errc::failed, "managed=no: bind it to vfio-pci");
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  expect_error(claim(), Errc::busy, "no driver is bound");
}

TEST_F(BindingTest, RefusalsAfterTheTakeoverGiveItBack) {
  make_unmanaged();
  request_.expected_serial = "S0";
  expect_error(claim(), Errc::failed, "serial changed");
  expect_untouched();
  request_.expected_serial = "S1";
  set("claimed", "1");  // udev, or whoever looks at what appears, keeps it
  expect_error(claim(), Errc::refused, "held exclusively");
  expect_untouched();
}

TEST_F(BindingTest, WithoutTheNvmeDriverItGoesBack) {
  make_unmanaged();
  std::filesystem::rename(root_ / "sys/bus/pci/drivers/nvme", root_ / "elsewhere");
  expect_error(claim(), Errc::failed, "was to be bound to nvme and is bound to no driver");
  expect_untouched();
}

TEST_F(BindingTest, ItIsGivenBackInWhateverStateItIsDropped) {
  make_unmanaged("duration_ms=3600000");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  claimed->reset();
  expect_untouched();
}

TEST_F(BindingTest, SomebodyFasterIsFoundOut) {
  make_unmanaged();
  // A /dev of links, so that the group that is to come can be one that somebody has already.
  const auto links = root_ / "links";
  std::filesystem::create_directories(links);
  for (const char* name : {"nvme0", "nvme0n1", "vfio"}) {
    std::filesystem::create_symlink(root_ / "dev" / name, links / name);
  }
  options_.dev_root = links;
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  write("dev/vfio/taken", "");
  const UniqueFd faster(::open((root_ / "dev/vfio/taken").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(faster.valid());
  std::filesystem::remove(links / "vfio");
  std::filesystem::create_directory(links / "vfio");
  std::filesystem::create_symlink(root_ / "dev/vfio/taken",
                                  links / "vfio" / std::to_string(sys().iommu_group));
  expect_error((*claimed)->restore_driver(stop_), Errc::refused, "before it was released");
  EXPECT_FALSE((*claimed)->still_ours({}).ok());
  claimed->reset();
  expect_untouched();
}

TEST_F(BindingTest, AFormerDriverThatDoesNotTakeItAgainFails) {
  make_unmanaged();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  std::filesystem::rename(root_ / "sys/bus/pci/drivers/vfio-pci", root_ / "elsewhere");
  expect_error((*claimed)->restore_driver(stop_), Errc::failed, "modprobe vfio-pci");
  expect_error((*claimed)->still_ours({}), Errc::refused, "not to its former driver");
  EXPECT_TRUE(std::filesystem::exists(note()));
  // The last word is the end of the claim's.
  std::filesystem::rename(root_ / "elsewhere", root_ / "sys/bus/pci/drivers/vfio-pci");
  claimed->reset();
  expect_untouched();
}

TEST_F(BindingTest, IsNotTakenFromAHostThatUsesItMeanwhile) {
  make_unmanaged();
  Lines said;
  {
    auto claimed = Claim::create(options_, request_, &findings_, stop_, said);
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  }
  EXPECT_NE(said.all.find("/srv"), std::string::npos) << said.all;
  EXPECT_EQ(sys().driver, "nvme");
  EXPECT_EQ(driver_override(), "nvme");
  EXPECT_TRUE(std::filesystem::exists(note()));
  ASSERT_TRUE(host_->mount(kAddress, "").ok());
  give_back_drive_left(options_, request_.address, log_);
  expect_untouched();
}

TEST_F(BindingTest, AControllerThatDoesNotComeUpIsResetOnce) {
  make_unmanaged();
  set("probe_fails", "dead");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_EQ(sys().driver, "nvme");
  claimed->reset();
  expect_untouched();
}

TEST_F(BindingTest, AControllerThatNoResetBringsUpGoesBack) {
  make_unmanaged();
  set("probe_fails", "dead");
  set("reset_fails", "1");
  expect_error(claim(), Errc::failed, "it was reset and did not come up");
  expect_untouched();
}

TEST_F(BindingTest, ADriverThatRefusesItGivesItBack) {
  make_unmanaged();
  set("probe_fails", "unbound");
  expect_error(claim(), Errc::failed, "is bound to no driver");
  expect_untouched();
}

// After the driver is back: what must not have happened until the release.
class GivenBack : public BindingTest {
 protected:
  void SetUp() override {
    BindingTest::SetUp();
    make_unmanaged();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
    ASSERT_TRUE(drive_->restore_driver(stop_).ok());
    ASSERT_TRUE(drive_->still_ours({}).ok());
  }
};

TEST_F(GivenBack, BoundElsewhere) {
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  expect_error(drive_->still_ours({}), Errc::refused, "is bound to nvme");
}

TEST_F(GivenBack, UnboundAndBoundAgain) {
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  expect_error(drive_->still_ours({}), Errc::refused, "not ours any more");
}

TEST_F(GivenBack, AnotherDeviceInTheSlot) {
  std::ofstream(function() / "device") << "0xa80b\n";
  expect_error(drive_->still_ours({}), Errc::refused, "pulled out");
}

TEST_F(GivenBack, TheSameDevicePulledOutAndPluggedInAgain) {
  const auto folder = std::filesystem::canonical(function());
  std::filesystem::copy(
      folder, root_ / "again",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  std::filesystem::rename(folder, root_ / "gone");
  std::filesystem::rename(root_ / "again", folder);
  expect_error(drive_->still_ours({}), Errc::refused, "plugged in");
}

// A worker that was killed, and what the next one does.
class LeftTakenOver : public BindingTest {
 protected:
  // A process that claims the drive and is killed.
  void claim_and_be_killed() {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto claimed = claim();
      if (!claimed) ::_exit(1);
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_EQ(sys().driver, "nvme");
    ASSERT_EQ(driver_override(), "nvme");
    ASSERT_EQ(drives_left_taken_over(options_), std::vector{request_.address});
  }
  void give_back() { give_back_drive_left(options_, request_.address, log_); }
};

TEST_F(LeftTakenOver, TheNextWorkerGivesItBack) {
  make_unmanaged();
  set_override("vfio-pci");
  claim_and_be_killed();
  give_back();
  expect_untouched("vfio-pci");
  EXPECT_TRUE(drives_left_taken_over(options_).empty());
}

TEST_F(LeftTakenOver, OrClaimsIt) {
  make_unmanaged();
  claim_and_be_killed();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE((*claimed)->restore_driver(stop_).ok());
  expect_untouched();
}

TEST_F(LeftTakenOver, KilledBeforeTheUnbind) {
  make_unmanaged();
  write("run/reclaim/" + std::string(kAddress) + ".driver", "driver=vfio-pci\noverride=\n");
  set_override("nvme");
  const UniqueFd guest = open_group();  // who came meanwhile is not disturbed
  give_back();
  expect_untouched();
}

TEST_F(LeftTakenOver, KilledBetweenUnbindAndProbe) {
  make_unmanaged();
  claim_and_be_killed();
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  give_back();
  expect_untouched();
}

TEST_F(LeftTakenOver, NotWhileTheHostUsesIt) {
  make_unmanaged();
  claim_and_be_killed();
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  give_back();
  EXPECT_EQ(sys().driver, "nvme");
  EXPECT_TRUE(std::filesystem::exists(note()));
  expect_error(claim(), Errc::refused, "/srv");
}

TEST_F(LeftTakenOver, NotWhileAnotherWorkerHasIt) {
  make_unmanaged();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  give_back();
  EXPECT_EQ(sys().driver, "nvme");
  EXPECT_TRUE((*claimed)->claim().recheck().ok());
}

TEST_F(LeftTakenOver, ANoteThatNoWorkerWroteIsNotFollowed) {
  make_unmanaged();
  claim_and_be_killed();
  for (const char* text : {"", "driver=\noverride=\n", "driver=../../evil\noverride=\n",
                           "driver=vfio-pci\n", "driver=vfio-pci\noverride=\nmore\n"}) {
    write("run/reclaim/" + std::string(kAddress) + ".driver", text);
    give_back();
    EXPECT_EQ(sys().driver, "nvme") << text;
    expect_error(claim(), Errc::failed, "bind the drive by hand");
  }
  const FormerDriver former{"mlx5_vfio_pci", "a-b"};
  const auto decoded = decode_former_driver(encode_former_driver(former));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, former);
}

}  // namespace
}  // namespace reclaim::nvme
