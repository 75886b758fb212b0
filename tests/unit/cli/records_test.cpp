// How a device is named on the command line, and what its record shows.
#include "cli/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/record_cells.h"
#include "tests/unit/nvme/host_tree.h"

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
  for (const char* name : {"", "c1:00.1", "0001:c1:00.0", "S5", "s5x0", "0b7a4b2c", "1:00.0"}) {
    EXPECT_FALSE(is_named(record(), name)) << name;
  }
  Record first = record();
  first.address = *parse_pci_address("0000:01:00.0");
  for (const char* name : {"01:00.0", "1:00.0"}) EXPECT_TRUE(is_named(first, name)) << name;
  Record without = record();
  without.serial.clear();
  EXPECT_FALSE(is_named(without, ""));
}

TEST(Records, TheKernelNamesAControllerAndItsNamespace) {
  const nvme::HostTree tree;
  const std::string& sysfs = tree.options.sysfs_root;
  for (const char* name : {"nvme5", "/dev/nvme5", "nvme3n1", "/dev/nvme3n1"}) {
    EXPECT_EQ(without_kernel_name(sysfs, name), "0000:c1:00.0") << name;
  }
  for (const char* name : {"nvme3", "nvme5n1", "nvme", "/dev/sda", "sda"}) {
    EXPECT_EQ(without_kernel_name(sysfs, name), name);
  }
  // Another controller of the subsystem, with a path to the same disk.
  const std::string second = "sys/devices/pci0000:c0/0000:c0:01.2/0000:c2:00.0";
  tree.link("sys/bus/pci/devices/0000:c2:00.0", tree.root / second);
  tree.write(second + "/class", "0x010802\n");
  tree.write(second + "/vendor", "0x144d\n");
  tree.write(second + "/device", "0xa824\n");
  tree.link(second + "/driver", tree.root / "sys/bus/pci/drivers/nvme");
  tree.write(second + "/nvme/nvme6/dev", "238:6\n");
  tree.write(second + "/nvme/nvme6/state", "live\n");
  tree.write(second + "/nvme/nvme6/serial", "S4YPNE0N\n");
  tree.write(second + "/nvme/nvme6/subsysnqn", "nqn.1994-11.com.samsung:nvme:PM1733:S4YPNE0N\n");
  std::filesystem::create_directories(tree.root / second / "nvme/nvme6/nvme3c6n1");
  EXPECT_EQ(without_kernel_name(sysfs, "nvme6"), "0000:c2:00.0");
  EXPECT_EQ(without_kernel_name(sysfs, "nvme3n1"), "nvme3n1") << "either";
}

// An address is a slot: the drive of the next one is never what was meant.
TEST(Records, OnlyWhatIsPlainlyASlipIsSaidToBeMeant) {
  Record other = record();
  other.address = *parse_pci_address("0000:c2:00.0");
  other.serial = "S5X1";
  const std::vector<Record> one = {record()};
  const std::vector<Record> two = {record(), other};
  for (const char* address : {"0000:c3:00.0", "c1:00.1", "1:00.0"}) {
    EXPECT_EQ(nearly_named(one, address), "") << address;
  }
  EXPECT_EQ(nearly_named(one, "0000:cl:00.0"), "; did you mean the address 0000:c1:00.0?");
  EXPECT_EQ(nearly_named(two, "0000:cl:00.0"), "") << "either";
  EXPECT_EQ(nearly_named(two, "S5X00"), "; did you mean the serial number S5X0?");
  EXPECT_EQ(nearly_named(two, "S5X7"), "") << "either";
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
