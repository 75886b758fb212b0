// An emulated host with one drive full of a tenant's data, and the real code pointed at it: real
// libnvme, real system calls, answered by the controller model.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "nvme/drive.h"
#include "nvme/host/claim.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "tests/emulator/host/digest.h"
#include "tests/emulator/host/host.h"
#include "tests/emulator/shim/kernel.h"
#include "tests/temp_folder.h"

namespace reclaim::nvme {

class NvmeFixture : public ::testing::Test {
 protected:
  static constexpr const char* kAddress = "0000:01:00.0";
  static constexpr std::uint64_t kSeed = 7;

  void SetUp() override {
    options_.sysfs_root = root_ / "sys";
    options_.dev_root = root_ / "dev";
    options_.proc_root = root_ / "proc";
    options_.run_path = root_ / "run/reclaim";
    options_.libvirt_dirs = {root_ / "run/libvirt/qemu", root_ / "etc/libvirt/qemu"};
    options_.driver_wait_ms = 100;
    options_.driver_poll_ms = 10;
    options_.samples_max = 64;
    options_.sample_bytes = 65'536;
    options_.poll_interval_ms = 20;
    options_.settle_ms = 100;
    options_.read_retry_ms = 200;
    options_.read_retry_pause_ms = 20;
    options_.foreign_sanitize_timeout_ms = 60'000;
    request_.address = *parse_pci_address(kAddress);
    request_.resource_class = "CUSTOM_PCI_144D_A80A";
  }

  void TearDown() override {
    drive_.reset();  // it may have to give the drive back, to a host that is still there
    emulator::set_emulator_root("");
    host_.reset();
    folder_.empty();  // for a test that makes one host after another
  }

  // Drives as `reclaim-emulator create` takes them; the first is filled with tenant data.
  void make_host(const std::vector<std::string>& drives, bool fill = true) {
    auto host = emulator::Host::create(root_, drives);
    ASSERT_TRUE(host.ok()) << host.error().what;
    host_ = *std::move(host);
    emulator::set_emulator_root(root_);
    if (fill) {
      const auto filled = host_->fill(kAddress, kSeed);
      ASSERT_TRUE(filled.ok()) << filled.error().what;
    }
  }
  void make_drive(const std::string& more = "", bool fill = true) {
    make_host({"address=0000:01:00.0,serial=S1,size=16M,duration_ms=150" +
               (more.empty() ? "" : "," + more)},
              fill);
  }
  void set(const std::string& key, const std::string& value) {
    const auto done = host_->set(kAddress, key, value);
    ASSERT_TRUE(done.ok()) << done.error().what;
  }
  [[nodiscard]] emulator::MediaDigest media() {
    auto digest = emulator::media_digest(*host_, kAddress, kSeed);
    EXPECT_TRUE(digest.ok());
    return digest.ok() ? *digest : emulator::MediaDigest{};
  }
  // The media of namespace 1 behind the drive's back, past its counters.
  void put_media(std::uint64_t offset, const std::string& bytes) const {
    std::fstream file(root_ / "dev/nvme0n1", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good());
  }
  [[nodiscard]] std::string get_media(std::uint64_t offset, std::size_t length) const {
    std::ifstream file(root_ / "dev/nvme0n1", std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    std::string bytes(length, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(length));
    EXPECT_TRUE(file.good());
    return bytes;
  }
  [[nodiscard]] std::uint64_t sanitizes() {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) {
      return state.sanitizes_accepted;
    });
  }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  [[nodiscard]] Result<std::unique_ptr<Drive>> claim() {
    auto claim = Claim::create(options_, request_, &findings_, stop_, log_);
    if (!claim) return claim.error();
    return std::make_unique<Drive>(options_, *std::move(claim), clock_, log_, host_rate_);
  }
  [[nodiscard]] Result<EraseEvidence> erase(Drive& drive, EraseRequest request = {}) {
    return drive.erase(
        request, [this](EraseProgress p) { progress_.push_back(p); }, stop_);
  }
  [[nodiscard]] Result<VerifyReport> verify(Drive& drive, const EraseEvidence& evidence) {
    return drive.verify(
        baseline_, evidence, [this](EraseProgress p) { progress_.push_back(p); }, stop_);
  }
  [[nodiscard]] Result<VerifyReport> verify(Drive& drive) { return verify(drive, evidence_); }
  // Claim, baseline and erase, which must all succeed.
  void erase_fully(EraseRequest request = {}) {
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    auto evidence = erase(*drive_, request);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    evidence_ = *evidence;
  }
  // The same up to an erase that must fail.
  void expect_erase_error(Errc code, std::string_view says, EraseRequest request = {}) {
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    expect_error(erase(*drive_, request), code, says);
  }
  template <typename T>
  static void expect_error(const Result<T>& result, Errc code, std::string_view says) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().what;
    EXPECT_NE(result.error().what.find(says), std::string::npos) << result.error().what;
  }

  const TempFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
  std::unique_ptr<emulator::Host> host_;
  Options options_;
  ClaimRequest request_;
  SystemClock clock_;
  NullLogger log_;
  std::shared_ptr<RateLimit> host_rate_;
  StopFlag stop_;
  std::vector<GuardFinding> findings_;
  std::vector<EraseProgress> progress_;
  std::unique_ptr<Drive> drive_;
  Baseline baseline_;
  EraseEvidence evidence_;
};

}  // namespace reclaim::nvme
