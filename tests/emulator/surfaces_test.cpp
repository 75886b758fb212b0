// What the model remembers of a tenant beside blocks, and its faults around zeroing and new
// namespaces.
#include "tests/emulator/drive_fixture.h"

namespace reclaim::emulator {
namespace {

class SurfacesTest : public DriveTest {
 protected:
  void SetUp() override {
    DriveTest::SetUp();
    state_.capabilities.oncs |= 1U << 5U;
    state_.capabilities.oacs = 0x41f | 1U << 4U;
  }

  std::uint16_t reserve(std::uint8_t opcode, std::uint32_t cdw10, std::uint64_t first,
                        std::uint64_t second = 0) {
    std::vector<std::byte> data(16);
    std::memcpy(data.data(), &first, 8);
    std::memcpy(data.data() + 8, &second, 8);
    return io({.opcode = opcode, .nsid = 1, .cdw10 = cdw10, .data = data}).status;
  }
  std::uint16_t enlist(std::uint64_t key) { return reserve(nvme_cmd_resv_register, 0, 0, key); }
  std::uint16_t acquire(std::uint32_t type, std::uint64_t key) {
    return reserve(nvme_cmd_resv_acquire, type << 8U, key);
  }
  void become(std::uint8_t host) {
    state_.host_id = {};
    state_.host_id[0] = host;
  }
  std::uint16_t zero(std::uint32_t blocks) {
    return io({.opcode = nvme_cmd_write_zeroes, .nsid = 1, .cdw12 = blocks - 1}).status;
  }
  std::uint16_t write_zero_block(std::uint32_t lba) {
    std::vector<std::byte> data(512);
    return io({.opcode = nvme_cmd_write, .nsid = 1, .cdw10 = lba, .data = data}).status;
  }
};

TEST_F(SurfacesTest, WhoMayWriteUnderAReservation) {
  become(1);
  EXPECT_EQ(acquire(1, 11), kReservationConflict) << "who is not registered acquires nothing";
  ASSERT_EQ(enlist(11), kSuccess);
  ASSERT_EQ(acquire(1, 11), kSuccess);
  EXPECT_EQ(write_block(0).status, kSuccess);
  become(2);
  EXPECT_EQ(write_block(0).status, kReservationConflict);
  EXPECT_EQ(read_block(0).status, kSuccess) << "write exclusive lets others read";
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = 1U << 9U}).status,
            kReservationConflict);
  ASSERT_EQ(enlist(22), kSuccess);
  EXPECT_EQ(acquire(2, 22), kReservationConflict);
  EXPECT_EQ(write_block(0).status, kReservationConflict);
  ASSERT_EQ(reserve(nvme_cmd_resv_acquire, 1U | 2U << 8U, 22, 11), kSuccess) << "preempted";
  EXPECT_EQ(write_block(0).status, kSuccess);
  become(1);
  EXPECT_EQ(read_block(0).status, kReservationConflict) << "exclusive access";
}

TEST_F(SurfacesTest, AReservationOutlastsWhatItIsToldTo) {
  become(1);
  ASSERT_EQ(enlist(11), kSuccess);
  ASSERT_EQ(acquire(1, 11), kSuccess);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(write_block(0).status, kReservationConflict) << "after the reset we are nobody";
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(write_block(0).status, kSuccess);
  become(1);
  ASSERT_EQ(reserve(nvme_cmd_resv_register, 3U << 30U, 0, 11), kSuccess);
  ASSERT_EQ(acquire(1, 11), kSuccess);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(write_block(0).status, kReservationConflict) << "PTPL";
  ASSERT_EQ(enlist(5), kSuccess);
  EXPECT_EQ(reserve(nvme_cmd_resv_release, 1, 6), kReservationConflict) << "with a wrong key";
  EXPECT_EQ(reserve(nvme_cmd_resv_release, 1, 5), kSuccess);
  EXPECT_EQ(write_block(0).status, kSuccess);
}

TEST_F(SurfacesTest, AHostWithoutANameIsForgottenAtAReset) {
  ASSERT_EQ(enlist(11), kSuccess);
  ASSERT_EQ(acquire(1, 11), kSuccess);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(write_block(0).status, kSuccess);
  EXPECT_EQ(state_.namespaces[0].reservation.type, 0);
}

TEST_F(SurfacesTest, OpalRangesLockWithThePower) {
  state_.security.opal = true;
  state_.security.locking_enabled = true;
  EXPECT_EQ(read_block(0).status, kSuccess);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(read_block(0).status, kAccessDenied);
  EXPECT_EQ(write_block(0).status, kAccessDenied);
  EXPECT_EQ(sanitize(kBlock).status, kAccessDenied);
}

// As a session of nobody was sent to a drive: in the examples of pyusb 1.0, docs/examples.
TEST_F(SurfacesTest, ASessionIsFramedAsOnTheWire) {
  state_.security.opal = true;
  const std::vector<std::uint8_t> traced = {
      0, 0, 0,    0,    0x07, 0xfe, 0,    0,    0,    0,    0,    0,    0,    0, 0,    0,    0,
      0, 0, 0x50, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0, 0,    0,    0,
      0, 0, 0,    0,    0,    0,    0,    0,    0,    0x38, 0,    0,    0,    0, 0,    0,    0,
      0, 0, 0,    0,    0x29, 0xf8, 0xa8, 0,    0,    0,    0,    0,    0,    0, 0xff, 0xa8, 0,
      0, 0, 0,    0,    0,    0xff, 0x02, 0xf0, 0x83, 0x01, 0x2e, 0x13, 0xa8, 0, 0,    0x02, 0x05,
      0, 0, 0,    0x01, 0x01, 0xf1, 0xf9, 0xf0, 0,    0,    0,    0xf1};
  std::vector<std::byte> data(512);
  std::memcpy(data.data(), traced.data(), traced.size());
  const std::uint32_t com_id = 1U << 24U | 0x07feU << 8U;
  const auto send = [&] {
    return admin({.opcode = nvme_admin_security_send, .cdw10 = com_id, .cdw11 = 512, .data = data})
        .status;
  };
  ASSERT_EQ(send(), kSuccess);
  EXPECT_EQ(state_.security.host_session, 0x012e13U);
  EXPECT_NE(state_.security.session, 0U);
  EXPECT_FALSE(state_.security.by_psid);
  data[19] = std::byte{0x51};
  EXPECT_EQ(send(), kInvalidField) << "a length that does not fit the others";
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(state_.security.session, 0U);
}

TEST_F(SurfacesTest, BlockSidHoldsUntilThePowerGoesOrAsItIsTold) {
  state_.security.opal = true;
  const std::uint32_t block_sid = 2U << 24U | 5U << 8U;
  std::vector<std::byte> data(512);
  ASSERT_EQ(admin({.opcode = nvme_admin_security_send, .cdw10 = block_sid, .data = data}).status,
            kSuccess);
  Controller(state_, media_, now_).reset();
  EXPECT_TRUE(state_.security.sid_blocked);
  Controller(state_, media_, now_).power_loss();
  EXPECT_FALSE(state_.security.sid_blocked);
  data[0] = std::byte{1};  // Clear Events: hardware reset
  ASSERT_EQ(admin({.opcode = nvme_admin_security_send, .cdw10 = block_sid, .data = data}).status,
            kSuccess);
  EXPECT_TRUE(state_.security.sid_blocked);
  Controller(state_, media_, now_).reset();
  EXPECT_FALSE(state_.security.sid_blocked);
}

TEST_F(SurfacesTest, LockdownProhibitsUntilThePowerGoes) {
  const auto lock = [&](std::uint32_t id) {
    return admin({.opcode = nvme_admin_lockdown, .cdw10 = id << 8U | 1U << 4U}).status;
  };
  EXPECT_EQ(lock(nvme_admin_identify), kCannotBeProhibited);
  ASSERT_EQ(lock(nvme_admin_sanitize_nvm), kSuccess);
  EXPECT_EQ(sanitize(kCrypto).status, kLockedDown);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(sanitize(kCrypto).status, kLockedDown);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(sanitize(kCrypto).status, kSuccess);
}

TEST_F(SurfacesTest, SelfTestsEndByTimeAbortResetOrSanitize) {
  const auto start = [&](std::uint32_t code) {
    return admin({.opcode = nvme_admin_dev_self_test, .cdw10 = code}).status;
  };
  const auto last = [&] {
    return log<nvme_self_test_log>(NVME_LOG_LID_DEVICE_SELF_TEST).result[0].dsts;
  };
  state_.self_test.duration_ms = 1000;
  ASSERT_EQ(start(1), kSuccess);
  EXPECT_EQ(start(1), kSelfTestRunning);
  pass(1000);
  EXPECT_EQ(last(), 0x10);
  ASSERT_EQ(start(2), kSuccess);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(state_.self_test.running, 2) << "an extended one goes on";
  ASSERT_EQ(start(0xf), kSuccess);
  EXPECT_EQ(last(), 0x21);
  ASSERT_EQ(start(1), kSuccess);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(last(), 0x12);
  ASSERT_EQ(start(2), kSuccess);
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(last(), 0x29);
}

TEST_F(SurfacesTest, AStoredImageIsActivatedAtTheNextReset) {
  state_.capabilities.frmw = 2U << 1U;
  const auto commit = [&](std::uint32_t slot) {
    return admin({.opcode = nvme_admin_fw_commit, .cdw10 = slot | 2U << 3U}).status;
  };
  EXPECT_EQ(commit(3), kInvalidFirmwareSlot);
  EXPECT_EQ(commit(2), kInvalidFirmwareImage) << "the slot is empty";
  state_.firmware_slots[1] = {'N', 'E', 'W', ' ', ' ', ' ', ' ', ' '};
  ASSERT_EQ(commit(2), kSuccess);
  EXPECT_EQ(sanitize(kCrypto).status, kNeedsReset);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(state_.firmware_slot_active, 2);
  EXPECT_EQ(sanitize(kCrypto).status, kSuccess);
}

TEST_F(SurfacesTest, FaultsOfZeroing) {
  state_.faults.zeroes_nothing = true;
  EXPECT_EQ(zero(8), kSuccess);
  EXPECT_EQ(kept(), kBytes);
  state_.faults = Faults{};
  state_.faults.zeroes_half = true;
  EXPECT_EQ(zero(8), kSuccess);
  EXPECT_EQ(kept(), kBytes - 2048);
  state_.faults = Faults{};
  state_.faults.keeps_nsid = 1;
  state_.faults.keeps_offset = 8192;
  state_.faults.keeps_length = 512;
  EXPECT_EQ(zero(64), kSuccess);
  EXPECT_EQ(kept(), kBytes - 64 * 512 + 512);
  ASSERT_EQ(sanitize(kBlock).status, kSuccess);
  pass(1000);
  EXPECT_EQ(read_block(0).status, kSuccess);
  EXPECT_EQ(kept(), 512U) << "and no sanitize reaches it";
  state_.faults = Faults{};
  write_everywhere(1);
  state_.faults.drops_zero_writes = true;
  EXPECT_EQ(write_zero_block(3), kSuccess);
  EXPECT_EQ(kept(), kBytes);
  EXPECT_EQ(write_block(3).status, kSuccess);
  EXPECT_EQ(kept(), kBytes - 512);
}

TEST_F(SurfacesTest, AFormatThatLies) {
  state_.faults.format_keeps_data = true;
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = 1U << 9U}).status,
            kSuccess);
  EXPECT_EQ(kept(), kBytes);
}

TEST_F(SurfacesTest, BlocksUnreadableAfterACryptoErase) {
  state_.faults.unreadable_after_crypto = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  pass(1000);
  EXPECT_EQ(read_block(10).status, kUnrecoveredRead);
  ASSERT_EQ(write_block(10).status, kSuccess);
  EXPECT_EQ(read_block(10).status, kSuccess);
  EXPECT_EQ(read_block(11).status, kUnrecoveredRead);
  ASSERT_EQ(sanitize(kBlock).status, kSuccess);
  pass(1000);
  EXPECT_EQ(read_block(11).status, kSuccess);
}

TEST_F(SurfacesTest, PowerLostInTheMiddleEndsNothing) {
  state_.faults.power_loss_at = 50;
  const std::uint32_t generation = state_.host.generation;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  pass(500);
  EXPECT_EQ(sanitize_log().sstat & 7, 2);
  EXPECT_EQ(state_.smart.unsafe_shutdowns, 1U);
  EXPECT_EQ(state_.host.generation, generation + 1) << "old descriptors are dead";
  pass(500);
  EXPECT_EQ(sanitize_log().sstat & 7, 1);
  EXPECT_EQ(state_.smart.unsafe_shutdowns, 1U);
  EXPECT_EQ(kept(), 0U);
}

TEST_F(SurfacesTest, ANewNamespaceMayShowOldBlocks) {
  state_.faults.recycles_blocks = true;
  ASSERT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .nsid = NVME_NSID_ALL, .cdw10 = 1}).status,
            kSuccess);
  nvme_id_ns wanted{};
  wanted.nsze = kBytes / 512;
  wanted.ncap = wanted.nsze;
  std::vector<std::byte> data(4096);
  std::memcpy(data.data(), &wanted, sizeof(wanted));
  ASSERT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .data = data}).result, 1U);
  EXPECT_EQ(kept(), kBytes);
  state_.faults.recycles_blocks = false;
  ASSERT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .nsid = 1, .cdw10 = 1}).status, kSuccess);
  ASSERT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .data = data}).result, 1U);
  EXPECT_EQ(kept(), 0U);
}

TEST_F(SurfacesTest, ASwapInTheMiddle) {
  std::memcpy(state_.serial.data(), "S1", 2);
  state_.faults.serial_changes_after = state_.admin_commands + 1;
  EXPECT_EQ(std::string(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL).sn, 2), "S1");
  EXPECT_EQ(std::string(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL).sn, 7), "SWAPPED");
}

TEST_F(SurfacesTest, AGarbageSanitizeLog) {
  const auto honest = sanitize_log();
  state_.faults.garbage_sanitize_log = true;
  const auto garbage = sanitize_log();
  EXPECT_NE(std::memcmp(&honest, &garbage, sizeof(honest)), 0);
}

}  // namespace
}  // namespace reclaim::emulator
