// A function's configuration space: read, with every list that leads astray, and compared with
// another reading of it.
#include "nvme/pci/config_space.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvme/pci/config_compare.h"
#include "nvme/pci/config_registers.h"
#include "tests/emulator/host/config_image.h"

namespace reclaim::nvme {
namespace {

namespace card = emulator::card;
using emulator::card_config;
using emulator::get_config;
using emulator::put_config;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void expect_invalid(const std::string& bytes, std::string_view says) {
  const auto space = parse_config_space(bytes);
  ASSERT_FALSE(space.ok()) << says;
  EXPECT_EQ(space.error().code, Errc::invalid);
  EXPECT_NE(space.error().what.find(says), std::string::npos) << space.error().what;
}

TEST(ConfigSpace, TellsWhatTheFunctionIs) {
  const auto space = parse_config_space(card_config());
  ASSERT_TRUE(space.ok()) << space.error().what;
  EXPECT_EQ(space->vendor_id, 0x8086);
  EXPECT_EQ(space->device_id, 0x1572);
  EXPECT_EQ(space->subsystem_vendor_id, 0x8086);
  EXPECT_EQ(space->subsystem_id, 0x0004);
  EXPECT_EQ(space->class_code, 0x020000U);
  EXPECT_EQ(space->revision, 2);
  EXPECT_TRUE(space->multifunction);
  EXPECT_TRUE(space->memory_enabled);
  EXPECT_EQ(space->power_state, 0);
  EXPECT_EQ(space->rom_bar, 0xc7a0'0000U);
  EXPECT_EQ(space->serial_number, "3c-fd-fe-ff-ff-12-34-56");
  EXPECT_THAT(space->bars, ElementsAre(PciBar{0, BarKind::memory64, true, 0x38'0000'0000},
                                       PciBar{3, BarKind::memory64, true, 0x38'0180'0000}));
  EXPECT_EQ(space->link, (PciLink{3, 8, 3, 8}));
  EXPECT_EQ(space->errors, (PciErrorStatus{0, 0}));
  EXPECT_EQ(space->virtual_functions, (PciVirtualFunctions{false, 64, 0}));
}

TEST(ConfigSpace, ListsCapabilitiesWithTheirLengths) {
  const auto space = parse_config_space(card_config());
  ASSERT_TRUE(space.ok());
  std::vector<std::string> all;
  for (const PciCapability& each : space->capabilities) {
    all.push_back(fmt::format("{}+{}", to_string(each), each.bytes));
  }
  EXPECT_THAT(
      all,
      ElementsAre("power management capability at 0x40+8", "MSI capability at 0x50+24",
                  "vendor-specific capability at 0x68+8", "MSI-X capability at 0x70+12",
                  "PCI Express capability at 0xa0+60", "vital product data capability at 0xe0+8",
                  "advanced error reporting capability at 0x100+72",
                  "device serial number capability at 0x148+12", "SR-IOV capability at 0x160+64",
                  "vendor-specific extended capability at 0x1a0+24",
                  "alternative routing-id capability at 0x1c0+3648"));
}

TEST(ConfigSpace, KindsOfBars) {
  std::string bytes = card_config();
  put_config(bytes, 0x10, 8, 0);
  put_config(bytes, 0x10, 4, 0xe001);       // ports
  put_config(bytes, 0x14, 4, 0xfe00'0000);  // 32 bits
  put_config(bytes, 0x24, 4, 0x0000'000c);  // the last one cannot be wide
  const auto space = parse_config_space(bytes);
  ASSERT_TRUE(space.ok());
  EXPECT_THAT(space->bars, ElementsAre(PciBar{0, BarKind::io, false, 0xe000},
                                       PciBar{1, BarKind::memory32, false, 0xfe00'0000},
                                       PciBar{3, BarKind::memory64, true, 0x38'0180'0000},
                                       PciBar{5, BarKind::memory32, true, 0}));
}

TEST(ConfigSpace, OfShorterReadingsThereIsLess) {
  const std::string bytes = card_config();
  const auto header = parse_config_space(bytes.substr(0, 64));
  ASSERT_TRUE(header.ok());
  EXPECT_THAT(header->capabilities, IsEmpty());
  EXPECT_EQ(header->link, std::nullopt);
  const auto conventional = parse_config_space(bytes.substr(0, 256));
  ASSERT_TRUE(conventional.ok());
  EXPECT_EQ(conventional->capabilities.size(), 6U);
  EXPECT_TRUE(conventional->link.has_value());
  EXPECT_EQ(conventional->serial_number, "");
  for (const std::size_t length : {0U, 63U, 65U, 128U, 257U, 4095U}) {
    expect_invalid(bytes.substr(0, length), "has 64, 256 or 4096 bytes");
  }
}

TEST(ConfigSpace, OfNoFunctionOrABridgeIsNone) {
  expect_invalid(std::string(4096, '\xff'), "does not answer");
  std::string bridge = card_config();
  put_config(bridge, 0x0e, 1, 0x01);
  expect_invalid(bridge, "type 1, a bridge's");
}

TEST(ConfigSpace, ListsThatLeadAstray) {
  const auto with = [](std::size_t at, std::size_t length, std::uint64_t value) {
    std::string bytes = card_config();
    put_config(bytes, at, length, value);
    return bytes;
  };
  expect_invalid(with(card::kVpd + 1, 1, card::kPower), "leads back to 0x40");
  expect_invalid(with(card::kPower + 1, 1, card::kPower), "leads back to 0x40");
  expect_invalid(with(0x34, 1, 0x10), "into the header, to 0x10");
  expect_invalid(with(card::kVpd, 1, 0xff), "to 0xe0, where none is");
  expect_invalid(with(card::kRouting, 4, 0x1481'000e), "leads back to 0x148");
  expect_invalid(with(card::kRouting, 4, 0x0401'000e), "out of their space, to 0x040");
  expect_invalid(with(card::kRouting, 4, 0x8001'000e), "to 0x800, where none is");
  expect_invalid(with(card::kErrors, 4, 0xffff'ffff), "to 0x100, where none is");
  // Registers that another capability begins in the middle of.
  expect_invalid(with(card::kVpd + 1, 1, card::kExpress + 4), "has 4 bytes, 20 are needed");
}

TEST(ConfigSpace, WithoutListsThereAreNoCapabilities) {
  std::string bytes = card_config();
  put_config(bytes, 0x06, 2, 0);
  put_config(bytes, card::kErrors, 4, 0);
  const auto space = parse_config_space(bytes);
  ASSERT_TRUE(space.ok());
  EXPECT_THAT(space->capabilities, IsEmpty());
}

// What compare_config() says of one register that changed by this.
std::vector<std::string> after_change(std::size_t at, std::size_t length, std::uint64_t value) {
  const std::string before = card_config();
  std::string now = before;
  put_config(now, at, length, value);
  EXPECT_NE(before, now) << at;
  const auto lines = compare_config(before, now);
  EXPECT_TRUE(lines.ok()) << lines.error().what;
  return lines.ok() ? *lines : std::vector<std::string>{};
}

TEST(CompareConfig, TheSameIsTheSame) {
  const auto lines = compare_config(card_config(), card_config());
  ASSERT_TRUE(lines.ok());
  EXPECT_THAT(*lines, IsEmpty());
}

TEST(CompareConfig, NamesWhatDiffers) {
  EXPECT_THAT(after_change(0x02, 2, 0x1017), ElementsAre("device id 1017 was 1572"));
  EXPECT_THAT(after_change(0x08, 1, 3), ElementsAre("revision 03 was 02"));
  EXPECT_THAT(after_change(0x09, 3, 0x030000), ElementsAre("class code 030000 was 020000"));
  EXPECT_THAT(after_change(0x2e, 2, 0xbeef), ElementsAre("subsystem id beef was 0004"));
  EXPECT_THAT(after_change(card::kVendor + 5, 1, 0x99),
              ElementsAre("vendor-specific capability at 0x68 changed: 0x6d is 99, was 56"));
  EXPECT_THAT(
      after_change(card::kVendorExtended + 8, 1, 0),
      ElementsAre("vendor-specific extended capability at 0x1a0 changed: 0x1a8 is 00, was 0d"));
  EXPECT_THAT(after_change(card::kSerial + 4, 1, 0x57),
              ElementsAre("device serial number capability at 0x148 changed: 0x14c is 57, was 56"));
  EXPECT_THAT(after_change(card::kSriov + 0xe, 2, 8),
              ElementsAre("SR-IOV capability at 0x160 changed: 0x16e is 08, was 40"));
  EXPECT_THAT(after_change(card::kExpress + 12, 1, 0x41),
              ElementsAre("PCI Express capability at 0xa0 changed: 0xac is 41, was 83"));
  EXPECT_THAT(after_change(0x90, 1, 0x5a),
              ElementsAre("device-specific registers changed: 0x90 is 5a, was 00"));
  EXPECT_THAT(after_change(0x11, 1, 1), IsEmpty()) << "an address";
  EXPECT_THAT(after_change(0x10, 1, 0), ElementsAre(HasSubstr("kind of BAR 0")));
}

TEST(CompareConfig, ACapabilityThatComesOrGoesIsNamed) {
  EXPECT_THAT(after_change(card::kExpress + 1, 1, 0),
              ElementsAre("vital product data capability at 0xe0 is gone"));
  const std::string now = card_config();
  std::string before = now;
  put_config(before, card::kVendorExtended, 4, 0x0001'000b);
  const auto lines = compare_config(before, now);
  ASSERT_TRUE(lines.ok());
  EXPECT_THAT(*lines, ::testing::Contains("alternative routing-id capability at 0x1c0 is new"));
}

// Every row of the table, in a space that has the capability: each bit of it may change.
TEST(CompareConfig, WhatChangesByItselfIsNotCompared) {
  for (const VolatileRegister& each : volatile_registers()) {
    std::string before = card_config(each.vendor_id != 0 ? each.vendor_id : 0x8086);
    std::size_t at = each.offset;
    if (each.part == ConfigPart::capability) {
      put_config(before, 0x34, 1, 0x40);
      std::fill(before.begin() + 0x40, before.begin() + 0x100, '\0');
      put_config(before, 0x40, 1, each.id);
      if (each.id == 0x09) put_config(before, 0x42, 1, 0x18);
      if (each.id == 0x10) put_config(before, 0x42, 2, 2);
      if (each.id == 0x05) put_config(before, 0x42, 2, 0x180);
      at += 0x40;
    }
    if (each.part == ConfigPart::extended) {
      std::fill(before.begin() + 0x100, before.end(), '\0');
      put_config(before, 0x100, 4, 0x0001'0000U | each.id);
      at += 0x100;
    }
    std::string now = before;
    const std::size_t length = std::min<std::size_t>(each.bytes, 4);
    put_config(now, at, length, get_config(now, at, length) ^ each.bits);
    const auto lines = compare_config(before, now);
    ASSERT_TRUE(lines.ok()) << each.name << ": " << lines.error().what;
    EXPECT_THAT(*lines, IsEmpty()) << each.name;
    if (each.bits == 0xffffffffU) continue;
    now = before;
    put_config(now, at, length, get_config(now, at, length) ^ ~each.bits);
    const auto others = compare_config(before, now);
    if (!others) continue;  // it is refused as a whole
    EXPECT_THAT(*others, Not(IsEmpty())) << each.name << " hides its neighbours";
  }
}

TEST(CompareConfig, ARegisterOfOneVendorsIsComparedElsewhere) {
  for (const std::uint16_t vendor : {std::uint16_t{0x15b3}, std::uint16_t{0x8086}}) {
    const std::string before = card_config(vendor);
    std::string now = before;
    put_config(now, card::kVendor + 4, 4, 0);
    EXPECT_EQ(compare_config(before, now)->empty(), vendor == 0x15b3);
  }
}

TEST(CompareConfig, AnOperatorNamesWhatElseChanges) {
  const std::string before = card_config();
  std::string now = before;
  put_config(now, 0x90, 4, 0xffff'ffff);
  const std::vector<ConfigRange> whole = {{0x90, 0x93}};
  EXPECT_THAT(*compare_config(before, now, whole), IsEmpty());
  const std::vector<ConfigRange> part = {{0x90, 0x92}, {0xff00, 0xffff}};
  EXPECT_THAT(*compare_config(before, now, part),
              ElementsAre("device-specific registers changed: 0x93 is ff, was 00"));
}

TEST(CompareConfig, SaysWhichOfThemCannotBeRead) {
  const std::string good = card_config();
  const auto dead = compare_config(good, std::string(4096, '\xff'));
  ASSERT_FALSE(dead.ok());
  EXPECT_THAT(dead.error().what,
              HasSubstr("the configuration space: the function does not answer"));
  const auto old = compare_config("", good);
  ASSERT_FALSE(old.ok());
  EXPECT_THAT(old.error().what, HasSubstr("the enrolled configuration space"));
  EXPECT_THAT(*compare_config(good, good.substr(0, 256)),
              ElementsAre("the configuration space has 256 bytes and had 4096"));
}

TEST(CompareConfig, DoesNotTellWithoutEnd) {
  const std::string before = card_config();
  std::string now = before;
  for (std::size_t at = 0; at < now.size(); ++at) {
    const bool list = at < 0x100 ? at == 0x00 || at == 0x01 || at == 0x06 || at == 0x0e : true;
    if (!list && at < 0x40) now[at] = static_cast<char>(~now[at]);
  }
  put_config(now, 0x06, 2, 0);  // no list
  put_config(now, 0x100, 4, 0);
  const auto lines = compare_config(before, now);
  ASSERT_TRUE(lines.ok()) << lines.error().what;
  ASSERT_EQ(lines->size(), 17U);
  EXPECT_THAT(lines->back(), HasSubstr("more"));
}

}  // namespace
}  // namespace reclaim::nvme
