// The clean steps of a claimed drive over the emulated controller: what a tenant left is found,
// named, and reset or quarantined; what a drive tells wrongly never passes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "nvme/admin_change.h"
#include "nvme/admin_state.h"
#include "nvme/controller_state.h"
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

class SurfacesTest : public NvmeFixture {
 protected:
  [[nodiscard]] Result<StepReport> step(const std::string& name, const std::string& enrolment = "",
                                        EraseMethod method = EraseMethod::sanitize_crypto) {
    StepRequest request;
    request.step = name;
    request.enrolment = enrolment;
    request.method = method;
    request.accept_found = accept_found_;
    request.timeout_ms = 20'000;
    return drive_->run_step(
        request, [this](EraseProgress p) { progress_.push_back(p); }, stop_);
  }
  void take(const std::string& more = "", bool fill = true) {
    make_drive(more, fill);
    take_again();
  }
  void take_again() {
    drive_.reset();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
  }
  void throw_away() {
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
  // The drive as it is now, as a cleaning would have left it.
  [[nodiscard]] std::string enrol() {
    auto text = drive_->enrolment();
    EXPECT_TRUE(text.ok()) << text.error().what;
    return text.ok() ? *text : "";
  }
  void erase_fully_again() {
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    auto evidence = erase(*drive_);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    evidence_ = *evidence;
  }
  static void expect_finding(const Result<StepReport>& report, std::string_view surface,
                             std::string_view says, bool reset) {
    ASSERT_TRUE(report.ok()) << report.error().what;
    std::string all;
    for (const StepFinding& each : report->findings) {
      all += each.surface + ": " + each.found + (each.reset ? " (reset)\n" : "\n");
      if (each.surface == surface && each.found.find(says) != std::string::npos &&
          each.reset == reset) {
        return;
      }
    }
    FAIL() << "no finding of " << surface << " says '" << says << "' in\n" << all;
  }
  static std::size_t resets(const Result<StepReport>& report) {
    EXPECT_TRUE(report.ok()) << report.error().what;
    if (!report.ok()) return 99;
    return static_cast<std::size_t>(std::count_if(report->findings.begin(), report->findings.end(),
                                                  [](const StepFinding& f) { return f.reset; }));
  }
  bool accept_found_ = false;
};

TEST_F(SurfacesTest, AnUnknownStepIsSaidSo) {
  take();
  expect_error(step("nothing"), Errc::invalid, "nvme.nothing");
}

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

TEST_F(SurfacesTest, AnUnwellDriveIsQuarantined) {
  struct Case {
    std::string key;
    std::string value;
    std::string_view says;
  };
  for (const Case& c :
       {Case{"critical_warning", "4", "reliability degraded"},
        Case{"critical_warning", "8", "read only"}, Case{"available_spare", "5", "5 % spare"},
        Case{"percent_used", "101", "101 %"}, Case{"media_errors", "5", "1 media errors"},
        Case{"media_errors", "3", "never shrinks"}}) {
    SCOPED_TRACE(c.key + "=" + c.value);
    take("media_errors=4", false);
    const std::string before = enrol();
    set(c.key, c.value);
    expect_error(step("check_health", before), Errc::failed, c.says);
    throw_away();
  }
}

TEST_F(SurfacesTest, ABaselineOfAnotherDriveIsNoYardstick) {
  take();
  std::string before = enrol();
  before.replace(before.find("\"S1\""), 4, "\"S2\"");
  for (const char* name : {"check_health", "reset_controller_state", "reset_namespaces"}) {
    expect_error(step(name, before), Errc::failed, "serial S2");
  }
  expect_error(step("check_health", "{}"), Errc::failed, "enrol the drive anew");
}

TEST_F(SurfacesTest, ASanitizeThatWasLeftRunningIsWaitedFor) {
  take();
  expect_finding(step("recover_sanitize"), "sanitize", "none is running", false);
  EraseRequest request;
  request.timeout_ms = 1;
  set("duration_ms", "300");
  expect_error(erase(*drive_, request), Errc::unknown, "goes on in the drive");
  expect_finding(step("recover_sanitize"), "sanitize", "waited for", true);
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

TEST_F(SurfacesTest, AnOwnerAndAKeyAreAnOperatorsToAccept) {
  for (const auto& [made, key] :
       {std::pair{"opal=1,opal_block_sid=1", "opal_sid_set"}, std::pair{"rpmb=2", "rpmb_key"}}) {
    SCOPED_TRACE(key);
    take(made, false);
    const std::string before = enrol();
    set(key, "1");
    accept_found_ = false;
    expect_error(step("reset_controller_state"), Errc::failed, "device set ADDRESS --enrol");
    accept_found_ = true;
    const auto report = step("reset_controller_state");
    expect_finding(report, "enrolment", "an operator accepted the drive", false);
    EXPECT_FALSE(step("reset_controller_state", before).ok()) << "it came after the enrolment";
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

TEST_F(SurfacesTest, AnUntouchedDriveKeepsItsNamespace) {
  take();
  const auto report = step("reset_namespaces");
  EXPECT_EQ(resets(report), 0U);
  expect_finding(report, "namespaces", "as it should be", false);
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

// Sizes and formats of the namespaces that are attached now.
std::vector<std::pair<std::uint64_t, std::uint32_t>> sizes_of(const Drive& drive) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sizes;
  for (const NamespaceFacts& ns : drive.claim().namespace_facts()) {
    sizes.emplace_back(ns.capacity_bytes, ns.block_bytes);
  }
  return sizes;
}
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

TEST_F(SurfacesTest, SeveralNamespacesBecomeOneOverTheWholeDrive) {
  for (const bool hidden : {true, false}) {
    SCOPED_TRACE(hidden);
    make_drive("", false);
    ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, hidden).ok());
    take_again();
    EXPECT_EQ(sizes_of(*drive_).size(), hidden ? 1U : 2U);
    const auto report = step("reset_namespaces");
    expect_finding(report, "namespaces", "there are 2 namespaces", true);
    ASSERT_EQ(sizes_of(*drive_).size(), 1U);
    EXPECT_EQ(sizes_of(*drive_)[0].first, 24 * kMiB);
    EXPECT_EQ(resets(step("reset_namespaces")), 0U);
    // And the drive can be cleaned with the claim as it is now.
    erase_fully_again();
    EXPECT_TRUE(drive_
                    ->verify(
                        baseline_, evidence_, [](EraseProgress) {}, stop_)
                    .ok());
    throw_away();
  }
}

// Of a drive that gives a deleted namespace's blocks to the next one unerased, which a tenant used
// to hide a small one within what drives round.
TEST_F(SurfacesTest, WhatATenantDeletedIsOverwrittenToo) {
  make_host({"address=0000:01:00.0,serial=S1,size=64M,capacity=64M,sanicap=none,recycles_blocks=1"},
            false);
  take_again();
  const std::string enrolment = enrol();
  const int controller = drive_->claim().controller_fd();
  const std::string secret(512, 'S');
  const auto make_small = [&](std::uint64_t bytes) {
    NamespaceToMake make;
    make.block_bytes = 512;
    auto made = create_namespace(controller, make, bytes / 512, 1000);
    ASSERT_TRUE(made.ok()) << made.error().what;
    const auto layout = read_namespace_layout(controller, 1000);
    ASSERT_TRUE(layout.ok());
    ASSERT_TRUE(attach_namespace(controller, *made, layout->controller_id, true, 1000).ok());
    ASSERT_TRUE(rescan_namespaces(controller).ok());
  };
  const auto open_node = [&](const char* name) {
    return UniqueFd(::open((root_ / "dev" / name).c_str(), O_RDWR | O_CLOEXEC));
  };
  ASSERT_TRUE(delete_namespace(controller, 1, 1000).ok());
  make_small(58 * kMiB);
  make_small(6 * kMiB);
  {
    const UniqueFd tenant = open_node("nvme0n2");
    ASSERT_TRUE(tenant.valid());
    for (std::uint64_t at = 0; at < 6 * kMiB; at += secret.size()) {
      ASSERT_EQ(::pwrite(tenant.get(), secret.data(), secret.size(), static_cast<off_t>(at)), 512);
    }
  }
  ASSERT_TRUE(delete_namespace(controller, 2, 1000).ok());

  take_again();
  const auto report = step("reset_namespaces", enrolment, EraseMethod::overwrite);
  ASSERT_TRUE(report.ok()) << report.error().what;
  ASSERT_EQ(sizes_of(*drive_).size(), 1U);
  EXPECT_EQ(sizes_of(*drive_)[0].first, 64 * kMiB);
  auto baseline = drive_->take_baseline(stop_);
  ASSERT_TRUE(baseline.ok()) << baseline.error().what;
  baseline_ = *std::move(baseline);
  EraseRequest request;
  request.method = EraseMethod::overwrite;
  const auto evidence = erase(*drive_, request);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  const auto verified = verify(*drive_, *evidence);
  ASSERT_TRUE(verified.ok()) << verified.error().what;

  // The next tenant.
  const int again = drive_->claim().controller_fd();
  ASSERT_EQ(again, controller);
  ASSERT_TRUE(delete_namespace(controller, 1, 1000).ok());
  make_small(6 * kMiB);
  const UniqueFd next = open_node("nvme0n1");
  ASSERT_TRUE(next.valid());
  std::string bytes(6 * kMiB, '\0');
  ASSERT_EQ(::pread(next.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(bytes.find('S'), std::string::npos);
}

TEST_F(SurfacesTest, AShrunkNamespaceGrowsBack) {
  make_drive("capacity=64M", false);
  take_again();
  expect_finding(step("reset_namespaces"), "namespaces", "67108864", true);
  ASSERT_EQ(sizes_of(*drive_).size(), 1U);
  EXPECT_EQ(sizes_of(*drive_)[0].first, 64 * kMiB);
}

TEST_F(SurfacesTest, AChangedBlockSizeIsSetBack) {
  for (const char* abilities : {"", "oacs=2"}) {
    SCOPED_TRACE(abilities);
    take(abilities, false);
    const std::string before = enrol();
    drive_.reset();
    set("lba_format", "1:1");
    ASSERT_TRUE(host_->reset(kAddress).ok());
    take_again();
    ASSERT_EQ(sizes_of(*drive_)[0].second, 4096U);
    // A first cleaning does not know better.
    EXPECT_EQ(resets(step("reset_namespaces")), 0U);
    expect_finding(step("reset_namespaces", before), "namespaces", "at enrolment its blocks", true);
    EXPECT_EQ(sizes_of(*drive_)[0].second, 512U);
    EXPECT_EQ(sizes_of(*drive_)[0].first, 16 * kMiB);
    EXPECT_EQ(resets(step("reset_namespaces", before)), 0U);
    throw_away();
  }
}

// The kernel makes a disk without a size of it, which is held like any other until it is put right.
TEST_F(SurfacesTest, AFormatThatTheKernelCannotUseIsSetBack) {
  for (const char* abilities : {"", "oacs=2"}) {
    for (const bool enrolled : {true, false}) {
      SCOPED_TRACE(std::string(abilities) + (enrolled ? ", enrolled" : ""));
      take(abilities, false);
      const std::string before = enrolled ? enrol() : "";
      drive_.reset();
      set("lba_format", "1:2");
      ASSERT_TRUE(host_->reset(kAddress).ok());
      take_again();
      EXPECT_NE(findings_.back().detail.find("nvme0n1 is 0 bytes"), std::string::npos);
      // Until then nothing is done by that disk.
      expect_error(drive_->take_baseline(stop_), Errc::failed, "nvme0n1 is 0 bytes");
      for (const EraseMethod clear : {EraseMethod::overwrite, EraseMethod::format_user_data}) {
        EraseRequest request;
        request.method = clear;
        expect_error(erase(*drive_, request), Errc::failed, "nvme0n1 is 0 bytes");
      }
      const auto evidence = erase(*drive_);
      ASSERT_TRUE(evidence.ok()) << evidence.error().what;
      expect_error(verify(*drive_, *evidence), Errc::failed, "nvme0n1 is 0 bytes");

      expect_finding(step("reset_namespaces", before), "namespaces", "metadata", true);
      ASSERT_EQ(sizes_of(*drive_).size(), 1U);
      EXPECT_EQ(sizes_of(*drive_)[0].first, 16 * kMiB);
      erase_fully_again();
      EXPECT_TRUE(verify(*drive_).ok());
      throw_away();
    }
  }
}

TEST_F(SurfacesTest, AGuardThatAppearsStopsTheFallback) {
  take("lacks_namespace_commands=1", false);
  const std::string before = enrol();
  drive_.reset();
  set("lba_format", "1:1");
  ASSERT_TRUE(host_->reset(kAddress).ok());
  take_again();
  // Swapped with the delete that the drive does not know: three lists, the namespace, the serial.
  set("serial_changes_after", "5");
  expect_error(step("reset_namespaces", before), Errc::refused, "serial");
  EXPECT_EQ(sizes_of(*drive_)[0].second, 4096U);
}

TEST_F(SurfacesTest, ADriveLeftWithoutANamespaceGetsOne) {
  take("", false);
  (*host_->drive(kAddress))->with([](emulator::Controller&, emulator::DriveState& state) {
    state.namespaces[0] = emulator::NamespaceState{};
  });
  drive_.reset();
  ASSERT_TRUE(host_->reset(kAddress).ok());
  take_again();
  EXPECT_TRUE(sizes_of(*drive_).empty());
  expect_finding(step("reset_namespaces"), "namespaces", "no namespace", true);
  ASSERT_EQ(sizes_of(*drive_).size(), 1U);
  EXPECT_EQ(sizes_of(*drive_)[0].first, 16 * kMiB);
}

TEST_F(SurfacesTest, TheKernelMayTakeItsTimeToSeeTheNewNamespace) {
  make_drive("needs_rescan=1", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  expect_finding(step("reset_namespaces"), "namespaces", "there are 2 namespaces", true);
  EXPECT_EQ(sizes_of(*drive_).size(), 1U);
}

TEST_F(SurfacesTest, ANamespaceThatTheKernelDoesNotShowIsNotPassedOver) {
  make_drive("", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  auto claim = Claim::create(options_, request_, &findings_, stop_, log_);
  ASSERT_TRUE(claim.ok()) << claim.error().what;
  // Attached behind the kernel's back.
  (*host_->drive(kAddress))->with([](emulator::Controller&, emulator::DriveState& state) {
    state.namespaces[1].attached = true;
  });
  expect_error(claim->reopen_namespaces(100, stop_), Errc::failed,
               "namespaces 1 2 attached, the kernel shows 1");
  EXPECT_TRUE(claim->namespaces().empty());
}

TEST_F(SurfacesTest, WithoutNamespaceManagementOnlyASanitizeReachesHiddenOnes) {
  // The drive cannot delete, but lists what is allocated.
  make_drive("oacs=2", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  const auto report = step("reset_namespaces");
  expect_finding(report, "namespaces", "sanitize_crypto erases them too", false);
  for (const EraseMethod clear : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                  EraseMethod::format_crypto, EraseMethod::format_user_data}) {
    expect_error(step("reset_namespaces", "", clear), Errc::failed, "clear_action=sanitize");
  }
}

TEST_F(SurfacesTest, ADriveThatDoesNotDeleteIsQuarantined) {
  make_drive("ignores_delete=1", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  expect_error(step("reset_namespaces"), Errc::failed, "still there after it was deleted");
}

TEST_F(SurfacesTest, AGuardThatAppearsStopsTheNamespacesFromBeingDeleted) {
  make_drive("", true);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(step("reset_namespaces"), Errc::refused, "mounted");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(SurfacesTest, AStopBeforeTheResetLeavesTheNamespaces) {
  make_drive("", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, false).ok());
  take_again();
  stop_.request();
  expect_error(step("reset_namespaces"), Errc::cancelled, "stopped");
  EXPECT_EQ(sizes_of(*drive_).size(), 2U);
}

TEST_F(SurfacesTest, ADriveThatHidesANamespaceIsQuarantined) {
  make_drive("hides_namespace=2", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  expect_error(step("reset_namespaces"), Errc::failed, "the drive has 25165824 bytes");
}

TEST_F(SurfacesTest, ADriveThatOnlyClaimsToManageNamespacesFallsBack) {
  make_drive("lacks_namespace_commands=1", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, false).ok());
  take_again();
  const auto report = step("reset_namespaces", "", EraseMethod::write_zeroes);
  expect_finding(report, "namespaces", "claims to manage namespaces, but cannot", false);
  EXPECT_EQ(sizes_of(*drive_).size(), 2U);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  expect_error(step("reset_namespaces", "", EraseMethod::write_zeroes), Errc::failed,
               "out of reach");
  EXPECT_EQ(resets(step("reset_namespaces")), 0U);
}

// However long a drive takes for each answer, a step ends.
TEST_F(SurfacesTest, AStepThatIsOverItsTimeEnds) {
  make_drive("boot_partition=1M", true);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, false).ok());
  take_again();
  for (const char* name : {"reset_controller_state", "reset_namespaces"}) {
    StepRequest request;
    request.step = name;
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

// What the drive says it has and does not let us read is no surface to pass over.
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
