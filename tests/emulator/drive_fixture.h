// A drive in memory with a clock in the test's hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {

class DriveTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 1U << 20U;
  static constexpr std::uint32_t kCrypto = 4;
  static constexpr std::uint32_t kBlock = 2;
  static constexpr std::uint32_t kOverwrite = 3;
  static constexpr std::uint32_t kExit = 1;
  static constexpr std::uint32_t kAllowUnrestricted = 1U << 3U;
  static constexpr std::uint32_t kNoDeallocate = 1U << 9U;
  static constexpr std::uint32_t kEnterMedia = 1U << 10U;
  static constexpr std::uint32_t kExitMedia = 5;

  void SetUp() override {
    reset_to_factory(state_);
    state_.sanitize.duration_ms = 1000;
    state_.capabilities.capacity_bytes = 4 * kBytes;
    state_.capabilities.sanicap = 7;
    state_.namespaces[0].allocated = true;
    state_.namespaces[0].attached = true;
    state_.namespaces[0].blocks = kBytes / 512;
    ASSERT_TRUE(media_.create(1, kBytes));
    write_everywhere(1);
  }

  Completion admin(Command command) { return Controller(state_, media_, now_).admin(command); }
  Completion io(Command command) { return Controller(state_, media_, now_).io(command); }

  Completion sanitize(std::uint32_t cdw10, std::uint32_t nsid = 0) {
    return admin({.opcode = nvme_admin_sanitize_nvm, .nsid = nsid, .cdw10 = cdw10});
  }

  void pass(std::int64_t ms) { now_.ms += ms; }

  template <typename Page>
  Page page(Command command) {
    std::vector<std::byte> bytes(4096);
    command.data = bytes;
    EXPECT_EQ(admin(command).status, kSuccess);
    Page made{};
    std::memcpy(&made, bytes.data(), std::min(sizeof(made), bytes.size()));
    return made;
  }

  template <typename Page>
  Page log(std::uint32_t id) {
    const auto dwords = static_cast<std::uint32_t>(sizeof(Page) / 4 - 1);
    return page<Page>(
        {.opcode = nvme_admin_get_log_page, .nsid = NVME_NSID_ALL, .cdw10 = id | dwords << 16U});
  }
  nvme_sanitize_log_page sanitize_log() {
    return log<nvme_sanitize_log_page>(NVME_LOG_LID_SANITIZE);
  }
  // Its state, which the headers of older libraries do not name.
  std::uint8_t ssi() {
    const nvme_sanitize_log_page page = sanitize_log();
    return std::to_integer<std::uint8_t>(std::as_bytes(std::span(&page, 1))[36]);
  }

  template <typename Page>
  Page identify(std::uint32_t cns, std::uint32_t nsid = 0) {
    return page<Page>({.opcode = nvme_admin_identify, .nsid = nsid, .cdw10 = cns});
  }

  void write_everywhere(std::uint32_t nsid) {
    const std::vector<std::byte> data(kBytes, std::byte{0xab});
    ASSERT_TRUE(media_.write(nsid, 0, data));
    state_.sanitize.data_erased = false;
  }

  // How many bytes still are the tenant's.
  std::uint64_t kept(std::uint32_t nsid = 1) { return count(nsid, std::byte{0xab}); }
  std::uint64_t count(std::uint32_t nsid, std::byte value) {
    std::vector<std::byte> data(kBytes);
    EXPECT_TRUE(media_.read(nsid, 0, data));
    return static_cast<std::uint64_t>(std::count(data.begin(), data.end(), value));
  }

  Completion read_block(std::uint64_t lba, std::uint8_t opcode = nvme_cmd_read) {
    std::vector<std::byte> data(512, std::byte{0x5a});
    return io(
        {.opcode = opcode, .nsid = 1, .cdw10 = static_cast<std::uint32_t>(lba), .data = data});
  }
  Completion write_block(std::uint64_t lba) { return read_block(lba, nvme_cmd_write); }

  DriveState state_{};
  MemoryMedia media_;
  MonoMs now_{1'000'000};
};

}  // namespace reclaim::emulator
