// The clean step that makes one namespace over the whole drive, over the emulated controller.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "nvme/controller/admin_change.h"
#include "nvme/controller/admin_state.h"
#include "nvme/controller/controller_state.h"
#include "tests/integration/surfaces_fixture.h"

namespace reclaim::nvme {
namespace {

using NamespacesTest = SurfacesTest;

TEST_F(NamespacesTest, AnUntouchedDriveKeepsItsNamespace) {
  take();
  const auto report = step("reset_namespaces");
  EXPECT_EQ(resets(report), 0U);
  expect_finding(report, "namespaces", "as it should be", false);
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(NamespacesTest, SeveralNamespacesBecomeOneOverTheWholeDrive) {
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
TEST_F(NamespacesTest, WhatATenantDeletedIsOverwrittenToo) {
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

constexpr EraseMethod kClears[] = {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                   EraseMethod::format_crypto, EraseMethod::format_user_data};

// The drive takes no namespace over its whole capacity, and hands blocks out again unerased: what
// stays beside the largest comes to light in the next tenant's namespace.
TEST_F(NamespacesTest, WhatStaysUnallocatedQuarantinesUnlessASanitizeReachesIt) {
  make_drive("capacity=16M,namespace_headroom=64K,recycles_blocks=1");
  take_again();
  for (const EraseMethod clear : kClears) {
    // Nor does trying again help.
    for (int i = 0; i < 2; ++i) {
      expect_error(step("reset_namespaces", "", clear), Errc::failed,
                   "65536 bytes of the drive are in none of its namespaces");
      take_again();
    }
  }
  EXPECT_EQ(resets(step("reset_namespaces")), 0U);
}

TEST_F(NamespacesTest, TheLargestNamespaceThatTheDriveTakesIsMade) {
  make_drive("capacity=16M,namespace_headroom=70000", false);
  (*host_->drive(kAddress))->with([](emulator::Controller&, emulator::DriveState& state) {
    state.namespaces[0] = emulator::NamespaceState{};
  });
  ASSERT_TRUE(host_->reset(kAddress).ok());
  take_again();
  expect_finding(step("reset_namespaces"), "namespaces", "no namespace", true);
  ASSERT_EQ(sizes_of(*drive_).size(), 1U);
  const std::uint64_t made = sizes_of(*drive_)[0].first;
  EXPECT_LE(made, 16 * kMiB - 70'000);
  EXPECT_GE(made, 16 * kMiB - 70'000 - 16 * kMiB / 1024 - 512) << "a sanitize reaches the rest";
}

// Samsung's PM9A3 refuses one that is too large as an invalid format; others as a field.
TEST_F(NamespacesTest, HoweverADriveRefusesOneThatIsTooLargeASmallerOneIsTried) {
  for (const char* status : {"0x4115", "0x410a", "0x4002"}) {
    SCOPED_TRACE(status);
    take(std::string("capacity=16M,namespace_headroom=64K,too_large_status=") + status, false);
    const std::string before = enrol();
    drive_.reset();
    set("lba_format", "1:1");
    ASSERT_TRUE(host_->reset(kAddress).ok());
    take_again();
    expect_finding(step("reset_namespaces", before), "namespaces", "at enrolment its blocks", true);
    ASSERT_EQ(sizes_of(*drive_).size(), 1U);
    EXPECT_GE(sizes_of(*drive_)[0].first, 15 * kMiB);
    throw_away();
  }
}

TEST_F(NamespacesTest, ADriveThatDoesNotTellItsCapacityGetsItsFormerSize) {
  for (const bool enrolled : {true, false}) {
    SCOPED_TRACE(enrolled);
    take("tells_no_capacity=1", false);
    const std::string before = enrolled ? enrol() : "";
    drive_.reset();
    set("detach", "1");
    ASSERT_TRUE(host_->reset(kAddress).ok());
    take_again();
    expect_finding(step("reset_namespaces", before), "namespaces", "detached", true);
    ASSERT_EQ(sizes_of(*drive_).size(), 1U);
    EXPECT_EQ(sizes_of(*drive_)[0].first, 16 * kMiB);
    throw_away();
  }
}

// As large as the last tenant left it may be a part of what he had.
TEST_F(NamespacesTest, WithoutASanitizeNoSizeIsGuessed) {
  take("tells_no_capacity=1", false);
  drive_.reset();
  set("detach", "1");
  ASSERT_TRUE(host_->reset(kAddress).ok());
  take_again();
  expect_error(step("reset_namespaces", "", EraseMethod::overwrite), Errc::failed,
               "does not say how large it is");
}

// Nothing is promised that the next cleaning cannot keep.
TEST_F(NamespacesTest, WithoutANamespaceOrACapacityTheRemedyIsAnOperators) {
  take("tells_no_capacity=1", false);
  const std::string before = enrol();
  (*host_->drive(kAddress))->with([](emulator::Controller&, emulator::DriveState& state) {
    state.namespaces[0] = emulator::NamespaceState{};
  });
  drive_.reset();
  ASSERT_TRUE(host_->reset(kAddress).ok());
  take_again();
  expect_error(step("reset_namespaces"), Errc::failed, "`nvme create-ns`, then clean");
  expect_finding(step("reset_namespaces", before), "namespaces", "no namespace", true);
  EXPECT_EQ(sizes_of(*drive_)[0].first, 16 * kMiB) << "as it was enrolled";
}

TEST_F(NamespacesTest, AShrunkNamespaceGrowsBack) {
  make_drive("capacity=64M", false);
  take_again();
  expect_finding(step("reset_namespaces"), "namespaces", "67108864", true);
  ASSERT_EQ(sizes_of(*drive_).size(), 1U);
  EXPECT_EQ(sizes_of(*drive_)[0].first, 64 * kMiB);
}

TEST_F(NamespacesTest, AChangedBlockSizeIsSetBack) {
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
TEST_F(NamespacesTest, AFormatThatTheKernelCannotUseIsSetBack) {
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

TEST_F(NamespacesTest, AGuardThatAppearsStopsTheFallback) {
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

TEST_F(NamespacesTest, ADriveLeftWithoutANamespaceGetsOne) {
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

TEST_F(NamespacesTest, TheKernelMayTakeItsTimeToSeeTheNewNamespace) {
  make_drive("needs_rescan=1", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  expect_finding(step("reset_namespaces"), "namespaces", "there are 2 namespaces", true);
  EXPECT_EQ(sizes_of(*drive_).size(), 1U);
}

TEST_F(NamespacesTest, ANamespaceThatTheKernelDoesNotShowIsNotPassedOver) {
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

TEST_F(NamespacesTest, WithoutNamespaceManagementOnlyASanitizeReachesHiddenOnes) {
  // The drive cannot delete, but lists what is allocated.
  make_drive("oacs=2", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  const auto report = step("reset_namespaces");
  expect_finding(report, "namespaces", "sanitize_crypto erases them too", false);
  for (const EraseMethod clear : kClears) {
    expect_error(step("reset_namespaces", "", clear), Errc::failed, "clear_action=sanitize");
  }
}

TEST_F(NamespacesTest, ADriveThatDoesNotDeleteIsQuarantined) {
  make_drive("ignores_delete=1", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  expect_error(step("reset_namespaces"), Errc::failed, "still there after it was deleted");
}

TEST_F(NamespacesTest, AGuardThatAppearsStopsTheNamespacesFromBeingDeleted) {
  make_drive("", true);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(step("reset_namespaces"), Errc::refused, "mounted");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(NamespacesTest, AStopBeforeTheResetLeavesTheNamespaces) {
  make_drive("", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, false).ok());
  take_again();
  stop_.request();
  expect_error(step("reset_namespaces"), Errc::cancelled, "stopped");
  EXPECT_EQ(sizes_of(*drive_).size(), 2U);
}

TEST_F(NamespacesTest, ADriveThatHidesANamespaceIsQuarantined) {
  make_drive("hides_namespace=2", false);
  ASSERT_TRUE(host_->add_namespace(kAddress, 8 * kMiB, true).ok());
  take_again();
  expect_error(step("reset_namespaces"), Errc::failed, "the drive has 25165824 bytes");
}

TEST_F(NamespacesTest, ADriveThatOnlyClaimsToManageNamespacesFallsBack) {
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

}  // namespace
}  // namespace reclaim::nvme
