// The clean steps of a claimed drive over the emulated controller: what a tenant left is found,
// named, and reset or quarantined; what a drive tells wrongly never passes.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <tuple>

#include "nvme/controller/controller_state.h"
#include "tests/integration/surfaces_fixture.h"

namespace reclaim::nvme {
namespace {

TEST_F(SurfacesTest, AHealthyDriveIsToldOf) {
  take("percent_used=3");
  const auto report = step("check_health");
  expect_finding(report, "percentage_used", "3 %", false);
  expect_finding(report, "enrolment", "none yet", false);
}

TEST_F(SurfacesTest, WhatATenancyWroteIsCounted) {
  take("", false);
  set("data_units_written", "100");
  const std::string before = enrol();
  set("data_units_written", "102");
  expect_finding(step("check_health", before), "data_written", "1024000 bytes", false);
}

TEST_F(SurfacesTest, AnUnwellDriveIsSaidToBeErasedAndNotReturned) {
  struct Case {
    std::string key;
    std::string value;
    std::string_view says;
  };
  for (const Case& c :
       {Case{"critical_warning", "4", "reliability degraded"},
        Case{"critical_warning", "8", "read only"}, Case{"available_spare", "5", "5 % spare"},
        Case{"percent_used", "101", "101 %"}, Case{"media_errors", "5", "1 media errors"}}) {
    SCOPED_TRACE(c.key + "=" + c.value);
    take("media_errors=4", false);
    const std::string before = enrol();
    set(c.key, c.value);
    const auto report = step("check_health", before);
    expect_finding(report, "health", "going to be erased, and not returned", false);
    expect_finding(report, "health", c.says, false);
    throw_away();
  }
}

TEST_F(SurfacesTest, ACounterThatShrinksIsToldOf) {
  take("power_on_hours=1234", false);
  const std::string before = enrol();
  set("power_on_hours", "0");
  const auto report = step("check_health", before);
  expect_finding(report, "power_on_hours", "was 1234 at enrolment: it does not count on", false);
  for (const StepFinding& each : report->findings) EXPECT_NE(each.surface, "health") << each.found;
}

TEST_F(SurfacesTest, ABaselineOfAnotherDriveIsNoYardstick) {
  take();
  std::string before = enrol();
  before.replace(before.find("\"S1\""), 4, "\"S2\"");
  for (const char* name : {"check_health", "reset_controller_state", "reset_namespaces"}) {
    expect_error(step(name, before), Errc::failed, "serial S2");
  }
  expect_error(step("check_health", "{}"), Errc::failed, "enrol the drive again");
}

TEST_F(SurfacesTest, ASanitizeThatWasLeftRunningIsWaitedFor) {
  const auto admin_commands = [this] {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) {
      return std::uint64_t{state.admin_commands};
    });
  };
  take();
  expect_finding(step("recover_sanitize"), "sanitize", "none is running", false);
  EraseRequest request;
  request.timeout_ms = 1;
  set("duration_ms", "3600000");
  expect_error(erase(*drive_, request), Errc::unknown, "goes on in the drive");
  // The second look at it is not the one that found it running: from then on it may end.
  const std::uint64_t before = admin_commands();
  std::thread drive([&] {
    while (admin_commands() < before + 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    set("advance_ms", "3600000");
  });
  expect_finding(step("recover_sanitize"), "sanitize", "waited for", true);
  drive.join();
}

TEST_F(SurfacesTest, AFailedSanitizeIsLiftedByOneThatSucceeds) {
  take("sstat=3");
  expect_error(step("recover_sanitize", "", EraseMethod::write_zeroes), Errc::failed,
               "nvme sanitize");
  EXPECT_EQ(sanitizes(), 0U);
  expect_finding(step("recover_sanitize"), "sanitize", "had failed", true);
  EXPECT_EQ(sanitizes(), 1U);
  EXPECT_TRUE(drive_->take_baseline(stop_).ok());
}

TEST_F(SurfacesTest, ADriveWithoutSanitizeHasNothingToRecover) {
  take("sanicap=none");
  expect_finding(step("recover_sanitize"), "sanitize", "no Sanitize", false);
}

TEST_F(SurfacesTest, AnUntouchedControllerPasses) {
  take();
  const auto first = step("reset_controller_state");
  EXPECT_EQ(resets(first), 0U);
  expect_finding(first, "enrolment", "no enrolment baseline", false);
  const auto second = step("reset_controller_state", enrol());
  EXPECT_EQ(resets(second), 0U);
  expect_finding(second, "features", "none differs from the enrolment", false);
}

// What a tenant can leave for ever: enrolled clean, changed by the tenant, quarantined with the
// remedy. `made`: what the drive has; `left`: what the tenant did.
TEST_F(SurfacesTest, WhatCannotBeResetQuarantinesTheDrive) {
  struct Case {
    std::string made;
    std::string left_key;
    std::string left_value;
    std::string_view says;
    bool without_enrolment;  // wrong by itself
  };
  const std::vector<Case> cases = {
      {"opal=1", "opal_enabled", "1", "locking is enabled", true},
      {"opal=1", "opal_locked", "1", "PSID", true},
      {"opal=1", "opal_mbr", "1", "shadow MBR", true},
      {"opal=1,opal_block_sid=1", "opal_sid_set", "1", "the SID ", true},
      {"rpmb=2", "rpmb_key", "1", "authentication key", true},
      {"boot_partition=128K", "boot_seed", "0:7", "content", false},
      {"boot_partition=128K", "boot_seed", "1:7", "content", false},
      {"boot_partition=128K", "boot_active", "1", "partition 1 is active", false},
      {"frmw=0x06", "firmware_slot", "2:EVIL", "slot 2 holds revision 'EVIL'", false},
      {"frmw=0x06,firmware_slot=2:OTHER", "firmware_pending", "2", "next reset", true},
      {"", "firmware", "EVIL", "at enrolment", false},
      {"", "lockdown", "0x84", "power-cycle", true},
      {"", "lockdown_feature", "0x06", "feature 0x06", true},
      {"feature_data=0x03:0", "feature_data", "0x03:7", "lba_range_types: of namespace 1", false},
      {"", "feature_data", "0x0c:7", "power_state_transitions: of the controller", false},
      {"feature_data=0x7d:0", "feature_data", "0x7d:7", "enhanced_controller_metadata", false},
      {"feature_data=0x7e:5", "feature_data", "0x7e:7", "controller_metadata", false},
      {"feature_data=0x7f:0", "feature_data", "0x7f:7", "namespace_metadata", false},
      {"nvm_sets=1", "nvm_sets", "2", "nvm_sets: of the drive: 1 of group 0", false},
      {"endurance_groups=2", "endurance_groups", "3", "endurance_groups: of the drive", false},
      {"endurance_groups=2", "placement", "1", "1 (placement 0x1) 2 (placement 0x1)", false},
      {"", "write_protect", "1:2", "until a power cycle", true},
      {"", "write_protect", "1:3", "permanently", true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.left_key + "=" + c.left_value);
    take(c.made, false);
    const std::string before = enrol();
    EXPECT_EQ(resets(step("reset_controller_state", before)), 0U);
    set(c.left_key, c.left_value);
    expect_error(step("reset_controller_state", before), Errc::failed, c.says);
    if (c.without_enrolment) {
      expect_error(step("reset_controller_state"), Errc::failed, c.says);
    } else {
      EXPECT_EQ(resets(step("reset_controller_state")), 0U);
    }
    throw_away();
  }
}

// The drive's memory past its blocks, as the kernel and its registers show it.
TEST_F(SurfacesTest, MemoryThatOnlyASanitizeClearsQuarantinesWithoutOne) {
  for (const auto& [made, surface] :
       {std::pair<std::string, std::string>{"cmb=1", "controller_memory_buffer"},
        {"pmr=1", "persistent_memory_region"}}) {
    SCOPED_TRACE(made);
    take(made, false);
    for (const EraseMethod clear : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                    EraseMethod::format_crypto, EraseMethod::format_user_data}) {
      expect_error(step("reset_controller_state", "", clear), Errc::failed, surface + ": there is");
    }
    expect_finding(step("reset_controller_state"), surface, "a sanitize clears it", false);
    throw_away();
  }
  take();
  for (const char* surface : {"controller_memory_buffer", "persistent_memory_region"}) {
    expect_finding(step("reset_controller_state", "", EraseMethod::overwrite), surface, "none",
                   false);
  }
}

// The kernel lets the registers not be mapped: then the BARs tell.
TEST_F(SurfacesTest, MemoryThatNobodyTellsOfNeedsASanitizeToo) {
  take();
  const auto function = root_ / "sys/bus/pci/devices" / kAddress;
  // Of a function that sleeps in D3 all registers read as zeroes: that tells as little.
  std::ofstream(function / "resource0") << std::string(4096, '\0');
  for (const char* surface : {"controller_memory_buffer", "persistent_memory_region"}) {
    expect_error(step("reset_controller_state", "", EraseMethod::overwrite), Errc::failed,
                 std::string(surface) + ": whether there is");
  }
  std::filesystem::remove(function / "resource0");
  const auto show = [&function](const std::string& first, const std::string& third) {
    std::ofstream file(function / "resource");
    const std::string none = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    file << first << none << third << none << none << none << none;
  };
  const std::string none = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  const std::string registers = "0x00000000fc600000 0x00000000fc603fff 0x0000000000140204\n";
  const std::string ports = "0x000000000000c000 0x000000000000c007 0x0000000000040101\n";
  const std::string memory = "0x00000000fda00000 0x00000000fdafffff 0x000000000014220c\n";
  for (const auto& [first, third, told] : {std::tuple{registers, none, true},
                                           {registers, ports, true},
                                           {registers, memory, false},
                                           {memory, none, false},
                                           {std::string("garbage\n"), none, false}}) {
    SCOPED_TRACE(first + third);
    show(first, third);
    for (const std::string surface : {"controller_memory_buffer", "persistent_memory_region"}) {
      const auto done = step("reset_controller_state", "", EraseMethod::overwrite);
      if (told) {
        expect_finding(done, surface, "none", false);
      } else {
        expect_error(done, Errc::failed, surface + ": whether there is");
      }
      expect_finding(step("reset_controller_state"), surface, told ? "none" : "was not told",
                     false);
    }
  }
}

TEST_F(SurfacesTest, WhatWasNotLookedAtIsSaid) {
  take();
  expect_finding(step("reset_controller_state"), "not_looked_at", "telemetry", false);
}

TEST_F(SurfacesTest, AnOwnerAndAKeyAreAnOperatorsToAccept) {
  for (const auto& [made, key] :
       {std::pair{"opal=1,opal_block_sid=1", "opal_sid_set"}, std::pair{"rpmb=2", "rpmb_key"}}) {
    take(made, false);
    set(key, "1");
    accept_found_ = false;
    expect_error(step("reset_controller_state"), Errc::failed, "device set ADDRESS --enrol");
    accept_found_ = true;
    expect_finding(step("reset_controller_state"), "enrolment", "an operator accepted", false);
    throw_away();
  }
}

TEST_F(SurfacesTest, WhatCanBeResetIs) {
  struct Case {
    std::string made;
    std::string left_key;
    std::string left_value;
    std::string_view surface;
    std::string_view says;
    bool without_enrolment;
  };
  const std::vector<Case> cases = {
      {"", "write_protect", "1:1", "write_protect", "was write protected", true},
      {"", "reservation", "1:1:0x1234", "reservations", "type 1", true},
      {"", "reservation", "1:3:0x1234", "reservations", "type 3", true},
      {"", "reservation", "1:0:0x1234", "reservations", "1 registrants", true},
      {"", "dulbe", "1", "features", "error recovery", true},
      {"", "nodrm", "1", "features", "sanitize config", true},
      {"", "feature", "0x06:0", "features", "volatile write cache", false},
      {"", "feature_saved", "0x04:300", "features", "temperature", false},
      {"self_test_ms=3600000", "self_test", "2", "self_test", "operation 2", true},
  };
  for (const Case& c : cases) {
    for (const bool enrolled : {true, false}) {
      SCOPED_TRACE(c.left_key + "=" + c.left_value + (enrolled ? " enrolled" : ""));
      take(c.made, false);
      const std::string before = enrolled ? enrol() : "";
      set(c.left_key, c.left_value);
      const auto report = step("reset_controller_state", before);
      if (enrolled || c.without_enrolment) {
        expect_finding(report, c.surface, c.says, true);
      } else {
        expect_finding(report, c.surface, c.says, false);
      }
      // Idempotent: nothing is left to reset.
      EXPECT_EQ(resets(step("reset_controller_state", before)), 0U);
      throw_away();
    }
  }
}

TEST_F(SurfacesTest, AFirmwareThatIsAllowedPasses) {
  take("frmw=0x06", false);
  const std::string before = enrol();
  request_.rules.firmware_allowed = {"RCL0001", "NEWER"};
  take_again();
  set("firmware_slot", "2:NEWER");
  EXPECT_EQ(resets(step("reset_controller_state", before)), 0U);
  set("firmware_slot", "2:OLDER");
  expect_error(step("reset_controller_state", before), Errc::failed, "device_spec does not name");
}

TEST_F(SurfacesTest, ADriveThatIgnoresWhatItIsToldIsQuarantined) {
  take("", false);
  const std::string before = enrol();
  set("feature", "0x06:0");
  set("ignores_features", "1");
  expect_error(step("reset_controller_state", before), Errc::failed, "still as it was found");
}

TEST_F(SurfacesTest, AGuardThatAppearsStopsTheReset) {
  take("", false);
  set("dulbe", "1");
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(step("reset_controller_state"), Errc::refused, "mounted");
}

TEST_F(SurfacesTest, ReadingTheStateLeavesTheDriveAsItWas) {
  take("opal=1,rpmb=1,boot_partition=256K", false);
  erase_fully_again();
  const std::string first = enrol();
  EXPECT_EQ(first, enrol());
  const auto report = drive_->verify(
      baseline_, evidence_, [](EraseProgress) {}, stop_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_TRUE(report->global_data_erased);
}

// However long a drive takes for each answer, a step ends.
TEST_F(SurfacesTest, AStepThatIsOverItsTimeEnds) {
  make_drive("boot_partition=1M", true);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, false).ok());
  take_again();
  for (const DriveStep step : {DriveStep::reset_controller_state, DriveStep::reset_namespaces}) {
    StepRequest request;
    request.step = step;
    request.timeout_ms = 0;
    const auto late = drive_->run_step(
        request, [](EraseProgress) {}, stop_);
    expect_error(late, Errc::failed, "within the step's time");
    EXPECT_EQ(sizes_of(*drive_).size(), 2U);
  }
  stop_.request();
  for (const char* name : {"reset_controller_state", "reset_namespaces"}) {
    expect_error(step(name), Errc::cancelled, "stopped");
  }
}

// What the drive says it has and does not let us read is not a surface to pass over.
TEST_F(SurfacesTest, AClaimedSurfaceThatCannotBeReadQuarantines) {
  take("rpmbs=1", false);
  expect_error(step("reset_controller_state"), Errc::failed, "rpmb: the drive says it has it");
  EXPECT_FALSE(drive_->enrolment().ok());
}

TEST_F(SurfacesTest, ADriveThatTalksNonsenseIsQuarantined) {
  take("", false);
  set("garbage_identify", "1");
  for (const char* name : {"reset_controller_state", "reset_namespaces"}) {
    const auto report = step(name);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, Errc::failed);
  }
}

TEST_F(SurfacesTest, ADriveThatIsSwappedBeforeTheResetIsLeftAlone) {
  make_drive("", true);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, false).ok());
  take_again();
  set("dulbe", "1");
  set("serial_changes", "1");
  expect_error(step("reset_controller_state"), Errc::refused, "serial");
  expect_error(step("reset_namespaces"), Errc::refused, "serial");
  EXPECT_EQ(sizes_of(*drive_).size(), 2U);
}

TEST_F(SurfacesTest, ARecoveryThatFailsIsSaidSo) {
  take("sstat=3,fails_at=40", false);
  expect_error(step("recover_sanitize"), Errc::failed, "so does the one to recover");
}

}  // namespace
}  // namespace reclaim::nvme
