// A revert by PSID as bytes, and the file that has the PSIDs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "nvme/controller/opal_session.h"
#include "nvme/controller/psids.h"
#include "tests/temp_folder.h"

namespace reclaim::nvme {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kPsid = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
constexpr std::uint16_t kComId = 0x07fe;

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(each) >> 4U];
    text += kDigits[std::to_integer<unsigned>(each) & 0xfU];
  }
  return text;
}

std::vector<std::byte> page_of(std::string_view digits) {
  std::vector<std::byte> page;
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    page.push_back(static_cast<std::byte>(value(digits[i]) * 16 + value(digits[i + 1])));
  }
  page.resize(kOpalPacketBytes);
  return page;
}

// An answer with this payload, as a drive frames it.
std::vector<std::byte> answer(const std::string& payload) {
  const std::size_t bytes = payload.size() / 2;
  const std::size_t padded = (bytes + 3) / 4 * 4;
  const auto word = [](std::size_t value) {
    std::string text = "00000000";
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::size_t i = 8; i-- > 0; value >>= 4U) text[i] = kDigits[value & 0xfU];
    return text;
  };
  const std::string none(8, '0');
  return page_of(none + "07fe0000" + none + none + word(36 + padded) + none + none + none + none +
                 none + word(12 + padded) + none + none + word(bytes) + payload);
}

TEST(OpalSession, IsOpenedAsThePsidOfTheAdminSp) {
  const std::string sent = hex(start_session_packet(kComId, kPsid));
  // Lengths: 24 + 12 + 88; 12 + 88; 87 bytes of payload, padded by one.
  EXPECT_EQ(sent.substr(0, 112), std::string("00000000") + "07fe0000" + "00000000" + "00000000" +
                                     "0000007c" + std::string(40, '0') + "00000064" +
                                     std::string(16, '0') + "00000057");
  EXPECT_EQ(sent.substr(112, 174),
            std::string("f8a800000000000000ffa8000000000000ff02f0") + "01" + "a80000020500000001" +
                "01" + "f200d0204142434445464748494a4b4c4d4e4f505152535455565758595a303132333435" +
                "f3" + "f203a8000000090001ff01f3" + "f1f9f0000000f1");
  EXPECT_EQ(sent.substr(286), std::string(2 * kOpalPacketBytes - 286, '0'));
}

TEST(OpalSession, RevertIsCalledWithinIt) {
  const std::string sent = hex(revert_packet({kComId, 0x1001, 1}));
  EXPECT_EQ(sent.substr(40, 16), "0000100100000001");
  EXPECT_EQ(sent.substr(104, 8), "0000001b");
  EXPECT_EQ(sent.substr(112, 54), "f8a80000020500000001a80000000600000202f0f1f9f0000000f1");
  EXPECT_EQ(hex(end_session_packet({kComId, 0x1001, 1})).substr(104, 10), "00000001fa");
}

TEST(OpalSession, AnAnswerSaysWhatBecameOfIt) {
  const std::string sync = "f8a800000000000000ffa8000000000000ff03f0";
  const auto opened = parse_opal_answer(answer(sync + "0184000010fff1f9f0000000f1"), kComId);
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_EQ(opened->status, 0U);
  EXPECT_EQ(opened->session, (OpalSession{kComId, 0x10ff, 1}));
  const auto refused = parse_opal_answer(answer(sync + "0100f1f9f0010000f1"), kComId);
  ASSERT_TRUE(refused.ok()) << refused.error().what;
  EXPECT_EQ(refused->status, OpalAnswer::kNotAuthorized);
  EXPECT_EQ(refused->session.tper, 0U);
  const auto of_another = parse_opal_answer(answer(sync + "0284000010fff1f9f0000000f1"), kComId);
  EXPECT_EQ(of_another->session.tper, 0U) << "not of our number";
  // Padded by an empty atom.
  EXPECT_EQ(parse_opal_answer(answer("f0f1f9f0120000f1ff"), kComId)->status,
            OpalAnswer::kLockedOut);
  EXPECT_TRUE(parse_opal_answer(page_of("0000000007fe000000000001"), kComId)->pending);
}

TEST(OpalSession, ABrokenAnswerIsRefused) {
  const struct {
    std::vector<std::byte> page;
    std::string_view says;
  } cases[] = {
      {page_of("0000000007fe0000"), "it is empty"},
      {page_of("0000000007fe00000000000100000001"), "it is empty"},
      {page_of("0000000010010000"), "another ComID"},
      {std::vector<std::byte>(40), "40 bytes"},
      {answer("fa"), "no status"},
      {answer("f0f1f9f0"), "no status"},
      {answer("f0f1f9f0000000f0"), "no status"},
      {answer("f0f1f9f0a1000000f1"), "no status"},
      {answer("f1f1f1f0000000f1"), "no status"},
      {answer("f0f1f9f084000000"), "no status"},
      {answer("f0f1f9f0890000000000000000000000f1"), "no status"},
      {answer("f0f1f9f0000000"), "no status"},
  };
  for (const auto& each : cases) {
    const auto parsed = parse_opal_answer(each.page, kComId);
    ASSERT_FALSE(parsed.ok()) << each.says;
    EXPECT_EQ(parsed.error().code, Errc::invalid);
    EXPECT_THAT(parsed.error().what, HasSubstr(std::string(each.says)));
  }
  auto too_long = answer("f0f1f9f0000000f1");
  too_long[53] = std::byte{0xff};
  EXPECT_THAT(parse_opal_answer(too_long, kComId).error().what, HasSubstr("bytes"));
}

TEST(Psids, ALineADrive) {
  const auto psids = parse_psids("# label\r\n\nS1 " + std::string(kPsid) + "\r\n  TWO WORDS\t" +
                                     std::string(kPsid) + " # rack 7",
                                 "f");
  ASSERT_TRUE(psids.ok()) << psids.error().what;
  EXPECT_EQ(*psids, (Psids{{"S1", std::string(kPsid)}, {"TWO WORDS", std::string(kPsid)}}));
  EXPECT_TRUE(parse_psids("", "f")->empty());
}

TEST(Psids, WhatIsWrongIsSaidWithoutThePsid) {
  const std::string psid(kPsid);
  const struct {
    std::string line;
    std::string_view says;
  } cases[] = {
      {psid, "one word"},
      {"S1 " + psid.substr(1), "no PSID (31 characters): 32 letters and digits are accepted"},
      {"S1 " + psid.substr(1) + "-", "no PSID (32 characters)"},
      {psid + " S1", "no PSID (2 characters)"},
      {psid + " " + psid, "has 32 characters: at most 20 are accepted"},
      {"S0 " + psid, "stands in a line above"},
  };
  for (const auto& each : cases) {
    const auto parsed = parse_psids("S0 " + psid + "\n\n" + each.line + "\n", "/etc/psids");
    ASSERT_FALSE(parsed.ok()) << each.line;
    EXPECT_EQ(parsed.error().code, Errc::invalid);
    EXPECT_THAT(parsed.error().what,
                AllOf(HasSubstr("/etc/psids:3: "), HasSubstr(std::string(each.says)),
                      Not(HasSubstr(psid.substr(1)))));
  }
}

TEST(Psids, TheFileIsItsOwnersAlone) {
  const TempFolder folder;
  const std::string path = folder / "psids";
  const auto wrong = [&](uid_t owner) {
    const auto read = read_psids(path, owner);
    return read ? std::string() : read.error().what;
  };
  EXPECT_THAT(wrong(::geteuid()), HasSubstr("PSID file " + path));
  std::ofstream(path) << "S1 " << kPsid << "\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(wrong(::geteuid()), "");
  EXPECT_THAT(wrong(12'345), HasSubstr("belongs to user"));
  for (const mode_t mode : {0644U, 0604U, 0660U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(wrong(::geteuid()), AllOf(HasSubstr(path), HasSubstr("others than its owner")));
  }
}

}  // namespace
}  // namespace reclaim::nvme
