// A PCI function that is no drive, on a real kernel: a network card with an expansion ROM, claimed,
// reset, checked, lent to another driver, and cleaned from end to end.
#include <fmt/core.h>

#include <array>
#include <fstream>

#include "nvme/host/driver_binding.h"
#include "nvme/pci/function_files.h"
#include "nvme/pci/pci_claim.h"
#include "nvme/pci/pci_steps.h"
#include "tests/guest/drive_thread_fixture.h"
#include "tests/guest/vfio_group.h"

namespace reclaim::guest {
namespace {

const nvme::StepDriver kNone{nvme::StepDriver::Kind::none, {}};

class PciGuestTest : public GuestTest {
 protected:
  void SetUp() override {
    GuestTest::SetUp();
    request_.address = *parse_pci_address(kCard);
    request_.resource_class = "CUSTOM_PCI_1AF4_1041";
    ASSERT_TRUE(bind(kCard, "vfio-pci"));
  }
  void TearDown() override {
    claim_.reset();
    EXPECT_TRUE(bind(kCard, "virtio-pci"));
  }
  [[nodiscard]] Status claim_card() {
    claim_.reset();
    auto claimed = nvme::PciClaim::create(options_, request_, &findings_, stop_, log_);
    if (!claimed) return claimed.error();
    claim_ = std::make_unique<nvme::PciClaim>(*std::move(claimed));
    return Ok{};
  }
  [[nodiscard]] Result<nvme::StepReport> run_step(nvme::PciStep step,
                                                  const nvme::StepDriver& driver = kNone) {
    nvme::PciStepRequest asked;
    asked.step = step;
    asked.driver = driver;
    asked.enrolment = enrolment_;
    auto report = nvme::run_pci_step(*claim_, asked, stop_);
    if (report) {
      for (const auto& each : report->findings) {
        std::cout << to_string(step) << ": " << each.surface << ": " << each.found << "\n";
      }
    }
    return report;
  }
  [[nodiscard]] std::string driver() const {
    const auto bound = nvme::read_driver(options_.sysfs_root, request_.address);
    return bound ? *bound : bound.error().what;
  }
  [[nodiscard]] std::string attribute(const std::string& name) const {
    const auto text = nvme::read_file(function(kCard) + "/" + name, 4096);
    return text ? *text : text.error().what;
  }

  nvme::PciClaimRequest request_;
  std::unique_ptr<nvme::PciClaim> claim_;
  std::string enrolment_;
};

constexpr std::array kAllSteps = {nvme::PciStep::reset, nvme::PciStep::check_config,
                                  nvme::PciStep::check_rom, nvme::PciStep::check_health};

TEST_F(PciGuestTest, IsResetCheckedAndGivenBack) {
  const std::string methods = attribute("reset_method");
  EXPECT_NE(methods.find("flr"), std::string::npos) << methods;
  const auto claimed = claim_card();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  auto enrolment = nvme::pci_enrolment(*claim_, kNone);
  ASSERT_TRUE(enrolment.ok()) << enrolment.error().what;
  std::cout << *enrolment << "\n";
  enrolment_ = *enrolment;
  const auto state = nvme::decode_pci_state(enrolment_);
  ASSERT_TRUE(state.ok()) << state.error().what;
  EXPECT_TRUE(state->rom.present);
  EXPECT_EQ(state->rom.bytes, 8192U);
  EXPECT_TRUE(state->errors.has_value());
  for (int i = 0; i < 2; ++i) {
    for (const nvme::PciStep step : kAllSteps) {
      const auto report = run_step(step);
      EXPECT_TRUE(report.ok()) << report.error().what;
    }
  }
  EXPECT_EQ(attribute("reset_method"), methods);
  EXPECT_EQ(attribute("driver_override"), "(null)");
  EXPECT_EQ(driver(), "vfio-pci");
  const auto held = claim_->still_ours();
  EXPECT_TRUE(held.ok()) << held.error().what;
  EXPECT_FALSE(open_group(claim_->sys().iommu_group).valid());
}

// What is read asleep, or without memory, is an error or the truth; never "no ROM".
TEST_F(PciGuestTest, ARomThatIsNotSeenIsNeverNone) {
  ASSERT_TRUE(claim_card().ok());
  const auto report = run_step(nvme::PciStep::check_rom, nvme::StepDriver{});
  if (report.ok()) {
    EXPECT_NE(report->findings[0].found.find("8192 bytes"), std::string::npos);
  } else {
    std::cout << report.error().what << "\n";
    EXPECT_NE(report.error().what.find("driver = none"), std::string::npos) << report.error().what;
  }
  ASSERT_TRUE(claim_->use_driver(kNone).ok());
  // Command: neither memory nor bus master.
  const UniqueFd config(::open((function(kCard) + "/config").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(config.get(), "\0\0", 2, 4), 2);
  EXPECT_TRUE(nvme::read_rom(options_, request_.address)->present);
  EXPECT_EQ(attribute("enable"), "0");
  // Switched off again: nobody else can read it.
  const UniqueFd rom(::open((function(kCard) + "/rom").c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  EXPECT_LT(::read(rom.get(), &byte, 1), 0);
  ASSERT_TRUE(claim_->put_driver_back().ok());
}

TEST_F(PciGuestTest, ATenantsRomIsFound) {
  ASSERT_TRUE(claim_card().ok());
  enrolment_ = *nvme::pci_enrolment(*claim_, kNone);
  claim_.reset();
  for (const char* owner : {"tenant", "maker"}) {
    ASSERT_EQ(*host_->monitor("device_del card"), "");
    ASSERT_TRUE(eventually([] { return ::access(function(kCard).c_str(), F_OK) != 0; }));
    // The device is QEMU's until the guest has let go of it.
    ASSERT_TRUE(eventually([this, owner] { return host_->plug_card(owner).ok(); }));
    ASSERT_TRUE(wait_for_driver(kCard, "virtio-pci")) << "what the kernel binds by itself";
    ASSERT_TRUE(bind(kCard, "vfio-pci"));
    const auto claimed = claim_card();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    const auto report = run_step(nvme::PciStep::check_rom);
    if (owner == std::string("maker")) {
      EXPECT_TRUE(report.ok()) << report.error().what;
    } else {
      expect_error(report, Errc::failed, "rom: 8192 bytes");
      std::cout << report.error().what << "\n";
    }
    const auto config = run_step(nvme::PciStep::check_config);
    EXPECT_TRUE(config.ok()) << config.error().what;
    claim_.reset();
  }
}

TEST_F(PciGuestTest, TheHostsOwnCardIsRefused) {
  be_impatient();
  ASSERT_TRUE(bind(kCard, "virtio-pci"));
  expect_error(claim_card(), Errc::failed, "bound to virtio-pci, which serves the host");
  request_.driver = "virtio-pci";
  const auto claimed = claim_card();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_EQ(attribute("driver_override"), "reclaim-claimed");
  claim_.reset();
  EXPECT_EQ(attribute("driver_override"), "(null)");
  const std::string net = function(kCard) + "/virtio*/net";
  ASSERT_EQ(run("ip link set $(ls " + net + ") up"), 0);
  expect_error(claim_card(), Errc::refused, "is up");
  ASSERT_EQ(run("ip link set $(ls " + net + ") down"), 0);
  EXPECT_TRUE(claim_card().ok());
}

TEST_F(PciGuestTest, AStepHasAnotherDriver) {
  ASSERT_TRUE(claim_card().ok());
  const auto bound = claim_->use_driver({nvme::StepDriver::Kind::named, "virtio-pci"});
  ASSERT_TRUE(bound.ok()) << bound.error().what;
  EXPECT_EQ(driver(), "virtio-pci");
  EXPECT_TRUE(claim_->recheck().ok());
  const auto back = claim_->put_driver_back();
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_TRUE(claim_->still_ours().ok());
}

TEST_F(PciGuestTest, WithoutADriverNoProbeBindsIt) {
  ASSERT_EQ(write_sysfs(function(kCard) + "/driver/unbind", kCard), 0);
  const auto claimed = claim_card();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_EQ(write_sysfs("/sys/bus/pci/drivers_probe", kCard), 0);
  EXPECT_EQ(driver(), "");
  EXPECT_TRUE(claim_->still_ours().ok());
  // What libvirt does at a guest's start and end.
  EXPECT_TRUE(bind(kCard, "vfio-pci"));
  ASSERT_EQ(write_sysfs(function(kCard) + "/driver/unbind", kCard), 0);
  expect_error(claim_->still_ours(), Errc::refused, "another program");
  claim_.reset();
  nvme::give_back_drive_left(options_, request_.address, log_);
  EXPECT_EQ(attribute("driver_override"), "(null)");
}

TEST_F(PciGuestTest, AGuestThatHasItKeepsIt) {
  const auto function = look(kCard);
  ASSERT_TRUE(function.ok());
  const Holder guest(function->iommu_group, kCard, true);
  ASSERT_TRUE(guest.holds());
  be_impatient();
  expect_error(claim_card(), Errc::busy, fmt::format("process {} (", guest.pid()));
}

// All that the worker does with it between its two looks at Placement, by the shipped DriveThreads.
class CleaningGuestTest : public DriveThreadTest {
 protected:
  static constexpr const char* kFolder = "/steps";  // root's, as is what is above it
  static constexpr const char* kCommand = "/steps/reflash";

  CleaningGuestTest() : DriveThreadTest(kCard) {}
  void SetUp() override {
    DriveThreadTest::SetUp();
    ASSERT_TRUE(bind(kCard, "vfio-pci"));
    drive_threads_.emplace(loop_.raw(), options_, clock_, log_);
    nvme::PciClaimRequest asked;
    asked.address = address_;
    asked.resource_class = "CUSTOM_PCI_1AF4_1041";
    asked.commands = {kCommand};
    write_command("exit 1");
    claim_ = await<nvme::ClaimReport>(
        [&](auto done) { drive_threads_->claim_function(asked, std::move(done)); });
    ASSERT_TRUE(claim_.ok()) << claim_.error().what;
    for (const auto& finding : claim_->findings) EXPECT_TRUE(finding.passed) << finding.guard;
  }
  void TearDown() override {
    DriveThreadTest::TearDown();
    EXPECT_TRUE(bind(kCard, "virtio-pci"));
  }
  // A step that succeeds only without a driver, and then does as `ends` says.
  static void write_command(const std::string& ends) {
    std::filesystem::create_directories(kFolder);
    std::ofstream(kCommand) << "#!/bin/sh\ncard=" + function(kCard) + R"(
read -r request
[ -e $card/driver ] && exit 2
echo '{"progress": 0.5, "message": "burning"}'
echo '{"finding": {"what": "vendor", "found": "'$(cat $card/vendor)'"}}'
)" + ends + "\n";
    std::filesystem::permissions(kCommand, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] Result<nvme::CommandReport> run_command(std::vector<std::string>& messages) {
    nvme::Command command;
    command.path = kCommand;
    command.input = "{}\n";
    command.driver = kNone;
    return await<nvme::CommandReport>([&](auto done) {
      drive_threads_->run_command(
          address_, command,
          [&messages](const nvme::CommandProgress& now) { messages.push_back(now.message); },
          std::move(done));
    });
  }
  void expect_all_pass(const std::string& enrolment) {
    for (const nvme::PciStep each : kAllSteps) {
      nvme::PciStepRequest asked;
      asked.step = each;
      asked.driver = kNone;
      asked.enrolment = enrolment;
      const auto report = await<StepReport>(
          [&](auto done) { drive_threads_->run_function_step(address_, asked, std::move(done)); });
      EXPECT_TRUE(report.ok()) << to_string(each) << ": " << report.error().what;
    }
  }
  [[nodiscard]] std::string driver() const {
    const auto bound = nvme::read_driver(options_.sysfs_root, address_);
    return bound ? *bound : bound.error().what;
  }

  Result<nvme::ClaimReport> claim_ = Error{Errc::unknown, "not claimed"};
};

TEST_F(CleaningGuestTest, EveryStepSucceedsAndItIsGivenBackAsItWas) {
  ASSERT_EQ(claim_->command_digests.size(), 1U);
  const auto enrolment = await<std::string>(
      [&](auto done) { drive_threads_->read_enrolment(address_, std::move(done)); });
  ASSERT_TRUE(enrolment.ok()) << enrolment.error().what;
  expect_all_pass(*enrolment);

  write_command("echo '{\"result\": \"verified\"}'");
  std::vector<std::string> messages;
  const auto step = run_command(messages);
  ASSERT_TRUE(step.ok()) << step.error().what;
  EXPECT_EQ(step->result, "verified");
  EXPECT_EQ(messages, std::vector<std::string>{"burning"});
  ASSERT_EQ(step->findings.size(), 1U);
  EXPECT_EQ(step->findings[0].found, "0x1af4");
  EXPECT_NE(step->sha256, claim_->command_digests.at(kCommand)) << "it was written again";
  EXPECT_EQ(driver(), "vfio-pci") << "put back behind the step";

  expect_all_pass(*enrolment);
  const auto restored =
      await<Ok>([&](auto done) { drive_threads_->restore_driver(address_, std::move(done)); });
  ASSERT_TRUE(restored.ok()) << restored.error().what;
  EXPECT_EQ(driver(), "vfio-pci");
  const auto ours = still_ours({});
  EXPECT_TRUE(ours.ok()) << ours.error().what;
  const int group = claim_->facts.iommu_group;
  EXPECT_FALSE(open_group(group).valid()) << "held until the release";
  drop();
  EXPECT_TRUE(open_group(group).valid());
}

TEST_F(CleaningGuestTest, AStepThatFailsLeavesItOnItsDriver) {
  write_command("echo '{\"result\": \"no image fits\"}'; exit 1");
  std::vector<std::string> messages;
  expect_error(run_command(messages), Errc::failed, "no image fits");
  EXPECT_EQ(driver(), "vfio-pci");
  drop();
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(*nvme::read_file(function(kCard) + "/driver_override", 99), "(null)");
}

}  // namespace
}  // namespace reclaim::guest
