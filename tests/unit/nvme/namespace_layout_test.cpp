#include "nvme/controller/namespace_layout.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

NamespaceState ns(std::uint32_t nsid, std::uint64_t bytes, std::uint32_t block = 512,
                  bool active = true) {
  NamespaceState state;
  state.nsid = nsid;
  state.active = active;
  state.block_bytes = block;
  state.format = block == 4096 ? 1 : 0;
  state.size_blocks = bytes / block;
  state.capacity_blocks = state.size_blocks;
  return state;
}

ControllerState drive(std::vector<NamespaceState> namespaces) {
  ControllerState state;
  state.oacs = 8 | 2;
  state.capacity_bytes = 100 * kGiB;
  state.formats = {LbaFormat{512, 0, 2}, LbaFormat{4096, 0, 0}, LbaFormat{512, 8, 0}};
  state.unallocated_bytes = state.capacity_bytes;
  for (const NamespaceState& each : namespaces) state.unallocated_bytes -= each.bytes();
  state.namespaces = std::move(namespaces);
  return state;
}

constexpr EraseMethod kPurge = EraseMethod::sanitize_crypto;

TEST(CapacityComparison, RoundsAsDrivesDo) {
  EXPECT_TRUE(about_equal(100 * kGiB, 100 * kGiB));
  EXPECT_TRUE(about_equal(100 * kGiB, 99 * kGiB));
  EXPECT_FALSE(about_equal(100 * kGiB, 98 * kGiB));
  EXPECT_TRUE(about_equal(kGiB, kGiB - 64 * kMiB));
  EXPECT_FALSE(about_equal(kGiB, kGiB - 65 * kMiB));
  EXPECT_FALSE(about_equal(16 * kMiB, 14 * kMiB));  // a tenth at most
  EXPECT_TRUE(about_equal(0, 0));
  EXPECT_FALSE(about_equal(kMiB, 0));
}

struct Case {
  const char* name;
  void (*change)(ControllerState& now);
  const char* says;  // "": as it should be
};

const Case kCases[] = {
    {"untouched", [](auto&) {}, ""},
    {"rounded", [](auto& s) { s = drive({ns(1, 100 * kGiB - 64 * kMiB)}); }, ""},
    {"another nsid", [](auto& s) { s.namespaces[0].nsid = 2; }, ""},
    {"shrunk", [](auto& s) { s = drive({ns(1, 50 * kGiB)}); }, "bytes"},
    {"extra",
     [](auto& s) {
       s = drive({ns(1, 50 * kGiB), ns(2, 50 * kGiB)});
     },
     "2 namespaces"},
    {"hidden extra",
     [](auto& s) {
       s = drive({ns(1, 99 * kGiB), ns(2, kGiB, 512, false)});
     },
     "2 namespaces"},
    {"detached", [](auto& s) { s.namespaces[0].active = false; }, "detached"},
    {"none", [](auto& s) { s = drive({}); }, "no namespace"},
    {"room for another", [](auto& s) { s.unallocated_bytes = 2 * kGiB; }, "not allocated"},
    {"thin", [](auto& s) { s.namespaces[0].capacity_blocks -= 1; }, "thinly"},
    {"metadata", [](auto& s) { s.namespaces[0].metadata_bytes = 8; }, "metadata"},
    {"protection", [](auto& s) { s.namespaces[0].protection = 1; }, "protection"},
};

TEST(NamespacePlan, WithManagementOneIsMadeOverTheWholeDrive) {
  const ControllerState enrolled = drive({ns(1, 100 * kGiB)});
  for (const ControllerState* yardstick :
       {static_cast<const ControllerState*>(nullptr), &enrolled}) {
    for (const Case& each : kCases) {
      SCOPED_TRACE(std::string(each.name) + (yardstick != nullptr ? ", enrolled" : ""));
      ControllerState now = drive({ns(1, 100 * kGiB)});
      each.change(now);
      const auto plan = plan_namespaces(now, yardstick, kPurge, true);
      ASSERT_TRUE(plan.ok()) << plan.error().what;
      ASSERT_FALSE(plan->findings.empty());
      EXPECT_EQ(plan->nothing_to_do(), std::string_view(each.says).empty());
      EXPECT_EQ(plan->findings[0].reset, !plan->nothing_to_do());
      EXPECT_NE(plan->findings[0].found.find(each.says), std::string::npos)
          << plan->findings[0].found;
      EXPECT_EQ(plan->remove.size(), plan->nothing_to_do() ? 0U : now.namespaces.size());
      EXPECT_EQ(plan->make.has_value(), !plan->nothing_to_do());
      EXPECT_TRUE(plan->format.empty());
    }
  }
}

// A deleted namespace's content is reached by nothing but a sanitize, however small it was.
TEST(NamespacePlan, AMethodThatClearsAlwaysGetsANewNamespace) {
  const ControllerState now = drive({ns(1, 100 * kGiB)});
  for (const ControllerState* yardstick :
       {static_cast<const ControllerState*>(nullptr), static_cast<const ControllerState*>(&now)}) {
    for (const EraseMethod clear : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                    EraseMethod::format_crypto, EraseMethod::format_user_data}) {
      const auto plan = plan_namespaces(now, yardstick, clear, true);
      ASSERT_TRUE(plan.ok()) << plan.error().what;
      EXPECT_EQ(plan->remove, std::vector<std::uint32_t>{1});
      ASSERT_TRUE(plan->make.has_value());
      EXPECT_EQ(plan->make->block_bytes, 512U);
      EXPECT_NE(plan->findings[0].found.find("made again"), std::string::npos);
      EXPECT_FALSE(plan->findings[0].reset);
    }
  }
}

// The enrolment is renewed after each cleaning: it alone would let the namespace shrink bit by bit.
TEST(NamespacePlan, WhatIsMissingIsMeasuredAgainstTheDrive) {
  const ControllerState shrunk = drive({ns(1, 98 * kGiB)});
  const auto plan = plan_namespaces(shrunk, &shrunk, kPurge, true);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->make.has_value());
  ControllerState silent = shrunk;  // it does not say how large it is, but what is left
  silent.capacity_bytes = 0;
  EXPECT_FALSE(plan_namespaces(silent, &silent, kPurge, true)->nothing_to_do());
  silent.unallocated_bytes = 0;
  EXPECT_TRUE(plan_namespaces(silent, &silent, kPurge, true)->nothing_to_do());
  const ControllerState enrolled = drive({ns(1, 100 * kGiB)});
  EXPECT_FALSE(plan_namespaces(silent, &enrolled, kPurge, true)->nothing_to_do());
}

TEST(NamespacePlan, RoomThatCannotBeAllocatedNeedsASanitize) {
  ControllerState now = drive({ns(1, 100 * kGiB)});
  EXPECT_TRUE(plan_namespaces(now, nullptr, EraseMethod::overwrite, false).ok());
  now.unallocated_bytes = 2 * kGiB;
  const auto plan = plan_namespaces(now, nullptr, EraseMethod::overwrite, false);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Errc::failed);
  EXPECT_NE(plan.error().what.find("the drive has no sanitize"), std::string::npos);
  now.can_sanitize = true;
  EXPECT_NE(plan_namespaces(now, nullptr, EraseMethod::overwrite, false)
                .error()
                .what.find("clear_action=sanitize"),
            std::string::npos);
  EXPECT_TRUE(plan_namespaces(now, nullptr, kPurge, false).ok());
  now.oacs = 2;  // it never could: nobody can have deleted one
  EXPECT_TRUE(plan_namespaces(now, nullptr, EraseMethod::overwrite, true).ok());
}

// Rounding is for a sanitize, which reaches what no namespace covers.
TEST(NamespaceCover, WithoutASanitizeItIsWholeToTheBlock) {
  ControllerState whole = drive({ns(1, 100 * kGiB)});
  EXPECT_TRUE(check_covered(whole, EraseMethod::overwrite).ok());
  ControllerState rounded = drive({ns(1, 100 * kGiB - 512)});
  EXPECT_TRUE(check_covered(rounded, kPurge).ok());
  ControllerState left = whole;  // whatever its size says
  left.unallocated_bytes = 512;
  ControllerState missing = rounded;  // whatever it says is left
  missing.unallocated_bytes = 0;
  for (const EraseMethod clear : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                  EraseMethod::format_crypto, EraseMethod::format_user_data}) {
    for (const ControllerState& each : {rounded, left, missing}) {
      const auto covered = check_covered(each, clear);
      ASSERT_FALSE(covered.ok());
      EXPECT_EQ(covered.error().code, Errc::failed);
      EXPECT_NE(covered.error().what.find("512 bytes of the drive are in none"), std::string::npos);
      EXPECT_FALSE(plan_namespaces(each, nullptr, clear, false).ok());
    }
  }
  rounded.oacs = 2;  // it never could: what is beside was never within reach
  EXPECT_TRUE(check_covered(rounded, EraseMethod::overwrite).ok());
}

// Blocks of 4096 leave a rest in which one of 512 would fit; less than that nobody can have.
TEST(NamespaceCover, TheSmallestFormatCounts) {
  ControllerState now = drive({ns(1, 100 * kGiB - 4096, 4096)});
  now.unallocated_bytes = 0;
  now.capacity_bytes = 100 * kGiB - 4096 + 511;
  EXPECT_TRUE(check_covered(now, EraseMethod::overwrite).ok());
  now.capacity_bytes += 1;
  EXPECT_FALSE(check_covered(now, EraseMethod::overwrite).ok());
  now.formats = {LbaFormat{4096, 0, 0}};
  EXPECT_TRUE(check_covered(now, EraseMethod::overwrite).ok());
}

TEST(NamespacePlan, TheEnrolledFormatAndSharingAreMadeAgain) {
  ControllerState enrolled = drive({ns(1, 100 * kGiB, 4096)});
  enrolled.namespaces[0].sharing = 1;
  const ControllerState now = drive({ns(1, 100 * kGiB)});
  const auto plan = plan_namespaces(now, &enrolled, kPurge, true);
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(plan->make.has_value());
  EXPECT_EQ(plan->make->format, 1);
  EXPECT_EQ(plan->make->block_bytes, 4096U);
  EXPECT_EQ(plan->make->sharing, 1);
  ControllerState shared = enrolled;
  EXPECT_TRUE(plan_namespaces(shared, &enrolled, kPurge, true)->nothing_to_do());
  shared.namespaces[0].sharing = 0;
  EXPECT_FALSE(plan_namespaces(shared, &enrolled, kPurge, true)->nothing_to_do());
}

TEST(NamespacePlan, AFormatThatMovedInTheTableIsFound) {
  ControllerState enrolled = drive({ns(1, 100 * kGiB, 4096)});
  ControllerState now = drive({});
  std::swap(now.formats[1], now.formats[2]);
  EXPECT_EQ(plan_namespaces(now, &enrolled, kPurge, true)->make->format, 2);
  now.formats = {LbaFormat{512, 0, 0}};
  const auto gone = plan_namespaces(now, &enrolled, kPurge, true);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Errc::failed);
  EXPECT_NE(gone.error().what.find("enrol it again"), std::string::npos);
}

TEST(NamespacePlan, WithoutAYardstickTheFormatInUseOrTheFastestIsTaken) {
  auto in_use = plan_namespaces(drive({ns(1, kGiB), ns(2, kGiB)}), nullptr, kPurge, true);
  EXPECT_EQ(in_use->make->format, 0);
  auto fastest = plan_namespaces(drive({}), nullptr, kPurge, true);
  EXPECT_EQ(fastest->make->format, 1);
  ControllerState unknown = drive({});
  unknown.formats.clear();
  auto first = plan_namespaces(unknown, nullptr, kPurge, true);
  EXPECT_EQ(first->make->format, 0);
  EXPECT_EQ(first->make->block_bytes, 512U);
}

TEST(NamespacePlan, WithoutAYardstickWhatTheKernelCannotUseIsSetBack) {
  ControllerState large = drive({ns(1, 100 * kGiB)});
  large.formats.push_back(LbaFormat{65'536, 0, 0});
  large.namespaces[0].format = 3;
  large.namespaces[0].block_bytes = 65'536;
  large.namespaces[0].size_blocks /= 128;
  large.namespaces[0].capacity_blocks /= 128;
  const auto made = plan_namespaces(large, nullptr, kPurge, true);
  ASSERT_TRUE(made.ok() && made->make.has_value());
  EXPECT_EQ(made->make->format, 1);
  large.oacs = 2;
  const auto formatted = plan_namespaces(large, nullptr, kPurge, true);
  ASSERT_TRUE(formatted.ok());
  EXPECT_EQ(formatted->format, (std::vector<NamespaceToFormat>{{1, 1}}));
  large.oacs = 0;
  EXPECT_TRUE(plan_namespaces(large, nullptr, kPurge, true)->nothing_to_do());
}

TEST(NamespacePlan, WhatIsMissingFromTheDriveMayBeHidden) {
  // It promises 100 GiB, shows 90 and says that nothing is left.
  ControllerState now = drive({ns(1, 90 * kGiB)});
  now.unallocated_bytes = 0;
  EXPECT_FALSE(plan_namespaces(now, nullptr, kPurge, true)->nothing_to_do());
  now.capacity_bytes = 0;  // it does not say how large it is
  EXPECT_TRUE(plan_namespaces(now, nullptr, kPurge, true)->nothing_to_do());
}

TEST(NamespacePlan, MetadataTakesItsShareOfTheCapacity) {
  ControllerState enrolled = drive({ns(1, 100 * kGiB)});
  enrolled.namespaces[0].metadata_bytes = 8;
  enrolled.namespaces[0].format = 2;
  enrolled.namespaces[0].size_blocks = enrolled.namespaces[0].capacity_blocks =
      100 * kGiB / (512 + 8);
  const auto plan = plan_namespaces(enrolled, &enrolled, kPurge, true);
  EXPECT_TRUE(plan->nothing_to_do());
  EXPECT_EQ(enrolled.namespaces[0].bytes_taken() / kGiB, 99U);
}

TEST(NamespacePlan, WithoutManagementHiddenOnesNeedASanitize) {
  const ControllerState now = drive({ns(1, 50 * kGiB), ns(2, 50 * kGiB, 512, false)});
  for (const bool claims : {true, false}) {
    ControllerState state = now;
    if (!claims) state.oacs = 0;
    state.can_sanitize = claims;
    for (const EraseMethod purge : {EraseMethod::sanitize_crypto, EraseMethod::sanitize_block}) {
      const auto plan = plan_namespaces(state, nullptr, purge, !claims);
      ASSERT_TRUE(plan.ok()) << plan.error().what;
      EXPECT_TRUE(plan->nothing_to_do());
    }
    for (const EraseMethod clear : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                    EraseMethod::format_crypto, EraseMethod::format_user_data}) {
      const auto plan = plan_namespaces(state, nullptr, clear, !claims);
      ASSERT_FALSE(plan.ok());
      EXPECT_EQ(plan.error().code, Errc::failed);
      EXPECT_NE(plan.error().what.find("`nvme attach-ns`"), std::string::npos);
      EXPECT_EQ(plan.error().what.find("clear_action=sanitize") != std::string::npos, claims);
    }
  }
}

TEST(NamespacePlan, WithoutManagementSeveralAttachedOnesAreFine) {
  ControllerState now = drive({ns(1, 50 * kGiB), ns(2, 50 * kGiB)});
  now.oacs = 2;
  EXPECT_TRUE(plan_namespaces(now, nullptr, EraseMethod::overwrite, true)->nothing_to_do());
  EXPECT_TRUE(plan_namespaces(now, &now, EraseMethod::overwrite, true)->nothing_to_do());
  ControllerState fewer = now;
  fewer.namespaces.pop_back();
  EXPECT_FALSE(plan_namespaces(now, &fewer, kPurge, true).ok());
}

TEST(NamespacePlan, WithoutManagementNoneAttachedIsTheEnd) {
  for (ControllerState now : {drive({}), drive({ns(1, 100 * kGiB, 512, false)})}) {
    now.oacs = 2;
    const auto plan = plan_namespaces(now, nullptr, kPurge, true);
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(plan.error().what.find("none is attached"), std::string::npos);
  }
}

TEST(NamespacePlan, WithoutManagementAFormatIsSetBack) {
  ControllerState enrolled = drive({ns(1, 100 * kGiB, 4096)});
  enrolled.oacs = 2;
  ControllerState now = drive({ns(1, 100 * kGiB)});
  now.oacs = 2;
  const auto plan = plan_namespaces(now, &enrolled, kPurge, true);
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  ASSERT_EQ(plan->format.size(), 1U);
  EXPECT_EQ(plan->format[0], (NamespaceToFormat{1, 1}));
  EXPECT_TRUE(plan->remove.empty());
  now.oacs = 0;  // nor Format NVM
  EXPECT_FALSE(plan_namespaces(now, &enrolled, kPurge, true).ok());
}

}  // namespace
}  // namespace reclaim::nvme
