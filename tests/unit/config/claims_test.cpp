// Who claims a drive, and whose word on `managed` counts.
#include "config/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PciAddress kAddress{0, 0xc1, 0, 0};

PresentDrive drive(std::uint16_t vendor_id = 0x144d, const PciAddress& address = kAddress) {
  return {address, vendor_id, 0xa80a};
}

Settings settings_of(std::string_view text) {
  CheckedSettings checked = build(text);
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  return std::move(checked.settings);
}

std::string claims(std::string_view text, const PresentDrive& facts = drive()) {
  const Status checked = check_claims(settings_of(text), {drive(1, {0, 1, 0, 0}), facts});
  return checked.ok() ? "" : checked.error().what;
}

bool managed(std::string_view text) {
  const Settings settings = settings_of(text);
  return managed_of(settings.device_specs.at(0), settings.passthrough_whitelist, 0x144d, 0xa80a,
                    kAddress);
}

TEST(Claims, ManagedComesFromTheEntryElseFromTheWhitelistElseItIsTrue) {
  EXPECT_TRUE(managed("[nvme]\ndevice_spec = {}\n"));
  EXPECT_FALSE(managed("[nvme]\ndevice_spec = {\"managed\": false}\n"));
  EXPECT_FALSE(
      managed("[nvme]\ndevice_spec = {}\n"
              "[pci]\npassthrough_whitelist = {\"address\": \"0000:c1:00.0\", "
              "\"managed\": \"no\"}\n"));
  // It says nothing: true, as Cyborg takes it. It is for another device: it does not count.
  EXPECT_TRUE(
      managed("[nvme]\ndevice_spec = {}\n[pci]\npassthrough_whitelist = {}\n"
              "passthrough_whitelist = {\"managed\": false}\n"));
  EXPECT_TRUE(
      managed("[nvme]\ndevice_spec = {}\n"
              "[pci]\npassthrough_whitelist = {\"vendor_id\": \"10de\", \"managed\": "
              "false}\n"));
}

TEST(Claims, AContradictionOfTheSameDevicesNamesBothPlaces) {
  EXPECT_THAT(problems("[nvme]\ndevice_spec = {\"address\": \"*:c1:00.*\", \"managed\": true}\n"
                       "[pci]\npassthrough_whitelist = {\"address\": \"0000:c1:00.0\", "
                       "\"managed\": false}\n"),
              ElementsAre("r.conf:2: [nvme] device_spec: managed = true contradicts managed = "
                          "false of the [pci] passthrough_whitelist at r.conf:4"));
  EXPECT_THAT(problems("[nvme]\ndevice_spec = {\"address\": \"*:c1:00.*\", \"managed\": true}\n"
                       "[pci]\npassthrough_whitelist = {\"address\": \"0000:c2:00.0\", "
                       "\"managed\": false}\n"),
              IsEmpty());
  EXPECT_THAT(problems("[nvme]\ndevice_spec = {\"managed\": true}\n"
                       "[pci]\npassthrough_whitelist = {\"managed\": \"yes\"}\n"),
              IsEmpty());
}

// A GPU's entry names the vendor, a drive's the slot: only the host tells whether they meet.
TEST(Claims, AContradictionThatOnlyTheHostCanTellStopsTheStartOnlyIfItIsThere) {
  constexpr std::string_view kText =
      "[nvme]\ndevice_spec = {\"address\": \"0000:c1:00.0\", \"managed\": true}\n"
      "[pci]\npassthrough_whitelist = {\"vendor_id\": \"10de\", \"managed\": false}\n";
  EXPECT_THAT(warnings(kText), Contains(HasSubstr("if a drive matches both")));
  EXPECT_TRUE(claims_need_drives(settings_of(kText)));
  EXPECT_EQ(claims(kText), "");
  EXPECT_EQ(claims(kText, drive(0x10de)),
            "InvalidConfiguration: the drive 0000:c1:00.0 (10de:a80a) is managed = true in the "
            "[nvme] device_spec at r.conf:2 and managed = false in the [pci] "
            "passthrough_whitelist at r.conf:4");
  EXPECT_FALSE(claims_need_drives(settings_of("[nvme]\ndevice_spec = {}\n")));
}

TEST(Claims, WithManageProvidersTwoEntriesForADriveThatIsThereStopTheStart) {
  constexpr std::string_view kTwo =
      "device_spec = {\"vendor_id\": \"144d\"}\ndevice_spec = {\"address\": \"*:c1:00.*\"}\n";
  const std::string with = "[nvme]\nmanage_providers = true\n" + std::string(kTwo);
  EXPECT_EQ(claims(with),
            "InvalidConfiguration: the drive 0000:c1:00.0 (144d:a80a) is claimed by two [nvme] "
            "device_spec entries, at r.conf:3 and at r.conf:4: with manage_providers only one may "
            "match");
  EXPECT_EQ(claims(with, drive(0x8086)), "");             // one of them matches it
  EXPECT_EQ(claims("[nvme]\n" + std::string(kTwo)), "");  // Nova's rule: the first one counts
  EXPECT_TRUE(claims_need_drives(settings_of(with)));
}

TEST(Claims, WithManageProvidersCyborgsPciDriverMayNotClaimTheDriveToo) {
  constexpr std::string_view kText =
      "device_spec = {\"vendor_id\": \"144d\"}\n"
      "[pci]\npassthrough_whitelist = {\"address\": \"0000:c1:00.0\"}\n";
  EXPECT_THAT(claims("[nvme]\nmanage_providers = true\n" + std::string(kText)),
              HasSubstr("is claimed by the [nvme] device_spec at r.conf:3 and by the [pci] "
                        "passthrough_whitelist at r.conf:5"));
  EXPECT_EQ(claims("[nvme]\nmanage_providers = true\n" + std::string(kText),
                   drive(0x144d, {0, 0xc2, 0, 0})),
            "");
  EXPECT_EQ(claims("[nvme]\n" + std::string(kText)), "");
}

TEST(Claims, AnEntryOfOursRefinesCyborgs) {
  const auto checked =
      build({service("[nvme]\ndevice_spec = {\"vendor_id\": \"144d\"}\n"
                     "device_spec = {\"product_id\": \"a80a\"}\n",
                     "cyborg.conf"),
             own("[nvme]\nmanage_providers = true\n"
                 "device_spec = {\"vendor_id\": \"144d\", \"verify\": \"full\"}\n")});
  Settings settings = checked.settings;
  EXPECT_THAT(check_claims(settings, {drive()}).error().what,
              HasSubstr("at cyborg.conf:2 and at cyborg.conf:3"));
  settings.device_specs.pop_back();
  EXPECT_TRUE(check_claims(settings, {drive()}).ok());
}

}  // namespace
}  // namespace reclaim::config
