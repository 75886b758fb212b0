// Which Format NVM commands are sent, and that they keep what they find.
#include "nvme/controller/format.h"

#include <gtest/gtest.h>

#include <array>

namespace reclaim::nvme {
namespace {

using Page = std::array<std::byte, 4096>;

NamespaceFormat format_of(std::uint32_t nsid, std::uint8_t lba_format = 0) {
  NamespaceFormat format;
  format.nsid = nsid;
  format.lba_format = lba_format;
  return format;
}

TEST(Format, ReadsWhatItHasToKeep) {
  Page page{};
  page[25] = std::byte{3};
  page[26] = std::byte{0x72};  // format 2, extended; bits 6:5 do not count with 4 formats
  page[29] = std::byte{0x0b};  // type 3, first
  auto format = parse_namespace_format(page, 5);
  ASSERT_TRUE(format.ok());
  EXPECT_EQ(*format, (NamespaceFormat{5, 2, true, 3, true}));
  page[25] = std::byte{20};
  page[26] = std::byte{0x21};
  page[29] = std::byte{0};
  format = parse_namespace_format(page, 5);
  EXPECT_EQ(*format, (NamespaceFormat{5, 17, false, 0, false}));
  EXPECT_FALSE(parse_namespace_format(std::span(page).first(100), 5).ok());
}

TEST(Format, NeverErasesNothing) {
  EXPECT_EQ(secure_erase_setting(EraseMethod::format_user_data), 1);
  EXPECT_EQ(secure_erase_setting(EraseMethod::format_crypto), 2);
}

TEST(Format, ScopeGoesByFna) {
  const std::vector<NamespaceFormat> alike = {format_of(1), format_of(3)};
  const std::vector<NamespaceFormat> broadcast = {format_of(kNsidAll)};
  struct Row {
    std::uint8_t fna;
    bool one;
  };
  for (const Row& row : {Row{0, false}, Row{4, false}, Row{8, false}, Row{1, true}, Row{2, true},
                         Row{7, true}, Row{9, false}, Row{10, false}, Row{15, false}}) {
    const auto plan = plan_format(alike, row.fna);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(*plan, row.one ? broadcast : alike) << "FNA " << int{row.fna};
  }
}

TEST(Format, ABroadcastNeverChangesAFormat) {
  const std::vector<NamespaceFormat> mixed = {format_of(1), format_of(3, 1)};
  EXPECT_EQ(*plan_format(mixed, 2), mixed);  // erases all, formats the one that is named
  EXPECT_EQ(*plan_format(mixed, 0), mixed);
  EXPECT_EQ(plan_format(mixed, 1).error().code, Errc::failed);
  EXPECT_EQ(plan_format({}, 0).error().code, Errc::failed);
}

TEST(Format, ListsOfNamespaces) {
  Page page{};
  page[0] = std::byte{1};
  page[4] = std::byte{2};
  page[5] = std::byte{1};
  EXPECT_EQ(*parse_namespace_list(page), (std::vector<std::uint32_t>{1, 0x102}));
  page.fill(std::byte{0xff});
  EXPECT_EQ(parse_namespace_list(page)->size(), 1024U);
  EXPECT_FALSE(parse_namespace_list(std::span(page).first(8)).ok());
}

TEST(FormatPlan, ACommandMayTakeWhatIsLeftOfTheCleaningsTimeout) {
  EXPECT_EQ(format_command_timeout_ms(3'600'000, 600'000), 3'600'000U);
  EXPECT_EQ(format_command_timeout_ms(1'000, 600'000), 600'000U);
  EXPECT_EQ(format_command_timeout_ms(-5, 600'000), 600'000U);
  EXPECT_EQ(format_command_timeout_ms(std::int64_t{1} << 40, 600'000), 0xffffffffU);
}

}  // namespace
}  // namespace reclaim::nvme
