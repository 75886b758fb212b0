// Every row of the policy matrix against every capability that matters.
#include "nvme/erase/policy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reclaim::nvme {
namespace {

enum class Answer {
  crypto,
  block,
  write_zeroes,
  overwrite,
  format_crypto,
  format_user_data,
  excluded,  // the drive cannot: Errc::refused
  invalid,   // nobody could: Errc::invalid
};
using enum Answer;

struct Drive {
  const char* name;
  Capabilities capabilities;
};

// Sanitize by SANICAP (bit 0 crypto, 1 block) and zeroing by ONCS bit 3.
const Drive kSanitizeDrives[] = {
    {"CES BES WZS", {3, 8, 0, 0}}, {"CES BES", {3, 0, 0, 0}}, {"CES WZS", {1, 8, 0, 0}},
    {"CES", {1, 0, 0, 0}},         {"BES WZS", {2, 8, 0, 0}}, {"BES", {2, 0, 0, 0}},
    {"WZS", {0, 8, 0, 0}},         {"nothing", {0, 0, 0, 0}},
};

struct Row {
  const char* name;
  Policy policy;
  // In the order of kSanitizeDrives.
  Answer answers[8];
};

// The specification's table, row by row.
const Row kMatrix[] = {
    {"auto/auto: CES sanitize, else BES sanitize, else write zeroes, else shred",
     {ClearAction::auto_, ClearStrategy::auto_},
     {crypto, crypto, crypto, crypto, block, block, write_zeroes, overwrite}},
    {"auto/crypto: CES sanitize only",
     {ClearAction::auto_, ClearStrategy::crypto},
     {crypto, crypto, crypto, crypto, excluded, excluded, excluded, excluded}},
    {"auto/block: BES sanitize, else write zeroes, else shred",
     {ClearAction::auto_, ClearStrategy::block},
     {block, block, write_zeroes, overwrite, block, block, write_zeroes, overwrite}},
    {"sanitize/auto: CES sanitize, else BES sanitize",
     {ClearAction::sanitize, ClearStrategy::auto_},
     {crypto, crypto, crypto, crypto, block, block, excluded, excluded}},
    {"sanitize/crypto: CES sanitize only",
     {ClearAction::sanitize, ClearStrategy::crypto},
     {crypto, crypto, crypto, crypto, excluded, excluded, excluded, excluded}},
    {"sanitize/block: BES sanitize only",
     {ClearAction::sanitize, ClearStrategy::block},
     {block, block, excluded, excluded, block, block, excluded, excluded}},
    {"zero/auto: write zeroes, else shred",
     {ClearAction::zero, ClearStrategy::auto_},
     {write_zeroes, overwrite, write_zeroes, overwrite, write_zeroes, overwrite, write_zeroes,
      overwrite}},
    {"zero/block: write zeroes, else shred",
     {ClearAction::zero, ClearStrategy::block},
     {write_zeroes, overwrite, write_zeroes, overwrite, write_zeroes, overwrite, write_zeroes,
      overwrite}},
    {"zero/crypto: invalid configuration",
     {ClearAction::zero, ClearStrategy::crypto},
     {invalid, invalid, invalid, invalid, invalid, invalid, invalid, invalid}},
};

void expect_answer(const Policy& policy, const Capabilities& capabilities, Answer wanted) {
  const auto method = choose_method(policy, capabilities);
  switch (wanted) {
    case excluded:
      ASSERT_FALSE(method.ok());
      EXPECT_EQ(method.error().code, Errc::refused);
      EXPECT_NE(method.error().what.find("cannot be satisfied"), std::string::npos);
      return;
    case invalid:
      ASSERT_FALSE(method.ok());
      EXPECT_EQ(method.error().code, Errc::invalid);
      EXPECT_EQ(check_policy(policy).error().code, Errc::invalid);
      return;
    default:
      ASSERT_TRUE(method.ok()) << method.error().what;
      EXPECT_TRUE(check_policy(policy).ok());
  }
  const EraseMethod methods[] = {EraseMethod::sanitize_crypto, EraseMethod::sanitize_block,
                                 EraseMethod::write_zeroes,    EraseMethod::overwrite,
                                 EraseMethod::format_crypto,   EraseMethod::format_user_data};
  EXPECT_EQ(to_string(*method), to_string(methods[static_cast<std::size_t>(wanted)]));
}

TEST(Policy, EveryRowOfTheMatrixForEveryDrive) {
  for (const Row& row : kMatrix) {
    for (std::size_t i = 0; i < std::size(kSanitizeDrives); ++i) {
      SCOPED_TRACE(std::string(row.name) + " on a drive with " + kSanitizeDrives[i].name);
      expect_answer(row.policy, kSanitizeDrives[i].capabilities, row.answers[i]);
    }
  }
}

TEST(Policy, WhatElseADriveCanDoesNotMatterToTheMatrix) {
  // Overwrite sanitize, Format with crypto erase, namespace management: none of them is chosen.
  for (const Row& row : kMatrix) {
    for (std::size_t i = 0; i < std::size(kSanitizeDrives); ++i) {
      SCOPED_TRACE(std::string(row.name) + " on a drive with " + kSanitizeDrives[i].name);
      Capabilities capabilities = kSanitizeDrives[i].capabilities;
      capabilities.sanicap |= 0x2000'0004;
      capabilities.oncs |= 0x00f7;
      capabilities.oacs = 0x000a;
      capabilities.fna = 7;
      expect_answer(row.policy, capabilities, row.answers[i]);
    }
  }
}

TEST(Policy, FormatIsOnlyByTheOperatorsWord) {
  struct FormatRow {
    const char* name;
    ClearStrategy strategy;
    // Drives: no Format; Format without crypto erase; Format with it (FNA bit 2).
    Answer without, plain, with_crypto;
  };
  const FormatRow rows[] = {
      {"format/auto", ClearStrategy::auto_, excluded, format_user_data, format_crypto},
      {"format/crypto", ClearStrategy::crypto, excluded, excluded, format_crypto},
      {"format/block", ClearStrategy::block, excluded, format_user_data, format_user_data},
  };
  for (const FormatRow& row : rows) {
    for (const std::uint32_t sanicap : {0U, 3U}) {  // also of a drive that could do better
      SCOPED_TRACE(std::string(row.name) + " sanicap " + std::to_string(sanicap));
      const Policy policy{ClearAction::format, row.strategy};
      expect_answer(policy, {sanicap, 8, 0, 4}, row.without);
      expect_answer(policy, {sanicap, 8, 2, 3}, row.plain);
      expect_answer(policy, {sanicap, 8, 2, 4}, row.with_crypto);
    }
  }
}

TEST(Policy, TraitsSayWhatTheDriveCan) {
  const std::vector<std::vector<std::string>> wanted = {
      {"HW_NVME_CES", "HW_NVME_BES", "HW_NVME_WZS"},
      {"HW_NVME_CES", "HW_NVME_BES"},
      {"HW_NVME_CES", "HW_NVME_WZS"},
      {"HW_NVME_CES"},
      {"HW_NVME_BES", "HW_NVME_WZS"},
      {"HW_NVME_BES"},
      {"HW_NVME_WZS"},
      {},
  };
  for (std::size_t i = 0; i < std::size(kSanitizeDrives); ++i) {
    EXPECT_EQ(traits(kSanitizeDrives[i].capabilities), wanted[i]) << kSanitizeDrives[i].name;
  }
  EXPECT_TRUE(traits({4, 0xf7, 0xffff, 0xff}).empty());
}

TEST(Policy, TheLogAloneIsBelievedOfASanitizeOnly) {
  Rules rules;
  rules.verify = VerifyLevel::log;
  EXPECT_TRUE(check_verification(rules, EraseMethod::sanitize_crypto).ok());
  EXPECT_TRUE(check_verification(rules, EraseMethod::sanitize_block).ok());
  for (const EraseMethod method : {EraseMethod::write_zeroes, EraseMethod::overwrite,
                                   EraseMethod::format_crypto, EraseMethod::format_user_data}) {
    EXPECT_EQ(check_verification(rules, method).error().code, Errc::invalid) << to_string(method);
  }
  rules.relaxed.global_data_erased = true;
  EXPECT_EQ(check_verification(rules, EraseMethod::sanitize_block).error().code, Errc::invalid);
  rules.verify = VerifyLevel::sample;
  EXPECT_TRUE(check_verification(rules, EraseMethod::overwrite).ok());
}

TEST(Policy, Words) {
  EXPECT_EQ(*parse_clear_action("auto"), ClearAction::auto_);
  EXPECT_EQ(*parse_clear_action("zero"), ClearAction::zero);
  EXPECT_FALSE(parse_clear_action("Zero").ok());
  EXPECT_EQ(*parse_clear_strategy("block"), ClearStrategy::block);
  EXPECT_FALSE(parse_clear_strategy("").ok());
}

}  // namespace
}  // namespace reclaim::nvme
