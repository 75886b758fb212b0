#include "nvme/controller/controller_state.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

ControllerState full() {
  ControllerState state;
  state.serial = "S\"1";
  state.model = "MODEL";
  state.firmware_revision = "FW1";
  state.oacs = 0x1f;
  state.oncs = 0x3f;
  state.nwpc = 7;
  state.controller_id = 3;
  state.capacity_bytes = ~std::uint64_t{0};
  state.unallocated_bytes = 5;
  state.host_memory_pages = 64;
  state.endurance_groups = 2;
  state.health = HealthState{4, 90, 10, 17, 1'000'000'000'000, 5000, 3, 1};
  state.firmware = FirmwareState{1, 2, {"FW1", "FW2", "", "", "", "", ""}};
  state.opal = OpalState{true, true, true, true, true, true, true, true};
  state.rpmb_targets = 2;
  state.rpmb_programmed = 1;
  state.boot = BootPartitionState{true, 1, 131'072, {"aa", "bb"}};
  state.self_test = 1;
  state.locked_commands = {0x84};
  state.locked_features = {0x06, 0x17};
  state.secondary = {SecondaryController{7, true, 4, 5}};
  state.formats = {LbaFormat{512, 0, 2}, LbaFormat{4096, 8, 0}};
  NamespaceState ns;
  ns.nsid = 9;
  ns.active = true;
  ns.size_blocks = 1000;
  ns.capacity_blocks = 999;
  ns.format = 1;
  ns.block_bytes = 4096;
  ns.metadata_bytes = 8;
  ns.protection = 1;
  ns.sharing = 1;
  ns.attributes = 1;
  ns.write_protect = 2;
  ns.registrants = 3;
  ns.reservation = 5;
  ns.reservation_persists = true;
  state.namespaces = {ns};
  FeatureState feature;
  feature.id = 6;
  feature.nsid = 1;
  feature.current = 0xffffffff;
  feature.factory = 1;
  feature.saveable = true;
  feature.changeable = false;
  state.features = {feature};
  state.configuration = {{"lba_range_types", "of namespace 1", "0x1, SHA-256 aa", "nothing"}};
  return state;
}

TEST(ControllerState, ComesBackAsItWas) {
  for (const ControllerState& state : {ControllerState{}, full()}) {
    const auto back = decode_controller_state(encode_controller_state(state));
    ASSERT_TRUE(back.ok()) << back.error().what;
    EXPECT_EQ(*back, state);
  }
}

// Each member tells by itself that something changed: none is forgotten by the codec.
TEST(ControllerState, NoMemberIsLostOnTheWay) {
  const std::string plain = encode_controller_state(ControllerState{});
  const std::string text = encode_controller_state(full());
  EXPECT_EQ(plain.find("null"), std::string::npos);
  EXPECT_NE(text.find("\"saved\":null"), std::string::npos);
  EXPECT_NE(text.find("\"sid_blocked\":true"), std::string::npos);
}

TEST(ControllerState, IsOneLine) {
  EXPECT_EQ(encode_controller_state(full()).find('\n'), std::string::npos);
}

struct Broken {
  std::string_view from;
  std::string_view to;
  std::string_view says;
};

TEST(ControllerState, BrokenTextIsRefusedByName) {
  const std::string text = encode_controller_state(full());
  for (const Broken& each : {
           Broken{"\"version\":1", "\"version\":2", "version 2"},
           Broken{"\"version\":1", "\"vorsion\":1", "version"},
           Broken{"\"oacs\":31", "\"oacs\":70000", "'oacs' is not a number of 16 bits"},
           Broken{"\"oacs\":31", "\"oacs\":-1", "'oacs'"},
           Broken{"\"oacs\":31", "\"oacs\":\"31\"", "'oacs'"},
           Broken{"\"nsid\":9", "\"nsod\":9", "'namespaces[0].nsid' is absent"},
           Broken{"\"locked\":true", "\"locked\":1", "'opal.locked'"},
           Broken{"\"serial\":", "\"serial\":1,\"x\":", "'serial' is not a string"},
           Broken{"\"secondary\":[", "\"secondary\":[1,", "'secondary[0]' is not an object"},
           Broken{"\"locked_commands\":[132]", "\"locked_commands\":{}", "'locked_commands'"},
       }) {
    std::string broken = text;
    const std::size_t at = broken.find(each.from);
    ASSERT_NE(at, std::string::npos) << each.from;
    broken.replace(at, each.from.size(), each.to);
    const auto state = decode_controller_state(broken);
    ASSERT_FALSE(state.ok()) << each.to;
    EXPECT_EQ(state.error().code, Errc::invalid);
    EXPECT_NE(state.error().what.find(each.says), std::string::npos) << state.error().what;
  }
  EXPECT_FALSE(decode_controller_state("").ok());
  EXPECT_EQ(decode_controller_state(std::string(300'000, ' ')).error().code, Errc::limit);
}

TEST(FeatureRules, AreFoundById) {
  EXPECT_EQ(find_feature_rule(0x05)->name, "error recovery");
  EXPECT_TRUE(find_feature_rule(0x05)->per_namespace);
  EXPECT_EQ(find_feature_rule(0x07), nullptr);
}

}  // namespace
}  // namespace reclaim::nvme
