// An emulated host in a program that has the interposers linked in: the real libnvme and the C
// library's own calls.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <libnvme.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/emulator/host/digest.h"
#include "tests/emulator/host/host.h"
#include "tests/emulator/shim/kernel.h"
#include "tests/temp_folder.h"

namespace reclaim::emulator {

namespace fs = std::filesystem;

inline constexpr const char* kAddress = "0000:01:00.0";

// <linux/nvme_ioctl.h> and libnvme's own header cannot be in one file; libnvme leaves this one out.
struct UserIo {
  std::uint8_t opcode, flags;
  std::uint16_t control, nblocks, reserved;
  std::uint64_t metadata, addr, slba;
  std::uint32_t dsmgmt, reftag;
  std::uint16_t apptag, appmask;
};
inline constexpr unsigned long kSubmitIo = _IOW('N', 0x42, UserIo);

inline std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

class ShimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Host::create(root_, {"address=0000:01:00.0,serial=S1,size=8M,duration_ms=50",
                                     "address=0000:C1:00.0,serial=S2,size=4M,disk=7,cmic=2"});
    ASSERT_TRUE(made.ok()) << made.error().what;
    host_ = std::move(*made);
    ASSERT_TRUE(host_->fill(kAddress, 7).ok());
    set_emulator_root(root_);
  }
  void TearDown() override { set_emulator_root({}); }

  [[nodiscard]] int open_node(const std::string& name, int flags) const {
    return ::open((root_ / "dev" / name).c_str(), flags | O_CLOEXEC);
  }
  void set(const std::string& key, const std::string& value) const {
    const Status done = host_->set(kAddress, key, value);
    ASSERT_TRUE(done.ok()) << done.error().what;
  }
  [[nodiscard]] std::uint64_t kept() const {
    const auto digest = media_digest(*host_, kAddress, 7);
    return digest.ok() ? digest->tenant_blocks_kept : ~0ULL;
  }
  static int sanitize(int fd) {
    nvme_sanitize_nvm_args args{};
    args.args_size = sizeof(args);
    args.fd = fd;
    args.sanact = NVME_SANITIZE_SANACT_START_CRYPTO_ERASE;
    return ::nvme_sanitize_nvm(&args);
  }
  // Moves the drive's time, so that no test waits.
  void finish() const { set("advance_ms", "60000"); }

  const TempFolder folder_;
  const fs::path& root_ = folder_.path();
  std::unique_ptr<Host> host_;
};

}  // namespace reclaim::emulator
