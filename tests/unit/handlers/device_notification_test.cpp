// What the bus is told of a device's life, event by event, against tests/data/notifications.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "handlers/bus/oslo_envelope.h"
#include "handlers/notify/device_notification.h"
#include "state/base/json.h"
#include "state/base/uuid.h"
#include "state/device/step.h"
#include "tests/source_path.h"

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kAtMs = 1'763'640'000'000;  // 2025-11-20T12:00:00Z
constexpr NotifyOptions kAll{NotificationDriver::messagingv2, NotificationLevel::info};

Record device() {
  Record record;
  record.host = "compute-1";
  record.address = *parse_pci_address("0000:c1:00.0");
  record.uuid = device_uuid(record.host, record.address);
  record.vendor_id = "144d";
  record.product_id = "a80a";
  record.model = "SAMSUNG MZQL21T9HCJR-00A07";
  record.serial = "S64GNE0R123456";
  record.provider = "03631f82-20a9-3f67-a29d-dc1abe4041bf";
  record.provider_name = "compute-1_0000:c1:00.0";
  record.instance = "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc";
  record.instance_source = InstanceSource::allocation;
  record.tags = {"role=cache"};
  record.cleaning_started_at = WallMs{kAtMs - 60'000};
  record.verified_at = WallMs{kAtMs - 1'000};
  return record;
}

JournalEntry entry(Stage from, std::string_view trigger, Stage to, std::string why = "why") {
  JournalEntry out;
  out.address = "0000:c1:00.0";
  out.from = to_string(from);
  out.trigger = trigger;
  out.to = to_string(to);
  out.why = std::move(why);
  out.at = WallMs{kAtMs};
  return out;
}

JournalEntry entry(Stage from, Trigger trigger, Stage to) {
  return entry(from, to_string(trigger), to, std::string(find_row(from, trigger)->why));
}

std::vector<std::string> events(const JournalEntry& told, const Record& record = device(),
                                const NotifyOptions& options = kAll) {
  std::vector<std::string> out;
  for (const DeviceNotification& each : notifications_of(record, told, options)) {
    out.push_back(each.event_type);
  }
  return out;
}

const std::string kPassedOn =
    fmt::format("bound by consumer X although Y had it: {}; it is reserved", kNotKnownToBeClean);

struct Life {
  Record record;
  JournalEntry entry;
};

// One of each event, as tests/data/notifications has them.
std::vector<Life> one_of_each() {
  std::vector<Life> lives;
  Record record = device();
  record.clean_step = "nvme.check_health";
  lives.push_back({record, entry(Stage::rechecking, Trigger::still_burned, Stage::preparing)});
  record.clean_step = "pci.restore_driver";
  lives.push_back({record, entry(Stage::verifying, Trigger::verified, Stage::restoring)});
  record.clean_step = "";
  lives.push_back({record, entry(Stage::verifying, Trigger::verify_failed, Stage::error)});
  lives.back().entry.detail = "block 4096 has what it had before";
  record.verified_at = WallMs{};
  lives.push_back({record, entry(Stage::error, Trigger::reserved_dropped, Stage::error)});
  lives.push_back({record, entry(Stage::allocated, Trigger::passed_on, Stage::allocated)});
  lives.back().entry.detail = kPassedOn;
  Record released = device();
  Certificate certificate;
  certificate.instance = released.instance;
  released.certificate_pending = encode_certificate(certificate);
  released.certificate_id = "5a0b1f5a-9c5f-4a0e-8b59-6a2c77c1a001";
  forget_tenancy(released);
  lives.push_back({released, entry(Stage::releasing, Trigger::released, Stage::available)});
  Record maintained = device();
  maintained.maintenance = true;
  maintained.instance.clear();
  maintained.tags.clear();
  lives.push_back({maintained, entry(Stage::available, "maintenance_on", Stage::available,
                                     "set by an operator")});
  return lives;
}

rapidjson::Document read_data() {
  std::ifstream in(source_path("tests/data/notifications/messages.json"));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return *json::parse(text, 1U << 20U);
}

TEST(DeviceNotification, IsWhatTheDataHolds) {
  const rapidjson::Document data = read_data();
  const rapidjson::Value& good = *json::find(data, "good");
  std::vector<std::string> told;
  for (const Life& life : one_of_each()) {
    for (const DeviceNotification& each : notifications_of(life.record, life.entry, kAll)) {
      told.push_back(each.message);
    }
  }
  ASSERT_EQ(told.size(), good.Size());
  for (rapidjson::SizeType i = 0; i < good.Size(); ++i) {
    const auto message = json::parse(told[i], 1U << 20U);
    ASSERT_TRUE(message.ok());
    EXPECT_TRUE(*message == good[i]) << told[i];
  }
}

TEST(DeviceNotification, ACleaningBeginsWhereTheDeviceIsWorkedAt) {
  EXPECT_THAT(events(entry(Stage::pending_cleaning, Trigger::admitted, Stage::guarding)),
              IsEmpty());
  EXPECT_THAT(events(entry(Stage::guarding, Trigger::guards_wait, Stage::pending_cleaning)),
              IsEmpty());
  EXPECT_THAT(events(entry(Stage::rechecking, Trigger::still_burned_adopt, Stage::erasing)),
              ElementsAre("device.clean.start"));
  EXPECT_THAT(events(entry(Stage::preparing, Trigger::step_done, Stage::preparing)), IsEmpty());
  EXPECT_THAT(events(entry(Stage::erasing, Trigger::nothing_to_adopt, Stage::preparing)),
              IsEmpty());
  EXPECT_THAT(events(entry(Stage::verifying, Trigger::verified_unfit, Stage::error)),
              ElementsAre("device.clean.end", "device.quarantine"));
  EXPECT_THAT(events(entry(Stage::concluding, Trigger::steps_done, Stage::restoring)),
              ElementsAre("device.clean.end"));
}

TEST(DeviceNotification, WhatEndsInErrorIsInQuarantine) {
  EXPECT_THAT(events(entry(Stage::preparing, Trigger::step_failed, Stage::error)),
              ElementsAre("device.clean.error", "device.quarantine"));
  EXPECT_THAT(events(entry(Stage::pending_cleaning, Trigger::operator_abort, Stage::error)),
              ElementsAre("device.quarantine"));
  EXPECT_THAT(events(entry(Stage::error, Trigger::allocation_seen, Stage::error)), IsEmpty());
}

// A device that was in the pool was un-reserved by the worker itself.
TEST(DeviceNotification, WhoeverOffersADirtyDeviceIsTold) {
  EXPECT_THAT(events(entry(Stage::error, Trigger::reserved_dropped, Stage::error)),
              ElementsAre("device.offered_dirty"));
  EXPECT_THAT(events(entry(Stage::allocated, Trigger::reserved_dropped, Stage::allocated)),
              ElementsAre("device.offered_dirty"));
  EXPECT_THAT(events(entry(Stage::allocated, Trigger::allocation_gone, Stage::pending_cleaning)),
              ElementsAre("device.offered_dirty"));
  EXPECT_THAT(events(entry(Stage::available, Trigger::reserved_dropped, Stage::pending_cleaning)),
              IsEmpty());
}

TEST(DeviceNotification, ATenantOfWhatIsNotKnownToBeCleanIsTold) {
  JournalEntry told = entry(Stage::allocated, Trigger::passed_on, Stage::allocated);
  EXPECT_THAT(events(told), IsEmpty());
  told.detail = kPassedOn;
  EXPECT_THAT(events(told), ElementsAre("device.allocated_dirty"));
}

TEST(DeviceNotification, AReleaseIsToldOnceItIsConfirmed) {
  EXPECT_THAT(events(entry(Stage::looking, Trigger::look_ok, Stage::releasing)), IsEmpty());
  EXPECT_THAT(events(entry(Stage::confirming, Trigger::released_taken, Stage::allocated)),
              ElementsAre("device.release.end"));
  EXPECT_THAT(events(entry(Stage::confirming, Trigger::released_unseen, Stage::pending_cleaning)),
              ElementsAre("device.release.end"));
  EXPECT_THAT(events(entry(Stage::releasing, Trigger::handed_over, Stage::available)),
              ElementsAre("device.release.end"))
      << "the agent is to un-reserve it";
}

TEST(DeviceNotification, NothingIsToldOfWhatIsOnlyShownNorWithTheDriverOff) {
  const JournalEntry told = entry(Stage::preparing, Trigger::step_failed, Stage::error);
  Record shown = device();
  shown.type = std::string(kTypeUnknown);
  EXPECT_THAT(events(told, shown), IsEmpty());
  EXPECT_THAT(events(told, device(), NotifyOptions{}), IsEmpty());
  EXPECT_THAT(events(entry(Stage::available, "taken_over", Stage::available)), IsEmpty());
}

TEST(DeviceNotification, TheLevelIsTheLowestPriorityThatIsSent) {
  const NotifyOptions errors{NotificationDriver::messagingv2, NotificationLevel::error};
  EXPECT_THAT(
      events(entry(Stage::rechecking, Trigger::still_burned, Stage::preparing), device(), errors),
      IsEmpty());
  EXPECT_THAT(events(entry(Stage::preparing, Trigger::step_failed, Stage::error), device(), errors),
              ElementsAre("device.clean.error", "device.quarantine"));
}

TEST(DeviceNotification, TheIdIsOfTheEventAndNotOfTheAttempt) {
  Record record = device();
  const JournalEntry told = entry(Stage::preparing, Trigger::step_failed, Stage::error);
  const auto first = notifications_of(record, told, kAll);
  record.epoch += 1;  // written once more
  const auto again = notifications_of(record, told, kAll);
  EXPECT_EQ(first[0].id, again[0].id);
  EXPECT_EQ(first[0].message, again[0].message);
  EXPECT_NE(first[0].id, first[1].id);
  JournalEntry later = told;
  later.at.ms += 1;
  EXPECT_NE(notifications_of(record, later, kAll)[0].id, first[0].id);
  record.host = "compute-2";
  EXPECT_NE(notifications_of(record, told, kAll)[0].id, first[0].id);
}

TEST(DeviceNotification, ForeignTextsAreBoundedAndPrintable) {
  Record record = device();
  record.model =
      "a\x01"
      "b\xff" +
      std::string(10'000, 'm');
  record.tags.assign(1'000, std::string(1'000, '"'));
  JournalEntry told = entry(Stage::preparing, Trigger::step_failed, Stage::error);
  told.detail = std::string(1'000'000, '\n');
  for (const DeviceNotification& each : notifications_of(record, told, kAll)) {
    EXPECT_LT(each.message.size(), 65'000U) << "the outbox takes 65,536 bytes with the rest";
    EXPECT_TRUE(json::parse(each.message, 1U << 20U).ok());
    EXPECT_EQ(each.message.find("\\n"), std::string::npos);
  }
}

// What we send, our own reader of notifications opens; it asks for nothing.
TEST(DeviceNotification, TheEnvelopeIsOslos) {
  const auto told =
      notifications_of(device(), entry(Stage::preparing, Trigger::step_failed, Stage::error), kAll);
  std::string inner;
  const std::string body = in_envelope(told[0].message);
  const auto opened = open_envelope(body, 1U << 20U, inner);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->text, told[0].message);
}

}  // namespace
}  // namespace reclaim
