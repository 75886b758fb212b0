// nvme-cli reads what a tenant left, as the settings say it did.
#include "tests/emulator/model/firmware.h"
#include "tests/emulator/nvme_cli_fixture.h"

namespace reclaim::emulator {
namespace {

using NvmeCliSurfaces = NvmeCliTest;

// A byte of a hex dump of nvme-cli, at `offset`.
std::string dumped(const std::string& text, unsigned offset) {
  char line[16];
  std::snprintf(line, sizeof(line), "\n%04x: ", offset & ~0xfU);
  const std::size_t at = text.find(line);
  if (at == std::string::npos) return "no line " + std::string(line) + " in: " + text;
  return text.substr(at + 7 + std::size_t{offset & 0xfU} * 3, 2);
}

TEST_F(NvmeCliSurfaces, FirmwareSlots) {
  set("firmware_slot", "2:TENANT01");
  set("firmware_pending", "2");
  const Answer log = nvme("fw-log", "nvme0");
  EXPECT_NE(log.text.find("afi  : 0x21"), std::string::npos) << log.text;
  EXPECT_NE(log.text.find("(TENANT01)"), std::string::npos) << log.text;
  EXPECT_NE(nvme("sanitize -a start-block-erase", "nvme0").code, 0);
  ASSERT_EQ(nvme("fw-commit -s 1 -a 2", "nvme0").code, 0) << "the running slot again";
  EXPECT_NE(nvme("fw-log", "nvme0").text.find("afi  : 0x1\n"), std::string::npos);
  EXPECT_EQ(nvme("sanitize -a start-block-erase", "nvme0").code, 0);
}

TEST_F(NvmeCliSurfaces, FirmwareIsDownloadedAndCommitted) {
  set("firmware_slot", "2:TENANT01");
  const std::string file = (root_ / "x.bin").string();
  const std::vector<std::byte> image = make_firmware("NEW", 20'000);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  const Answer sent = nvme("fw-download --fw=" + file, "nvme0");
  ASSERT_EQ(sent.code, 0) << sent.text;
  ASSERT_EQ(nvme("fw-commit -s 2 -a 1", "nvme0").code, 0);
  EXPECT_NE(nvme("fw-log", "nvme0").text.find("afi  : 0x21"), std::string::npos);
  ASSERT_EQ(nvme("reset", "nvme0").code, 0);
  const Answer log = nvme("fw-log", "nvme0");
  EXPECT_NE(log.text.find("afi  : 0x2\n"), std::string::npos) << log.text;
  EXPECT_NE(log.text.find("(NEW"), std::string::npos) << log.text;
}

TEST_F(NvmeCliSurfaces, Health) {
  set("percentage_used", "101");
  set("critical_warning", "4");
  set("available_spare", "8");
  set("spare_threshold", "9");
  set("data_units_written", "123456");
  const auto log = json_of("smart-log", "nvme0");
  EXPECT_EQ(json::get_int(log, "percent_used").value(), 101);
  EXPECT_EQ(json::get_int(log, "critical_warning").value(), 4);
  EXPECT_EQ(json::get_int(log, "avail_spare").value(), 8);
  EXPECT_EQ(json::get_int(log, "spare_thresh").value(), 9);
  EXPECT_EQ(counter(log, "data_units_written"), 123456);
}

TEST_F(NvmeCliSurfaces, ReservationOfAnotherHost) {
  set("reservation", "1:1:0xabcd");
  set("reservation_persists", "1:1");
  EXPECT_NE(nvme("write-zeroes -s 0 -c 7", "nvme0n1").text.find("Reservation Conflict"),
            std::string::npos);
  const auto report = json_of("resv-report -n 1 -e", "nvme0n1");
  EXPECT_EQ(json::get_int(report, "rtype").value(), 1);
  EXPECT_EQ(json::get_int(report, "ptpls").value(), 1);
  const auto* hosts = json::find(report, "regctlext");
  ASSERT_NE(hosts, nullptr);
  ASSERT_EQ(hosts->Size(), 1U);
  EXPECT_EQ(json::get_int((*hosts)[0], "rkey").value(), 0xabcd);
  EXPECT_EQ(json::get_int((*hosts)[0], "rcsts").value(), 1);
  ASSERT_TRUE(host_->power_loss(kAddress).ok());
  EXPECT_EQ(json::get_int(json_of("resv-report -n 1 -e", "nvme0n1"), "rtype").value(), 1);
  ASSERT_EQ(nvme("resv-register -n 1 --nrkey=7 --rrega=0 --iekey", "nvme0n1").code, 0);
  ASSERT_EQ(nvme("resv-release -n 1 --crkey=7 --rrela=1", "nvme0n1").code, 0);
  EXPECT_EQ(json::get_int(json_of("resv-report -n 1 -e", "nvme0n1"), "regctl").value(), 0);
  EXPECT_EQ(nvme("write-zeroes -s 0 -c 7", "nvme0n1").code, 0);
}

TEST_F(NvmeCliSurfaces, AnOwnedOpalDrive) {
  set("opal_enabled", "1");
  set("opal_sid_set", "1");
  const std::string discovery = "security-recv -p 1 -s 1 -t 512 -x 512";
  const Answer owned = nvme(discovery, "nvme0");
  ASSERT_EQ(owned.code, 0) << owned.text;
  EXPECT_EQ(dumped(owned.text, 0x41), "02") << "the Locking feature";
  EXPECT_EQ(dumped(owned.text, 0x44), "0b") << "supported, enabled, encrypting";
  EXPECT_EQ(dumped(owned.text, 0x50), "02");
  EXPECT_EQ(dumped(owned.text, 0x51), "03") << "Opal SSC v2";
  EXPECT_EQ(dumped(owned.text, 0x68), "01") << "Block SID: the SID is not the MSID";
  ASSERT_TRUE(host_->power_loss(kAddress).ok());
  EXPECT_EQ(dumped(nvme(discovery, "nvme0").text, 0x44), "0f") << "locked by the power cycle";
  const Answer refused = nvme("sanitize -a start-block-erase", "nvme0");
  EXPECT_NE(refused.text.find("286"), std::string::npos) << refused.text;
  EXPECT_NE(nvme("format --force -s 1 -n 1", "nvme0").code, 0);
}

TEST_F(NvmeCliSurfaces, Rpmb) {
  EXPECT_EQ(json::get_int(json_of("id-ctrl", "nvme0"), "rpmbs").value(), 0);
  set("rpmb", "2");
  EXPECT_NE(nvme("rpmb -c info", "nvme0").text.find("0x2"), std::string::npos);
  // nvme-cli's own read-counter wants the kernel's AF_ALG, which not every machine has: the frame
  // by hand, request 0002h with a nonce of ones.
  const std::string frame = (root_ / "frame").string();
  std::string bytes(256, '\0');
  std::fill_n(bytes.begin() + 224, 16, '\1');
  bytes[254] = 2;
  std::ofstream(frame, std::ios::binary) << bytes;
  const auto ask = [&] {
    EXPECT_EQ(nvme("security-send -p 0xea -s 1 -t 256 -f " + frame, "nvme0").code, 0);
    return nvme("security-recv -p 0xea -s 1 -t 256 -x 256", "nvme0").text;
  };
  const std::string without_key = ask();
  EXPECT_EQ(dumped(without_key, 0xff), "02") << without_key;
  EXPECT_EQ(dumped(without_key, 0xfc), "07") << "no key is programmed";
  set("rpmb_key", "1");
  set("rpmb_counter", "41");
  const std::string with_key = ask();
  EXPECT_EQ(dumped(with_key, 0xfc), "00");
  EXPECT_EQ(dumped(with_key, 0xf0), "29");
  EXPECT_EQ(dumped(with_key, 0xe0), "01") << "the nonce comes back";
}

TEST_F(NvmeCliSurfaces, BootPartition) {
  EXPECT_NE(nvme("get-log -i 0x15 -l 64", "nvme0").code, 0) << "a drive without any";
  set("boot_partition", "256K");
  set("boot_seed", "1:77");
  const Answer first = nvme("get-log -i 0x15 -l 64", "nvme0");
  EXPECT_EQ(dumped(first.text, 0x04), "02") << first.text;
  EXPECT_EQ(dumped(first.text, 0x10), "00");
  const Answer second = nvme("get-log -i 0x15 -l 64 --lsp=1", "nvme0");
  EXPECT_NE(second.text.substr(second.text.find("0010:")),
            first.text.substr(first.text.find("0010:")));
}

TEST_F(NvmeCliSurfaces, Lockdown) {
  set("lockdown", "0x84");
  const Answer log = nvme("get-log -i 0x14 -l 64 --lsp=0x10", "nvme0");
  EXPECT_EQ(dumped(log.text, 3), "01") << log.text;
  EXPECT_EQ(dumped(log.text, 4), "84");
  const Answer refused = nvme("sanitize -a start-block-erase", "nvme0");
  EXPECT_NE(refused.text.find("Lockdown"), std::string::npos) << refused.text;
  ASSERT_EQ(nvme("lockdown --ofi=0x84 --prhbt=0", "nvme0").code, 0);
  EXPECT_EQ(nvme("sanitize -a start-block-erase", "nvme0").code, 0);
}

TEST_F(NvmeCliSurfaces, SelfTest) {
  set("self_test", "2");
  set("self_test_ms", "600000");
  set("advance_ms", "300000");
  const auto running = json_of("self-test-log", "nvme0");
  EXPECT_EQ(json::get_int(running, "Current Device Self-Test Operation").value(), 2);
  EXPECT_EQ(json::get_int(running, "Current Device Self-Test Completion").value(), 50);
  EXPECT_NE(nvme("device-self-test -n 1 -s 1", "nvme0").code, 0) << "one at a time";
  ASSERT_EQ(nvme("device-self-test -n 1 -s 0xf", "nvme0").code, 0);
  const Answer aborted = nvme("self-test-log", "nvme0");
  EXPECT_NE(aborted.text.find("Current operation  : 0\n"), std::string::npos) << aborted.text;
  EXPECT_NE(aborted.text.find("Operation Result             : 0x1\n"), std::string::npos);
}

TEST_F(NvmeCliSurfaces, SavedFeatures) {
  set("feature_saved", "0x10:7");
  set("dulbe", "1");
  set("nodrm", "1");
  set("hmb_enabled", "1");
  const auto value = [&](const std::string& arguments) {
    return nvme("get-feature " + arguments, "nvme0").text;
  };
  EXPECT_NE(value("-f 0x10").find("value:00000000"), std::string::npos) << value("-f 0x10");
  EXPECT_NE(value("-f 0x10 -s 2").find("value:0x00000007"), std::string::npos)
      << value("-f 0x10 -s 2");
  EXPECT_NE(value("-f 0x10 -s 3 -H").find("Feature is saveable"), std::string::npos);
  EXPECT_NE(value("-f 5 -H").find("Error Enable (DULBE): Enabled"), std::string::npos);
  EXPECT_NE(value("-f 0x17").find("value:0x00000001"), std::string::npos);
  EXPECT_NE(value("-f 0xd -H").find("Host Memory (EHM): Enabled"), std::string::npos);
  ASSERT_EQ(nvme("set-feature -f 0x10 --value=0 -s", "nvme0").code, 0);
  EXPECT_NE(value("-f 0x10 -s 2").find("value:00000000"), std::string::npos);
  ASSERT_EQ(nvme("reset", "nvme0").code, 0);
  EXPECT_NE(value("-f 0xd -H").find("Host Memory (EHM): Disabled"), std::string::npos);
}

TEST_F(NvmeCliSurfaces, WriteProtection) {
  set("write_protect", "1:2");
  EXPECT_NE(nvme("get-feature -f 0x84 -n 1", "nvme0").text.find("2"), std::string::npos);
  EXPECT_EQ(json::get_int(json_of("id-ns", "nvme0n1"), "nsattr").value(), 1);
  EXPECT_NE(nvme("sanitize -a start-block-erase", "nvme0").text.find("Write Protected"),
            std::string::npos);
  EXPECT_NE(nvme("set-feature -f 0x84 -n 1 --value=0", "nvme0").code, 0) << "until a power cycle";
  ASSERT_TRUE(host_->power_loss(kAddress).ok());
  EXPECT_EQ(nvme("sanitize -a start-block-erase", "nvme0").code, 0);
}

TEST_F(NvmeCliSurfaces, NamespacesComeAndGoAtARescan) {
  set("needs_rescan", "1");
  const auto node = root_ / "dev/nvme0n1";
  ASSERT_EQ(nvme("delete-ns -n 0xffffffff", "nvme0").code, 0);
  EXPECT_EQ(nvme("list-ns --all", "nvme0").text.find("0x1"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(node)) << "the kernel has not looked yet";
  ASSERT_EQ(nvme("ns-rescan", "nvme0").code, 0);
  EXPECT_FALSE(std::filesystem::exists(node));
  ASSERT_EQ(nvme("create-ns -s 16384 -c 16384 -f 0", "nvme0").code, 0);
  ASSERT_EQ(nvme("attach-ns -n 1 -c 1", "nvme0").code, 0);
  EXPECT_FALSE(std::filesystem::exists(node));
  ASSERT_EQ(nvme("ns-rescan", "nvme0").code, 0);
  EXPECT_TRUE(std::filesystem::exists(node));
}

TEST_F(NvmeCliSurfaces, AHiddenNamespaceIsInNoListAndStillTakesRoom) {
  set("add_namespace", "4M");
  const auto before = json_of("id-ctrl", "nvme0");
  set("hides_namespace", "2");
  EXPECT_EQ(nvme("list-ns --all", "nvme0").text.find("0x2"), std::string::npos);
  ASSERT_EQ(nvme("delete-ns -n 0xffffffff", "nvme0").code, 0);
  EXPECT_NE(nvme("create-ns -s 24576 -c 24576 -f 0", "nvme0").code, 0) << "12M do not fit";
  const auto left = media_digest(*host_, kAddress);
  EXPECT_EQ(left->bytes, std::uint64_t{4} << 20U);
}

TEST_F(NvmeCliSurfaces, PmrForbidsSanitize) {
  set("pmr", "1");
  const Answer refused = nvme("sanitize -a start-block-erase", "nvme0");
  EXPECT_NE(refused.text.find("123"), std::string::npos) << refused.text;
}

}  // namespace
}  // namespace reclaim::emulator
