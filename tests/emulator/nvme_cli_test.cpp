// nvme-cli reads from the model what the model's own tests say is in it: identity, sanitize,
// health, Format and namespaces.
#include "tests/emulator/nvme_cli_fixture.h"

namespace reclaim::emulator {
namespace {

namespace fs = std::filesystem;

TEST_F(NvmeCliTest, ReadsIdentity) {
  const auto id = json_of("id-ctrl", "nvme0");
  EXPECT_EQ(json::get_string(id, "sn").value(), "WITNESS             ");
  EXPECT_EQ(json::get_string(id, "mn").value().substr(0, 8), "Model X ");
  EXPECT_EQ(json::get_int(id, "sanicap").value(), 3);
  EXPECT_EQ(json::get_int(id, "oacs").value(), 10);
  EXPECT_EQ(json::get_int(id, "fna").value(), 4);
  EXPECT_EQ(json::get_int(id, "nn").value(), 32);
  const auto ns = json_of("id-ns", "nvme0n1");
  EXPECT_EQ(json::get_int(ns, "nsze").value(), 16384);
  EXPECT_EQ(json::get_int(ns, "dlfeat").value(), 9);
  const auto* formats = json::find(ns, "lbafs");
  ASSERT_NE(formats, nullptr);
  ASSERT_EQ(formats->Size(), 3U);
  EXPECT_EQ(json::get_int((*formats)[1], "ds").value(), 12);
}

TEST_F(NvmeCliTest, ListsTheHost) {
  const Answer list = nvme("list");
  EXPECT_EQ(list.code, 0) << list.text;
  EXPECT_NE(list.text.find("/dev/nvme0n1"), std::string::npos) << list.text;
  EXPECT_NE(list.text.find("WITNESS"), std::string::npos);
  EXPECT_NE(list.text.find("/dev/nvme7n1"), std::string::npos) << "nvme1's disk is nvme7n1";
  const Answer subsystems = nvme("list-subsys");
  EXPECT_NE(subsystems.text.find("nvme0 pcie 0000:01:00.0 live"), std::string::npos)
      << subsystems.text;
}

TEST_F(NvmeCliTest, SanitizesAndWatches) {
  EXPECT_EQ(sanitize_status(), "(0) NVM Subsystem has never been sanitized.");
  const Answer started = nvme("sanitize -a start-crypto-erase", "nvme0");
  ASSERT_EQ(started.code, 0) << started.text;
  EXPECT_EQ(sanitize_status(), "(2) Sanitize in Progress.");
  const Answer again = nvme("sanitize -a start-crypto-erase", "nvme0");
  EXPECT_NE(again.code, 0);
  EXPECT_NE(again.text.find("Sanitize In Progress"), std::string::npos) << again.text;
  EXPECT_NE(nvme("format --force -s 1 -n 1", "nvme0").code, 0);
  set("advance_ms", "300000");
  const auto log = json_of("sanitize-log", "nvme0");
  const auto* drive = json::find(log, "nvme0");
  ASSERT_NE(drive, nullptr);
  EXPECT_GE(json::get_int(*drive, "sprog").value(), 32768);
  EXPECT_LT(json::get_int(*drive, "sprog").value(), 40000);
  EXPECT_EQ(json::get_int(*drive, "cdw10_info").value(), 4);
  EXPECT_EQ(json::get_int(*drive, "time_crypto_erase").value(), 2);
  set("advance_ms", "300001");
  EXPECT_EQ(sanitize_status(), "(1) Most Recent Sanitize Command Completed Successfully. GDE");
  const auto left = media_digest(*host_, kAddress, 7);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->nonzero_bytes, 0U);
}

TEST_F(NvmeCliTest, SeesAFailedSanitize) {
  set("fails_at", "40");
  ASSERT_EQ(nvme("sanitize -a start-block-erase", "nvme0").code, 0);
  set("advance_ms", "600001");
  EXPECT_EQ(sanitize_status(), "(3) Most Recent Sanitize Command Failed.");
  const Answer exit = nvme("sanitize -a exit-failure", "nvme0");
  EXPECT_NE(exit.code, 0);
  EXPECT_NE(exit.text.find("Sanitize Failed"), std::string::npos) << exit.text;
}

TEST_F(NvmeCliTest, ReadsHealthAsItMoves) {
  const auto before = json_of("smart-log", "nvme0");
  EXPECT_EQ(json::get_int(before, "percent_used").value(), 33);
  EXPECT_EQ(counter(before, "media_errors"), 5);
  const std::int64_t reads = counter(before, "host_read_commands");
  const Answer read = nvme("read -z 4096 -c 7 -s 0 -d /dev/null", "nvme0n1");
  ASSERT_EQ(read.code, 0) << read.text;
  const auto after = json_of("smart-log", "nvme0");
  EXPECT_EQ(counter(after, "host_read_commands"), reads + 1);
}

TEST_F(NvmeCliTest, FormatsAndZeroes) {
  ASSERT_EQ(nvme("write-zeroes -s 0 -c 7", "nvme0n1").code, 0);
  const Answer formatted = nvme("format --force -s 1 -l 1 -n 1", "nvme0");
  ASSERT_EQ(formatted.code, 0) << formatted.text;
  EXPECT_EQ(json::get_int(json_of("id-ns", "nvme0n1"), "nsze").value(), 2048);
  const auto left = media_digest(*host_, kAddress, 7);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->tenant_blocks_kept, 0U);
  const Answer refused = nvme("format --force -s 2 -l 9 -n 1", "nvme0");
  EXPECT_NE(refused.text.find("Invalid Format"), std::string::npos) << refused.text;
}

TEST_F(NvmeCliTest, RebuildsTheNamespaces) {
  ASSERT_TRUE(host_->add_namespace(kAddress, 1 << 20, true).ok());
  const Answer active = nvme("list-ns", "nvme0");
  EXPECT_EQ(active.text.find("0x2"), std::string::npos) << active.text;
  const Answer all = nvme("list-ns --all", "nvme0");
  EXPECT_NE(all.text.find("0x2"), std::string::npos) << all.text;
  ASSERT_EQ(nvme("delete-ns -n 2", "nvme0").code, 0);
  ASSERT_EQ(nvme("detach-ns -n 1 -c 1", "nvme0").code, 0);
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0n1"));
  ASSERT_EQ(nvme("delete-ns -n 1", "nvme0").code, 0);
  const Answer made = nvme("create-ns -s 16384 -c 16384 -f 0", "nvme0");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_FALSE(fs::exists(root_ / "dev/nvme0n1"));
  ASSERT_EQ(nvme("attach-ns -n 1 -c 1", "nvme0").code, 0);
  EXPECT_TRUE(fs::exists(root_ / "dev/nvme0n1"));
  EXPECT_TRUE(fs::exists(root_ / "sys/block/nvme0n1/queue/logical_block_size"));
}

TEST_F(NvmeCliTest, UnknownCommandsAreInvalidOpcodes) {
  const Answer answer = nvme("security-recv -p 1 -s 1 -t 512 -x 512", "nvme0");
  EXPECT_NE(answer.code, 0);
  EXPECT_NE(answer.text.find("Invalid Command Opcode"), std::string::npos) << answer.text;
}

}  // namespace
}  // namespace reclaim::emulator
