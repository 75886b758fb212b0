// The record as Redis holds it: one readable field a member, and back without loss.
#include "state/device/record.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "state/base/json.h"
#include "state/device/tagged_device.h"
#include "tests/source_path.h"
#include "tests/test_seed.h"

namespace reclaim {
namespace {

// Records with anything in them: every value here must survive the way to Redis and back.
class RandomRecords final {
 public:
  explicit RandomRecords(std::uint64_t seed) : random_(seed) {}

  Record next() {
    Record record;
    record.host = text();
    record.address =
        PciAddress{number(0x1ffff), static_cast<std::uint8_t>(number(255)),
                   static_cast<std::uint8_t>(number(31)), static_cast<std::uint8_t>(number(7))};
    record.uuid = text();
    record.flow = number(1) == 0 ? Flow::nova : Flow::cyborg;
    for (std::string* member : {&record.vendor_id,
                                &record.product_id,
                                &record.model,
                                &record.serial,
                                &record.firmware,
                                &record.provider,
                                &record.provider_name,
                                &record.resource_class,
                                &record.waiting_for,
                                &record.last_error,
                                &record.instance,
                                &record.request_id,
                                &record.clean_step,
                                &record.findings,
                                &record.enrolment,
                                &record.baseline,
                                &record.evidence,
                                &record.verification,
                                &record.certificate_id,
                                &record.certificate_pending,
                                &record.cleaning_nonce,
                                &record.hardware,
                                &record.boot_id,
                                &record.found.serial,
                                &record.found.model,
                                &record.found.hardware,
                                &record.mac,
                                &record.migration,
                                &record.project,
                                &record.user}) {
      *member = text();
    }
    record.capacity_bytes = wide();
    record.stage = static_cast<Stage>(number(kStageCount - 1));
    record.epoch = wide() % (kStoredEpochMax + 1);
    for (WallMs* at : {&record.stage_since, &record.updated_at, &record.tenancy_seen_at,
                       &record.cleaning_started_at, &record.verified_at, &record.certificate_at,
                       &record.unseen.from, &record.unseen.until}) {
      at->ms = number(3) == 0 ? 0 : 1'700'000'000'000 + number(2'000'000'000);
    }
    for (bool* flag : {&record.held, &record.maintenance, &record.erase_begun, &record.planned_stop,
                       &record.accepted, &record.handed_over}) {
      *flag = number(1) == 1;
    }
    for (std::uint32_t steps = number(3); steps > 0; --steps) {
      record.plan.push_back(CleanStep{text(), text(), static_cast<int>(number(200)) - 100,
                                      number(1) == 0 ? "" : R"({"n":1,"deep":{"list":[1,2]}})"});
    }
    for (std::uint32_t heard = number(3); heard > 0; --heard) record.heard.push_back(text());
    record.progress_percent = number(1000) / 10.0;
    record.progress_eta_s = static_cast<std::int64_t>(number(5000)) - 1;
    record.progress_message = text();
    record.attempts = number(0xffffffff);
    record.step_index = number(5);
    if (number(1) == 0) record.certified_host_reads = wide();
    if (number(1) == 0) record.certified_host_writes = wide();
    return record;
  }

 private:
  std::uint32_t number(std::uint32_t max) {
    return std::uniform_int_distribution<std::uint32_t>(0, max)(random_);
  }
  std::uint64_t wide() { return std::uniform_int_distribution<std::uint64_t>()(random_); }
  std::string text() {
    std::string out;
    for (std::uint32_t length = number(12); length > 0; --length) {
      constexpr std::string_view kLetters = "ab \"\\\n{}[]:,0\t";
      out += kLetters[number(static_cast<std::uint32_t>(kLetters.size()) - 1)];
    }
    return number(4) == 0 ? out + "\xc3\xa4" : out;
  }

  std::mt19937 random_;
};

TEST(Record, RoundTripsWhateverItHolds) {
  RandomRecords records(test_seed());
  for (int i = 0; i < 2000; ++i) {
    const Record record = records.next();
    const Result<Record> back = decode_record(encode_record(record));
    ASSERT_TRUE(back.ok()) << i << ": " << back.error().what;
    ASSERT_EQ(*back, record) << i;
  }
}

TEST(Record, FieldsAreReadable) {
  Record record;
  record.host = "compute-1";
  record.address = *parse_pci_address("0000:C1:00.0");
  record.stage = Stage::erasing;
  record.progress_percent = 42;
  record.updated_at = WallMs{1'763'640'000'123};
  record.plan = {CleanStep{"nvme", "sanitize_crypto", 10, R"({"ause":0})"}};
  const Fields fields = encode_record(record);
  EXPECT_EQ(fields.at("device_state"), "cleaning");
  EXPECT_EQ(fields.at("stage"), "erasing");
  EXPECT_EQ(fields.at("address"), "0000:c1:00.0");
  EXPECT_EQ(fields.at("progress"), "42.0");
  EXPECT_EQ(fields.at("updated_at"), "2025-11-20T12:00:00.123Z");
  EXPECT_EQ(fields.at("tenancy_seen_at"), "");
  EXPECT_EQ(fields.at("held"), "false");
  EXPECT_EQ(fields.at("certified_host_reads"), "");
  EXPECT_EQ(fields.at("plan"),
            R"([{"interface":"nvme","step":"sanitize_crypto","priority":10,"args":{"ause":0}}])");
}

TEST(Record, WhatIsNoNvmeIsAvailableOrAllocatedAndNothingElse) {
  for (const auto& [stage, ok] : std::map<Stage, bool>{{Stage::available, true},
                                                       {Stage::allocated, true},
                                                       {Stage::pending_cleaning, false},
                                                       {Stage::releasing, false},
                                                       {Stage::error, false}}) {
    Record record;
    record.type = "GPU";
    record.stage = stage;
    EXPECT_EQ(decode_record(encode_record(record)).ok(), ok) << to_string(stage);
  }
}

TEST(Record, OneThatIsCleanedByItsStepsHasEveryStage) {
  Record record;
  record.type = "GPU";
  record.by_steps = true;
  record.stage = Stage::preparing;
  EXPECT_EQ(decode_record(encode_record(record)).value(), record);
  record.type = std::string(kTypeNvme);
  const auto decoded = decode_record(encode_record(record));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().what, "field 'by_steps' is 'true', false of type NVME is needed");
}

TEST(Record, EveryMissingFieldIsNamed) {
  const Fields whole = encode_record(Record{});
  ASSERT_GE(whole.size(), 40U);
  for (const auto& [name, value] : whole) {
    Fields fields = whole;
    fields.erase(name);
    const Result<Record> decoded = decode_record(fields);
    ASSERT_FALSE(decoded.ok()) << name;
    EXPECT_EQ(decoded.error().what, "field '" + name + "' is missing");
  }
}

TEST(Record, BadValuesAreNamed) {
  const Fields whole = encode_record(Record{});
  const std::pair<const char*, const char*> bad_values[] = {{"address", "c1:00.0"},
                                                            {"flow", "ironic"},
                                                            {"capacity_bytes", "-1"},
                                                            {"stage", "erased"},
                                                            {"device_state", "error"},
                                                            {"epoch", "1x"},
                                                            {"epoch", ""},
                                                            {"epoch", "18446744073709551616"},
                                                            {"epoch", "4503599627370497"},
                                                            {"stage_since", "today"},
                                                            {"held", "yes"},
                                                            {"plan", "{}"},
                                                            {"plan", "[1"},
                                                            {"progress", "100.5"},
                                                            {"progress", "nan"},
                                                            {"progress_eta_s", "soon"},
                                                            {"attempts", "4294967296"},
                                                            {"erase_begun", "True"},
                                                            {"certificate_at", "2026"},
                                                            {"certified_host_reads", "many"}};
  for (const auto& [name, value] : bad_values) {
    Fields fields = whole;
    fields[name] = value;
    const Result<Record> decoded = decode_record(fields);
    ASSERT_FALSE(decoded.ok()) << name << "=" << value;
    EXPECT_EQ(decoded.error().code, Errc::invalid) << name << "=" << value;
    EXPECT_NE(decoded.error().what.find(std::string("field '") + name + "'"), std::string::npos)
        << decoded.error().what;
  }
}

TEST(Record, FieldsOfNewerVersionsAreIgnored) {
  Fields fields = encode_record(Record{});
  fields["invented_later"] = "x";
  EXPECT_TRUE(decode_record(fields).ok());
}

TEST(Record, ProgressIsBoundedWhenWritten) {
  Record record;
  record.progress_percent = 250;
  EXPECT_EQ(encode_record(record).at("progress"), "100.0");
  record.progress_percent = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(encode_record(record).at("progress"), "0.0");
}

TEST(Plan, ErrorsNameTheStep) {
  const auto decoded = decode_plan(R"([{"interface":"nvme","step":"a","priority":1,"args":{}},)"
                                   R"({"interface":"nvme","priority":1}])");
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().what, "step 2 of the plan: 'step' is absent, a string is needed");
}

TEST(Plan, IsBounded) {
  std::vector<CleanStep> plan(129, CleanStep{"nvme", "x", 0, ""});
  EXPECT_EQ(decode_plan(encode_plan(plan)).error().code, Errc::limit);
  plan.resize(128);
  EXPECT_TRUE(decode_plan(encode_plan(plan)).ok());
  EXPECT_EQ(decode_plan(std::string(131'073, ' ')).error().code, Errc::limit);
  EXPECT_EQ(decode_plan(std::string(60'000, '[')).error().code, Errc::limit);
}

// devices.jsonl, which the schemas are held against: a drive, a graphics card, network cards
// without and with a MAC.
TEST(TaggedDevice, HasTheFormOfTheSpecification) {
  Record record;
  record.address = *parse_pci_address("0000:C1:00.0");
  record.serial = "S\"1";
  record.tags = {"oracledb", "role=db"};
  std::string devices = tagged_device(record) + "\n";
  record.serial.clear();
  record.type = "GPU";
  record.tags.clear();
  devices += tagged_device(record) + "\n";
  record.type = "NIC";
  devices += tagged_device(record) + "\n";
  record.mac = "00:1b:21:aa:00:01";
  devices += tagged_device(record) + "\n";
  std::ifstream file(source_path("tests/data/device-role-tagging/devices.jsonl"));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(devices, text.str());
}

TEST(Record, TagsAreAListOfStrings) {
  Record record;
  record.tags = {"db", "", "a\"b"};
  EXPECT_EQ(decode_record(encode_record(record))->tags, record.tags);
  for (const char* bad : {"db", "{}", "[1]", "[\"a\"", ""}) {
    Fields fields = encode_record(record);
    fields["tags"] = bad;
    EXPECT_FALSE(decode_record(fields).ok()) << bad;
  }
}

}  // namespace
}  // namespace reclaim
