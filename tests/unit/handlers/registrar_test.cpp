// The specification's "Placement Integration": which provider a drive becomes.
#include "handlers/survey/registrar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/base/uuid.h"

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRoot = "5d273a28-07c3-4c08-822a-3699d9ea7392";

nvme::DriveFacts drive() {
  nvme::DriveFacts facts;
  facts.address = *parse_pci_address("0000:01:00.0");
  facts.vendor_id = 0x8086;
  facts.device_id = 0x0001;
  facts.class_code = 0x010802;
  facts.driver = "nvme";
  facts.identity.emplace();
  facts.identity->serial = "S1";
  facts.identity->capabilities.sanicap = 0x3;
  facts.identity->capabilities.oncs = 0x8;
  return facts;
}

TEST(Registrar, TheSpecificationsExample) {
  const auto device = new_device("compute-1", kRoot, drive());
  ASSERT_TRUE(device.ok()) << device.error().what;
  EXPECT_EQ(device->name, "compute-1_0000:01:00.0");
  EXPECT_EQ(device->resource_class, "CUSTOM_NVME_8086_0001");
  EXPECT_THAT(device->traits,
              ElementsAre("OWNER_CYBORG", "HW_NVME_CES", "HW_NVME_BES", "HW_NVME_WZS"));
  EXPECT_EQ(device->parent_uuid, kRoot);
}

TEST(Registrar, TraitsSayWhatTheDriveCanAndNothingElse) {
  auto facts = drive();
  facts.identity->capabilities = {};
  EXPECT_THAT(new_device("h", kRoot, facts)->traits, ElementsAre("OWNER_CYBORG"));
  facts.identity->capabilities.sanicap = 0x2;
  EXPECT_THAT(new_device("h", kRoot, facts)->traits, ElementsAre("OWNER_CYBORG", "HW_NVME_BES"));
  facts.identity->capabilities.sanicap = 0x4;  // overwrite has no trait
  facts.identity->capabilities.oncs = 0x8;
  EXPECT_THAT(new_device("h", kRoot, facts)->traits, ElementsAre("OWNER_CYBORG", "HW_NVME_WZS"));
}

TEST(Registrar, TheAddressIsOfLowerAndTheClassOfUpperCase) {
  auto facts = drive();
  facts.address = *parse_pci_address("0000:C1:00.0");
  facts.vendor_id = 0x144d;
  facts.device_id = 0xa80a;
  const auto device = new_device("Compute-1.Example", kRoot, facts);
  ASSERT_TRUE(device.ok()) << device.error().what;
  EXPECT_EQ(device->name, "Compute-1.Example_0000:c1:00.0");  // the host's name is not ours to fold
  EXPECT_EQ(device->resource_class, "CUSTOM_NVME_144D_A80A");
}

TEST(Registrar, TheUuidIsTheNamesAndNotTheDevices) {
  const auto device = new_device("compute-1", kRoot, drive());
  EXPECT_EQ(device->uuid, new_device("compute-1", "another root", drive())->uuid);
  EXPECT_NE(device->uuid, new_device("compute-2", kRoot, drive())->uuid);
  EXPECT_NE(device->uuid, device_uuid("compute-1", drive().address));
  // For ever, as Cyborg's conductor makes it: providers that stand in a Placement have it.
  EXPECT_EQ(device->uuid, "1c64fc32-07b9-3281-bf27-492ed1565e9c");
}

TEST(Registrar, ADriveThatDoesNotSayWhatItCanIsRefused) {
  auto facts = drive();
  facts.identity.reset();
  facts.problem = "bound to vfio-pci";
  const auto refused = new_device("compute-1", kRoot, facts);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_THAT(refused.error().what, HasSubstr("vfio-pci"));
  facts.problem.clear();
  EXPECT_FALSE(new_device("compute-1", kRoot, facts).error().what.empty());
}

}  // namespace
}  // namespace reclaim
