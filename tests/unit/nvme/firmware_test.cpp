// What is planned to put a drive's firmware back, in which pieces it is sent, and whether the file
// of an image is accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nvme/controller/buffer.h"
#include "nvme/firmware/image.h"
#include "nvme/firmware/plan.h"
#include "tests/temp_folder.h"

namespace reclaim::nvme {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint16_t kFirmwareCommands = 4;

FirmwareReading drive(const FirmwareState& firmware, std::uint8_t frmw = 0x06) {
  FirmwareReading reading;
  reading.state.model = "M";
  reading.state.oacs = kFirmwareCommands;
  reading.state.firmware = firmware;
  reading.state.firmware_revision = firmware.revisions[firmware.active_slot - 1U];
  reading.abilities.firmware_updates = frmw;
  return reading;
}

FirmwareState slots(std::uint8_t active, std::vector<std::string> revisions,
                    std::uint8_t next = 0) {
  revisions.resize(7);
  return FirmwareState{active, next, std::move(revisions)};
}

std::vector<FirmwareImage> images() {
  return {FirmwareImage{"M", "A", 1, "/a", "aa"}, FirmwareImage{"M", "B", 2, "/b", "bb"},
          FirmwareImage{"M", "C", 3, "/c", "cc"}};
}

// "1 A activate, 2 B"; or what was found; or the error.
std::string planned(const FirmwareReading& now, const std::vector<std::string>& allowed = {},
                    const FirmwareState& enrolled = slots(1, {"A", "B"}),
                    const std::vector<FirmwareImage>& with = images()) {
  ControllerState before;
  before.firmware = enrolled;
  const auto plan = plan_firmware(now, &before, allowed, with);
  if (!plan) return std::string(to_string(plan.error().code)) + ": " + plan.error().what;
  std::string out;
  for (const SlotToRestore& each : plan->slots) {
    out += (out.empty() ? "" : ", ") + std::to_string(each.image.slot) + " " + each.image.revision;
    if (!each.write) out += " as it is";
    if (each.activate) out += " activate";
  }
  return out.empty() ? plan->found : out;
}

TEST(FirmwarePlan, NothingWhereNothingDiffers) {
  EXPECT_EQ(planned(drive(slots(1, {"A", "B"}))), "as enrolled");
  EXPECT_EQ(planned(drive(slots(1, {"A", "B"}, 1))), "as enrolled");
  EXPECT_EQ(planned(drive(slots(1, {"A", "B"}), 0), {"A", "B"}),
            "every revision is an allowed one");
}

TEST(FirmwarePlan, WithoutABaselineThereIsNothingToCompareWith) {
  const auto plan = plan_firmware(drive(slots(1, {"X"}, 2)), nullptr, {}, images());
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->slots.empty());
  EXPECT_THAT(plan->found, HasSubstr("no enrolment baseline"));
}

TEST(FirmwarePlan, TheActiveSlotComesFirst) {
  EXPECT_EQ(planned(drive(slots(1, {"X", "B"}))), "1 A activate");
  EXPECT_EQ(planned(drive(slots(1, {"A", "X"}))), "2 B");
  EXPECT_EQ(planned(drive(slots(1, {"X", "X"}))), "1 A activate, 2 B");
  EXPECT_EQ(planned(drive(slots(2, {"X", "X"})), {}, slots(2, {"A", "B"})), "2 B activate, 1 A");
  EXPECT_EQ(planned(drive(slots(2, {"A", "B"}))), "1 A activate");
  EXPECT_EQ(planned(drive(slots(2, {"A", "X"}))), "1 A activate, 2 B");
  EXPECT_EQ(planned(drive(slots(1, {"A", "B"}, 2))), "1 A activate");
  FirmwareReading other = drive(slots(1, {"A", "B"}));
  other.state.firmware_revision = "X";
  EXPECT_EQ(planned(other), "1 A activate") << "it waits for more than a reset";
}

TEST(FirmwarePlan, AllOrNothing) {
  EXPECT_THAT(planned(drive(slots(1, {"X", "B", "X"}))),
              HasSubstr("slot 3 held 'X', at enrolment ''; [nvme] firmware_images has no image"));
  std::vector<FirmwareImage> others = images();
  others[0].model = "N";
  EXPECT_THAT(planned(drive(slots(1, {"X", "B"})), {}, slots(1, {"A", "B"}), others),
              HasSubstr("no image of M for it: left as it is"));
  others = images();
  others[0].revision = "A2";  // not what it was
  EXPECT_THAT(planned(drive(slots(1, {"X", "B"})), {}, slots(1, {"A", "B"}), others),
              HasSubstr("left as it is"));
}

TEST(FirmwarePlan, AListCountsInsteadOfTheEnrolment) {
  EXPECT_EQ(planned(drive(slots(1, {"X", "B"})), {"A", "B"}), "1 A activate");
  EXPECT_EQ(planned(drive(slots(2, {"A", "B"})), {"A", "B"}), "every revision is an allowed one");
  EXPECT_EQ(planned(drive(slots(2, {"X", "B"})), {"A", "B"}), "1 A");
  EXPECT_EQ(planned(drive(slots(1, {"A", "B"}, 2)), {"A", "B"}), "1 A activate");
  EXPECT_THAT(planned(drive(slots(1, {"X", "B"})), {"B"}), HasSubstr("left as it is"));
}

TEST(FirmwarePlan, WhatTheDriveCannotTakeIsAnError) {
  EXPECT_THAT(planned(drive(slots(1, {"A", "X"}), 0x02)), HasSubstr("lets 1 slots be written"));
  EXPECT_THAT(planned(drive(slots(1, {"X", "B"}), 0x07)),
              HasSubstr("slot 1 is read only: replace the drive"));
  EXPECT_EQ(planned(drive(slots(2, {"A", "B"}), 0x07)), "1 A as it is activate");
  FirmwareReading none = drive(slots(1, {"X", "B"}));
  none.state.oacs = 0;
  EXPECT_THAT(planned(none), HasSubstr("failed: firmware: slot 1 held 'X', at enrolment 'A'; the "
                                       "drive takes no firmware"));
}

TEST(FirmwarePieces, AreAsTheDriveWantsThem) {
  struct Case {
    std::uint8_t pieces;
    std::uint8_t transfer;
    std::size_t bytes;  // 0: an error
  };
  for (const Case& c :
       {Case{0, 0, 65'536}, Case{255, 0, 65'536}, Case{0, 1, 8'192}, Case{255, 200, 65'536},
        Case{3, 0, 61'440}, Case{3, 4, 61'440}, Case{2, 1, 8'192}, Case{17, 0, 69'632},
        Case{17, 5, 69'632}, Case{4, 1, 0}, Case{254, 7, 0}}) {
    ControllerAbilities abilities;
    abilities.update_pieces = c.pieces;
    abilities.transfer_max = c.transfer;
    const auto bytes = piece_bytes(abilities);
    EXPECT_EQ(bytes ? *bytes : 0, c.bytes) << unsigned{c.pieces} << " " << unsigned{c.transfer};
  }
}

struct FirmwareImageTest : ::testing::Test {
  void SetUp() override {
    options.owner = ::geteuid();
    image.path = folder / "x.bin";
    write("12345678");
  }
  void write(const std::string& text) {
    std::ofstream(image.path, std::ios::binary) << text;
    ASSERT_EQ(::chmod(image.path.c_str(), 0644), 0);
    image.sha256 = sha256_hex(std::as_bytes(std::span(text)));
  }
  std::string refusal() {
    const auto read = read_image(options, image);
    return read ? "accepted" : std::string(to_string(read.error().code)) + ": " + read.error().what;
  }

  const TempFolder temp;
  const fs::path& folder = temp.path();
  FirmwareOptions options;
  FirmwareImage image;
};

TEST_F(FirmwareImageTest, IsReadWhole) {
  const auto read = read_image(options, image);
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(read->size(), 8U);
  EXPECT_EQ((*read)[7], std::byte{'8'});
}

TEST_F(FirmwareImageTest, WhatOthersMayWriteIsRefused) {
  ASSERT_EQ(::chmod(image.path.c_str(), 0664), 0);
  EXPECT_EQ(refusal(), "failed: firmware image " + image.path + ": " + image.path +
                           " can be written by others than its owner (mode 664): `chmod go-w " +
                           image.path + "`");
  options.owner = 12'345;
  EXPECT_THAT(refusal(), HasSubstr("not to 12345: `chown 12345"));
}

TEST_F(FirmwareImageTest, AnotherContentIsRefusedWithBothDigests) {
  image.sha256[0] = image.sha256[0] == '0' ? '1' : '0';
  EXPECT_THAT(refusal(), HasSubstr("firmware_images says " + image.sha256 +
                                   ": copy the image again, or correct sha256"));
}

TEST_F(FirmwareImageTest, WhatIsNoImageIsRefused) {
  write("1234567");
  EXPECT_THAT(refusal(), HasSubstr("has 7 bytes, and drives take multiples of 4"));
  write("");
  EXPECT_THAT(refusal(), HasSubstr("has 0 bytes"));
  fs::resize_file(image.path, (64U << 20U) + 4);
  EXPECT_THAT(refusal(), HasSubstr("at most 67108864 are accepted"));
  image.path = folder;
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
  image.path = folder / "gone";
  EXPECT_THAT(refusal(), HasSubstr("No such file or directory: correct the path"));
}

}  // namespace
}  // namespace reclaim::nvme
