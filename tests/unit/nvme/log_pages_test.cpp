// Foreign bytes from a drive, good and bad.
#include "nvme/controller/log_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace reclaim::nvme {
namespace {

using Page = std::vector<std::byte>;

void put(Page& page, std::size_t offset, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) page[offset + i] = std::byte(value >> (8 * i) & 0xffU);
}

void put_text(Page& page, std::size_t offset, std::string_view text, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    page[offset + i] = static_cast<std::byte>(i < text.size() ? text[i] : ' ');
  }
}

Page controller() {
  Page page(kIdentifyBytes);
  put_text(page, 4, "S4YPNE0N", 20);
  put_text(page, 24, "SAMSUNG MZWLJ3T8HBLS", 40);
  put_text(page, 64, "EPK98B5Q", 8);
  put(page, 76, 0x03, 1);
  put(page, 256, 0x005f, 2);
  put(page, 328, 0x60000003, 4);
  put(page, 520, 0x005f, 2);
  put(page, 524, 0x04, 1);
  return page;
}

TEST(IdentifyController, FieldsAreFoundAndTrimmed) {
  const auto identity = parse_identify_controller(controller());
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->serial, "S4YPNE0N");
  EXPECT_EQ(identity->model, "SAMSUNG MZWLJ3T8HBLS");
  EXPECT_EQ(identity->firmware, "EPK98B5Q");
  EXPECT_EQ(identity->cmic, 3);
  EXPECT_TRUE(identity->capabilities.crypto_erase());
  EXPECT_TRUE(identity->capabilities.block_erase());
  EXPECT_TRUE(identity->capabilities.write_zeroes());
  EXPECT_TRUE(identity->capabilities.namespace_management());
  EXPECT_EQ(identity->capabilities.fna, 4);
}

// A bit that is taken for its neighbour tells of a drive that cannot what is asked of it.
TEST(IdentifyController, EachCapabilityIsItsOwnBit) {
  const auto with = [](std::size_t offset, unsigned bit) {
    Page page = controller();
    for (const std::size_t at : {256U, 328U, 520U}) put(page, at, 0, 2);
    put(page, 330, 0, 2);
    put(page, offset, 1ULL << bit, 2);
    return parse_identify_controller(page)->capabilities;
  };
  for (unsigned bit = 0; bit < 16; ++bit) {
    SCOPED_TRACE(bit);
    const Capabilities sanicap = with(328, bit);
    EXPECT_EQ(sanicap.crypto_erase(), bit == 0);
    EXPECT_EQ(sanicap.block_erase(), bit == 1);
    EXPECT_EQ(with(520, bit).write_zeroes(), bit == 3);
    EXPECT_EQ(with(256, bit).format(), bit == 1);
    EXPECT_EQ(with(256, bit).namespace_management(), bit == 3);
  }
}

TEST(IdentifyController, NoUsableSerialIsAnError) {
  Page blank = controller();
  put_text(blank, 4, "", 20);
  EXPECT_FALSE(parse_identify_controller(blank).ok());
  Page noise = controller();
  put(noise, 4, 0x1b, 1);
  const auto refused = parse_identify_controller(noise);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what.find('\x1b'), std::string::npos);
  EXPECT_FALSE(parse_identify_controller(Page(4095)).ok());
}

Page ns(std::uint64_t blocks, unsigned shift, unsigned dlfeat) {
  Page page(kIdentifyBytes);
  put(page, 0, blocks, 8);
  put(page, 33, dlfeat, 1);
  put(page, 26, 1, 1);  // format 1 in use
  put(page, 128 + 4 + 2, shift, 1);
  return page;
}

TEST(IdentifyNamespace, SizeBlockAndDeallocation) {
  const auto facts = parse_identify_namespace(ns(1000, 12, 0x19), 7);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->nsid, 7U);
  EXPECT_EQ(facts->block_bytes, 4096U);
  EXPECT_EQ(facts->capacity_bytes, 4096000U);
  EXPECT_EQ(facts->dlfeat, 1);
}

TEST(IdentifyNamespace, GarbageIsAnError) {
  EXPECT_FALSE(parse_identify_namespace(ns(0, 9, 0), 1).ok());
  EXPECT_FALSE(parse_identify_namespace(ns(1, 8, 0), 1).ok());
  EXPECT_FALSE(parse_identify_namespace(ns(1, 17, 0), 1).ok());
  EXPECT_FALSE(parse_identify_namespace(ns(~0ULL, 9, 0), 1).ok());
  EXPECT_FALSE(parse_identify_namespace(Page(100), 1).ok());
}

TEST(IdentifyNamespace, MoreThanSixteenFormatsUseTheHighBits) {
  Page page = ns(10, 9, 0);
  put(page, 25, 40, 1);
  put(page, 26, 0x20 | 1, 1);  // bits 6:5 = 01b: format 17
  put(page, 128 + 17 * 4 + 2, 12, 1);
  EXPECT_EQ(parse_identify_namespace(page, 1)->block_bytes, 4096U);
}

TEST(Smart, CountersAreRead) {
  Page page(kSmartBytes);
  put(page, 64, 0x1122334455667788, 8);
  put(page, 80, 42, 8);
  EXPECT_EQ(*parse_smart(page), (Counters{0x1122334455667788, 42}));
  EXPECT_FALSE(parse_smart(Page(511)).ok());
}

TEST(SanitizeLogPage, FieldsAreRead) {
  Page page(kSanitizeLogBytes);
  put(page, 0, 0x8000, 2);
  put(page, 2, 0x0102, 2);
  put(page, 4, 4, 4);
  put(page, 8, 1, 4);
  put(page, 12, 2, 4);
  put(page, 16, 3, 4);
  put(page, 32, 6, 4);
  put(page, 36, 0x15, 1);  // the state is in bits 3:0
  const auto log = parse_sanitize_log(page);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(*log, (SanitizeLog{0x8000, 0x0102, 4, 1, 2, 3, 6, 5}));
  EXPECT_EQ(log->status(), 2U);
  EXPECT_TRUE(log->global_data_erased());
  EXPECT_TRUE(log->media_verification());
  EXPECT_FALSE(parse_sanitize_log(Page(36)).ok());
}

}  // namespace
}  // namespace reclaim::nvme
