// The columns of reclaim device list.
#include "cli/device_list.h"

#include <gmock/gmock.h>

namespace reclaim::cli {
namespace {

TEST(DeviceList, ANarrowTerminalGoesWithoutTheSerialLast) {
  DeviceListOptions options;
  for (const int worn : {-1, 0}) {
    options.worn = worn;
    const Table table = device_list_columns(options);
    EXPECT_EQ(table.spare.back(), "Serial") << worn;
    EXPECT_THAT(table.columns, ::testing::IsSupersetOf(table.spare)) << worn;
  }
}

}  // namespace
}  // namespace reclaim::cli
