// A device on ten lines.
#include "cli/device_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/survey/admission.h"
#include "handlers/survey/taken.h"
#include "state/device/machine.h"

namespace reclaim::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr WallMs kNow{1'800'000'000'000};
constexpr const char* kHost = "compute-1";

Record record(Stage stage) {
  Record record;
  record.host = kHost;
  record.address = *parse_pci_address("0000:c1:00.0");
  record.model = "SAMSUNG MZQL2";
  record.serial = "S64GNE0R512345";
  record.capacity_bytes = 1'920'000'000'000;
  record.stage = stage;
  record.stage_since = WallMs{kNow.ms - 3'600'123};
  record.instance = "4dee8fde-fe92-4c46-bd4d-bc755777eeeb";
  record.arq = "0b7a4b2c-52ab-5a4c-8a8b-2f0a9f0b7d11";
  record.provider = "0f27f9ee-9866-42bf-97e1-9c370fe3ec88";
  record.certificate_id = "bb66892f-0663-47d6-9740-fcb9d49de9ec";
  record.certificate_at = WallMs{kNow.ms - 7'200'000};
  record.findings = R"({"nvme.check_health":[{"surface":"percentage_used","found":"3 %"}]})";
  return record;
}

// Empty: the summary has no such line.
std::string said(const Record& record, const std::string& field, const std::string& host = kHost) {
  for (const auto& [name, value] : device_summary(record, kNow, host)) {
    if (name == field) return std::get<std::string>(value);
  }
  return {};
}

TEST(DeviceSummary, SaysWhatItIsSinceWhenAndWhy) {
  const Record idle = record(Stage::available);
  EXPECT_EQ(said(idle, "address"), "0000:c1:00.0 of host compute-1");
  EXPECT_EQ(said(idle, "device"), "SAMSUNG MZQL2, serial S64GNE0R512345, 1.9 TB");
  EXPECT_EQ(said(idle, "state"), "available for 1h0m, since 2027-01-15T06:59:59Z");
  EXPECT_EQ(said(idle, "why"), "nobody has it; its last erasure is certified");
  EXPECT_EQ(said(idle, "what to do"), "nothing");
  EXPECT_EQ(said(idle, "wear"), "3 % used");
  EXPECT_THAT(said(idle, "certificate"), HasSubstr("2027-01-15T06:00:00Z"));
}

// An instance, or an accelerator request, that is over is not what the device is with.
TEST(DeviceSummary, AnAvailableDeviceIsWithNobody) {
  EXPECT_THAT(said(record(Stage::available), "tenant"), IsEmpty());
  EXPECT_EQ(said(record(Stage::allocated), "tenant"),
            "instance 4dee8fde-fe92-4c46-bd4d-bc755777eeeb, "
            "ARQ 0b7a4b2c-52ab-5a4c-8a8b-2f0a9f0b7d11");
}

TEST(DeviceSummary, NamesTheCommandThatEndsIt) {
  Record failed = record(Stage::error);
  failed.last_error = "sanitize failed: replace the drive";
  EXPECT_EQ(said(failed, "why"), "sanitize failed: replace the drive");
  EXPECT_EQ(said(failed, "what to do"),
            "remove the cause, then: reclaim device clean 0000:c1:00.0");
  EXPECT_THAT(said(failed, "what to do", "controller"), HasSubstr("0000:c1:00.0 --host compute-1"));
  Record retired = record(Stage::error);
  retired.last_error = "erased, not returned: retired: destroyed: its warranty is over";
  EXPECT_THAT(said(retired, "what to do"), StartsWith("take it out; "));
  Record awaited = record(Stage::pending_cleaning);
  awaited.clean_start = CleanStart::awaited;
  EXPECT_THAT(said(awaited, "what to do"), HasSubstr("begin it: reclaim device clean"));
  Record kept = record(Stage::available);
  kept.maintenance = kept.held = true;
  EXPECT_EQ(said(kept, "why"), "maintenance, reserved");
  EXPECT_THAT(said(kept, "what to do"), HasSubstr("--maintenance off"));
  Record holding = record(Stage::preparing);
  holding.clean_step = "hold.firmware";
  EXPECT_THAT(said(holding, "what to do"), HasSubstr("reclaim device unhold"));
}

// A cleaning that is ordered now would wait for the tenant, and end the alarm meanwhile.
TEST(DeviceSummary, OffersNoCleaningWhileATenantHasIt) {
  Record taken = record(Stage::error);
  taken.waiting_for = note_of_taken("4dee8fde-fe92-4c46-bd4d-bc755777eeeb");
  EXPECT_THAT(said(taken, "what to do"),
              AllOf(StartsWith("delete the instance that has it"),
                    HasSubstr("when it is free: reclaim device clean 0000:c1:00.0")));
  taken.waiting_for.clear();
  EXPECT_THAT(said(taken, "what to do"), StartsWith("remove the cause"));
  taken.tenancy_seen_at = taken.updated_at = kNow;
  EXPECT_THAT(said(taken, "what to do"), StartsWith("delete the instance")) << "no look since";
}

TEST(DeviceSummary, ATenantOfAnothersDirtIsForAnOperatorToDecide) {
  Record given = record(Stage::allocated);
  EXPECT_THAT(said(given, "what to do"), StartsWith("nothing"));
  given.last_error = std::string("bound by X although Y had it: ") + kNotKnownToBeClean;
  EXPECT_THAT(said(given, "what to do"), StartsWith("decide whether the instance may keep it"));
  EXPECT_THAT(note_of(given), HasSubstr("although Y had it"));
}

TEST(DeviceSummary, TheEndOfAMaintenanceIsNoHold) {
  Record ended = record(Stage::available);
  ended.held = true;
  EXPECT_EQ(said(ended, "why"), "held by an operator");
  EXPECT_THAT(said(ended, "what to do"), HasSubstr("un-reserve it in Placement"));
  ended.waiting_for = kMaintenanceOver;
  EXPECT_EQ(said(ended, "why"), kMaintenanceOver);
  EXPECT_EQ(said(ended, "what to do"), "nothing");
}

TEST(DeviceSummary, HasAtMostTenLines) {
  for (const Stage stage : {Stage::available, Stage::allocated, Stage::pending_cleaning,
                            Stage::erasing, Stage::error}) {
    EXPECT_LE(device_summary(record(stage), kNow, kHost).size(), 10U);
  }
}

}  // namespace
}  // namespace reclaim::cli
