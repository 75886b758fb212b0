// A test that runs as root in a throw-away guest (run_guest.py), against its real kernel: the
// shipped code with its roots at /sys, /dev and /proc, and emulated PCI drives behind it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "nvme/drive.h"
#include "nvme/host/claim.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "tests/guest/host_line.h"

namespace reclaim::guest {

// The drives of machine.py, in its order.
constexpr const char* kPlain = "0000:01:00.0";   // one namespace, no subsystem
constexpr const char* kTwo = "0000:02:00.0";     // two namespaces, CMIC set
constexpr const char* kPassed = "0000:03:00.0";  // goes to vfio-pci and back
constexpr const char* kPulled = "0000:04:00.0";  // is removed and comes back
constexpr const char* kSick = "0000:05:00.0";    // SMART
constexpr const char* kStack = "0000:06:00.0";   // three namespaces, for udev
constexpr const char* kHybrid = "0000:07:00.0";  // Sanitize, by hybrid/
constexpr const char* kGone = "0000:08:00.0";    // is pulled once, for good
constexpr const char* kMemory = "0000:09:00.0";  // CMB and PMR
constexpr const char* kCard = "0000:0a:00.0";    // no drive: a network card with a ROM

// What a tenant leaves: this text at the head of each KiB.
constexpr const char* kTenantText = "THE-TENANTS-SECRET";

// What the code under test calls an error is part of a test's output.
class ErrorsOnly final : public Logger {
 public:
  void write(LogLevel level, std::string_view name, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    if (level >= LogLevel::error) std::cout << name << ": " << text << "\n";
  }
};

class GuestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.libvirt_dirs.clear();
    options_.poll_interval_ms = 100;
    options_.driver_poll_ms = 50;
    auto line = HostLine::open();
    ASSERT_TRUE(line.ok()) << line.error().what;
    host_ = std::make_unique<HostLine>(*std::move(line));
  }

  [[nodiscard]] static nvme::ClaimRequest request(const char* address) {
    nvme::ClaimRequest request;
    request.address = *parse_pci_address(address);
    request.resource_class = "CUSTOM_PCI_1B36_0010";
    return request;
  }
  [[nodiscard]] static nvme::ClaimRequest shared(const char* address) {
    nvme::ClaimRequest asked = request(address);
    asked.shared_subsystem_allowed = true;
    return asked;
  }
  // For claims that are to be refused: what may pass by itself is given no time.
  void be_impatient() { options_.driver_wait_ms = 100; }
  [[nodiscard]] Result<std::unique_ptr<nvme::Drive>> claim(const nvme::ClaimRequest& asked) {
    findings_.clear();
    auto claim = nvme::Claim::create(options_, asked, &findings_, stop_, log_);
    if (!claim) return claim.error();
    return std::make_unique<nvme::Drive>(options_, *std::move(claim), clock_, log_);
  }
  [[nodiscard]] Result<nvme::SysDrive> look(const char* address) const {
    return nvme::read_drive(options_.sysfs_root, *parse_pci_address(address));
  }
  // "/dev/nvme0n1": the node of a drive's namespace (from 1).
  [[nodiscard]] std::string node(const char* address, std::uint32_t nsid = 1) const {
    const auto drive = look(address);
    if (!drive.ok()) return "/dev/none";
    for (const auto& ns : drive->namespaces) {
      if (ns.nsid == nsid) return "/dev/" + ns.disk.name;
    }
    return "/dev/none";
  }
  [[nodiscard]] std::string controller_node(const char* address) const {
    const auto drive = look(address);
    return "/dev/" + (drive.ok() ? drive->controller : std::string("none"));
  }

  // A command of the guest's shell; its exit code.
  static int run(const std::string& command) {
    const std::string line = "(" + command + "\n) >/tmp/out 2>&1 || { cat /tmp/out; false; }";
    return std::system(line.c_str());
  }
  // Writes a sysfs attribute below a function's folder; 0 or errno.
  static int write_sysfs(const std::string& path, const std::string& text) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return errno;
    return ::write(fd.get(), text.data(), text.size()) < 0 ? errno : 0;
  }
  static std::string function(const char* address) {
    return std::string("/sys/bus/pci/devices/") + address;
  }
  static bool eventually(const std::function<bool()>& done) {
    for (int i = 0; i < 3'000; ++i) {
      if (done()) return true;
      ::usleep(100'000);
    }
    return false;
  }
  [[nodiscard]] bool wait_for_driver(const char* address, const std::string& driver) const {
    return eventually([this, address, &driver] {
      const auto drive = look(address);
      return drive.ok() && drive->driver == driver &&
             (driver != "nvme" ||
              (drive->controller_state == "live" && !drive->namespaces.empty() &&
               ::access(("/dev/" + drive->namespaces.back().disk.name).c_str(), F_OK) == 0));
    });
  }
  // Binds by driver_override, as libvirt does; waits until it is done.
  [[nodiscard]] bool bind(const char* address, const std::string& driver) const {
    const std::string folder = function(address);
    write_sysfs(folder + "/driver_override", driver);
    write_sysfs(folder + "/driver/unbind", address);
    write_sysfs("/sys/bus/pci/drivers_probe", address);
    write_sysfs(folder + "/driver_override", "\n");
    return wait_for_driver(address, driver);
  }

  // A namespace full of a tenant's data, as it is on the media.
  void fill(const std::string& node) const {
    const UniqueFd fd(::open(node.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid()) << node;
    std::string mebi(1U << 20U, '\xA7');
    for (std::size_t at = 0; at < mebi.size(); at += 1024) {
      mebi.replace(at, std::string_view(kTenantText).size(), kTenantText);
    }
    while (::write(fd.get(), mebi.data(), mebi.size()) > 0) {
    }
    ASSERT_EQ(::fsync(fd.get()), 0);
  }
  // How much of it the host still finds in the image ("plain1").
  [[nodiscard]] std::uint64_t kept(const std::string& image) const {
    const auto count = host_->count(image, kTenantText);
    EXPECT_TRUE(count.ok()) << count.error().what;
    return count.ok() ? *count : 0;
  }

  template <typename T>
  static void expect_error(const Result<T>& result, Errc code, std::string_view says) {
    ASSERT_FALSE(result.ok()) << "should have failed: " << says;
    EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().what;
    EXPECT_NE(result.error().what.find(says), std::string::npos) << result.error().what;
  }

  nvme::Options options_;
  SystemClock clock_;
  ErrorsOnly log_;
  nvme::StopFlag stop_;
  std::vector<nvme::GuardFinding> findings_;
  std::unique_ptr<HostLine> host_;
};

}  // namespace reclaim::guest
