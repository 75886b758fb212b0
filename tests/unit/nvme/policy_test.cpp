// Every row of the specification's policy matrix against every capability that matters.
#include "nvme/policy.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace reclaim::nvme {
namespace {

constexpr auto kCrypto = EraseMethod::sanitize_crypto;
constexpr auto kBlock = EraseMethod::sanitize_block;

struct Row {
  ClearAction action;
  ClearStrategy strategy;
  // By capability: CES+BES, CES only, BES only, none.
  std::optional<EraseMethod> both, crypto, block, none;
};

const Row kMatrix[] = {
    {ClearAction::auto_, ClearStrategy::auto_, kCrypto, kCrypto, kBlock, {}},
    {ClearAction::auto_, ClearStrategy::crypto, kCrypto, kCrypto, {}, {}},
    {ClearAction::auto_, ClearStrategy::block, kBlock, {}, kBlock, {}},
    {ClearAction::sanitize, ClearStrategy::auto_, kCrypto, kCrypto, kBlock, {}},
    {ClearAction::sanitize, ClearStrategy::crypto, kCrypto, kCrypto, {}, {}},
    {ClearAction::sanitize, ClearStrategy::block, kBlock, {}, kBlock, {}},
    {ClearAction::zero, ClearStrategy::auto_, {}, {}, {}, {}},
    {ClearAction::zero, ClearStrategy::block, {}, {}, {}, {}},
    {ClearAction::zero, ClearStrategy::crypto, {}, {}, {}, {}},
};

TEST(Policy, EveryRowOfTheMatrix) {
  for (const Row& row : kMatrix) {
    const std::optional<EraseMethod> wanted[] = {row.none, row.crypto, row.block, row.both};
    for (std::uint32_t sanicap = 0; sanicap < 4; ++sanicap) {
      Capabilities capabilities;
      capabilities.sanicap = sanicap;
      const auto method = choose_method(Policy{row.action, row.strategy}, capabilities);
      SCOPED_TRACE(std::string(to_string(row.action)) + "/" + std::string(to_string(row.strategy)) +
                   " sanicap " + std::to_string(sanicap));
      ASSERT_EQ(method.ok(), wanted[sanicap].has_value());
      if (method.ok()) {
        EXPECT_EQ(*method, *wanted[sanicap]);
      }
    }
  }
}

TEST(Policy, ZeroWithCryptoIsInvalid) {
  const Policy policy{ClearAction::zero, ClearStrategy::crypto};
  EXPECT_EQ(check_policy(policy).error().code, Errc::invalid);
  EXPECT_EQ(choose_method(policy, Capabilities{3, 0, 0, 0}).error().code, Errc::invalid);
}

TEST(Policy, WhatNeedsZeroingIsRefusedForNow) {
  const auto zero =
      choose_method(Policy{ClearAction::zero, ClearStrategy::auto_}, Capabilities{3, 8, 0, 0});
  EXPECT_EQ(zero.error().code, Errc::refused);
  EXPECT_NE(zero.error().what.find("not supported by this version yet"), std::string::npos);
  const auto without = choose_method(Policy{}, Capabilities{0, 8, 0, 0});
  EXPECT_NE(without.error().what.find("not supported by this version yet"), std::string::npos);
  const auto unable =
      choose_method(Policy{ClearAction::sanitize, ClearStrategy::auto_}, Capabilities{0, 8, 0, 0});
  EXPECT_NE(unable.error().what.find("cannot be satisfied"), std::string::npos);
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
