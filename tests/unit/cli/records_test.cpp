// How a device is named on the command line, and what its record shows.
#include "cli/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/record_cells.h"

namespace reclaim::cli {
namespace {

using ::testing::Contains;
using ::testing::Pair;

Record record() {
  Record record;
  record.address = *parse_pci_address("0000:c1:00.0");
  record.uuid = "0b7a4b2c-52ab-5a4c-8a8b-2f0a9f0b7d11";
  record.serial = "S5X0";
  return record;
}

TEST(Records, ADeviceIsNamedByAddressUuidOrSerial) {
  for (const char* name : {"0000:c1:00.0", "0000:C1:00.0", "c1:00.0", "C1:00.0",
                           "0B7A4B2C-52AB-5A4C-8A8B-2F0A9F0B7D11", "S5X0"}) {
    EXPECT_TRUE(is_named(record(), name)) << name;
  }
  for (const char* name : {"", "c1:00.1", "0001:c1:00.0", "S5", "s5x0", "0b7a4b2c"}) {
    EXPECT_FALSE(is_named(record(), name)) << name;
  }
  Record without = record();
  without.serial.clear();
  EXPECT_FALSE(is_named(without, ""));
}

TEST(Records, CellsHaveTheTypesOfTheRecord) {
  Record shown = record();
  shown.maintenance = true;
  shown.epoch = 7;
  shown.progress_percent = 12.5;
  const Fields fields = record_cells(shown);
  EXPECT_THAT(fields, Contains(Pair("maintenance", Cell(true))));
  EXPECT_THAT(fields, Contains(Pair("epoch", Cell(std::int64_t{7}))));
  EXPECT_THAT(fields, Contains(Pair("progress", Cell(12.5))));
  EXPECT_THAT(fields, Contains(Pair("serial", Cell("S5X0"))));
  EXPECT_THAT(fields, Contains(Pair("certified_host_writes", Cell())));
  EXPECT_THAT(fields, Contains(Pair("plan", Cell(RawJson{"[]"}))));
  const auto stored = encode_record(shown);
  ASSERT_EQ(fields.size(), stored.size());
  for (std::size_t i = 0; i < fields.size(); ++i) EXPECT_TRUE(stored.contains(fields[i].first));
}

// What a record says is shown as JSON where it is JSON, in one line, and as a text where it only
// begins so.
TEST(Records, OnlyJsonIsShownAsJson) {
  Record shown = record();
  shown.waiting_for = "{\x1b[2J";
  shown.last_error = "[1]\n[2]";
  shown.model = "{\"a\":\n1}";
  const Fields fields = record_cells(shown);
  EXPECT_THAT(fields, Contains(Pair("waiting_for", Cell("{\x1b[2J"))));
  EXPECT_THAT(fields, Contains(Pair("last_error", Cell("[1]\n[2]"))));
  EXPECT_THAT(fields, Contains(Pair("model", Cell(RawJson{"{\"a\":1}"}))));
}

}  // namespace
}  // namespace reclaim::cli
