// The udev rules that are written for a device_spec list its drives, and no others.
#include "config/udev_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<DeviceSpec> specs_of(const std::string& json) {
  std::vector<Problem> problems;
  auto specs = parse_device_spec(json, {"r.conf", 7}, problems);
  EXPECT_THAT(problems, IsEmpty());
  return specs;
}

HostDrive drive(const std::string& address, std::uint16_t vendor = 0x144d,
                std::uint16_t device = 0xa80a) {
  return {*parse_pci_address(address), vendor, device};
}

const std::vector<HostDrive> kHost = {drive("0000:c1:00.0"), drive("0000:c2:00.0"),
                                      drive("0000:01:00.0", 0x8086, 0x0a54)};

TEST(UdevRules, WhatIsWrittenListsWhatTheEntryMatches) {
  for (const char* entry :
       {R"({"vendor_id": "144d", "product_id": "a80a"})", R"({"vendor_id": "144d"})",
        R"({"vendor_id": "144d", "address": "*:c1:00.*"})",
        R"({"address": {"domain": ".*", "bus": "c[12]", "slot": "00", "function": "0"}})"}) {
    const auto specs = specs_of(entry);
    const UdevListing listing = read_udev_rules(udev_rules(specs, kHost));
    for (const HostDrive& each : kHost) {
      EXPECT_EQ(listing.lists(each),
                matches(specs[0], each.vendor_id, each.device_id, each.address))
          << entry << " " << to_string(each.address);
    }
  }
}

TEST(UdevRules, EachEntryHasItsLineAndItsPlace) {
  const std::string rules = udev_rules(
      specs_of(R"([{"vendor_id": "8086", "product_id": "0a54"}, {"address": "0000:dd:00.0"}])"),
      kHost);
  EXPECT_THAT(rules, HasSubstr("# r.conf:7\nENV{.RECLAIM_IDS}==\"*0x8086:0x0a54*\", "
                               "ENV{RECLAIM_OWNED}=\"1\"\n"));
  EXPECT_THAT(rules, HasSubstr("# matches no drive of this host today\n"));
  EXPECT_THAT(rules, Not(HasSubstr("#ENV{.RECLAIM_")));
  EXPECT_THAT(rules, HasSubstr("LABEL=\"reclaim_end\""));
}

TEST(UdevRules, ExamplesThatAreCommentsListNothing) {
  EXPECT_THAT(
      read_udev_rules("#ENV{.RECLAIM_IDS}==\"*0x8086:0x0a54*\", ENV{RECLAIM_OWNED}=\"1\"\n").lines,
      IsEmpty());
  const UdevListing listing = read_udev_rules(
      "ENV{.RECLAIM_ADDRESS}==\"*0000:c1:00.0*|*0000:c2:00.0*\", ENV{RECLAIM_OWNED}=\"1\"\n"
      "ENV{.RECLAIM_ADDRESS}!=\"?*\", ENV{RECLAIM_OWNED}=\"\"\n");
  ASSERT_EQ(listing.lines.size(), 1U);
  EXPECT_TRUE(listing.lists(kHost[1]));
  EXPECT_FALSE(listing.lists(kHost[2]));
}

}  // namespace
}  // namespace reclaim::config
