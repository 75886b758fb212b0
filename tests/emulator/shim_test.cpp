// The emulated host as a program sees it: controllers, disks and their data.
#include "tests/emulator/shim_fixture.h"

namespace reclaim::emulator {
namespace {

TEST_F(ShimTest, LibnvmeReadsTheModel) {
  const int fd = open_node("nvme0", O_RDONLY);
  ASSERT_GE(fd, 0);
  nvme_id_ctrl id{};
  ASSERT_EQ(::nvme_identify_ctrl(fd, &id), 0);
  EXPECT_EQ(std::string(id.sn, 3), "S1 ");
  nvme_id_ns ns{};
  ASSERT_EQ(::nvme_identify_ns(fd, 1, &ns), 0);
  EXPECT_EQ(ns.nsze, 16384U);
  nvme_sanitize_log_page log{};
  ASSERT_EQ(::nvme_get_log_sanitize(fd, false, &log), 0);
  EXPECT_EQ(log.sstat, 0);
  EXPECT_EQ(::nvme_identify_ns(fd, 99, &ns), 0x400b);
  ::close(fd);
}

TEST_F(ShimTest, SanitizeErasesWhatTheNodeHolds) {
  const int controller = open_node("nvme0", O_RDONLY);
  const int disk = open_node("nvme0n1", O_RDWR | O_EXCL);
  ASSERT_GE(disk, 0);
  ASSERT_GT(kept(), 1000U);
  set("duration_ms", "600000");
  ASSERT_EQ(sanitize(controller), 0);
  EXPECT_EQ(sanitize(controller), 0x1d);
  std::array<char, 512> block{};
  EXPECT_EQ(::pread(disk, block.data(), block.size(), 0), -1);
  EXPECT_EQ(errno, EIO);
  set("advance_ms", "600001");
  EXPECT_EQ(::pread(disk, block.data(), block.size(), 0), 512);
  EXPECT_EQ(block, (std::array<char, 512>{}));
  EXPECT_EQ(kept(), 0U);
  nvme_sanitize_log_page log{};
  ASSERT_EQ(::nvme_get_log_sanitize(controller, false, &log), 0);
  EXPECT_EQ(log.sstat, 0x101);
  ::close(disk);
  ::close(controller);
}

TEST_F(ShimTest, NodesLookLikeDevices) {
  struct stat about {};
  ASSERT_EQ(::stat((root_ / "dev/nvme1").c_str(), &about), 0);
  EXPECT_TRUE(S_ISCHR(about.st_mode));
  const int disk = open_node("nvme7n1", O_RDONLY);
  ASSERT_EQ(::fstat(disk, &about), 0);
  EXPECT_TRUE(S_ISBLK(about.st_mode));
  std::ostringstream device;
  device << major(about.st_rdev) << ":" << minor(about.st_rdev);
  EXPECT_EQ(line_of(root_ / "sys/block/nvme7n1/dev"), device.str());
  EXPECT_EQ(line_of(root_ / "sys/bus/pci/devices/0000:c1:00.0/nvme/nvme1/nvme7n1/nsid"), "1");
  std::uint64_t bytes = 0;
  EXPECT_EQ(::ioctl(disk, BLKGETSIZE64, &bytes), 0);
  EXPECT_EQ(bytes, 4U << 20U);
  EXPECT_EQ(::ioctl(disk, NVME_IOCTL_ID), 1);
  EXPECT_TRUE(fs::is_block_file(root_ / "dev/nvme7n1"));
  ::close(disk);
}

TEST_F(ShimTest, TheSystemPathsLeadHereAndNowhereElse) {
  const int fd = ::open("/dev/nvme0", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  nvme_id_ctrl id{};
  EXPECT_EQ(::nvme_identify_ctrl(fd, &id), 0);
  EXPECT_EQ(std::string(id.sn, 2), "S1");
  ::close(fd);
  EXPECT_EQ(::open("/dev/nvme5", O_RDONLY | O_CLOEXEC), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(ShimTest, ExclusiveClaimIsOfTheOpenFileDescription) {
  const int first = open_node("nvme0n1", O_RDWR | O_EXCL);
  ASSERT_GE(first, 0);
  EXPECT_EQ(open_node("nvme0n1", O_RDONLY | O_EXCL), -1);
  EXPECT_EQ(errno, EBUSY);
  const int plain = open_node("nvme0n1", O_RDONLY);
  EXPECT_GE(plain, 0) << "without O_EXCL anybody may look";
  const int copy = ::dup(first);
  ::close(first);
  EXPECT_EQ(open_node("nvme0n1", O_RDWR | O_EXCL), -1) << "the copy still claims";
  ::close(copy);
  const int again = open_node("nvme0n1", O_RDWR | O_EXCL);
  EXPECT_GE(again, 0);
  ::close(again);
  ::close(plain);
}

TEST_F(ShimTest, ExclusiveClaimDiesWithItsProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = open_node("nvme0n1", O_RDWR | O_EXCL);
    ::_exit(fd >= 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const int fd = open_node("nvme0n1", O_RDWR | O_EXCL);
  EXPECT_GE(fd, 0);
  ::close(fd);
}

TEST_F(ShimTest, AMountedHeldOrSwappedDriveIsBusy) {
  for (const auto& [key, on, off] :
       {std::array{"mounted", "/mnt", ""}, std::array{"holder", "dm-0", ""},
        std::array{"swap", "1", "0"}}) {
    set(key, on);
    EXPECT_EQ(open_node("nvme0n1", O_RDWR | O_EXCL), -1) << key;
    EXPECT_EQ(errno, EBUSY);
    set(key, off);
    const int fd = open_node("nvme0n1", O_RDWR | O_EXCL);
    EXPECT_GE(fd, 0) << key;
    ::close(fd);
  }
}

TEST_F(ShimTest, DirectIoMustBeAligned) {
  const int fd = open_node("nvme0n1", O_RDWR | O_DIRECT);
  ASSERT_GE(fd, 0);
  EXPECT_NE(::fcntl(fd, F_GETFL) & O_DIRECT, 0);
  alignas(4096) static std::array<char, 8192> buffer;
  EXPECT_EQ(::pread(fd, buffer.data(), 4096, 512), 4096);
  EXPECT_EQ(::pread(fd, buffer.data(), 100, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(::pread(fd, buffer.data(), 512, 100), -1);
  EXPECT_EQ(::pread(fd, buffer.data() + 1, 512, 0), -1);
  EXPECT_EQ(::pwrite(fd, buffer.data(), 8192, (8 << 20) - 4096), 4096) << "up to the end";
  EXPECT_EQ(::pwrite(fd, buffer.data(), 512, 8 << 20), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(::pread(fd, buffer.data(), 512, 8 << 20), 0);
  EXPECT_EQ(::lseek(fd, 0, SEEK_END), 8 << 20);
  ::close(fd);
}

TEST_F(ShimTest, BlockIoIsCountedAndFaultsReachIt) {
  const int fd = open_node("nvme0n1", O_RDWR);
  std::array<char, 4096> block{};
  const auto writes = [&] {
    nvme_smart_log smart{};
    const int controller = open_node("nvme0", O_RDONLY);
    EXPECT_EQ(::nvme_get_log_smart(controller, NVME_NSID_ALL, false, &smart), 0);
    ::close(controller);
    std::uint64_t value = 0;
    std::memcpy(&value, smart.host_writes, sizeof(value));
    return value;
  };
  const std::uint64_t before = writes();
  EXPECT_EQ(::pwrite(fd, block.data(), block.size(), 0), 4096);
  EXPECT_EQ(writes(), before + 1);
  set("io_error_at", "1:4096:4096");
  EXPECT_EQ(::pread(fd, block.data(), block.size(), 0), 4096);
  EXPECT_EQ(::pread(fd, block.data(), block.size(), 4096), -1);
  EXPECT_EQ(errno, ENODATA);
  std::array<std::uint64_t, 2> range{0, 8U << 20U};
  EXPECT_EQ(::ioctl(fd, BLKZEROOUT, range.data()), 0);
  EXPECT_EQ(kept(), 0U);
  ::close(fd);
}

TEST_F(ShimTest, NamespacesComeAndGoWithTheirNodes) {
  const auto made = host_->add_namespace(kAddress, 1 << 20, true);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0n2"));
  const int fd = open_node("nvme0", O_RDONLY);
  const int disk = open_node("nvme0n1", O_RDONLY);
  nvme_ctrl_list list{};
  std::array<std::uint16_t, 1> ids{1};
  ::nvme_init_ctrl_list(&list, 1, ids.data());
  ASSERT_EQ(::nvme_ns_attach_ctrls(fd, 2, &list), 0);
  EXPECT_TRUE(fs::is_block_file(root_ / "dev/nvme0n2"));
  EXPECT_EQ(line_of(root_ / "sys/block/nvme0n2/size"), "2048");
  ASSERT_EQ(::nvme_ns_mgmt_delete(fd, 1), 0);
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0n1"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(root_ / "sys/block/nvme0n1")));
  std::array<char, 512> block{};
  EXPECT_EQ(::pread(disk, block.data(), block.size(), 0), -1) << "its descriptors are dead";
  ::close(disk);
  ::close(fd);
}

TEST_F(ShimTest, AnotherProcessSeesTheSameDrive) {
  const int fd = open_node("nvme0", O_RDONLY);
  set("duration_ms", "600000");
  const pid_t child = ::fork();
  if (child == 0) {
    const int own = open_node("nvme0", O_RDONLY);
    ::_exit(sanitize(own) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  nvme_sanitize_log_page log{};
  ASSERT_EQ(::nvme_get_log_sanitize(fd, false, &log), 0);
  EXPECT_EQ(log.sstat, 2) << "the drive goes on without the process that asked";
  set("advance_ms", "600001");
  ASSERT_EQ(::nvme_get_log_sanitize(fd, false, &log), 0);
  EXPECT_EQ(log.sstat, 0x101);
  ::close(fd);
}

// The children inherit this process's mapping and lock descriptor, and must not share its lock.
TEST_F(ShimTest, OneProcessAtATimeChangesADrive) {
  constexpr int kProcesses = 3;
  constexpr int kRounds = 500;
  const auto count_slowly = [&] {
    (*host_->drive(kAddress))->with([](Controller&, DriveState& state) {
      const std::uint64_t before = state.smart.host_writes;
      ::sched_yield();
      state.smart.host_writes = before + 1;
    });
  };
  set("host_writes", "0");
  std::array<pid_t, kProcesses> children{};
  for (pid_t& child : children) {
    child = ::fork();
    if (child != 0) continue;
    for (int round = 0; round < kRounds; ++round) count_slowly();
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  (*host_->drive(kAddress))->with([](Controller&, DriveState& state) {
    EXPECT_EQ(state.smart.host_writes, static_cast<std::uint64_t>(kProcesses * kRounds));
  });
}

TEST_F(ShimTest, EveryPassThroughFormReachesTheModel) {
  const int controller = open_node("nvme0", O_RDONLY);
  const int disk = open_node("nvme0n1", O_RDWR);
  std::array<char, 512> block{};
  block.fill('x');
  nvme_passthru_cmd64 wide{};
  wide.opcode = 0x01;
  wide.nsid = 1;
  wide.addr = reinterpret_cast<std::uintptr_t>(block.data());
  wide.data_len = block.size();
  wide.cdw10 = 5;
  EXPECT_EQ(::ioctl(disk, NVME_IOCTL_IO64_CMD, &wide), 0);
  UserIo old{};
  old.opcode = 0x02;
  old.slba = 5;
  std::array<char, 512> read{};
  old.addr = reinterpret_cast<std::uintptr_t>(read.data());
  EXPECT_EQ(::ioctl(disk, kSubmitIo, &old), 0);
  EXPECT_EQ(read, block);
  nvme_passthru_cmd command{};
  command.opcode = 0x08;
  command.nsid = 1;
  command.cdw10 = 5;
  EXPECT_EQ(::ioctl(controller, NVME_IOCTL_IO_CMD, &command), 0) << "it has one namespace only";
  EXPECT_EQ(::pread(disk, read.data(), read.size(), 5 * 512), 512);
  EXPECT_EQ(read, (std::array<char, 512>{}));
  command.nsid = 2;
  EXPECT_EQ(::ioctl(disk, NVME_IOCTL_IO_CMD, &command), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(::ioctl(controller, NVME_IOCTL_ID), -1);
  EXPECT_EQ(::ioctl(controller, NVME_IOCTL_RESET), 0);
  ::close(disk);
  ::close(controller);
}

TEST_F(ShimTest, ASwappedDriveAndALostOne) {
  const int fd = open_node("nvme0", O_RDONLY);
  nvme_id_ctrl id{};
  set("serial_changes", "1");
  ASSERT_EQ(::nvme_identify_ctrl(fd, &id), 0);
  EXPECT_EQ(std::string(id.sn, 7), "SWAPPED");
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/serial").substr(0, 3), "S1 ");
  ASSERT_EQ(sanitize(fd), 0);
  set("power_loss", "1");
  EXPECT_EQ(::nvme_identify_ctrl(fd, &id), -1);
  EXPECT_EQ(errno, ENODEV);
  finish();
  const int again = open_node("nvme0", O_RDONLY);
  nvme_sanitize_log_page log{};
  ASSERT_EQ(::nvme_get_log_sanitize(again, false, &log), 0);
  EXPECT_EQ(log.sstat, 0x101);
  set("reset_fails", "1");
  EXPECT_EQ(::ioctl(again, NVME_IOCTL_RESET), 0);
  EXPECT_EQ(::nvme_identify_ctrl(again, &id), -1);
  EXPECT_EQ(line_of(root_ / "sys/class/nvme/nvme0/state"), "dead");
  EXPECT_EQ(open_node("nvme0", O_RDONLY), -1);
  ::close(again);
  ::close(fd);
}

TEST_F(ShimTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const int fd = open_node("nvme0n1", O_RDWR);
        std::array<char, 512> block{};
        EXPECT_EQ(::pread(fd, block.data(), block.size(), 0), 512);
        EXPECT_EQ(::pwrite(fd, block.data(), block.size(), 0), 512);
        nvme_id_ctrl id{};
        EXPECT_EQ(::nvme_identify_ctrl(fd, &id), 0);
        ::close(fd);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST_F(ShimTest, ADescriptorClosedBehindOurBackIsForgotten) {
  const int fd = open_node("nvme0", O_RDONLY);
  FILE* stream = ::fdopen(fd, "r");
  ::fclose(stream);  // closes without asking the interposer
  const int other = ::fileno(::tmpfile());
  EXPECT_EQ(other, fd) << "the number is used again";
  nvme_id_ctrl id{};
  EXPECT_EQ(::nvme_identify_ctrl(other, &id), -1);
  EXPECT_EQ(errno, ENOTTY);
}

TEST_F(ShimTest, BadSettingsNameThemselves) {
  for (const auto& [key, value] : {std::pair{"stalls_at", "101"}, std::pair{"sanicap", "magic"},
                                   std::pair{"nonsense", "1"}, std::pair{"io_error_at", "1:2"}}) {
    const Status done = host_->set(kAddress, key, value);
    ASSERT_FALSE(done.ok()) << key;
    EXPECT_EQ(done.error().code, Errc::invalid);
  }
  EXPECT_FALSE(Host::create(root_, {}).ok()) << "never over an existing folder";
  EXPECT_FALSE(host_->set("0000:99:00.0", "serial", "X").ok());
}

}  // namespace
}  // namespace reclaim::emulator
