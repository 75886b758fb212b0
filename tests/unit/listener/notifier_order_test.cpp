// What the notifier makes of the outbox and of the broker's answers, with a broker of the test's
// own words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "listener/amqp/notifier.h"
#include "tests/unit/listener/memory_outbox.h"

namespace reclaim::testing {
namespace {

using listener::Notifier;
using listener::NotifierOptions;
using listener::OutgoingMessage;
using listener::PublishOutcome;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NotifierOrder : public ::testing::Test {
 protected:
  NotifierOrder() {
    NotifierOptions options;
    options.amqp.hosts = {{"one", 5672, "u", "p"}, {"two", 5672, "u", "p"}};
    options.amqp.reconnect_interval_ms = 1;
    options.amqp.reconnect_backoff_ms = 0;
    options.amqp.reconnect_max_ms = 1;
    notifier_.emplace(
        loop_.raw(), options, outbox_,
        [](const OutboxEntry& entry) -> std::optional<OutgoingMessage> {
          if (entry.fields.at("message") == "forged") return std::nullopt;
          return OutgoingMessage{entry.id, {"topic.info"}, entry.fields.at("message")};
        },
        log_,
        [this](std::size_t host, const std::vector<OutgoingMessage>& messages,
               const std::atomic<bool>& cancelled) {
          const std::lock_guard lock(mutex_);
          hosts_.push_back(host);
          std::vector<std::string> batch;
          for (const OutgoingMessage& message : messages) batch.push_back(message.body);
          batches_.push_back(batch);
          return answer_(messages, cancelled);
        });
  }
  ~NotifierOrder() override {
    bool stopped = false;
    notifier_->stop([&] { stopped = true; });
    EXPECT_TRUE(run_until(loop_, [&] { return stopped; }));
  }

  static PublishOutcome takes_all(const std::vector<OutgoingMessage>& messages,
                                  const std::atomic<bool>& /*cancelled*/) {
    return {messages.size(), 0, std::nullopt};
  }

  uv::Loop loop_;
  NullLogger log_;
  MemoryOutbox outbox_;
  std::mutex mutex_;
  std::vector<std::size_t> hosts_;
  std::vector<std::vector<std::string>> batches_;
  std::function<PublishOutcome(const std::vector<OutgoingMessage>&, const std::atomic<bool>&)>
      answer_ = takes_all;
  std::optional<Notifier> notifier_;
};

TEST_F(NotifierOrder, WhatWaitsIsPublishedInOrderAndRemoved) {
  outbox_.post("1-0", "a");
  outbox_.post("2-0", "b");
  notifier_->start();
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.entries.empty(); }));
  outbox_.post("3-0", "c");
  notifier_->wake();
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.entries.empty(); }));
  EXPECT_THAT(batches_, ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_EQ(notifier_->counters().published, 3U);
  EXPECT_EQ(notifier_->counters().failed, 0U);
  EXPECT_EQ(hosts_[0], hosts_[1]) << "a host that takes them is kept";
}

TEST_F(NotifierOrder, WhatWasNotConfirmedIsSentAgainAndNothingElse) {
  outbox_.post("1-0", "a");
  outbox_.post("2-0", "b");
  answer_ = [this](const std::vector<OutgoingMessage>& messages,
                   const std::atomic<bool>& cancelled) -> PublishOutcome {
    if (batches_.size() == 1) return {0, 0, Error{Errc::unavailable, "the broker is away"}};
    if (batches_.size() == 2) return {1, 0, Error{Errc::refused, "a queue is full"}};
    return takes_all(messages, cancelled);
  };
  notifier_->start();
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.entries.empty(); }));
  EXPECT_THAT(batches_,
              ElementsAre(ElementsAre("a", "b"), ElementsAre("a", "b"), ElementsAre("b")));
  EXPECT_EQ(notifier_->counters().failed, 2U);
  EXPECT_EQ(notifier_->counters().published, 2U);
  EXPECT_NE(hosts_[0], hosts_[1]) << "after a failure the next host's turn comes";
}

TEST_F(NotifierOrder, WhatAnotherClientPutThereIsRemovedUnpublished) {
  outbox_.post("1-0", "forged");
  outbox_.post("2-0", "b");
  notifier_->start();
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.entries.empty(); }));
  EXPECT_THAT(batches_, ElementsAre(ElementsAre("b")));
  EXPECT_EQ(notifier_->counters().refused, 1U);
}

TEST_F(NotifierOrder, WhatIsConfirmedIsNotPublishedAgainThoughItCannotBeRemovedYet) {
  outbox_.post("1-0", "a");
  outbox_.keeps_removed = true;
  notifier_->start();
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.removals_refused >= 3; }));
  outbox_.keeps_removed = false;
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.entries.empty(); }));
  EXPECT_THAT(batches_, ElementsAre(ElementsAre("a")));
}

TEST_F(NotifierOrder, AnOutboxThatCannotBeReadIsReadLater) {
  outbox_.post("1-0", "a");
  outbox_.dropped = 7;
  outbox_.away = true;
  notifier_->start();
  loop_.run_once();
  EXPECT_THAT(batches_, IsEmpty());
  outbox_.away = false;
  EXPECT_TRUE(run_until(loop_, [&] { return outbox_.entries.empty(); }));
  EXPECT_EQ(notifier_->counters().dropped, 7U);
}

TEST_F(NotifierOrder, AStopLeavesWhatIsNotConfirmed) {
  outbox_.post("1-0", "a");
  answer_ = [](const std::vector<OutgoingMessage>&,
               const std::atomic<bool>& cancelled) -> PublishOutcome {
    while (!cancelled) {
    }
    return {0, 0, Error{Errc::cancelled, "given up"}};
  };
  notifier_->start();
  EXPECT_TRUE(run_until(loop_, [&] {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return !lock.owns_lock();  // it publishes
  }));
  bool stopped = false;
  notifier_->stop([&] { stopped = true; });
  EXPECT_TRUE(run_until(loop_, [&] { return stopped; }));
  EXPECT_EQ(outbox_.entries.size(), 1U);
  EXPECT_EQ(notifier_->counters().failed, 0U);
}

}  // namespace
}  // namespace reclaim::testing
