// What the model answers to everything but Sanitize.
#include "tests/emulator/drive_fixture.h"

namespace reclaim::emulator {
namespace {

using ControllerTest = DriveTest;

struct IdList {
  std::uint32_t nsid[1024];
};

std::uint64_t low(const std::uint8_t (&field)[16]) {
  std::uint64_t value = 0;
  std::memcpy(&value, field, sizeof(value));
  return value;
}

TEST_F(ControllerTest, IdentifyController) {
  std::memcpy(state_.serial.data(), "S1", 2);
  state_.capabilities.cmic = 2;
  const auto id = identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL);
  EXPECT_EQ(std::string(id.sn, 4), "S1  ");
  EXPECT_EQ(id.cmic, 2);
  EXPECT_EQ(id.sanicap, 7U);
  EXPECT_EQ(low(id.tnvmcap), 4 * kBytes);
  EXPECT_EQ(low(id.unvmcap), 3 * kBytes);
  state_.faults.serial_changes = true;
  EXPECT_EQ(std::string(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL).sn, 7), "SWAPPED");
  const auto honest = id;
  state_.faults.garbage_identify = true;
  const auto garbage = identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL);
  EXPECT_NE(std::memcmp(&garbage, &honest, sizeof(garbage)), 0);
}

TEST_F(ControllerTest, HiddenNamespacesAreAllocatedButNotActive) {
  state_.namespaces[2].allocated = true;
  state_.namespaces[2].blocks = 8;
  EXPECT_EQ(identify<IdList>(NVME_IDENTIFY_CNS_NS_ACTIVE_LIST).nsid[1], 0U);
  const auto all = identify<IdList>(NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST);
  EXPECT_EQ(all.nsid[0], 1U);
  EXPECT_EQ(all.nsid[1], 3U);
  EXPECT_EQ(identify<IdList>(NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST, 1).nsid[0], 3U);
  EXPECT_EQ(identify<nvme_id_ns>(NVME_IDENTIFY_CNS_NS, 3).nsze, 0U);
  EXPECT_EQ(identify<nvme_id_ns>(NVME_IDENTIFY_CNS_ALLOCATED_NS, 3).nsze, 8U);
  EXPECT_EQ(identify<nvme_ctrl_list>(NVME_IDENTIFY_CNS_NS_CTRL_LIST, 1).num, 1);
  EXPECT_EQ(identify<nvme_ctrl_list>(NVME_IDENTIFY_CNS_NS_CTRL_LIST, 3).num, 0);
}

TEST_F(ControllerTest, UnknownThingsAreRefusedAsTheKernelShowsThem) {
  EXPECT_EQ(admin({.opcode = nvme_admin_security_recv}).status, 0x4001);
  EXPECT_EQ(admin({.opcode = 0xc5}).status, 0x4001);
  std::vector<std::byte> data(4096);
  EXPECT_EQ(admin({.opcode = nvme_admin_identify, .cdw10 = 0x77, .data = data}).status, 0x4002);
  EXPECT_EQ(admin({.opcode = nvme_admin_get_log_page, .cdw10 = 0xc0, .data = data}).status, 0x4109);
  EXPECT_EQ(io({.opcode = 0x91, .nsid = 1}).status, 0x4001);
}

TEST_F(ControllerTest, SmartCountsWhatMoves) {
  EXPECT_EQ(write_block(3).status, kSuccess);
  EXPECT_EQ(read_block(3).status, kSuccess);
  EXPECT_EQ(read_block(4).status, kSuccess);
  const auto smart = log<nvme_smart_log>(NVME_LOG_LID_SMART);
  EXPECT_EQ(low(smart.host_writes), 1U);
  EXPECT_EQ(low(smart.host_reads), 2U);
  EXPECT_EQ(low(smart.data_units_written), 1U) << "thousands of sectors, rounded up";
}

TEST_F(ControllerTest, ReadsWritesAndTheirLimits) {
  std::vector<std::byte> data(1024, std::byte{0x77});
  EXPECT_EQ(io({.opcode = nvme_cmd_write, .nsid = 1, .cdw10 = 10, .cdw12 = 1, .data = data}).status,
            kSuccess);
  EXPECT_EQ(count(1, std::byte{0x77}), 1024U);
  EXPECT_EQ(
      io({.opcode = nvme_cmd_compare, .nsid = 1, .cdw10 = 10, .cdw12 = 1, .data = data}).status,
      kSuccess);
  EXPECT_EQ(
      io({.opcode = nvme_cmd_compare, .nsid = 1, .cdw10 = 11, .cdw12 = 1, .data = data}).status,
      kCompareFailed);
  EXPECT_EQ(read_block(kBytes / 512).status, kLbaOutOfRange);
  EXPECT_EQ(io({.opcode = nvme_cmd_read, .nsid = 2, .data = data}).status, kInvalidNamespace);
  std::vector<std::byte> large(kBytes);
  EXPECT_EQ(io({.opcode = nvme_cmd_read, .nsid = 1, .cdw12 = 2047, .data = large}).status,
            kInvalidField)
      << "MDTS";
}

TEST_F(ControllerTest, UnreadableBlocks) {
  state_.faults.io_error_nsid = 1;
  state_.faults.io_error_offset = 512;
  state_.faults.io_error_length = 512;
  EXPECT_EQ(read_block(0).status, kSuccess);
  EXPECT_EQ(read_block(1).status, kUnrecoveredRead);
  EXPECT_EQ(read_block(2).status, kSuccess);
  EXPECT_EQ(low(log<nvme_smart_log>(NVME_LOG_LID_SMART).media_errors), 1U);
}

TEST_F(ControllerTest, WriteZeroesAndDeallocate) {
  EXPECT_EQ(io({.opcode = nvme_cmd_write_zeroes, .nsid = 1, .cdw10 = 0, .cdw12 = 7}).status,
            kSuccess);
  EXPECT_EQ(kept(), kBytes - 4096);
  const nvme_dsm_range range{0, 8, 8};
  std::vector<std::byte> data(sizeof(range));
  std::memcpy(data.data(), &range, sizeof(range));
  EXPECT_EQ(io({.opcode = nvme_cmd_dsm, .nsid = 1, .cdw11 = NVME_DSMGMT_AD, .data = data}).status,
            kSuccess);
  EXPECT_EQ(kept(), kBytes - 8192);
  state_.capabilities.oncs = 0;
  EXPECT_EQ(io({.opcode = nvme_cmd_write_zeroes, .nsid = 1}).status, kInvalidOpcode);
}

TEST_F(ControllerTest, FormatErasesOnlyWhenAskedTo) {
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1}).status, kSuccess);
  EXPECT_EQ(kept(), kBytes) << "SES = 0 is not an erasure";
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = 1U << 9U | 1U}).status,
            kSuccess);
  EXPECT_EQ(kept(), 0U);
  EXPECT_EQ(identify<nvme_id_ns>(NVME_IDENTIFY_CNS_NS, 1).nsze, kBytes / 4096);
  state_.capabilities.fna = 0;
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = 2U << 9U}).status,
            kInvalidField);
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = 9}).status, kInvalidFormat);
  state_.namespaces[0].write_protect = 1;
  EXPECT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = 1U << 9U}).status,
            kWriteProtected);
}

TEST_F(ControllerTest, FormatScopeFollowsFna) {
  for (const std::uint32_t nsid : {2U, 3U}) {
    state_.namespaces[nsid - 1] = state_.namespaces[0];
    ASSERT_TRUE(media_.create(nsid, kBytes));
    write_everywhere(nsid);
  }
  state_.namespaces[2].attached = false;
  const std::uint32_t erase = 1U << 9U;
  ASSERT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = erase}).status, kSuccess);
  EXPECT_EQ(kept(2), kBytes);
  ASSERT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = NVME_NSID_ALL, .cdw10 = erase}).status,
            kSuccess);
  EXPECT_EQ(kept(2), 0U);
  EXPECT_EQ(kept(3), kBytes) << "a hidden namespace survives a broadcast";
  state_.capabilities.fna = 7;
  ASSERT_EQ(admin({.opcode = nvme_admin_format_nvm, .nsid = 1, .cdw10 = erase}).status, kSuccess);
  EXPECT_EQ(kept(3), 0U);
}

TEST_F(ControllerTest, NamespaceLifeCycle) {
  std::vector<std::byte> data(4096);
  nvme_id_ns wanted{};
  wanted.nsze = kBytes / 512;
  wanted.ncap = wanted.nsze;
  std::memcpy(data.data(), &wanted, sizeof(wanted));
  const Completion made = admin({.opcode = nvme_admin_ns_mgmt, .data = data});
  ASSERT_EQ(made.status, kSuccess);
  EXPECT_EQ(made.result, 2U);
  nvme_ctrl_list list{};
  list.num = 1;
  list.identifier[0] = state_.controller_id;
  std::memcpy(data.data(), &list, sizeof(list));
  const auto attach = [&](std::uint32_t select) {
    return admin({.opcode = nvme_admin_ns_attach, .nsid = 2, .cdw10 = select, .data = data}).status;
  };
  EXPECT_EQ(attach(1), kNotAttached);
  EXPECT_EQ(attach(0), kSuccess);
  EXPECT_EQ(attach(0), kAlreadyAttached);
  EXPECT_EQ(identify<IdList>(NVME_IDENTIFY_CNS_NS_ACTIVE_LIST).nsid[1], 2U);
  EXPECT_EQ(attach(1), kSuccess);
  EXPECT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .nsid = 2, .cdw10 = 1}).status, kSuccess);
  EXPECT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .nsid = 2, .cdw10 = 1}).status, kInvalidNamespace);
  wanted.nsze = 100 * kBytes / 512;
  wanted.ncap = wanted.nsze;
  std::memcpy(data.data(), &wanted, sizeof(wanted));
  EXPECT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .data = data}).status, kInsufficientCapacity);
  state_.capabilities.oacs = 0;
  EXPECT_EQ(admin({.opcode = nvme_admin_ns_mgmt, .nsid = 1, .cdw10 = 1}).status, kInvalidOpcode);
}

TEST_F(ControllerTest, FeaturesAreCurrentSavedOrFactory) {
  const auto get = [&](std::uint32_t select) {
    return admin({.opcode = nvme_admin_get_features, .cdw10 = 6 | select << 8U}).result;
  };
  const std::uint32_t save = 1U << 31U;
  EXPECT_EQ(admin({.opcode = nvme_admin_set_features, .cdw10 = 6, .cdw11 = 0}).status, kSuccess);
  EXPECT_EQ(get(0), 0U);
  EXPECT_EQ(get(2), 1U);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(get(0), 1U);
  EXPECT_EQ(admin({.opcode = nvme_admin_set_features, .cdw10 = 6 | save, .cdw11 = 0}).status,
            kSuccess);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(get(0), 0U);
  EXPECT_EQ(get(1), 1U);
}

TEST_F(ControllerTest, WriteProtectionHoldsAsLongAsItSays) {
  const auto protect = [&](std::uint32_t how) {
    return admin({.opcode = nvme_admin_set_features, .nsid = 1, .cdw10 = 0x84, .cdw11 = how})
        .status;
  };
  EXPECT_EQ(protect(1), kSuccess);
  EXPECT_EQ(write_block(0).status, kWriteProtected);
  EXPECT_EQ(protect(0), kSuccess);
  EXPECT_EQ(write_block(0).status, kSuccess);
  EXPECT_EQ(protect(2), kSuccess);
  EXPECT_NE(protect(0), kSuccess);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(write_block(0).status, kSuccess);
  EXPECT_EQ(protect(3), kSuccess);
  Controller(state_, media_, now_).power_loss();
  EXPECT_EQ(write_block(0).status, kWriteProtected);
}

TEST_F(ControllerTest, FirmwareSlots) {
  state_.firmware_slots[1] = {'N', 'E', 'W', ' ', ' ', ' ', ' ', ' '};
  state_.firmware_slot_pending = 2;
  EXPECT_EQ(log<nvme_firmware_slot>(NVME_LOG_LID_FW_SLOT).afi, 0x21);
  Controller(state_, media_, now_).reset();
  EXPECT_EQ(log<nvme_firmware_slot>(NVME_LOG_LID_FW_SLOT).afi, 2);
  EXPECT_EQ(std::string(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL).fr, 3), "NEW");
}

}  // namespace
}  // namespace reclaim::emulator
