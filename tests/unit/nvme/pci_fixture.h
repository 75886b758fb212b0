// An emulated host with a network card on vfio-pci, and the real code pointed at it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "nvme/pci/pci_claim.h"
#include "nvme/pci/pci_steps.h"
#include "state/base/log.h"
#include "tests/emulator/host/host.h"
#include "tests/emulator/shim/kernel.h"
#include "tests/temp_folder.h"

namespace reclaim::nvme {

class PciFixture : public ::testing::Test {
 protected:
  static constexpr const char* kCard = "0000:3b:00.0";

  void SetUp() override {
    options_.sysfs_root = root_ / "sys";
    options_.dev_root = root_ / "dev";
    options_.proc_root = root_ / "proc";
    options_.run_path = root_ / "run/reclaim";
    options_.libvirt_dirs = {root_ / "run/libvirt/qemu", root_ / "etc/libvirt/qemu"};
    options_.driver_wait_ms = 60;
    options_.driver_poll_ms = 10;
    request_.address = *parse_pci_address(kCard);
    request_.resource_class = "CUSTOM_PCI_8086_1572";
    auto host = emulator::Host::create(root_, {});
    ASSERT_TRUE(host.ok()) << host.error().what;
    host_ = *std::move(host);
    emulator::set_emulator_root(root_);
    ASSERT_TRUE(host_->add_function("address=0000:3b:00.0,bound=vfio-pci").ok());
  }

  void TearDown() override {
    claim_.reset();
    emulator::set_emulator_root("");
    host_.reset();
  }

  void set(const std::string& key, const std::string& value) const {
    const auto done = host_->set(kCard, key, value);
    ASSERT_TRUE(done.ok()) << done.error().what;
  }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] std::string attribute(const std::string& name) const {
    const auto text = read_file(root_ / "sys/bus/pci/devices" / kCard / name, 4096);
    return text ? *text : text.error().what;
  }
  [[nodiscard]] std::string driver() const {
    const auto bound = read_driver(options_.sysfs_root, request_.address);
    return bound ? *bound : bound.error().what;
  }
  [[nodiscard]] std::filesystem::path note() const {
    return root_ / "run/reclaim" / (std::string(kCard) + ".driver");
  }

  [[nodiscard]] Status claim() {
    claim_.reset();
    findings_.clear();
    auto claimed = PciClaim::create(options_, request_, &findings_, stop_, log_);
    if (!claimed) return claimed.error();
    claim_ = std::make_unique<PciClaim>(*std::move(claimed));
    return Ok{};
  }
  // The function as it is now is the baseline of the steps.
  void enrol(const StepDriver& driver = none()) {
    auto enrolment = pci_enrolment(*claim_, driver);
    ASSERT_TRUE(enrolment.ok()) << enrolment.error().what;
    step_.enrolment = *std::move(enrolment);
  }
  [[nodiscard]] Result<StepReport> run(PciStep step, const StepDriver& driver = none()) {
    step_.step = step;
    step_.driver = driver;
    return run_pci_step(*claim_, step_, stop_);
  }
  static StepDriver none() { return StepDriver{StepDriver::Kind::none, {}}; }
  static StepDriver named(const std::string& name) {
    return StepDriver{StepDriver::Kind::named, name};
  }
  // "surface: found" of each finding, with "; " between.
  static std::string told(const Result<StepReport>& report) {
    if (!report) return report.error().what;
    std::string all;
    for (const StepFinding& each : report->findings) {
      all += (all.empty() ? "" : "; ") + each.surface + ": " + each.found;
    }
    return all;
  }
  template <typename T>
  static void expect_error(const Result<T>& result, Errc code, std::string_view says) {
    ASSERT_FALSE(result.ok()) << says;
    EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().what;
    EXPECT_NE(result.error().what.find(says), std::string::npos) << result.error().what;
  }

  const TempFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
  std::unique_ptr<emulator::Host> host_;
  Options options_;
  PciClaimRequest request_;
  PciStepRequest step_;
  NullLogger log_;
  StopFlag stop_;
  std::vector<GuardFinding> findings_;
  std::unique_ptr<PciClaim> claim_;
};

}  // namespace reclaim::nvme
