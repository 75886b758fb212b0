// A provider that was read before: what is asked for, and what is believed of the earlier read.
#include "placement/read_again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/placement/fake_http.h"
#include "tests/unit/placement/play.h"

namespace reclaim::placement {
namespace {

using ::testing::ElementsAre;

constexpr const char* kProvider = "e562c0c8-db6a-4852-a551-284cb71543d2";

Played<ProviderView> read_again(const std::vector<std::string>& consumers,
                                std::deque<Result<HttpResponse>> answers) {
  static const Options kOptions;
  ProviderView known{kProvider, 15, {{"CUSTOM_PCI_1B36_0010", 1, 0, 1, 1, 1, 1.0}}, consumers};
  return play(ReadAgain(kOptions, std::move(known)), std::move(answers));
}

const std::string kInventories =
    std::string("GET /resource_providers/") + kProvider + "/inventories";
const std::string kAllocations =
    std::string("GET /resource_providers/") + kProvider + "/allocations";

TEST(ReadAgain, AtTheGenerationThatIsKnownTheInventoriesAreEnough) {
  const auto played = read_again({"c1"}, {inventories(15, 1)});
  EXPECT_THAT(played.asked, ElementsAre(kInventories));
  ASSERT_TRUE(played.result.ok());
  EXPECT_EQ(played.result->uuid, kProvider);
  EXPECT_EQ(played.result->generation, 15);
  EXPECT_TRUE(played.result->burned());  // as they are now
  EXPECT_THAT(played.result->consumers, ElementsAre("c1"));
}

TEST(ReadAgain, AtAnotherGenerationItIsReadInFull) {
  for (const int generation : {14, 16}) {
    const auto played = read_again({}, {inventories(generation, 1), allocations(generation, "c2")});
    EXPECT_THAT(played.asked, ElementsAre(kInventories, kAllocations));
    ASSERT_TRUE(played.result.ok());
    EXPECT_EQ(played.result->generation, generation);
    EXPECT_THAT(played.result->consumers, ElementsAre("c2"));
  }
}

TEST(ReadAgain, OnlyTheFirstAnswerIsComparedWithWhatIsKnown) {
  const auto played =
      read_again({}, {inventories(14, 1), allocations(15, "c2"), inventories(15, 1)});
  ASSERT_TRUE(played.result.ok());
  EXPECT_THAT(played.result->consumers, ElementsAre("c2"));
}

TEST(ReadAgain, WhatIsNoAnswerIsTheErrorThatAReadMakesOfIt) {
  EXPECT_EQ(
      read_again({}, {recorded("placement-16/get-provider-not-found.http")}).result.error().code,
      Errc::not_found);
  EXPECT_EQ(read_again({}, {answer(200, "<html>")}).result.error().code, Errc::invalid);
  EXPECT_EQ(read_again({}, {Error{Errc::unavailable, "refused"}}).result.error().code,
            Errc::unavailable);
}

}  // namespace
}  // namespace reclaim::placement
