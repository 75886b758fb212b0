// The built-in steps of a PCI function, over a card that a tenant left in every way.
#include "nvme/pci/pci_steps.h"

#include <gtest/gtest.h>

#include "nvme/pci/function_files.h"
#include "nvme/pci/pci_state.h"
#include "tests/unit/nvme/pci_fixture.h"

namespace reclaim::nvme {
namespace {

class PciStepsTest : public PciFixture {
 protected:
  void SetUp() override {
    PciFixture::SetUp();
    const auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  }
  [[nodiscard]] std::string resets() const { return host_->function(kCard)->resets(); }
};

TEST_F(PciStepsTest, ACleanCardPassesThemAll) {
  enrol();
  for (const PciStep step :
       {PciStep::reset, PciStep::check_config, PciStep::check_rom, PciStep::check_health}) {
    const auto report = run(step);
    ASSERT_TRUE(report.ok()) << to_string(step) << ": " << report.error().what;
    EXPECT_FALSE(report->findings.empty()) << to_string(step);
    EXPECT_EQ(driver(), "vfio-pci");
  }
  EXPECT_EQ(resets(), "flr");
  EXPECT_TRUE(claim_->still_ours().ok());
}

TEST_F(PciStepsTest, WithoutABaselineTheyTellWhatTheySee) {
  EXPECT_EQ(told(run(PciStep::check_config)),
            "config: 8086:1572 revision 02, 11 capabilities, no baseline to compare with");
  EXPECT_EQ(told(run(PciStep::check_health)),
            "link: 8 GT/s x8 of 8 GT/s x8; errors: 0 fatal, 0 nonfatal, 0 correctable errors, no "
            "baseline to compare with");
  const auto rom = run(PciStep::check_rom);
  ASSERT_TRUE(rom.ok()) << rom.error().what;
  EXPECT_NE(told(rom).find("rom: 65536 bytes, SHA-256 "), std::string::npos) << told(rom);
  EXPECT_NE(told(rom).find(", no baseline"), std::string::npos);
}

TEST_F(PciStepsTest, ABaselineThatCannotBeReadStopsThem) {
  step_.enrolment = "{}";
  for (const PciStep step : {PciStep::check_config, PciStep::check_rom, PciStep::check_health}) {
    expect_error(run(step), Errc::failed, "enrol the device again");
  }
}

TEST_F(PciStepsTest, AChangedRegisterIsNamedWithTheRemedy) {
  enrol();
  set("config", "6c:deadbeef");
  const auto changed = run(PciStep::check_config);
  expect_error(changed, Errc::failed,
               "config: vendor-specific capability at 0x68 changed: 0x6c is de, was 78; write the "
               "vendor's firmware");
  step_.config_ignored = {{0x6c, 0x6f}};
  EXPECT_TRUE(run(PciStep::check_config).ok());
  set("config", "02:1710");
  EXPECT_FALSE(run(PciStep::check_config).ok());
}

TEST_F(PciStepsTest, WhatATenantOnlySetIsGoneAfterAReset) {
  enrol();
  set("register", "6c:deadbeef");
  expect_error(run(PciStep::check_config), Errc::failed, "vendor-specific");
  const auto report = run(PciStep::reset);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_NE(told(report).find("vendor-specific capability at 0x68 changed: 0x6c is 78, was de"),
            std::string::npos)
      << told(report);
  EXPECT_TRUE(run(PciStep::check_config).ok());
}

TEST_F(PciStepsTest, AChangedRomIsQuarantined) {
  enrol();
  const std::string before = decode_pci_state(step_.enrolment)->rom.sha256;
  set("rom", "implant");
  expect_error(run(PciStep::check_rom), Errc::failed, "was 65536 bytes, SHA-256 " + before);
  expect_error(run(PciStep::check_rom), Errc::failed, "write the vendor's firmware");
  // A digest that an operator allows is as good as the baseline's.
  const auto found = pci_enrolment(*claim_, none());
  ASSERT_TRUE(found.ok());
  step_.roms_allowed = {decode_pci_state(*found)->rom.sha256};
  EXPECT_NE(told(run(PciStep::check_rom)).find(", allowed"), std::string::npos);
  step_.enrolment.clear();
  set("rom", "another");
  expect_error(run(PciStep::check_rom), Errc::failed, "not among those allowed");
}

TEST_F(PciStepsTest, ARomThatGoesOrComesDiffers) {
  enrol();
  set("rom", "none");
  expect_error(run(PciStep::check_rom), Errc::failed, "rom: no ROM, was 65536 bytes");
  set("rom", "blank");
  expect_error(run(PciStep::check_rom), Errc::failed, "rom: no ROM, was 65536 bytes");
  enrol();
  EXPECT_EQ(told(run(PciStep::check_rom)), "rom: no ROM, as enrolled");
  set("rom", "implant");
  expect_error(run(PciStep::check_rom), Errc::failed, ", was no ROM");
}

TEST_F(PciStepsTest, ARomThatCannotBeReadIsNeverTakenForNone) {
  enrol();
  set("rom", "blank");
  enrol();
  // Asleep on vfio-pci, the card shows nothing of what is in it.
  set("rom", "implant");
  expect_error(run(PciStep::check_rom, StepDriver{}), Errc::failed,
               "it is bound to vfio-pci, which may have put it to sleep: let the step run with "
               "driver = none");
  set("rom", "blank");
  set("config", "30:00000000");  // nobody gave it an address
  expect_error(run(PciStep::check_rom), Errc::failed, "cannot be read at byte 0");
  set("rom", "shipped");
  set("rom_fails", "1");
  expect_error(run(PciStep::check_rom), Errc::failed, "cannot be read at byte 65536");
}

TEST_F(PciStepsTest, TheRomIsSwitchedOffAgainWhateverHappens) {
  const auto closed = [this] {
    return host_->function(kCard)->rom_error(0) == EINVAL && attribute("enable") != "1";
  };
  ASSERT_TRUE(claim_->use_driver(none()).ok());
  EXPECT_TRUE(read_rom(options_, request_.address).ok());
  EXPECT_TRUE(closed());
  set("rom_fails", "1");
  EXPECT_FALSE(read_rom(options_, request_.address).ok());
  EXPECT_TRUE(closed());
  ASSERT_TRUE(claim_->put_driver_back().ok());
}

TEST_F(PciStepsTest, NewErrorsAreCounted) {
  set("correctable", "7");
  set("nonfatal", "2");
  set("fatal", "1");
  enrol();
  EXPECT_TRUE(run(PciStep::check_health).ok());
  set("correctable", "1008");
  expect_error(run(PciStep::check_health), Errc::failed,
               "0 fatal, 0 nonfatal, 1001 correctable errors since it was enrolled, 1000 "
               "correctable are allowed; seat the device anew");
  set("correctable", "1007");
  EXPECT_TRUE(run(PciStep::check_health).ok());
  set("nonfatal", "3");
  expect_error(run(PciStep::check_health), Errc::failed, "1 nonfatal");
  set("nonfatal", "2");
  set("fatal", "2");
  expect_error(run(PciStep::check_health), Errc::failed, "1 fatal");
  // Since the host was booted again.
  set("nonfatal", "0");
  set("fatal", "0");
  EXPECT_TRUE(run(PciStep::check_health).ok());
  set("nonfatal", "1");
  expect_error(run(PciStep::check_health), Errc::failed, "1 nonfatal");
}

TEST_F(PciStepsTest, CountersThatGoAreNoGoodSign) {
  enrol();
  const auto folder = std::filesystem::canonical(root_ / "sys/bus/pci/devices" / kCard);
  std::filesystem::remove(folder / "aer_dev_fatal");
  expect_error(run(PciStep::check_health), Errc::failed, "has not all of its aer_dev_ files");
  std::filesystem::remove(folder / "aer_dev_nonfatal");
  std::filesystem::remove(folder / "aer_dev_correctable");
  expect_error(run(PciStep::check_health), Errc::failed, "does not count its errors any more");
  step_.enrolment.clear();
  EXPECT_NE(told(run(PciStep::check_health)).find("errors: the kernel counts none"),
            std::string::npos);
}

TEST_F(PciStepsTest, ALinkThatIsNarrowerOrSlower) {
  enrol();
  set("link", "3:4");
  expect_error(run(PciStep::check_health), Errc::failed,
               "link: 8 GT/s x4 of 8 GT/s x8, was 8 GT/s x8; reset it, seat it anew");
  set("link", "1:8");
  expect_error(run(PciStep::check_health), Errc::failed, "2.5 GT/s x8");
  set("link", "3:8");
  EXPECT_TRUE(run(PciStep::check_health).ok());
}

TEST_F(PciStepsTest, AResetThatDoesNotComeBack) {
  step_.reset_timeout_ms = 50;
  set("reset", "dead");
  const auto report = run(PciStep::reset);
  expect_error(report, Errc::failed, "reset: it did not come back within 50 ms");
  EXPECT_NE(report.error().what.find("power-cycle its slot, or replace it"), std::string::npos);
  EXPECT_EQ(attribute("reset_method"), "flr bus");
  expect_error(claim_->still_ours(), Errc::refused, "does not answer any more");
}

TEST_F(PciStepsTest, AResetThatTakesItsTime) {
  set("reset", "slow");
  const auto report = run(PciStep::reset);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(told(report).substr(0, 40), "reset: reset by flr, and it answers");
}

TEST_F(PciStepsTest, AResetAfterWhichItIsAnother) {
  set("reset", "other");
  expect_error(run(PciStep::reset), Errc::failed, "it came back as 8086:dead");
}

TEST_F(PciStepsTest, AResetThatTheKernelRefuses) {
  set("reset", "refused");
  expect_error(run(PciStep::reset), Errc::failed, "see the kernel's log");
  EXPECT_EQ(attribute("reset_method"), "flr bus");
  EXPECT_EQ(resets(), "");
}

TEST_F(PciStepsTest, TheMethodIsChosenAndTheFormerListPutBack) {
  const std::vector<std::pair<std::string, std::string>> choices = {
      {"device_specific+flr+pm+bus", "device_specific"},
      {"bus+pm+flr", "flr"},
      {"pm+af_flr", "af_flr"},
      {"bus+pm", "pm"},
      {"bus", "bus"}};
  std::string all;
  for (const auto& [listed, chosen] : choices) {
    set("methods", listed);
    const std::string before = attribute("reset_method");
    const auto report = run(PciStep::reset);
    ASSERT_TRUE(report.ok()) << listed << ": " << report.error().what;
    all += (all.empty() ? "" : " ") + chosen;
    EXPECT_EQ(resets(), all);
    EXPECT_EQ(attribute("reset_method"), before);
  }
}

TEST_F(PciStepsTest, TheBusIsNotResetUnderOthers) {
  set("methods", "bus");
  ASSERT_TRUE(host_->add_function("address=0000:3b:00.1,group=61,bound=vfio-pci").ok());
  expect_error(run(PciStep::reset), Errc::failed,
               "only its bus can be reset, and 0000:3b:00.1 is on it, too");
  EXPECT_EQ(resets(), "");
}

TEST_F(PciStepsTest, WithoutAMethodThereIsNoReset) {
  set("methods", "none");
  expect_error(run(PciStep::reset), Errc::failed, "the kernel has no way to reset this function");
  set("methods", "cxl_bus");
  expect_error(run(PciStep::reset), Errc::failed, "none is fit for it alone");
  EXPECT_EQ(resets(), "");
}

TEST_F(PciStepsTest, EndsWhenItIsTold) {
  step_.reset_timeout_ms = 3'600'000;
  set("reset", "dead");
  step_.step = PciStep::reset;
  stop_.request();
  expect_error(pci_reset(*claim_, step_, stop_), Errc::cancelled, "being reset");
  expect_error(run(PciStep::check_rom), Errc::cancelled, "stopped before pci.check_rom");
}

TEST_F(PciStepsTest, OfADeadFunctionNothingPasses) {
  enrol();
  set("reset", "dead");
  step_.reset_timeout_ms = 20;
  EXPECT_FALSE(run(PciStep::reset).ok());
  for (const PciStep step : {PciStep::check_config, PciStep::check_rom, PciStep::check_health}) {
    expect_error(run(step), Errc::refused, "does not answer");
  }
  expect_error(pci_check_config(*claim_, step_), Errc::failed, "does not answer");
  expect_error(pci_check_health(*claim_, step_), Errc::failed, "does not answer");
  EXPECT_FALSE(pci_enrolment(*claim_, none()).ok());
}

TEST(PciStepNames, ComeBack) {
  for (const PciStep step :
       {PciStep::reset, PciStep::check_config, PciStep::check_rom, PciStep::check_health}) {
    EXPECT_EQ(*parse_pci_step(to_string(step)), step);
  }
  const auto wrong = parse_pci_step("pci.polish");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().what.find("pci.reset, pci.check_config"), std::string::npos);
}

TEST(PciStepDriver, IsKeepNoneOrAName) {
  EXPECT_EQ(*parse_step_driver("keep"), StepDriver{});
  EXPECT_EQ(parse_step_driver("none")->kind, StepDriver::Kind::none);
  EXPECT_EQ(parse_step_driver("mlx5_core")->name, "mlx5_core");
  for (const char* wrong : {"", "a/b", "..", "i40e ", "a\nb"}) {
    EXPECT_FALSE(parse_step_driver(wrong).ok()) << wrong;
  }
  EXPECT_FALSE(parse_step_driver(std::string(65, 'a')).ok());
}

}  // namespace
}  // namespace reclaim::nvme
