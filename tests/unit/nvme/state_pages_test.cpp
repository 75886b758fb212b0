#include "nvme/controller/state_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "nvme/controller/bytes.h"

namespace reclaim::nvme {
namespace {

using Page = std::vector<std::byte>;

Page page(std::size_t bytes = 4096) {
  return Page(bytes);
}
void put_text(Page& into, std::size_t at, std::string_view text) {
  std::memcpy(into.data() + at, text.data(), text.size());
}
void put_be(Page& into, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    into[at + i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)) & 0xffU);
  }
}
template <typename T>
void expect_invalid(const Result<T>& result, std::string_view says) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::invalid);
  EXPECT_NE(result.error().what.find(says), std::string::npos) << result.error().what;
}

TEST(StatePages, IdentifyTellsTheAbilities) {
  Page id = page();
  put_text(id, 4, "SERIAL              ");
  put_text(id, 24, "MODEL                                   ");
  put_text(id, 64, "FW1     ");
  store_le(id, 78, std::uint16_t{5});
  store_le(id, 256, std::uint16_t{0x0408});
  store_le(id, 260, std::uint8_t{6});
  store_le(id, 261, std::uint8_t{0x20});
  store_le(id, 272, std::uint32_t{64});
  store_le(id, 280, std::uint64_t{1} << 40U);
  store_le(id, 296, std::uint64_t{1} << 30U);
  store_le(id, 312, std::uint32_t{3});
  store_le(id, 340, std::uint16_t{4});
  store_le(id, 520, std::uint16_t{0x30});
  store_le(id, 531, std::uint8_t{7});
  ControllerState state;
  const auto abilities = parse_controller_abilities(id, state);
  ASSERT_TRUE(abilities.ok()) << abilities.error().what;
  EXPECT_EQ(state.serial, "SERIAL");
  EXPECT_EQ(state.firmware_revision, "FW1");
  EXPECT_EQ(state.controller_id, 5);
  EXPECT_EQ(state.oacs, 0x0408);
  EXPECT_EQ(state.oncs, 0x30);
  EXPECT_EQ(state.nwpc, 7);
  EXPECT_EQ(state.capacity_bytes, std::uint64_t{1} << 40U);
  EXPECT_EQ(state.unallocated_bytes, std::uint64_t{1} << 30U);
  EXPECT_EQ(state.host_memory_pages, 64U);
  EXPECT_EQ(state.endurance_groups, 4);
  EXPECT_EQ(abilities->log_attributes, 0x20);
  EXPECT_EQ(abilities->firmware_updates, 6);
  EXPECT_EQ(abilities->rpmb, 3U);
  store_le(id, 288, std::uint64_t{1});
  expect_invalid(parse_controller_abilities(id, state), "2^64");
  expect_invalid(parse_controller_abilities(page(4095), state), "4095");
}

TEST(StatePages, NamespaceListsAscend) {
  Page list = page();
  store_le(list, 0, std::uint32_t{1});
  store_le(list, 4, std::uint32_t{7});
  EXPECT_EQ(*parse_nsid_list(list), (std::vector<std::uint32_t>{1, 7}));
  store_le(list, 8, std::uint32_t{7});
  expect_invalid(parse_nsid_list(list), "out of order");
  store_le(list, 8, std::uint32_t{0xffffffff});
  expect_invalid(parse_nsid_list(list), "out of order");
}

TEST(StatePages, ANamespaceIsReadWithItsTable) {
  Page id = page();
  std::vector<LbaFormat> formats;
  EXPECT_EQ(parse_namespace_state(id, 3, formats).error().code, Errc::not_found);
  store_le(id, 0, std::uint64_t{1000});
  store_le(id, 8, std::uint64_t{900});
  store_le(id, 25, std::uint8_t{1});
  store_le(id, 26, std::uint8_t{1});
  store_le(id, 29, std::uint8_t{9});
  store_le(id, 30, std::uint8_t{1});
  store_le(id, 99, std::uint8_t{1});
  store_le(id, 128, std::uint32_t{0x02090000});
  store_le(id, 132, std::uint32_t{0x000c0008});
  const auto ns = parse_namespace_state(id, 3, formats);
  ASSERT_TRUE(ns.ok()) << ns.error().what;
  EXPECT_EQ(ns->nsid, 3U);
  EXPECT_EQ(ns->size_blocks, 1000U);
  EXPECT_EQ(ns->capacity_blocks, 900U);
  EXPECT_EQ(ns->block_bytes, 4096U);
  EXPECT_EQ(ns->metadata_bytes, 8);
  EXPECT_EQ(ns->protection, 9);
  EXPECT_EQ(ns->sharing, 1);
  EXPECT_EQ(ns->attributes, 1);
  EXPECT_EQ(formats, (std::vector<LbaFormat>{{512, 0, 2}, {4096, 8, 0}}));
  store_le(id, 26, std::uint8_t{2});
  expect_invalid(parse_namespace_state(id, 3, formats), "LBA format 2");
  store_le(id, 26, std::uint8_t{0});
  store_le(id, 0, ~std::uint64_t{0});
  expect_invalid(parse_namespace_state(id, 3, formats), "not a size");
  store_le(id, 0, std::uint64_t{0});
  expect_invalid(parse_namespace_state(id, 3, formats), "not a size");
}

TEST(StatePages, MoreThanSixteenFormatsUseTheUpperIndexBits) {
  Page id = page();
  store_le(id, 0, std::uint64_t{1000});
  store_le(id, 25, std::uint8_t{17});
  store_le(id, 26, std::uint8_t{0x21});  // 0x20 >> 1 is bit 4: row 17
  store_le(id, 128 + 17 * 4, std::uint32_t{0x000c0000});
  std::vector<LbaFormat> formats;
  const auto ns = parse_namespace_state(id, 1, formats);
  ASSERT_TRUE(ns.ok()) << ns.error().what;
  EXPECT_EQ(ns->format, 17);
  EXPECT_EQ(ns->block_bytes, 4096U);
}

TEST(StatePages, SmartIsReadAtItsOffsets) {
  Page log = page(512);
  const std::uint8_t bytes[] = {4, 0, 0, 90, 10, 17};
  for (std::size_t i = 0; i < 6; ++i) log[i] = std::byte{bytes[i]};
  store_le(log, 48, std::uint64_t{1});
  store_le(log, 128, std::uint64_t{2});
  store_le(log, 144, std::uint64_t{3});
  store_le(log, 160, std::uint64_t{4});
  EXPECT_EQ(*parse_health(log), (HealthState{4, 90, 10, 17, 1, 2, 3, 4}));
}

TEST(StatePages, FirmwareSlotsAreTrimmed) {
  Page log = page(512);
  log[0] = std::byte{0x21};
  put_text(log, 8, "FW1     ");
  put_text(log, 16, "FW\x01");
  const auto firmware = parse_firmware(log);
  ASSERT_TRUE(firmware.ok());
  EXPECT_EQ(firmware->active_slot, 1);
  EXPECT_EQ(firmware->next_slot, 2);
  EXPECT_EQ(firmware->revisions[0], "FW1");
  EXPECT_EQ(firmware->revisions[1], "FW?");
  EXPECT_EQ(firmware->revisions.size(), 7U);
  log[0] = std::byte{0x20};
  expect_invalid(parse_firmware(log), "no slot is active");
}

TEST(StatePages, SmallLogs) {
  Page log = page(1024);
  log[0] = std::byte{0xf2};
  EXPECT_EQ(*parse_self_test(log), 2);
  log[3] = std::byte{2};
  log[4] = std::byte{0x84};
  log[5] = std::byte{0x0d};
  EXPECT_EQ(*parse_lockdown(log), (std::vector<std::uint8_t>{0x84, 0x0d}));
  log[0x15 * 4] = std::byte{1};
  EXPECT_TRUE(*parse_supported_log(log, 0x15));
  EXPECT_FALSE(*parse_supported_log(log, 0x16));
  store_le(log, 4, 0x80000002U);
  const auto boot = parse_boot_header(log);
  ASSERT_TRUE(boot.ok());
  EXPECT_EQ(boot->active, 1U);
  EXPECT_EQ(boot->bytes, 262'144U);
}

TEST(StatePages, SecondaryControllers) {
  Page list = page();
  list[0] = std::byte{1};
  store_le(list, 32, std::uint16_t{9});
  store_le(list, 36, std::uint8_t{1});
  store_le(list, 42, std::uint16_t{4});
  store_le(list, 44, std::uint16_t{5});
  EXPECT_EQ(*parse_secondary_controllers(list),
            (std::vector<SecondaryController>{{9, true, 4, 5}}));
  list[0] = std::byte{128};
  expect_invalid(parse_secondary_controllers(list), "128");
}

TEST(StatePages, SecurityProtocols) {
  Page list = page(16);
  put_be(list, 6, 3, 2);
  list[9] = std::byte{1};
  list[10] = std::byte{0xea};
  EXPECT_EQ(*parse_security_protocols(list), (std::vector<std::uint8_t>{0, 1, 0xea}));
  put_be(list, 6, 9, 2);
  expect_invalid(parse_security_protocols(list), "9 entries");
}

Page level0(std::uint8_t locking, std::uint8_t sid) {
  Page discovery = page(2048);
  put_be(discovery, 0, 48 + 16 + 8 + 16 - 4, 4);
  put_be(discovery, 48, 0x0203, 2);  // a feature of no interest
  discovery[51] = std::byte{4};
  put_be(discovery, 56, 0x0002, 2);
  discovery[59] = std::byte{12};
  discovery[60] = std::byte{locking};
  put_be(discovery, 72, 0x0402, 2);
  discovery[75] = std::byte{12};
  discovery[76] = std::byte{sid};
  return discovery;
}

TEST(StatePages, Level0SaysWhoOwnsTheDrive) {
  const struct {
    std::uint8_t locking;
    std::uint8_t sid;
    OpalState wanted;
  } cases[] = {
      {0x01, 0x00, {true, false, false, false, false, true, false, false}},
      {0x02, 0x00, {true, true, false, false, false, true, false, false}},
      {0x04, 0x00, {true, false, true, false, false, true, false, false}},
      {0x10, 0x00, {true, false, false, true, false, true, false, false}},
      {0x20, 0x00, {true, false, false, false, true, true, false, false}},
      {0x00, 0x01, {true, false, false, false, false, true, true, false}},
      {0x00, 0x02, {true, false, false, false, false, true, false, true}},
  };
  for (const auto& each : cases) {
    const auto opal = parse_level0(level0(each.locking, each.sid));
    ASSERT_TRUE(opal.ok()) << opal.error().what;
    EXPECT_EQ(*opal, each.wanted);
  }
  EXPECT_FALSE(parse_level0(page(512))->supported);
  Page with_com_id = level0(0, 0);
  put_be(with_com_id, 52, 0x07fe, 2);
  EXPECT_EQ(parse_level0(with_com_id)->com_id, 0x07fe);
}

TEST(StatePages, BrokenLevel0IsRefused) {
  Page cut = level0(0, 0);
  put_be(cut, 0, 4000, 4);
  expect_invalid(parse_level0(cut), "4004 bytes");
  put_be(cut, 0, 20, 4);
  expect_invalid(parse_level0(cut), "24 bytes");
  put_be(cut, 0, 48 + 8 + 4 - 4, 4);
  expect_invalid(parse_level0(cut), "0x0002 is cut off");
  put_be(cut, 0, 48 + 8 + 2 - 4, 4);
  expect_invalid(parse_level0(cut), "last feature");
  Page empty = level0(0, 0);
  empty[59] = std::byte{0};
  expect_invalid(parse_level0(empty), "0x0002 is empty");
}

TEST(StatePages, TheRpmbCounterTellsOfTheKey) {
  std::array<std::byte, 16> nonce{};
  nonce[3] = std::byte{0x55};
  const auto request = rpmb_counter_request(2, nonce);
  EXPECT_EQ(request[223], std::byte{2});
  EXPECT_EQ(request[227], std::byte{0x55});
  EXPECT_EQ(load_le<std::uint16_t>(request, 254), 2);
  Page answer(request.begin(), request.end());
  expect_invalid(parse_rpmb_counter(answer, nonce), "type 0x0002");
  store_le(answer, 254, std::uint16_t{0x0200});
  EXPECT_TRUE(*parse_rpmb_counter(answer, nonce));
  store_le(answer, 252, std::uint16_t{0x80});  // the counter is at its end: there is a key
  EXPECT_TRUE(*parse_rpmb_counter(answer, nonce));
  answer[227] = std::byte{0};
  expect_invalid(parse_rpmb_counter(answer, nonce), "nonce");
  store_le(answer, 252, std::uint16_t{7});
  EXPECT_FALSE(*parse_rpmb_counter(answer, nonce));
  store_le(answer, 252, std::uint16_t{1});
  expect_invalid(parse_rpmb_counter(answer, nonce), "result 0x01");
}

TEST(StatePages, Reservations) {
  Page report = page();
  store_le(report, 4, std::uint8_t{3});
  store_le(report, 5, std::uint16_t{2});
  store_le(report, 9, std::uint8_t{1});
  NamespaceState ns;
  ASSERT_TRUE(parse_reservations(report, ns).ok());
  EXPECT_EQ(ns.reservation, 3);
  EXPECT_EQ(ns.registrants, 2);
  EXPECT_TRUE(ns.reservation_persists);
  EXPECT_FALSE(parse_reservations(page(23), ns).ok());
}

}  // namespace
}  // namespace reclaim::nvme
