// What `reclaim qualify` prints, and the file from which a later run goes on.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <pugixml.hpp>

#include "cli/qualify_order.h"
#include "cli/qualify_report.h"
#include "cli/qualify_stages.h"
#include "cli/qualify_state.h"
#include "nvme/qualify/judgement.h"
#include "tests/temp_folder.h"

namespace reclaim::cli {
namespace {

nvme::Qualification tried() {
  nvme::Qualification whole;
  whole.tool_version = "1";
  whole.drive.model = "Model <X> & \"Y\"";
  whole.drive.firmware = "F\x1b[1m";
  whole.drive.serial = "S/1 ..";
  whole.drive.vendor_id = "144d";
  whole.drive.product_id = "a80a";
  whole.drive.capacity_bytes = 1 << 20;
  whole.drive.capabilities.sanicap = 1;
  whole.nonces = {1};
  nvme::Trial& trial = whole.trials.emplace_back();
  trial.method = nvme::EraseMethod::sanitize_crypto;
  trial.finished = trial.claims_erased = trial.global_data_erased = true;
  trial.before.intact = 1 << 20;
  trial.after.zeroes = 1 << 20;
  trial.written = trial.read_back = trial.looked_at = nvme::Pass{1 << 20, 1000};
  trial.erased = nvme::Pass{1 << 20, 2500};
  whole.last_erase = {"sanitize_crypto", true, "all read", 3000};
  whole.conclusion = nvme::judge(whole);
  return whole;
}

void expect_has(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

TEST(QualifyReport, TheTextBeginsWithTheVerdictAndHasTheEntry) {
  const std::string text = qualification_text(tried(), 0);
  EXPECT_TRUE(text.starts_with("Model <X> & \"Y\", firmware F")) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  expect_has(text.substr(0, text.find('\n')), ": recommended");
  expect_has(text, R"(device_spec = {"vendor_id": "144d", "product_id": "a80a",)");
  expect_has(text, "| sanitize_crypto | purge | good   | 2.5 s |");
  expect_has(text, "note: not tried: overwrite");
  expect_has(text, "Erased at the end by sanitize_crypto in 3.0 s: all read");
}

TEST(QualifyReport, WhatLiedAndWhatIsNotErasedIsLoud) {
  nvme::Qualification whole = tried();
  whole.trials.front().after = {.intact = 1 << 20, .found_nsid = 1};
  whole.last_erase = {"overwrite", false, "the drive is gone", 0};
  whole.conclusion = nvme::judge(whole);
  const std::string text = qualification_text(whole, 0);
  expect_has(text, ": do not use\n");
  expect_has(text, "| LIED ");
  expect_has(text, "1.0 MB OLD CONTENT");
  expect_has(text, "NOT ERASED at the end: the drive is gone");
  EXPECT_EQ(text.find("device_spec"), std::string::npos) << text;
}

TEST(QualifyReport, ThePageIsWellFormedAndObeysNothingOfTheDrive) {
  const std::string page = qualification_page(tried());
  pugi::xml_document document;
  const auto parsed = document.load_string(page.c_str(), pugi::parse_doctype);
  ASSERT_TRUE(parsed) << parsed.description();
  expect_has(page, "Model &lt;X&gt; &amp; &quot;Y&quot;");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // nothing from elsewhere
}

// Nothing else lets a drive of the pool be written: else the worker might give it back as it is, or
// take the trial's erase for its own.
TEST(QualifyOrder, OnlyWhatWaitsInMaintenanceWithNothingBegunIsKnownToGetDirty) {
  Record record;
  record.stage = Stage::pending_cleaning;
  record.maintenance = true;
  EXPECT_TRUE(is_known_to_get_dirty(record));
  Record begun = record;
  begun.erase_begun = true;
  EXPECT_FALSE(is_known_to_get_dirty(begun));
  Record ended = record;
  ended.maintenance = false;
  EXPECT_FALSE(is_known_to_get_dirty(ended));
  for (const Stage stage : {Stage::available, Stage::error, Stage::erasing, Stage::allocated}) {
    Record other = record;
    other.stage = stage;
    EXPECT_FALSE(is_known_to_get_dirty(other));
  }
}

TEST(QualifyStages, BeforeEachItIsLookedAgainAndARefusalEndsThem) {
  for (int allowed = 0; allowed < 4; ++allowed) {
    int looks = 0;
    int ran = 0;
    const auto permit = [&]() -> Status {
      if (looks++ < allowed) return Ok{};
      return Error{Errc::refused, "somebody has it"};
    };
    const auto stage = [&]() -> Status {
      ran += 1;
      EXPECT_EQ(looks, ran);
      return Ok{};
    };
    const Status done = run_permitted(permit, {stage, stage, stage});
    EXPECT_EQ(done.ok(), allowed == 3);
    EXPECT_EQ(ran, allowed);
  }
}

class QualifyStateTest : public ::testing::Test {
 protected:
  const TempFolder temp_;
  const std::filesystem::path& folder_ = temp_.path();
};

TEST_F(QualifyStateTest, ALaterRunFindsWhatWasSavedOfThatSerial) {
  const QualifyState state(folder_, "S/1 ..");
  const auto none = state.load();
  ASSERT_TRUE(none.ok()) << none.error().what;
  EXPECT_FALSE(none->has_value());
  ASSERT_TRUE(state.save(tried()).ok());
  EXPECT_EQ(state.path(), folder_.string() + "/qualify/S_2f1_20_2e_2e.json");
  struct stat found {};
  ASSERT_EQ(::stat(state.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  const auto again = QualifyState(folder_, "S/1 ..").load();
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(**again, tried());
  EXPECT_FALSE(QualifyState(folder_, "S/1").load()->has_value());
  state.remove();
  EXPECT_FALSE(state.load()->has_value());
}

TEST_F(QualifyStateTest, AFileThatCannotBeReadIsNamedWithTheRemedy) {
  const QualifyState state(folder_, "S1");
  ASSERT_TRUE(state.save(tried()).ok());
  std::ofstream(state.path()) << "{}";
  const auto read = state.load();
  ASSERT_FALSE(read.ok());
  expect_has(read.error().what, "S1.json: ");
  expect_has(read.error().what, "remove the file to begin from the start");
}

}  // namespace
}  // namespace reclaim::cli
