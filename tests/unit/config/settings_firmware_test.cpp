// [nvme] firmware_images: what is read of them, and what stops the start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDigest(64, 'a');

std::string image(std::string_view slot, std::string_view more = "") {
  return R"({"model": "MODEL 1", "revision": "R1", "slot": )" + std::string(slot) +
         R"(, "path": "/x.bin", "sha256": ")" + kDigest + "\"" + std::string(more) + "}";
}

std::string with(std::string_view value) {
  return std::string(kBase) + "firmware_images = " + std::string(value) + "\n";
}

TEST(FirmwareImages, AreReadFromEachValueAndList) {
  const CheckedSettings checked =
      build(with(image("1")) + "firmware_images = [" + image("2") + ", " + image("3") + "]\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const auto& images = checked.settings.nvme.firmware.images;
  ASSERT_EQ(images.size(), 3U);
  EXPECT_EQ(images[2], (nvme::FirmwareImage{"MODEL 1", "R1", 3, "/x.bin", kDigest}));
  ASSERT_EQ(checked.settings.firmware_images_at.size(), 3U);
  EXPECT_EQ(checked.settings.firmware_images_at[0].line + 1,
            checked.settings.firmware_images_at[2].line);
}

TEST(FirmwareImages, GiveTheStepItsPriority) {
  const auto priority = [](std::string_view text) {
    const auto& priorities = build(text).settings.conductor.step_priorities;
    const auto found = priorities.find("nvme.restore_firmware");
    return found == priorities.end() ? -1 : found->second;
  };
  EXPECT_EQ(priority(kBase), -1);
  EXPECT_EQ(priority(with(image("1"))), 88);
  EXPECT_EQ(
      priority(with(image("1")) + "clean_step_priority_override = nvme.restore_firmware:84\n"), 84);
  EXPECT_THAT(problems(with(image("1")) + "clean_step_priority_override = nvme.check_health:88\n"),
              Contains(HasSubstr("have the same priority, 88")));
}

TEST(FirmwareImages, WhatIsWrongIsNamed) {
  const auto wrong = [](std::string_view value) { return problems(with(value)); };
  EXPECT_THAT(wrong("{"), ElementsAre(HasSubstr("[nvme] firmware_images: ")));
  EXPECT_THAT(wrong("7"), ElementsAre(HasSubstr("must be a JSON object like {\"model\"")));
  EXPECT_THAT(wrong(image("0")), ElementsAre(HasSubstr("'slot' must be a number of 1 to 7")));
  EXPECT_THAT(wrong(image("8")), ElementsAre(HasSubstr("'slot'")));
  EXPECT_THAT(wrong(image("\"1\"")), ElementsAre(HasSubstr("'slot'")));
  EXPECT_THAT(wrong(image("1", R"(, "force": true)")),
              ElementsAre(HasSubstr("unknown key 'force', accepted: model, revision, slot")));
  EXPECT_THAT(wrong("[" + image("1") + "," + image("1") + "]"),
              ElementsAre(HasSubstr("two images of R1 for slot 1 of model MODEL 1")));
  EXPECT_THAT(
      wrong(R"({"model": " M", "revision": "123456789", "slot": 1, "path": "x", "sha256": "zz"})"),
      ElementsAre(HasSubstr("'model' must be as `nvme id-ctrl`"), HasSubstr("'revision' must be"),
                  HasSubstr("'path' must be absolute"), HasSubstr("'sha256' must be the 64")));
}

}  // namespace
}  // namespace reclaim::config
