#include "nvme/controller/residue.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

constexpr EraseMethod kPurge = EraseMethod::sanitize_crypto;

ControllerState clean() {
  ControllerState state;
  state.serial = "S1";
  state.model = "M";
  state.firmware_revision = "FW1";
  state.oncs = 0x10;
  state.firmware = FirmwareState{1, 0, {"FW1", "FW2", "", "", "", "", ""}};
  state.opal.supported = true;
  state.opal.sid_known = true;
  state.rpmb_targets = 2;
  state.memory_buffer = false;
  state.memory_region = false;
  state.boot = BootPartitionState{true, 0, 131'072, {"aa", "bb"}};
  state.secondary = {SecondaryController{2, false, 0, 0}};
  NamespaceState ns;
  ns.nsid = 1;
  ns.active = true;
  ns.size_blocks = 1000;
  ns.capacity_blocks = 1000;
  ns.block_bytes = 512;
  state.namespaces = {ns};
  const auto feature = [](std::uint8_t id, std::uint32_t nsid, std::uint32_t value) {
    FeatureState f;
    f.id = id;
    f.nsid = nsid;
    f.current = value;
    f.factory = value;
    f.saved = value;
    f.saveable = true;
    return f;
  };
  state.features = {feature(0x05, 1, 0), feature(0x06, 0, 1), feature(0x04, 0, 350),
                    feature(0x17, 0, 0)};
  return state;
}

FeatureState& feature(ControllerState& state, std::uint8_t id) {
  return *std::find_if(state.features.begin(), state.features.end(),
                       [id](const FeatureState& f) { return f.id == id; });
}

struct Case {
  const char* name;
  void (*change)(ControllerState& now);
  const char* says;
  bool by_itself;  // wrong also where there is no enrolment
};

TEST(Surfaces, ACleanDriveHasNothingToReset) {
  const ControllerState now = clean();
  for (const ControllerState* enrolled : {static_cast<const ControllerState*>(nullptr), &now}) {
    const auto judgement = judge_surfaces(now, enrolled, Rules{}, kPurge);
    EXPECT_TRUE(judgement.quarantine.empty());
    EXPECT_TRUE(judgement.resets.empty());
    // Each is told of, whether something was found or not.
    for (const char* surface :
         {"enrolment", "firmware", "opal", "rpmb", "boot_partitions", "lockdown", "self_test",
          "write_protect", "reservations", "features", "virtualization", "host_memory_buffer",
          "endurance_groups", "controller_memory_buffer", "persistent_memory_region",
          "not_looked_at"}) {
      EXPECT_EQ(std::count_if(judgement.findings.begin(), judgement.findings.end(),
                              [&](const StepFinding& f) { return f.surface == surface; }),
                1)
          << surface;
    }
  }
}

const Case kQuarantine[] = {
    {"unreadable",
     [](auto& s) {
       s.unreadable = {{"opal", "timeout"}};
     },
     "cannot be read", true},
    {"another drive", [](auto& s) { s.serial = "S2"; }, "baseline is of M S1", false},
    {"no active slot", [](auto& s) { s.firmware.active_slot = 0; }, "no active slot", true},
    {"pending firmware", [](auto& s) { s.firmware.next_slot = 2; }, "next reset", true},
    {"Identify disagrees", [](auto& s) { s.firmware_revision = "FWX"; }, "slot log says", true},
    {"slot written", [](auto& s) { s.firmware.revisions[2] = "EVIL"; }, "slot 3", false},
    {"slot changed", [](auto& s) { s.firmware.revisions[1] = "EVIL"; }, "it was 'FW2'", false},
    {"slot switched",
     [](auto& s) {
       s.firmware.active_slot = 2;
       s.firmware_revision = "FW2";
     },
     "slot 2 is active", false},
    {"locked", [](auto& s) { s.opal.locked = true; }, "PSID", true},
    {"locking enabled", [](auto& s) { s.opal.locking_enabled = true; }, "PSID", true},
    {"shadow MBR", [](auto& s) { s.opal.mbr_enabled = true; }, "hides the media", true},
    {"SID taken", [](auto& s) { s.opal.sid_changed = true; }, "SID was changed", true},
    {"RPMB key", [](auto& s) { s.rpmb_programmed = 2; }, "targets 0x02", true},
    {"boot content", [](auto& s) { s.boot.sha256[1] = "cc"; }, "content", false},
    {"boot active", [](auto& s) { s.boot.active = 1; }, "partition 1 is active", false},
    {"boot gone", [](auto& s) { s.boot = {}; }, "there at enrolment", false},
    {"command locked", [](auto& s) { s.locked_commands = {0x84}; }, "command 0x84", true},
    {"feature locked", [](auto& s) { s.locked_features = {0x06}; }, "feature 0x06", true},
    {"protected until power cycle", [](auto& s) { s.namespaces[0].write_protect = 2; },
     "power-cycle", true},
    {"protected for ever", [](auto& s) { s.namespaces[0].write_protect = 3; }, "permanently", true},
    {"protected and detached",
     [](auto& s) {
       s.namespaces[0].attributes = 1;
       s.namespaces[0].active = false;
     },
     "attach it", true},
    {"unchangeable feature",
     [](auto& s) {
       feature(s, 0x05).current = 0x10000;
       feature(s, 0x05).changeable = false;
     },
     "cannot be changed", true},
    {"secondary online", [](auto& s) { s.secondary[0].online = true; }, "are online", true},
    {"secondary resources", [](auto& s) { s.secondary[0].queues = 4; }, "resources", false},
};

TEST(Surfaces, WhatCannotBeResetQuarantines) {
  const ControllerState enrolled = clean();
  for (const Case& each : kQuarantine) {
    SCOPED_TRACE(each.name);
    ControllerState now = clean();
    each.change(now);
    const auto judgement = judge_surfaces(now, &enrolled, Rules{}, kPurge);
    ASSERT_FALSE(judgement.quarantine.empty());
    std::string all;
    for (const std::string& reason : judgement.quarantine) all += reason + "\n";
    EXPECT_NE(all.find(each.says), std::string::npos) << all;
    EXPECT_EQ(judge_surfaces(now, nullptr, Rules{}, kPurge).quarantine.empty(), !each.by_itself);
  }
}

TEST(Surfaces, AFirmwareListReplacesTheEnrolment) {
  const ControllerState enrolled = clean();
  Rules rules;
  rules.firmware_allowed = {"FW1", "FW3"};
  ControllerState now = clean();
  // FW2 was enrolled, but the list is the operator's newer word.
  EXPECT_EQ(judge_surfaces(now, &enrolled, rules, kPurge).quarantine.size(), 1U);
  now.firmware.revisions[1] = "FW3";
  EXPECT_TRUE(judge_surfaces(now, &enrolled, rules, kPurge).quarantine.empty());
  now.firmware.revisions[1] = "";
  EXPECT_TRUE(judge_surfaces(now, nullptr, rules, kPurge).quarantine.empty());
}

TEST(Surfaces, AKeyThatWasThereAtEnrolmentIsNobodysFault) {
  ControllerState enrolled = clean();
  enrolled.rpmb_programmed = 3;
  enrolled.opal.sid_changed = true;
  ControllerState now = enrolled;
  EXPECT_TRUE(judge_surfaces(now, &enrolled, Rules{}, kPurge).quarantine.empty());
  now.opal.sid_changed = false;
  EXPECT_EQ(judge_surfaces(now, &enrolled, Rules{}, kPurge).quarantine.size(), 1U);
}

TEST(Surfaces, WithoutABaselineWhatIsForEverIsAnOperatorsToAccept) {
  ControllerState owned = clean();
  owned.opal.sid_changed = true;
  owned.opal.sid_known = true;
  ControllerState keyed = clean();
  keyed.rpmb_programmed = 1;
  for (const ControllerState& now : {owned, keyed}) {
    const auto judgement = judge_surfaces(now, nullptr, Rules{}, kPurge);
    ASSERT_EQ(judgement.quarantine.size(), 1U);
    EXPECT_NE(judgement.quarantine[0].find("`reclaim device set ADDRESS --enrol`"),
              std::string::npos)
        << judgement.quarantine[0];
    const auto accepted = judge_surfaces(now, nullptr, Rules{}, kPurge, true);
    EXPECT_TRUE(accepted.quarantine.empty());
    EXPECT_EQ(accepted.findings[0].found,
              "no enrolment baseline: an operator accepted the drive as it is found");
    // With a baseline it says nothing: what came since is a tenant's.
    const ControllerState before = clean();
    EXPECT_FALSE(judge_surfaces(now, &before, Rules{}, kPurge, true).quarantine.empty());
  }
}

TEST(Surfaces, WriteProtectionAndReservationsAreCleared) {
  ControllerState now = clean();
  now.namespaces[0].write_protect = 1;
  now.namespaces[0].registrants = 2;
  const auto judgement = judge_surfaces(now, nullptr, Rules{}, kPurge);
  EXPECT_TRUE(judgement.quarantine.empty());
  ASSERT_EQ(judgement.resets.size(), 2U);
  EXPECT_EQ(judgement.resets[0].kind, ResidueReset::Kind::write_protect);
  EXPECT_EQ(judgement.resets[0].nsid, 1U);
  EXPECT_EQ(judgement.resets[1].kind, ResidueReset::Kind::reservation);
  EXPECT_EQ(std::count_if(judgement.findings.begin(), judgement.findings.end(),
                          [](const StepFinding& f) { return f.reset; }),
            2);
}

TEST(Surfaces, ARunningSelfTestIsAborted) {
  ControllerState now = clean();
  now.self_test = 2;
  const auto judgement = judge_surfaces(now, nullptr, Rules{}, kPurge);
  ASSERT_EQ(judgement.resets.size(), 1U);
  EXPECT_EQ(judgement.resets[0].kind, ResidueReset::Kind::self_test);
}

struct FeatureCase {
  const char* name;
  std::uint8_t id;
  std::uint32_t current;
  std::uint32_t saved;
  int enrolled_resets_to;  // -1: nothing to do
  int bare_resets_to;
};

TEST(Surfaces, FeaturesGoBackToTheEnrolment) {
  const FeatureCase cases[] = {
      {"as it was", 0x06, 1, 1, -1, -1},
      {"current changed", 0x06, 0, 1, 1, -1},
      {"saved changed", 0x06, 1, 0, 1, -1},
      {"the host's own current", 0x04, 300, 350, -1, -1},
      {"saved behind the host", 0x04, 350, 300, 350, -1},
      {"DULBE", 0x05, 0x10000, 0, 0, 0},
      {"DULBE saved", 0x05, 0, 0x10000, 0, 0},
      {"DULBE beside another value", 0x05, 0x10005, 0x10005, 0, 5},
      {"NODRM", 0x17, 1, 1, 0, 0},
  };
  const ControllerState enrolled = clean();
  for (const FeatureCase& each : cases) {
    SCOPED_TRACE(each.name);
    ControllerState now = clean();
    feature(now, each.id).current = each.current;
    feature(now, each.id).saved = each.saved;
    for (const bool with : {true, false}) {
      const auto judgement = judge_surfaces(now, with ? &enrolled : nullptr, Rules{}, kPurge);
      const int wanted = with ? each.enrolled_resets_to : each.bare_resets_to;
      EXPECT_TRUE(judgement.quarantine.empty());
      ASSERT_EQ(judgement.resets.size(), wanted < 0 ? 0U : 1U) << with;
      if (wanted < 0) continue;
      EXPECT_EQ(judgement.resets[0].feature, each.id);
      EXPECT_EQ(judgement.resets[0].value, static_cast<std::uint32_t>(wanted));
      EXPECT_TRUE(judgement.resets[0].save);
      EXPECT_EQ(judgement.resets[0].nsid, each.id == 0x05 ? 1U : 0U);
    }
  }
}

TEST(Surfaces, AnEnrolledDulbeIsNotBelieved) {
  ControllerState enrolled = clean();
  feature(enrolled, 0x05).current = 0x10000;
  feature(enrolled, 0x05).saved = 0x10000;
  const auto judgement = judge_surfaces(enrolled, &enrolled, Rules{}, kPurge);
  ASSERT_EQ(judgement.resets.size(), 1U);
  EXPECT_EQ(judgement.resets[0].value, 0U);
}

TEST(Surfaces, WhatCannotBeSavedIsSetForNow) {
  const ControllerState enrolled = clean();
  ControllerState now = clean();
  feature(now, 0x06).current = 0;
  feature(now, 0x06).saved.reset();
  feature(now, 0x06).saveable = false;
  const auto judgement = judge_surfaces(now, &enrolled, Rules{}, kPurge);
  ASSERT_EQ(judgement.resets.size(), 1U);
  EXPECT_FALSE(judgement.resets[0].save);
}

// What lies past the blocks is reached by a sanitize alone.
TEST(Surfaces, MemoryPastTheBlocksNeedsASanitize) {
  for (const auto member : {&ControllerState::memory_buffer, &ControllerState::memory_region}) {
    for (const EraseMethod clear : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                    EraseMethod::format_crypto, EraseMethod::format_user_data}) {
      ControllerState now = clean();
      now.*member = false;
      EXPECT_TRUE(judge_surfaces(now, &now, Rules{}, clear).quarantine.empty());
      now.*member = true;
      const auto judgement = judge_surfaces(now, &now, Rules{}, clear);
      ASSERT_EQ(judgement.quarantine.size(), 1U);
      EXPECT_NE(judgement.quarantine[0].find("clear_action=sanitize"), std::string::npos);
      EXPECT_TRUE(judge_surfaces(now, &now, Rules{}, kPurge).quarantine.empty());
      EXPECT_EQ(judge_surfaces(now, nullptr, Rules{}, clear, true).quarantine.size(), 1U);
      now.*member = std::nullopt;
      EXPECT_EQ(judge_surfaces(now, &now, Rules{}, clear).quarantine.size(), 1U);
      EXPECT_TRUE(judge_surfaces(now, &now, Rules{}, kPurge).quarantine.empty());
    }
  }
}

TEST(Surfaces, AConfigurationThatIsNotTheEnrolledOneQuarantines) {
  ControllerState enrolled = clean();
  enrolled.configuration = {{"nvm_sets", "of the drive", "1: 5 bytes", ""},
                            {"controller_metadata", "of the controller", "nothing", "nothing"}};
  EXPECT_TRUE(judge_surfaces(enrolled, &enrolled, Rules{}, kPurge).quarantine.empty());
  for (std::size_t i = 0; i < enrolled.configuration.size(); ++i) {
    ControllerState now = enrolled;
    now.configuration[i].now = "0x1, SHA-256 aa";
    const auto judgement = judge_surfaces(now, &enrolled, Rules{}, kPurge);
    ASSERT_EQ(judgement.quarantine.size(), 1U);
    EXPECT_EQ(judgement.quarantine[0].find(now.configuration[i].surface), 0U);
    // Nothing to compare with: told, and left as it is.
    const ControllerState older = clean();
    EXPECT_TRUE(judge_surfaces(now, &older, Rules{}, kPurge).quarantine.empty());
    EXPECT_TRUE(judge_surfaces(now, nullptr, Rules{}, kPurge).quarantine.empty());
  }
}

}  // namespace
}  // namespace reclaim::nvme
