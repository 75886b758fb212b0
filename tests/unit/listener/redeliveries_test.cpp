// What is delivered again: who reads it, who does not, and what a worker's death leaves behind.
#include "listener/amqp/redeliveries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "state/base/uuid.h"
#include "tests/unit/listener/kick_store.h"

namespace reclaim::listener {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What all workers see. Answers when the test says so.
class Marks final : public InHand {
 public:
  void mark_in_hand(const std::string& name, Callback<bool> done) override {
    asked.push_back([this, name, done = std::move(done)] {
      if (away) return done(Error{Errc::unavailable, "Redis is away"});
      done(names.insert(name).second);
    });
  }
  void clear_in_hand(const std::string& name, Callback<Ok> done) override {
    names.erase(name);
    done(Ok{});
  }
  void answer_all() {
    while (!asked.empty()) {
      for (const auto& answer : std::exchange(asked, {})) answer();
    }
  }
  std::set<std::string> names;
  std::vector<Once<>> asked;
  bool away = false;
};

// A process: what it read and what it set aside. One that meets `deadly` is gone with it in hand.
struct Worker {
  Worker(InHand& marks, std::string deadly_body) : deadly(std::move(deadly_body)) {
    RedeliverySettle settle;
    settle.read = [this](const AmqpDelivery& delivery) {
      if (delivery.body == deadly) {
        dead = true;
        return;
      }
      read.emplace_back(delivery.body);
    };
    settle.set_aside = [this](const AmqpDelivery& delivery, std::string_view why) {
      unread.emplace_back(delivery.body);
      EXPECT_THAT(std::string(why), HasSubstr("again"));
    };
    redeliveries.emplace(marks, timers, log, std::move(settle));
  }
  void take(const std::string& body, bool again, std::uint64_t incarnation = 1) {
    AmqpDelivery delivery;
    delivery.body = body;
    delivery.redelivered = again;
    delivery.incarnation = incarnation;
    redeliveries->take(delivery);
  }

  std::string deadly;
  bool dead = false;
  std::vector<std::string> read;
  std::vector<std::string> unread;
  testing::HandTimers timers;
  NullLogger log;
  std::optional<Redeliveries> redeliveries;
};

// The broker's part: what a dead worker had is delivered again to the next.
TEST(Redeliveries, AMessageThatEndsWorkersEndsTwoAtMost) {
  Marks marks;
  std::size_t deaths = 0;
  bool again = false;
  std::vector<std::string> unread;
  for (int i = 0; i < 10 && unread.empty(); ++i) {
    Worker worker(marks, "deadly");
    worker.take("deadly", again);
    // A process that dies does nothing more: the mark it made stays.
    const std::set<std::string> before = marks.names;
    if (!marks.asked.empty()) {
      const auto answer = std::move(marks.asked.front());
      marks.asked.clear();
      std::set<std::string> marked = before;
      marked.insert(message_uuid("deadly"));
      answer();
      if (worker.dead) marks.names = marked;
    }
    if (worker.dead) ++deaths;
    again = true;
    unread = worker.unread;
  }
  EXPECT_EQ(deaths, 2U);
  EXPECT_THAT(unread, ElementsAre("deadly"));
}

TEST(Redeliveries, WhatALostConnectionHeldIsReadAfterAll) {
  Marks marks;
  Worker worker(marks, "");
  worker.take("one", true);
  worker.take("two", true);
  worker.take("new", false);
  EXPECT_THAT(worker.read, ElementsAre("new"));  // without waiting for anything
  marks.answer_all();
  EXPECT_THAT(worker.read, ElementsAre("new", "one", "two"));
  EXPECT_THAT(worker.unread, IsEmpty());
  EXPECT_THAT(marks.names, IsEmpty());
}

TEST(Redeliveries, OneIsInHandAtATime) {
  Marks marks;
  Worker worker(marks, "");
  worker.take("one", true);
  worker.take("two", true);
  EXPECT_EQ(marks.asked.size(), 1U);  // or a death would leave two marks
}

TEST(Redeliveries, TheyWaitWhileRedisIsAway) {
  Marks marks;
  Worker worker(marks, "");
  marks.away = true;
  worker.take("one", true);
  marks.answer_all();
  EXPECT_THAT(worker.read, IsEmpty());
  marks.away = false;
  worker.timers.fire_all();
  marks.answer_all();
  EXPECT_THAT(worker.read, ElementsAre("one"));
}

TEST(Redeliveries, WhatWaitedForALostConnectionIsForgotten) {
  Marks marks;
  Worker worker(marks, "");
  worker.take("one", true, 1);
  worker.take("two", true, 2);
  marks.answer_all();
  EXPECT_THAT(worker.read, ElementsAre("two"));
  EXPECT_THAT(marks.names, IsEmpty());
}

TEST(Redeliveries, WhatWaitsIsBounded) {
  Marks marks;
  Worker worker(marks, "");
  const std::string big(kWaitingBytesMax / 2, 'x');
  worker.take(big, true);
  worker.take(big, true);
  worker.take("one more", true);
  EXPECT_THAT(worker.unread, ElementsAre("one more"));
  EXPECT_EQ(worker.redeliveries->waiting(), 2U);
}

}  // namespace
}  // namespace reclaim::listener
