// How an answer comes back: once, to whoever waits for it.
#include "state/base/callback.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "state/base/reading.h"

namespace reclaim {
namespace {

TEST(Callback, IsCalledWithWhatCannotBeCopied) {
  int sum = 0;
  Once<std::unique_ptr<int>> add = [&sum, two = std::make_unique<int>(2)](std::unique_ptr<int> n) {
    sum = *two + *n;
  };
  EXPECT_TRUE(add);
  add(std::make_unique<int>(3));
  EXPECT_EQ(sum, 5);
  EXPECT_FALSE(add);
}

TEST(Callback, ASecondCallAborts) {
  const Once<> once = [] {};
  once();
  EXPECT_DEATH(once(), "CHECK");
}

TEST(Callback, WhatWasMovedAwayIsNotThereToBeCalled) {
  int calls = 0;
  Once<> from = [&calls] { ++calls; };
  const Once<> to = std::move(from);
  EXPECT_DEATH(from(), "CHECK");
  to();
  EXPECT_EQ(calls, 1);
}

TEST(Callback, MayBeTheEndOfItsHolder) {
  struct Holder {
    Once<> done;
  };
  auto holder = std::make_unique<Holder>();
  std::string told;
  holder->done = [&holder, &told, text = std::string("a text too long to be kept in place")] {
    holder.reset();
    told = text;
  };
  holder->done();
  EXPECT_EQ(told, "a text too long to be kept in place");
}

#ifdef RECLAIM_DEBUG
TEST(Callback, ToBeDestroyedUncalledInALoopAborts) {
  const CallsOwed owed(true);
  const auto forget = [] { const Once<> once = [] {}; };
  EXPECT_DEATH(forget(), "uncalled");
}
#endif

TEST(Callback, IsOwedToNobodyOnceDroppedOrAfterTheLoop) {
  const auto held = std::make_shared<int>(0);
  {
    const CallsOwed owed(true);
    Once<> inner = [held] {};
    const Once<> outer = [held, inner = std::move(inner)] { inner(); };
    EXPECT_EQ(held.use_count(), 3);
    outer.drop();
    EXPECT_EQ(held.use_count(), 1);
  }
  {
    const Once<> left_open = [held] {};
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Reading, AnswersWithWhatIsReadOrTheErrorAfterItsText) {
  std::optional<Result<int>> answer;
  const auto ask = [&answer](std::string what) {
    return reading<std::string>(
        Callback<int>([&answer](Result<int> result) { answer = std::move(result); }),
        std::move(what), [](const std::string& text) { return static_cast<int>(text.size()); });
  };
  ask("")(std::string("four"));
  EXPECT_EQ(**answer, 4);
  ask("")(Error{Errc::busy, "not now", 7});
  EXPECT_EQ(answer->error().what, "not now");
  ask("the length")(Error{Errc::busy, "not now", 7});
  EXPECT_EQ(answer->error().what, "the length: not now");
  EXPECT_EQ(answer->error().code, Errc::busy);
  EXPECT_EQ(answer->error().raw, 7);
}

TEST(Reading, WithoutTheValueOnlyTellsHowItWent) {
  std::optional<Status> answer;
  const auto ask = [&answer] {
    return without_value<int>([&answer](Status status) { answer = std::move(status); }, "it");
  };
  ask()(3);
  EXPECT_TRUE(answer->ok());
  ask()(Error{Errc::failed, "no"});
  EXPECT_EQ(answer->error().what, "it: no");
}

}  // namespace
}  // namespace reclaim
