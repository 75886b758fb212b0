// Every row of the sanitize state machine, and every way in which a drive may lie about it.
#include "tests/emulator/drive_fixture.h"

namespace reclaim::emulator {
namespace {

using SanitizeTest = DriveTest;

TEST_F(SanitizeTest, NeverSanitizedAndNeverWritten) {
  state_.sanitize.data_erased = true;
  const auto log = sanitize_log();
  EXPECT_EQ(log.sstat, 0x100);
  EXPECT_EQ(log.sprog, 0xffff);
  EXPECT_EQ(log.etce, 0xffffffffU);
  EXPECT_EQ(write_block(0).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0);
}

TEST_F(SanitizeTest, CompletesAtOnceAndWorksInTheBackground) {
  EXPECT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 2);
  EXPECT_EQ(sanitize_log().sprog, 0);
  pass(250);
  EXPECT_EQ(sanitize_log().sprog, 16384);
  EXPECT_EQ(kept(), kBytes) << "nothing may look erased before it is done";
  pass(749);
  EXPECT_EQ(sanitize_log().sstat, 2);
  pass(1);
  const auto log = sanitize_log();
  EXPECT_EQ(log.sstat, 0x101);
  EXPECT_EQ(log.sprog, 0xffff);
  EXPECT_EQ(log.scdw10, kCrypto);
  EXPECT_EQ(count(1, std::byte{0}), kBytes);
}

TEST_F(SanitizeTest, ADriveThatTakesNoTimeIsDoneByCompletion) {
  state_.sanitize.duration_ms = 0;
  EXPECT_EQ(sanitize(kBlock).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_EQ(kept(), 0U);
}

TEST_F(SanitizeTest, BarsIoAndMostAdminCommandsWhileItRuns) {
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(read_block(0).status, kSanitizeInProgress);
  EXPECT_EQ(write_block(0).status, kSanitizeInProgress);
  EXPECT_EQ(io({.opcode = nvme_cmd_flush, .nsid = 1}).status, kSanitizeInProgress);
  EXPECT_EQ(sanitize(kCrypto).status, kSanitizeInProgress);
  EXPECT_EQ(sanitize(kExit).status, kSanitizeInProgress);
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1}).status, kSanitizeInProgress);
  EXPECT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .nsid = 1, .cdw10 = 1}).status,
            kSanitizeInProgress);
  EXPECT_EQ(admin({.opcode = nvme_admin_security_recv}).status, kSanitizeInProgress);
  EXPECT_EQ(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL).sanicap, 7U);
  EXPECT_EQ(log<nvme_smart_log>(NVME_LOG_LID_SMART).avail_spare, 100);
}

TEST_F(SanitizeTest, GoesOnThroughResetAndPowerLoss) {
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  pass(500);
  Controller(state_, media_, now_).reset();
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(sanitize_log().sstat, 2);
  EXPECT_EQ(state_.smart.unsafe_shutdowns, 1U);
  pass(500);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
}

TEST_F(SanitizeTest, GlobalDataErasedGoesWithTheFirstWrite) {
  state_.sanitize.duration_ms = 0;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(read_block(0).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_EQ(write_block(0).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x001);
}

TEST_F(SanitizeTest, GlobalDataErasedIsNotSaidWhileItRuns) {
  state_.sanitize.data_erased = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 2);
}

TEST_F(SanitizeTest, RefusesWhatItCannotDo) {
  state_.capabilities.sanicap = 1;
  EXPECT_EQ(sanitize(kBlock).status, kInvalidField);
  EXPECT_EQ(sanitize(kOverwrite).status, kInvalidField);
  EXPECT_EQ(sanitize(0).status, kInvalidField);
  EXPECT_EQ(sanitize(7).status, kInvalidField);
  EXPECT_EQ(sanitize(kCrypto, 1).status, kInvalidField) << "NSID must be 0";
  EXPECT_EQ(state_.sanitizes_accepted, 0U);
  state_.capabilities.sanicap = 0;
  EXPECT_EQ(sanitize(kCrypto).status, kInvalidOpcode);
  std::vector<std::byte> data(512);
  const std::uint32_t cdw10 = NVME_LOG_LID_SANITIZE | 127U << 16U;
  EXPECT_EQ(admin({.opcode = nvme_admin_get_log_page, .cdw10 = cdw10, .data = data}).status,
            kInvalidLogPage);
}

TEST_F(SanitizeTest, RefusesWhileSomethingForbidsIt) {
  state_.namespaces[0].write_protect = 1;
  EXPECT_EQ(sanitize(kCrypto).status, kWriteProtected);
  state_.namespaces[0].write_protect = 0;
  state_.firmware_slot_pending = 1;
  EXPECT_EQ(sanitize(kCrypto).status, kNeedsReset);
  state_.firmware_slot_pending = 0;
  state_.faults.refuses_sanitize = 0x4286;  // Opal: access denied
  EXPECT_EQ(sanitize(kCrypto).status, 0x4286);
  EXPECT_EQ(kept(), kBytes);
}

TEST_F(SanitizeTest, RestrictedFailureIsLeftByARestrictedSuccessOnly) {
  state_.faults.fails_at = 50;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  pass(500);
  EXPECT_EQ(sanitize_log().sstat, 3);
  EXPECT_EQ(read_block(0).status, kSanitizeFailed);
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1}).status, kSanitizeFailed);
  EXPECT_EQ(sanitize(kExit).status, kSanitizeFailed);
  EXPECT_EQ(sanitize(kCrypto | kAllowUnrestricted).status, kSanitizeFailed);
  EXPECT_GT(kept(), 0U) << "what was not reached is still there";
  state_.faults.fails_at = -1;
  EXPECT_EQ(sanitize(kBlock).status, kSuccess);
  pass(1000);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_EQ(read_block(0).status, kSuccess);
}

TEST_F(SanitizeTest, UnrestrictedFailureCanBeExitedWithDataOnIt) {
  state_.faults.fails_at = 0;
  ASSERT_EQ(sanitize(kCrypto | kAllowUnrestricted).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 3);
  EXPECT_EQ(sanitize(kExit).status, kSuccess);
  EXPECT_EQ(read_block(0).status, kSuccess);
  EXPECT_EQ(kept(), kBytes);
}

TEST_F(SanitizeTest, ExitWithNothingToExitIsHarmless) {
  EXPECT_EQ(sanitize(kExit).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0);
}

TEST_F(SanitizeTest, NoDeallocateFollowsSanicapAndTheFeature) {
  state_.sanitize.duration_ms = 0;
  ASSERT_EQ(sanitize(kCrypto | kNoDeallocate).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_LT(count(1, std::byte{0}), kBytes / 100) << "a changed key leaves noise";
  state_.capabilities.sanicap |= 1U << 29U;
  EXPECT_EQ(sanitize(kCrypto | kNoDeallocate).status, kInvalidField);
  state_.features[NVME_FEAT_FID_SANITIZE].current = 1;  // NODRM: warn only
  ASSERT_EQ(sanitize(kCrypto | kNoDeallocate).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x104);
  EXPECT_EQ(count(1, std::byte{0}), kBytes);
}

TEST_F(SanitizeTest, ReadsAfterwardsAsDlfeatPromises) {
  state_.sanitize.duration_ms = 0;
  state_.capabilities.dlfeat = 2;
  ASSERT_EQ(sanitize(kBlock).status, kSuccess);
  EXPECT_EQ(count(1, std::byte{0xff}), kBytes);
  state_.capabilities.dlfeat = 0;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_LT(count(1, std::byte{0xff}), kBytes / 100);
}

TEST_F(SanitizeTest, OverwriteCountsItsPassesAndLeavesItsPattern) {
  state_.sanitize.duration_ms = 0;
  ASSERT_EQ(admin({.opcode = nvme_admin_sanitize_nvm,
                   .cdw10 = kOverwrite | 2U << 4U | kNoDeallocate,
                   .cdw11 = 0x11111111})
                .status,
            kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x101 | 2U << 3U);
  EXPECT_EQ(count(1, std::byte{0x11}), kBytes);
}

TEST_F(SanitizeTest, ReachesHiddenNamespaces) {
  state_.namespaces[4].allocated = true;
  state_.namespaces[4].blocks = kBytes / 512;
  ASSERT_TRUE(media_.create(5, kBytes));
  write_everywhere(5);
  state_.sanitize.duration_ms = 0;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(kept(5), 0U);
}

TEST_F(SanitizeTest, FaultLiesAndKeepsTheData) {
  state_.faults.lies_keeps_data = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  pass(1000);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_EQ(kept(), kBytes);
}

TEST_F(SanitizeTest, ItsMediaCanBeReadUntilACommandEndsThat) {
  state_.capabilities.sanicap = 0xb;
  state_.sanitize.deallocate_ms = 1000;
  EXPECT_EQ(sanitize(kExitMedia).status, kInvalidField) << "there is nothing to leave";
  ASSERT_EQ(sanitize(kBlock | kEnterMedia).status, kSuccess);
  EXPECT_EQ(ssi(), 1);
  EXPECT_EQ(sanitize(kExitMedia).status, kSanitizeInProgress);
  pass(3'600'000);
  EXPECT_EQ(ssi(), 5);
  EXPECT_EQ(sanitize_log().sstat, 2);
  EXPECT_EQ(sanitize_log().sprog, 0xffff);
  EXPECT_EQ(count(1, std::byte{0xff}), kBytes) << "the pattern of a block erase";
  EXPECT_EQ(read_block(0).status, kSuccessfulMediaRead);
  EXPECT_EQ(Controller(state_, media_, now_).begin_read(1, 0, 512), kSuccessfulMediaRead);
  EXPECT_EQ(write_block(0).status, kSanitizeInProgress);
  EXPECT_EQ(sanitize(kBlock).status, kInvalidField);
  ASSERT_EQ(sanitize(kExitMedia).status, kSuccess);
  EXPECT_EQ(ssi(), 6);
  EXPECT_EQ(sanitize_log().sprog, 0);
  EXPECT_EQ(read_block(0).status, kSanitizeInProgress);
  pass(1000);
  EXPECT_EQ(ssi(), 0);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_EQ(sanitize_log().scdw10, kBlock | kEnterMedia);
  EXPECT_EQ(count(1, std::byte{0}), kBytes);
}

TEST_F(SanitizeTest, ALossOfPowerEndsItsMediaVerification) {
  state_.capabilities.sanicap = 0xb;
  ASSERT_EQ(sanitize(kCrypto | kEnterMedia).status, kSuccess);
  pass(1000);
  EXPECT_EQ(ssi(), 5);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(ssi(), 5);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(sanitize_log().sstat, 0x301);
  state_.capabilities.sanicap = 3;
  EXPECT_EQ(sanitize(kCrypto | kEnterMedia).status, kInvalidField);
}

TEST_F(SanitizeTest, FaultErasesHalf) {
  state_.faults.erases_half = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  pass(1000);
  EXPECT_EQ(sanitize_log().sstat, 0x101);
  EXPECT_GE(kept(), kBytes / 2);
  EXPECT_LT(kept(), kBytes / 2 + kBytes / 50);
}

TEST_F(SanitizeTest, FaultStalls) {
  state_.faults.stalls_at = 1;
  ASSERT_EQ(sanitize(kBlock).status, kSuccess);
  pass(1'000'000);
  EXPECT_EQ(sanitize_log().sstat, 2);
  EXPECT_EQ(sanitize_log().sprog, 655) << "the Intel 660p's number";
  EXPECT_EQ(kept(), kBytes);
}

TEST_F(SanitizeTest, FaultsOfTheLog) {
  state_.sanitize.duration_ms = 0;
  state_.faults.no_gde = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 1);
  state_.faults = Faults{};
  state_.faults.wrong_scdw10 = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(sanitize_log().scdw10, kBlock);
  state_.faults = Faults{};
  state_.faults.unexpected_deallocation = true;
  ASSERT_EQ(sanitize(kCrypto).status, kSuccess);
  EXPECT_EQ(sanitize_log().sstat, 0x104);
}

}  // namespace
}  // namespace reclaim::emulator
