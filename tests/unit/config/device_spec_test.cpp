// [nvme] device_spec: every form Nova and the Cyborg specification write, and every refusal.
#include "config/device_spec/device_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace reclaim::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const Location kAt{"reclaim.conf", 7};

DeviceSpec good(std::string_view text) {
  std::vector<Problem> problems;
  std::vector<DeviceSpec> specs = parse_device_spec(text, kAt, problems);
  EXPECT_THAT(problems, IsEmpty()) << text << ": " << (problems.empty() ? "" : problems[0].text);
  EXPECT_THAT(specs, SizeIs(1));
  return specs.empty() ? DeviceSpec{} : specs[0];
}

std::vector<std::string> errors(std::string_view text) {
  std::vector<Problem> problems;
  EXPECT_THAT(parse_device_spec(text, kAt, problems), IsEmpty()) << text;
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(to_string(problem));
  return texts;
}

std::string error(std::string_view text) {
  const auto all = errors(text);
  EXPECT_THAT(all, SizeIs(1)) << text;
  return all.empty() ? "" : all[0];
}

PciAddress at(std::string_view text) {
  const auto address = parse_pci_address(text);
  EXPECT_TRUE(address.ok()) << text;
  return *address;
}

bool glob(std::string_view pattern, std::string_view address) {
  const auto made = AddressPattern::from_glob(pattern);
  EXPECT_TRUE(made.ok()) << pattern << ": " << (made.ok() ? "" : made.error().what);
  return made.ok() && made->matches(at(address));
}

TEST(DeviceSpec, TheSpecificationsExamples) {
  const DeviceSpec first = good(R"({"vendor_id": "8086", "product_id": "0001",
      "clear_action": "auto", "clear_strategy": "auto"})");
  EXPECT_EQ(first.vendor_id, 0x8086);
  EXPECT_EQ(first.product_id, 0x0001);
  EXPECT_TRUE(first.address.matches(at("0000:ff:1f.7")));
  EXPECT_TRUE(good(R"({"address": "*:0a:00.*"})").address.matches(at("0001:0a:00.3")));
  const DeviceSpec third = good(R"({"vendor_id": "8086", "address": "0000:0a:00.*"})");
  EXPECT_FALSE(third.address.matches(at("0001:0a:00.3")));
}

TEST(DeviceSpec, Defaults) {
  const DeviceSpec spec = good("{}");
  EXPECT_EQ(spec.vendor_id, std::nullopt);
  EXPECT_EQ(spec.rules, nvme::Rules{});
  EXPECT_EQ(spec.rules.action, nvme::ClearAction::auto_);
  EXPECT_EQ(spec.rules.strategy, nvme::ClearStrategy::auto_);
  EXPECT_EQ(spec.verify, std::nullopt);
  EXPECT_EQ(spec.shared_subsystem, SharedSubsystem::refuse);
  EXPECT_EQ(spec.managed, std::nullopt);
  EXPECT_EQ(spec.resource_class, "");
  EXPECT_EQ(spec.at, kAt);
  EXPECT_EQ(spec.text, "{}");
}

TEST(DeviceSpec, IdsAreHexInAnyCaseOrAny) {
  EXPECT_EQ(good(R"({"vendor_id": " 10De "})").vendor_id, 0x10de);
  EXPECT_EQ(good(R"({"vendor_id": "0x8086"})").vendor_id, 0x8086);
  EXPECT_EQ(good(R"({"product_id": "*"})").product_id, std::nullopt);
  EXPECT_EQ(good(R"({"product_id": "0001"})").product_id, 1);
  EXPECT_EQ(
      error(R"({"vendor_id": "10000"})"),
      "reclaim.conf:7: [nvme] device_spec: 'vendor_id' is '10000', which is neither a hex number "
      "up to ffff nor '*'");
  EXPECT_EQ(error(R"({"product_id": "80a"})"),
            "reclaim.conf:7: [nvme] device_spec: 'product_id' is '80a', which has fewer than 4 "
            "digits: write 080a if that is the device's");
  EXPECT_THAT(error(R"({"product_id": "0x80a"})"), HasSubstr("fewer than 4 digits"));
  EXPECT_THAT(error(R"({"vendor_id": ""})"), HasSubstr("neither a hex number"));
  EXPECT_THAT(error(R"({"vendor_id": "80*"})"), HasSubstr("neither a hex number"));
  EXPECT_THAT(error(R"({"product_id": 8086})"), HasSubstr("'product_id' must be a string"));
}

TEST(DeviceSpec, GlobForms) {
  EXPECT_TRUE(glob("0000:0a:00.0", "0000:0a:00.0"));
  EXPECT_FALSE(glob("0000:0a:00.0", "0000:0a:00.1"));
  EXPECT_TRUE(glob("0000:0A:00.*", "0000:0a:00.7"));
  EXPECT_FALSE(glob("0000:0a:00.*", "0000:0a:01.7"));
  EXPECT_TRUE(glob("*:*:*.*", "abcd:ef:1f.7"));
  EXPECT_TRUE(glob("", "abcd:ef:1f.7"));
  EXPECT_TRUE(glob("*:0a:00.*", "0007:0a:00.1"));
  EXPECT_TRUE(glob("0a:00.1", "0007:0a:00.1"));
  EXPECT_FALSE(glob("0a:00.1", "0007:0b:00.1"));
  EXPECT_TRUE(glob("0a:00", "0007:0a:00.5"));
  EXPECT_TRUE(glob("1f", "0007:0a:1f.5"));
  EXPECT_TRUE(glob(":00.", "0007:0a:00.5"));
  EXPECT_FALSE(glob(":01.", "0007:0a:00.5"));
  EXPECT_TRUE(glob(".5", "0007:0a:00.5"));
  EXPECT_FALSE(glob(".4", "0007:0a:00.5"));
  EXPECT_TRUE(glob("0:a:0.0", "0000:0a:00.0"));  // numbers, not texts, are compared
  EXPECT_TRUE(glob("10000:e1:00.0", "10000:e1:00.0"));
}

TEST(DeviceSpec, GlobErrors) {
  EXPECT_EQ(error(R"({"address": "0000:0a:00:00.0"})"),
            "reclaim.conf:7: [nvme] device_spec: 'address': '0000:0a:00:00.0' has more than "
            "domain:bus:slot.function");
  EXPECT_THAT(error(R"({"address": "0000:0a:0[1-3].0"})"),
              HasSubstr("the slot '0[1-3]' is neither"));
  EXPECT_THAT(error(R"({"address": "0000:100:00.0"})"),
              HasSubstr("the bus 100 is greater than ff"));
  EXPECT_THAT(error(R"({"address": "0000:00:20.0"})"), HasSubstr("the slot 20 is greater than 1f"));
  EXPECT_THAT(error(R"({"address": "0000:00:00.8"})"),
              HasSubstr("the function 8 is greater than 7"));
  EXPECT_THAT(error(R"({"address": "x:00:00.0"})"), HasSubstr("the domain 'x' is neither"));
  EXPECT_THAT(error(R"({"address": 3})"), HasSubstr("'address' must be a string"));
}

TEST(DeviceSpec, RegexForms) {
  const DeviceSpec spec =
      good(R"({"address": {"domain": ".*", "bus": "02", "slot": "01", "function": "[2-7]"}})");
  EXPECT_TRUE(spec.address.matches(at("0000:02:01.2")));
  EXPECT_TRUE(spec.address.matches(at("10000:02:01.7")));
  EXPECT_FALSE(spec.address.matches(at("0000:02:01.1")));
  EXPECT_FALSE(spec.address.matches(at("0000:03:01.2")));

  // A part left out is ".*"; as Python's re.match() does, a pattern holds from the start only.
  const DeviceSpec start = good(R"({"address": {"bus": "0"}})");
  EXPECT_TRUE(start.address.matches(at("0000:0f:01.1")));
  EXPECT_FALSE(start.address.matches(at("0000:10:01.1")));
  EXPECT_TRUE(good(R"({"address": {"bus": "0A$"}})").address.matches(at("0000:0a:01.1")));
  EXPECT_TRUE(good(R"({"address": {"domain": "0000|0001"}})").address.matches(at("0001:0a:01.1")));
  EXPECT_FALSE(good(R"({"address": {"domain": "0000|0001"}})").address.matches(at("0002:0a:01.1")));
  EXPECT_TRUE(good(R"({"address": {}})").address.matches(at("0002:0a:01.1")));
}

TEST(DeviceSpec, RegexErrors) {
  EXPECT_THAT(error(R"({"address": {"bus": "[0"}})"),
              HasSubstr("the bus '[0' is not a usable regular expression: a '[' without its ']'"));
  EXPECT_THAT(error(R"({"address": {"bus": "zz"}})"), HasSubstr("matches no value from 00 to ff"));
  EXPECT_THAT(error(R"({"address": {"function": "8"}})"),
              HasSubstr("matches no value from 0 to 7"));
  EXPECT_THAT(error(R"({"address": {"func": "1"}})"),
              HasSubstr("unknown key 'func', accepted: domain, bus, slot, function"));
  EXPECT_THAT(error(R"({"address": {"bus": 2}})"), HasSubstr("'bus' must be a string"));
  EXPECT_THAT(error(R"({"address": {"bus": "0", "bus": "1"}})"), HasSubstr("given twice"));
}

TEST(DeviceSpec, RegexesAreBounded) {
  EXPECT_THAT(error(R"({"address": {"bus": ")" + std::string(65, '0') + R"("}})"),
              HasSubstr("longer than 64 bytes"));
  // std::regex needs hours for this one.
  EXPECT_TRUE(
      good(R"({"address": {"bus": "((((a*)*)*)*)*"}})").address.matches(at("0000:00:00.0")));
}

TEST(DeviceSpec, Policy) {
  EXPECT_EQ(good(R"({"clear_action": "sanitize"})").rules.action, nvme::ClearAction::sanitize);
  EXPECT_EQ(good(R"({"clear_action": "zero"})").rules.action, nvme::ClearAction::zero);
  EXPECT_EQ(good(R"({"clear_action": "format"})").rules.action, nvme::ClearAction::format);
  EXPECT_EQ(good(R"({"clear_strategy": "crypto"})").rules.strategy, nvme::ClearStrategy::crypto);
  EXPECT_EQ(good(R"({"clear_strategy": "block"})").rules.strategy, nvme::ClearStrategy::block);
  EXPECT_EQ(good(R"({"shared_subsystem": "allow"})").shared_subsystem, SharedSubsystem::allow);
  EXPECT_EQ(
      error(R"({"clear_action": "shred"})"),
      "reclaim.conf:7: [nvme] device_spec: clear_action 'shred' is not one of auto, sanitize, "
      "zero, format");
  EXPECT_THAT(error(R"({"clear_strategy": "shred"})"), HasSubstr("not one of auto, crypto, block"));
  EXPECT_THAT(error(R"({"clear_strategy": null})"), HasSubstr("clear_strategy 'null' is not one"));
  EXPECT_THAT(error(R"({"shared_subsystem": true})"), HasSubstr("accepted: refuse, allow"));
}

TEST(DeviceSpec, ManagedIsAFlexibleBoolean) {
  for (const char* no :
       {"false", "\"no\"", "\"N\"", "\"off\"", "\" F \"", "0", "\"0\"", "\"False\""}) {
    EXPECT_FALSE(good(std::string(R"({"managed": )") + no + "}").managed.value()) << no;
  }
  for (const char* yes : {"true", "\"yes\"", "\"Y\"", "\"ON\"", "\"t\"", "1", "\"1\""}) {
    EXPECT_TRUE(good(std::string(R"({"managed": )") + yes + "}").managed.value()) << yes;
  }
  for (const char* bad : {"\"maybe\"", "2", "null", "[]", "\"\"", "1.0"}) {
    EXPECT_THAT(
        error(std::string(R"({"managed": )") + bad + "}"),
        HasSubstr("is not a boolean, accepted: 1, t, true, on, y, yes, 0, f, false, off, n, no"))
        << bad;
  }
}

TEST(DeviceSpec, Tags) {
  EXPECT_THAT(good(R"({"tags": ["db", "fast"]})").tags,
              ElementsAre(DeviceTag{"db", ""}, DeviceTag{"fast", ""}));
  EXPECT_THAT(good(R"({"tags": {"role": "db"}})").tags, ElementsAre(DeviceTag{"role", "db"}));
  for (const char* bad : {"\"db\"", "[1]", "{\"a\": 1}", "[\"\"]", "[[]]"}) {
    EXPECT_THAT(error(std::string(R"({"tags": )") + bad + "}"), HasSubstr("'tags' must be")) << bad;
  }
  std::string many = "{\"tags\": [\"a\"";
  for (int i = 0; i < 64; ++i) many += ",\"a\"";
  EXPECT_THAT(error(many + "]}"), HasSubstr("more than 64 tags"));
}

TEST(DeviceSpec, NovasKeysAreAccepted) {
  const DeviceSpec spec = good(R"({"address": "0000:00:01.0", "one_time_use": true,
      "resource_class": "my-nvme", "traits": "CUSTOM_A,HW_B", "physical_network": null,
      "remote_managed": "no", "live_migratable": "yes"})");
  EXPECT_EQ(spec.resource_class, "CUSTOM_MY_NVME");
  EXPECT_THAT(spec.ignored, ::testing::Contains(Pair("one_time_use", "true")));
  EXPECT_THAT(spec.ignored, ::testing::Contains(Pair("traits", "\"CUSTOM_A,HW_B\"")));
  EXPECT_THAT(error(R"({"one_time_use": "perhaps"})"), HasSubstr("'one_time_use' 'perhaps' is no"));
  EXPECT_THAT(error(R"({"traits": ["A"]})"), HasSubstr("'traits' must be a string"));
  EXPECT_THAT(error(R"({"resource_class": ""})"), HasSubstr("'resource_class' must be a string"));
}

TEST(DeviceSpec, ResourceClassesAreNormalisedAsNovaDoes) {
  EXPECT_EQ(normalize_resource_class("pgpu"), "PGPU");
  EXPECT_EQ(normalize_resource_class("custom_x_1"), "CUSTOM_X_1");
  EXPECT_EQ(normalize_resource_class("nvme  fast!"), "CUSTOM_NVME_FAST_");
  EXPECT_EQ(normalize_resource_class("a_-_b"), "CUSTOM_A_B");
  EXPECT_EQ(normalize_resource_class("CUSTOM_a-b"), "CUSTOM_CUSTOM_A_B");
}

TEST(DeviceSpec, UnknownKeysAreErrors) {
  EXPECT_EQ(
      error(R"({"vendor": "8086"})"),
      "reclaim.conf:7: [nvme] device_spec: unknown key 'vendor', accepted: vendor_id, product_id, "
      "address, managed, tags, shared_subsystem, steps, clean, clear_action, clear_strategy, "
      "verify, relax, "
      "firmware, percentage_used_max, media_errors_max, zero_rate, cleanup_timeout, "
      "resource_class, traits, "
      "one_time_use, live_migratable, physical_network, remote_managed, trusted");
  EXPECT_THAT(error(R"({"manged": true})"),
              HasSubstr("unknown key 'manged' (did you mean 'managed'?), accepted: vendor_id"));
  EXPECT_THAT(error(R"({"managed": true, "managed": false})"),
              HasSubstr("'managed' is given twice"));
}

TEST(DeviceSpec, EverythingWrongIsSeenAtOnce) {
  EXPECT_THAT(errors(R"({"vendor_id": "x", "address": "y", "nonsense": 1})"), SizeIs(3));
}

TEST(DeviceSpec, NotJson) {
  EXPECT_THAT(error("{'address': '*'}"),
              HasSubstr("reclaim.conf:7: [nvme] device_spec: not JSON: "));
  EXPECT_THAT(error(R"("address")"), HasSubstr("an entry must be a JSON object"));
  EXPECT_THAT(error(std::string(30'000, '[') + std::string(30'000, ']')),
              HasSubstr("an entry must be a JSON object"));
  EXPECT_THAT(error(R"({"tags": )" + std::string(30'000, '[') + std::string(30'000, ']') + "}"),
              HasSubstr("'tags' must be"));
  EXPECT_THAT(error(std::string(kDeviceSpecBytesMax + 1, ' ')), HasSubstr("over the limit"));
}

TEST(DeviceSpec, AListHoldsSeveralEntries) {
  std::vector<Problem> problems;
  const auto specs = parse_device_spec(
      R"([{"vendor_id": "0001"}, {"bad": 1}, {"vendor_id": "0002"}])", kAt, problems);
  EXPECT_THAT(specs, SizeIs(2));
  EXPECT_THAT(problems, SizeIs(1));
  std::string many = "[{}";
  for (std::size_t i = 0; i < kDeviceSpecsMax; ++i) many += ",{}";
  EXPECT_THAT(error(many + "]"), HasSubstr("more than 256 entries"));
}

TEST(DeviceSpec, FirstMatchCounts) {
  std::vector<Problem> problems;
  const auto specs = parse_device_spec(R"([{"vendor_id": "8086", "product_id": "0001"},
      {"vendor_id": "8086", "address": "0000:0a:00.0"}, {"product_id": "0002"}])",
                                       kAt, problems);
  ASSERT_THAT(specs, SizeIs(3));
  EXPECT_EQ(match(specs, 0x8086, 1, at("0000:0a:00.0")), 0U);
  EXPECT_EQ(match(specs, 0x8086, 2, at("0000:0a:00.0")), 1U);
  EXPECT_EQ(match(specs, 0x8086, 2, at("0000:0b:00.0")), 2U);
  EXPECT_EQ(match(specs, 0x144d, 2, at("0000:0b:00.0")), 2U);
  EXPECT_EQ(match(specs, 0x144d, 1, at("0000:0a:00.0")), std::nullopt);
  EXPECT_EQ(match({}, 0x8086, 1, at("0000:0a:00.0")), std::nullopt);
}

std::size_t never_counting_of(std::string_view text) {
  std::vector<Problem> problems;
  const auto specs = parse_device_spec(text, kAt, problems);
  EXPECT_THAT(problems, IsEmpty());
  return never_counting(specs, "[nvme] device_spec").size();
}

TEST(DeviceSpec, AnExceptionBeforeTheGeneralEntryIsHowItIsWritten) {
  for (const char* text :
       {R"([{"vendor_id": "0001", "product_id": "0002"}, {"vendor_id": "0001"}])",
        R"([{"vendor_id": "0001"}, {"vendor_id": "0002"}])",
        R"([{"vendor_id": "0001"}, {"product_id": "0002"}])",
        R"([{"address": "0a:00.0"}, {"address": "0000:0a:*.*"}])",
        R"([{"address": "0a:00.0"}, {}])",
        R"([{"vendor_id": "0001", "address": "0a:00.0"}, {"vendor_id": "0001"}])",
        R"([{"address": {"bus": "0[1-4]"}}, {"address": {"bus": "0[4-6]"}}])",
        R"([{"address": "0000:*:*.*"}, {}])",
        R"([{"address": "0000:*:*.*"}, {"address": {"domain": "000."}}])"}) {
    EXPECT_EQ(never_counting_of(text), 0U) << text;
  }
}

TEST(DeviceSpec, AnEntryThatNeverCountsIsReported) {
  for (const char* text :
       {R"([{"vendor_id": "0001"}, {"vendor_id": "0001", "product_id": "0002"}])", R"([{}, {}])",
        R"([{"vendor_id": "0001"}, {"vendor_id": "0001", "address": "0a:00.0"}])",
        R"([{"address": "0000:0a:*.*"}, {"address": "0000:0a:00.0"}])",
        R"([{"address": {"bus": "0[1-6]"}}, {"address": {"bus": "0[4-6]"}}])",
        R"([{"address": {"domain": "000."}}, {"address": "0003::."}])",
        R"([{"address": {"domain": "000."}}, {"address": {"domain": "000[12]"}}])"}) {
    EXPECT_EQ(never_counting_of(text), 1U) << text;
  }
  std::vector<Problem> problems;
  auto specs = parse_device_spec(R"([{}, {}])", kAt, problems);
  specs[1].at.line = 9;
  EXPECT_EQ(to_string(never_counting(specs, "[nvme] device_spec").at(0)),
            "reclaim.conf:9: [nvme] device_spec: this entry never counts, for the entry at "
            "reclaim.conf:7 comes first and matches all that it matches: remove it, or put it "
            "before that one");
}

// -------------------------------------------------------------------------------------------------
// Its elder relative.

std::vector<DeviceSpec> listed(std::string_view text) {
  std::vector<Problem> problems;
  std::vector<DeviceSpec> specs = parse_passthrough_whitelist(text, kAt, problems);
  EXPECT_THAT(problems, IsEmpty()) << text << ": " << (problems.empty() ? "" : problems[0].text);
  return specs;
}

std::string listed_error(std::string_view text) {
  std::vector<Problem> problems;
  EXPECT_THAT(parse_passthrough_whitelist(text, kAt, problems), IsEmpty()) << text;
  EXPECT_THAT(problems, SizeIs(1)) << text;
  return problems.empty() ? "" : to_string(problems[0]);
}

TEST(PassthroughWhitelist, TheSpecificationsExamples) {
  const auto specs = listed(R"([{"vendor_id": "10de", "product_id": "25b6",
      "address": "0000:25:00.4", "managed": false},
      {"vendor_id": "10de", "product_id": "25b6", "address": "0000:25:00.5", "managed": "no"}])");
  ASSERT_THAT(specs, SizeIs(2));
  EXPECT_EQ(specs[0].managed, false);
  EXPECT_EQ(specs[1].managed, false);
  EXPECT_TRUE(matches(specs[0], 0x10de, 0x25b6, at("0000:25:00.4")));
  EXPECT_FALSE(matches(specs[0], 0x10de, 0x25b6, at("0000:25:00.5")));
  EXPECT_FALSE(matches(specs[0], 0x10de, 0x25b7, at("0000:25:00.4")));
}

TEST(PassthroughWhitelist, ManagedIsFlexibleAndABadValueIsRefused) {
  for (const char* yes : {"true", "\"Yes\"", "\"on\"", "\"t\"", "1", "\"1\""}) {
    const auto specs = listed(std::string(R"({"managed": )") + yes + "}");
    ASSERT_THAT(specs, SizeIs(1));
    EXPECT_EQ(specs[0].managed, true) << yes;
  }
  EXPECT_EQ(listed_error(R"({"managed": "maybe"})"),
            "reclaim.conf:7: [pci] passthrough_whitelist: 'managed' 'maybe' is not a boolean, "
            "accepted: 1, t, true, on, y, yes, 0, f, false, off, n, no");
  EXPECT_THAT(listed_error(R"({"managed": null})"), HasSubstr("is not a boolean"));
  EXPECT_THAT(listed_error(R"({"managed": []})"), HasSubstr("is not a boolean"));
}

TEST(PassthroughWhitelist, OtherKeysOfCyborgsAndNovasAreAccepted) {
  const auto specs = listed(R"({"physical_network": "p", "trusted": "true", "traits": "A",
      "remote_managed": "no"})");
  ASSERT_THAT(specs, SizeIs(1));
  EXPECT_THAT(specs[0].ignored, SizeIs(4));
  EXPECT_EQ(specs[0].managed, std::nullopt);
  EXPECT_THAT(
      listed_error(R"({"manged": false})"),
      HasSubstr(
          "[pci] passthrough_whitelist: unknown key 'manged' (did you mean 'managed'?), accepted: "
          "vendor_id"));
  EXPECT_THAT(listed_error(R"({"clear_action": "zero"})"), HasSubstr("unknown key"));
  EXPECT_THAT(listed_error("{"), HasSubstr("[pci] passthrough_whitelist: "));
}

// What it is for is known by the interface's name alone; taken without it, it would match all.
TEST(PassthroughWhitelist, AnEntryByInterfaceIsLeftOut) {
  EXPECT_THAT(listed(R"({"devname": "eth0"})"), IsEmpty());
}

}  // namespace
}  // namespace reclaim::config
