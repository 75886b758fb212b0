// The emulated drive takes firmware as the specification says, and fails as it is told to.
#include "tests/emulator/drive_fixture.h"

namespace reclaim::emulator {
namespace {

class FirmwareModelTest : public DriveTest {
 protected:
  static constexpr std::array<char, 8> kOld = {'R', 'C', 'L', '0', '0', '0', '1', ' '};
  static constexpr std::array<char, 8> kNew = {'N', 'E', 'W', ' ', ' ', ' ', ' ', ' '};
  void SetUp() override {
    DriveTest::SetUp();
    state_.capabilities.oacs |= 1U << 2U;
    state_.capabilities.frmw = 3U << 1U | 1U << 4U;
    image_ = make_firmware("NEW", 6'000);
  }
  std::uint16_t send(std::size_t offset, std::size_t bytes) {
    std::vector<std::byte> piece(bytes);
    for (std::size_t i = 0; i < bytes && offset + i < image_.size(); ++i) {
      piece[i] = image_[offset + i];
    }
    return admin({.opcode = nvme_admin_fw_download,
                  .cdw10 = static_cast<std::uint32_t>(bytes / 4 - 1),
                  .cdw11 = static_cast<std::uint32_t>(offset / 4),
                  .data = piece})
        .status;
  }
  void send_all() {
    ASSERT_EQ(send(0, 4096), kSuccess);
    ASSERT_EQ(send(4096, image_.size() - 4096), kSuccess);
  }
  std::uint16_t commit(std::uint32_t slot, std::uint32_t action) {
    return admin({.opcode = nvme_admin_fw_commit, .cdw10 = slot | action << 3U}).status;
  }
  std::vector<std::byte> image_;
};

TEST_F(FirmwareModelTest, AnImageIsStoredAndActivated) {
  send_all();
  ASSERT_EQ(commit(2, 0), kSuccess);
  EXPECT_EQ(state_.firmware_slots[1], kNew);
  EXPECT_EQ(state_.firmware, kOld);
  EXPECT_EQ(commit(2, 0), kInvalidFirmwareImage) << "what was committed is gone";
  send_all();
  ASSERT_EQ(commit(3, 1), kSuccess);
  EXPECT_EQ(state_.firmware, kOld);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(state_.firmware, kNew);
  EXPECT_EQ(state_.firmware_slot_active, 3);
  ASSERT_EQ(commit(1, 3), kSuccess);
  EXPECT_EQ(state_.firmware, kOld) << "at once";
}

TEST_F(FirmwareModelTest, PiecesMayNeitherOverlapNorMissNorBeLeftOver) {
  ASSERT_EQ(send(0, 4096), kSuccess);
  EXPECT_EQ(send(2048, 4096), kOverlappingRange);
  EXPECT_EQ(commit(2, 0), kInvalidFirmwareImage) << "the rest is missing";
  send_all();
  ASSERT_EQ(send(16'384, 4096), kSuccess);
  EXPECT_EQ(commit(2, 0), kOverlappingRange) << "a piece of a larger one";
  ASSERT_EQ(send(0, 4096), kSuccess);
  Controller(state_, media_, now_).reset();
  send_all();
  EXPECT_EQ(commit(2, 0), kSuccess);
  state_.capabilities.fwug = 2;
  EXPECT_EQ(send(4096, 4096), kInvalidField);
  state_.capabilities.mdts = 1;
  EXPECT_EQ(send(0, 16'384), kInvalidField);
}

TEST_F(FirmwareModelTest, WhatIsNoImageAndWhereNoneMayGoIsRefused) {
  image_[100] ^= std::byte{1};
  send_all();
  EXPECT_EQ(commit(2, 0), kInvalidFirmwareImage);
  image_ = make_firmware("NEW", 6'000);
  send_all();
  EXPECT_EQ(commit(4, 0), kInvalidFirmwareSlot);
  state_.capabilities.frmw |= 1U;
  EXPECT_EQ(commit(1, 0), kInvalidFirmwareSlot) << "it is read only";
  EXPECT_EQ(commit(1, 2), kSuccess) << "and may be activated";
  EXPECT_EQ(state_.firmware_slots[0], kOld);
}

TEST_F(FirmwareModelTest, ActivationMayNeedMore) {
  state_.faults.firmware.activation = Activation::controller_reset;
  send_all();
  EXPECT_EQ(commit(2, 3), kNeedsControllerReset);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(state_.firmware_slot_active, 2);
  state_.faults.firmware.activation = Activation::conventional_reset;
  EXPECT_EQ(commit(1, 2), kNeedsReset);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(state_.firmware_slot_active, 2);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(state_.firmware_slot_active, 1);
  state_.faults.firmware.activation = Activation::takes_too_long;
  EXPECT_EQ(commit(2, 3), kTakesTooLong);
  EXPECT_EQ(commit(2, 2), kSuccess);
  state_.faults.firmware.activation = Activation::prohibited;
  EXPECT_EQ(commit(2, 3), kActivationProhibited);
}

}  // namespace
}  // namespace reclaim::emulator
