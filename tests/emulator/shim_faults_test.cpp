// The faults as a program meets them, through descriptors and ioctls.
#include "tests/emulator/shim_fixture.h"

namespace reclaim::emulator {
namespace {

class FaultsTest : public ShimTest {
 protected:
  void SetUp() override {
    ShimTest::SetUp();
    set("duration_ms", "600000");
    controller_ = open_node("nvme0", O_RDONLY);
    disk_ = open_node("nvme0n1", O_RDWR | O_EXCL);
    ASSERT_GE(controller_, 0);
    ASSERT_GE(disk_, 0);
    before_ = kept();
    ASSERT_GT(before_, 1000U);
  }
  void TearDown() override {
    ::close(disk_);
    ::close(controller_);
    ShimTest::TearDown();
  }

  [[nodiscard]] int zero(std::uint64_t offset, std::uint64_t length) const {
    const std::array<std::uint64_t, 2> range{offset, length};
    return ::ioctl(disk_, BLKZEROOUT, range.data());
  }
  void erase() const {
    ASSERT_EQ(sanitize(controller_), 0);
    set("advance_ms", "600000");
  }
  // What of the tenant's the media still shows in this range, byte by byte.
  [[nodiscard]] std::uint64_t nonzero() const {
    const auto digest = media_digest(*host_, kAddress);
    return digest.ok() ? digest->nonzero_bytes : ~0ULL;
  }

  int controller_ = -1;
  int disk_ = -1;
  std::uint64_t before_ = 0;
};

TEST_F(FaultsTest, ZeroingThatDoesNothingOrHalf) {
  set("zeroes_nothing", "1");
  EXPECT_EQ(zero(0, 8 << 20), 0);
  EXPECT_EQ(kept(), before_);
  set("zeroes_nothing", "0");
  set("zeroes_half", "1");
  EXPECT_EQ(zero(0, 8 << 20), 0);
  EXPECT_GT(kept(), before_ / 3);
  EXPECT_LT(kept(), before_ * 2 / 3);
  set("zeroes_half", "0");
  EXPECT_EQ(zero(0, 8 << 20), 0);
  EXPECT_EQ(nonzero(), 0U);
}

TEST_F(FaultsTest, AWriteOfZerosThatIsDropped) {
  set("drops_zero_writes", "1");
  const std::vector<char> zeros(8 << 20);
  EXPECT_EQ(::pwrite(disk_, zeros.data(), zeros.size(), 0), 8 << 20);
  EXPECT_EQ(kept(), before_);
  const std::vector<char> ones(8 << 20, '\x11');
  EXPECT_EQ(::pwrite(disk_, ones.data(), ones.size(), 0), 8 << 20);
  EXPECT_EQ(kept(), 0U);
}

TEST_F(FaultsTest, ARegionThatNothingReaches) {
  set("keeps_region", "1:0:64K");
  EXPECT_EQ(zero(0, 8 << 20), 0);
  const std::uint64_t left = kept();
  EXPECT_GT(left, 0U);
  EXPECT_LE(left, 16U);
  erase();
  EXPECT_EQ(kept(), left);
  set("keeps_region", "off");
  erase();
  EXPECT_EQ(nonzero(), 0U);
}

TEST_F(FaultsTest, BlocksUnreadableAfterACryptoErase) {
  set("unreadable_after_crypto", "1");
  erase();
  std::array<char, 512> block{};
  EXPECT_EQ(::pread(disk_, block.data(), block.size(), 0), -1);
  EXPECT_EQ(errno, ENODATA);
  EXPECT_EQ(::pwrite(disk_, block.data(), block.size(), 0), 512);
  EXPECT_EQ(::pread(disk_, block.data(), block.size(), 0), 512);
}

TEST_F(FaultsTest, PowerLostInTheMiddle) {
  set("power_loss_at", "50");
  ASSERT_EQ(sanitize(controller_), 0);
  set("advance_ms", "300000");
  nvme_sanitize_log_page log{};
  EXPECT_EQ(::nvme_get_log_sanitize(controller_, false, &log), -1);
  EXPECT_EQ(errno, ENODEV) << "the old descriptor died with the function";
  const int again = open_node("nvme0", O_RDONLY);
  ASSERT_EQ(::nvme_get_log_sanitize(again, false, &log), 0);
  EXPECT_EQ(log.sstat & 7, 2) << "and the sanitize goes on";
  set("advance_ms", "300000");
  ASSERT_EQ(::nvme_get_log_sanitize(again, false, &log), 0);
  EXPECT_EQ(log.sstat, 0x101);
  EXPECT_EQ(nonzero(), 0U);
  ::close(again);
}

TEST_F(FaultsTest, AResetInTheMiddleEndsNothing) {
  set("feature_current", "0x10:7");
  set("reset_at", "50");
  ASSERT_EQ(sanitize(controller_), 0);
  set("advance_ms", "300000");
  nvme_sanitize_log_page log{};
  ASSERT_EQ(::nvme_get_log_sanitize(controller_, false, &log), 0);
  EXPECT_EQ(log.sstat & 7, 2);
  __u32 value = 7;
  ASSERT_EQ(::nvme_get_features_data(controller_, NVME_FEAT_FID_HCTM, 0, 0, nullptr, &value), 0);
  EXPECT_EQ(value, 0U) << "current values are the saved ones again";
}

TEST_F(FaultsTest, OldBlocksInANewNamespace) {
  for (const bool recycles : {true, false}) {
    set("recycles_blocks", recycles ? "1" : "0");
    ASSERT_EQ(::nvme_ns_mgmt_delete(controller_, 1), 0);
    nvme_id_ns wanted{};
    wanted.nsze = 16384;
    wanted.ncap = 16384;
    __u32 nsid = 0;
    // nvme_ns_mgmt_create() and its arguments differ between Debian 12 and 13.
    ASSERT_EQ(::nvme_admin_passthru(controller_, nvme_admin_ns_mgmt, 0, 0, NVME_NSID_NONE, 0, 0,
                                    NVME_NS_MGMT_SEL_CREATE, 0, 0, 0, 0, 0, sizeof(wanted), &wanted,
                                    0, nullptr, 0, &nsid),
              0);
    EXPECT_EQ(nsid, 1U);
    EXPECT_EQ(kept(), recycles ? before_ : 0U);
  }
}

TEST_F(FaultsTest, ADeleteThatDeletesNothing) {
  set("ignores_delete", "1");
  EXPECT_EQ(::nvme_ns_mgmt_delete(controller_, 0xffffffff), 0);
  nvme_ns_list list{};
  ASSERT_EQ(::nvme_identify_allocated_ns_list(controller_, 0, &list), 0);
  EXPECT_EQ(list.ns[0], 1U);
  EXPECT_EQ(kept(), before_);
}

TEST_F(FaultsTest, LockedAndReservedBlocks) {
  std::array<char, 512> block{};
  set("opal_locked", "1");
  EXPECT_EQ(::pread(disk_, block.data(), block.size(), 0), -1);
  EXPECT_EQ(errno, ENODATA);
  set("opal_locked", "0");
  set("reservation", "1:1:0x77");
  EXPECT_EQ(::pread(disk_, block.data(), block.size(), 0), 512);
  EXPECT_EQ(::pwrite(disk_, block.data(), block.size(), 0), -1);
  EXPECT_EQ(errno, EBADE);
}

TEST_F(FaultsTest, ASwapAfterSomeCommands) {
  nvme_id_ctrl id{};
  set("serial_changes_after", "1");
  ASSERT_EQ(::nvme_identify_ctrl(controller_, &id), 0);
  EXPECT_EQ(std::string(id.sn, 2), "S1");
  ASSERT_EQ(::nvme_identify_ctrl(controller_, &id), 0);
  EXPECT_EQ(std::string(id.sn, 7), "SWAPPED");
}

TEST_F(FaultsTest, FormatsThatLieAndFeaturesThatStay) {
  set("format_keeps_data", "1");
  nvme_format_nvm_args format{};
  format.args_size = sizeof(format);
  format.fd = controller_;
  format.nsid = 1;
  format.ses = NVME_FORMAT_SES_USER_DATA_ERASE;
  EXPECT_EQ(::nvme_format_nvm(&format), 0);
  EXPECT_EQ(kept(), before_);
  set("ignores_features", "1");
  set("write_protect", "1:1");
  EXPECT_EQ(
      ::nvme_set_features_simple(controller_, NVME_FEAT_FID_WRITE_PROTECT, 1, 0, false, nullptr),
      0);
  nvme_id_ns ns{};
  ASSERT_EQ(::nvme_identify_ns(controller_, 1, &ns), 0);
  EXPECT_EQ(ns.nsattr & 1, 1);
}

}  // namespace
}  // namespace reclaim::emulator
