// The queues that Nova's notifier declares, on a real RabbitMQ, with oslo.messaging as Nova has it:
// how the link looks at them, which it empties, and what the README's policy makes of them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/amqp_consumer.h"
#include "tests/integration/rabbitmq_broker.h"
#include "tests/source_path.h"

namespace reclaim::testing {
namespace {

using listener::AmqpOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NovaQueues : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    broker_ = std::make_unique<RabbitMqBroker>();
    ASSERT_TRUE(broker_->start());
  }
  static void TearDownTestSuite() { broker_.reset(); }

  // A topic of this test's own.
  static std::string topic() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static std::string queue() { return topic() + ".info"; }

  static AmqpOptions options() {
    AmqpOptions out = broker_->options("reclaim." + topic());
    out.watched_queues = listener::notification_keys({topic()});
    out.queue_look_ms = 50;
    return out;
  }
  static AmqpOptions draining() {
    AmqpOptions out = options();
    out.drained_queues = out.watched_queues;
    return out;
  }

  // Two notifications, as Nova sends them.
  static void notify(const std::string& topic) {
    const std::string command =
        fmt::format("/usr/bin/python3 {}/oslo_notify.py '{}' nova {} n a.b,c.d '{{}}' >/dev/null",
                    source_path("tests/integration"), broker_->transport_url(), topic);
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  static void publish(RabbitMqClient& client, int count) {
    for (int i = 0; i < count; ++i) client.publish("", queue(), "{}");
    // The broker answers when it has taken what came before.
    ASSERT_TRUE(client.messages(queue()).has_value());
  }
  // As many looks again, from now on.
  static void look(Consumer& consumer, std::size_t times) {
    const std::size_t until = consumer.looks().size() + times;
    ASSERT_TRUE(consumer.wait([&] { return consumer.looks().size() >= until; }));
  }

  static std::unique_ptr<RabbitMqBroker> broker_;
};

std::unique_ptr<RabbitMqBroker> NovaQueues::broker_;

TEST_F(NovaQueues, ALookFindsThoseThatExistAndHarmsNothing) {
  notify(topic());
  Consumer consumer(options());
  look(consumer, 3);
  EXPECT_THAT(consumer.looks().back(), ElementsAre(BusQueue{queue(), 2, 0}));
  EXPECT_EQ(consumer.link().counters().disconnects, 0U) << "of those that do not exist";
  EXPECT_EQ(consumer.link().counters().drained, 0U);
  consumer.stop();
}

TEST_F(NovaQueues, WhatIsDrainedIsEmptiedAtTheSecondLook) {
  RabbitMqClient client(*broker_);
  client.declare_queue(queue(), false, "classic");
  publish(client, 3);
  Consumer consumer(draining());
  look(consumer, 2);
  EXPECT_THAT(consumer.looks()[0], ElementsAre(BusQueue{queue(), 3, 0}));
  EXPECT_THAT(consumer.looks()[1], ElementsAre(BusQueue{queue(), 0, 0}));
  EXPECT_EQ(consumer.link().counters().drained, 3U);
  EXPECT_THAT(consumer.bodies(), ::testing::IsEmpty()) << "nothing of it is heard twice";
  consumer.stop();
}

TEST_F(NovaQueues, WhatSomebodyElseReadsIsNotDrained) {
  RabbitMqClient client(*broker_);
  client.declare_queue(queue(), false, "classic");
  AmqpOptions ceilometers = broker_->options(queue());
  ceilometers.prefetch = 1;
  Consumer ceilometer(ceilometers);
  ceilometer.settle = [](const listener::AmqpDelivery&) {};
  ASSERT_TRUE(ceilometer.wait_connected());
  publish(client, 5);
  ASSERT_TRUE(ceilometer.wait_bodies(1));
  Consumer consumer(draining());
  look(consumer, 4);
  EXPECT_THAT(consumer.looks().back(), ElementsAre(BusQueue{queue(), 4, 1}));
  // Then its reader is gone for good.
  ceilometer.stop();
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().drained == 5; }));
  consumer.stop();
}

TEST_F(NovaQueues, AStreamThatCannotBeEmptiedIsAskedOnce) {
  RabbitMqClient client(*broker_);
  client.declare_queue(queue(), true, "stream");
  publish(client, 3);
  Consumer consumer(draining());
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().disconnects > 0; }));
  const std::string& error = consumer.link().state().last_error;
  EXPECT_THAT(error, HasSubstr("not supported by stream"));
  EXPECT_THAT(error, HasSubstr("asked to empty the queue '" + queue() + "'"));
  EXPECT_THAT(error, HasSubstr("take its topic out of [listener] drain"));
  ASSERT_TRUE(consumer.wait_connected());
  look(consumer, 4);
  EXPECT_EQ(consumer.link().counters().disconnects, 1U);
  consumer.stop();
}

TEST_F(NovaQueues, TheReadmesPolicyKeepsThemEmptyAndRefusesNovaNothing) {
  RabbitMqClient client(*broker_);
  const auto messages = [&client](const std::string& name) { return client.messages(name); };
  for (const std::string name : {"versioned_notifications", "notifications"}) notify(name);
  EXPECT_EQ(messages("versioned_notifications.info"), 2U) << "it grows without the policy";
  std::string policy;
  std::ifstream in(source_path("README.md"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("rabbitmqctl set_policy ")) policy = line.substr(12);
  }
  ASSERT_THAT(broker_->ctl(policy), HasSubstr("reclaim-unread"));
  for (const std::string name : {"versioned_notifications", "notifications"}) notify(name);
  Consumer consumer([] {
    AmqpOptions out = options();
    out.watched_queues = listener::notification_keys({"versioned_notifications", "notifications"});
    return out;
  }());
  const std::vector<BusQueue> empty = {{"versioned_notifications.info", 0, 0},
                                       {"notifications.info", 0, 0}};
  EXPECT_TRUE(
      consumer.wait([&] { return !consumer.looks().empty() && consumer.looks().back() == empty; }));
  consumer.stop();
}

}  // namespace
}  // namespace reclaim::testing
