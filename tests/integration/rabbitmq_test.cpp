// The link against a real RabbitMQ: what arrives, what is acked, and what is done when the broker,
// its exchange or its queue is not as hoped.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "handlers/bus/kick.h"
#include "listener/amqp/link.h"
#include "state/base/json.h"
#include "tests/integration/amqp_consumer.h"
#include "tests/integration/rabbitmq_broker.h"
#include "tests/source_path.h"

namespace reclaim::testing {
namespace {

using listener::AmqpDelivery;
using listener::AmqpLink;
using listener::AmqpOptions;
using listener::AmqpState;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kInfo = "versioned_notifications.info";

std::vector<std::string> recorded_bodies() {
  std::vector<std::string> bodies;
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  for (std::string line; std::getline(in, line);) {
    bodies.push_back(*json::get_string(*json::parse(line, 1U << 20U), "body"));
  }
  return bodies;
}

std::string update_numbered(int number) {
  return fmt::format(R"({{"event_type": "instance.update", "payload": {{"number": {}}}}})", number);
}

class RabbitMq : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    broker_ = std::make_unique<RabbitMqBroker>();
    ASSERT_TRUE(broker_->start());
  }
  static void TearDownTestSuite() { broker_.reset(); }

  // A queue's name of this test's own.
  static std::string name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static AmqpOptions options() { return broker_->options(name()); }
  static std::string exchange() { return name() + ".exchange"; }

  // The queue is empty and nothing is out: every message was acked.
  static void expect_all_acked(Consumer& consumer) {
    consumer.stop();
    RabbitMqClient client(*broker_);
    EXPECT_EQ(client.messages(name()), 0U);
  }

  static std::unique_ptr<RabbitMqBroker> broker_;
};

std::unique_ptr<RabbitMqBroker> RabbitMq::broker_;

TEST_F(RabbitMq, RecordedTrafficArrivesWholeAndIsAcked) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  const auto bodies = recorded_bodies();
  AmqpOptions wanted = options();
  wanted.prefetch =
      static_cast<int>(bodies.size());  // so that all are there before the first is acked
  Consumer consumer(wanted);
  consumer.settle = [](const AmqpDelivery&) {};
  ASSERT_TRUE(consumer.wait_connected());
  for (const std::string& body : bodies) client.publish(exchange(), kInfo, body);
  ASSERT_TRUE(consumer.wait_bodies(bodies.size()));
  EXPECT_EQ(consumer.bodies(), bodies);
  EXPECT_EQ(consumer.link().counters().received, 384U);
  KickDecider decider;
  std::map<std::string, int> kicks;
  for (const std::string& body : consumer.bodies()) {
    const Decision decision = decider.decide_fast(body);
    if (decision.verdict != Verdict::kick || decision.mark_allocated) continue;
    for (const std::string& host : decision.hosts) ++kicks[host];
  }
  EXPECT_EQ(kicks, (std::map<std::string, int>{{"compute-1", 2}, {"compute-2", 12}}));
  for (const auto& [tag, incarnation] : consumer.tags()) consumer.link().ack(tag, incarnation);
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().acked == 384; }));
  EXPECT_LE(consumer.link().counters().ack_frames, 20U);
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, OsloMessagingsOwnSendingArrives) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  Consumer consumer(options());
  ASSERT_TRUE(consumer.wait_connected());
  const std::string command = fmt::format(
      "/usr/bin/python3 {}/oslo_notify.py '{}' {} versioned_notifications nova-compute:cmp1 "
      "instance.update,instance.delete.end '{{\"nova_object.version\": \"1.9\", "
      "\"nova_object.data\": {{\"host\": \"cmp1\", \"uuid\": \"u-1\"}}}}' >/dev/null 2>&1",
      source_path("tests/integration"), broker_->transport_url(), exchange());
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_TRUE(consumer.wait_bodies(2));
  EXPECT_EQ(NotificationDecoder::peek_event_type(consumer.bodies()[0]), "instance.update");
  KickDecider decider;
  const Decision decision = decider.decide_fast(consumer.bodies()[1]);
  EXPECT_EQ(decision.verdict, Verdict::kick) << consumer.bodies()[1];
  EXPECT_THAT(decision.hosts, ::testing::ElementsAre("cmp1"));
  EXPECT_EQ(decision.instance_uuid, "u-1");
  EXPECT_EQ(decision.request_id, "req-oslo");
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, EveryTopicAndPriorityIsBound) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), true);
  Consumer consumer(options());
  ASSERT_TRUE(consumer.wait_connected());
  int number = 0;
  for (const char* key : {"versioned_notifications.info", "versioned_notifications.error",
                          "notifications.info", "notifications.error", "notifications.warn"}) {
    client.publish(exchange(), key, update_numbered(++number));
  }
  ASSERT_TRUE(consumer.wait_bodies(4));
  EXPECT_EQ(consumer.bodies()[3], update_numbered(4));
  consumer.run_for(200);
  EXPECT_EQ(consumer.bodies().size(), 4U);
}

TEST_F(RabbitMq, TheQueueIsAsDurableAsItsExchangeAndBounded) {
  RabbitMqClient client(*broker_);
  for (const bool durable : {false, true}) {
    AmqpOptions wanted = options();
    wanted.queue = fmt::format("{}-{}", name(), durable);
    wanted.dead_letter_queue = wanted.queue + ".dead";
    wanted.exchanges = {wanted.queue + ".exchange"};
    wanted.queue_length_max = 3;
    wanted.durable = !durable;  // what was expected gives way to what is
    client.declare_exchange(wanted.exchanges[0], durable);
    {
      Consumer consumer(wanted);
      ASSERT_TRUE(consumer.wait_connected());
    }
    for (int i = 0; i < 10; ++i) client.publish(wanted.exchanges[0], kInfo, update_numbered(i));
    // Of ten messages the newest three stay.
    EXPECT_EQ(client.get(wanted.queue)->body, update_numbered(7));
    EXPECT_EQ(client.messages(wanted.queue), 2U);
    EXPECT_TRUE(client.exchange_is(wanted.exchanges[0], durable));
  }
}

TEST_F(RabbitMq, AQueueThatExpiresGoesWhenNobodyConsumesIt) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), true);
  AmqpOptions wanted = options();
  wanted.queue_expires_ms = 1000;
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_connected());
  consumer.run_for(2500);
  EXPECT_TRUE(client.messages(wanted.queue));
  consumer.stop();
  // Looking at a queue counts as using it, so it is not looked at too often.
  bool gone = false;
  for (int i = 0; i < 20 && !gone; ++i) {
    consumer.run_for(2000);
    gone = !client.messages(wanted.queue);
  }
  EXPECT_TRUE(gone);
}

TEST_F(RabbitMq, AQueueThatExistsIsUsedAsItIs) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), true);
  for (const char* type : {"quorum", "classic"}) {
    AmqpOptions wanted = options();
    wanted.queue = fmt::format("{}-{}", name(), type);
    wanted.dead_letter_queue = wanted.queue + ".dead";
    wanted.queue_type =
        std::string(type) == "quorum" ? listener::QueueType::classic : listener::QueueType::quorum;
    client.declare_queue(wanted.queue, true, type);
    Consumer consumer(wanted);
    ASSERT_TRUE(consumer.wait_connected());
    EXPECT_EQ(consumer.link().counters().connect_failures, 0U);
    client.publish(exchange(), kInfo, update_numbered(1));
    ASSERT_TRUE(consumer.wait_bodies(1)) << type;
  }
}

// Its messages are never used up, so that each worker would handle each event.
TEST_F(RabbitMq, AStreamIsRefusedWithTheRemedyUntilItIsGone) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), true);
  client.declare_queue(name(), true, "stream");
  Consumer consumer(options());
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().connect_failures > 1; }));
  EXPECT_THAT(consumer.link().state().last_error, HasSubstr("is a stream"));
  EXPECT_THAT(consumer.link().state().last_error, HasSubstr("rabbitmqctl delete_queue " + name()));
  client.delete_queue(name());
  ASSERT_TRUE(consumer.wait_connected());
  client.publish(exchange(), kInfo, update_numbered(1));
  ASSERT_TRUE(consumer.wait_bodies(1));
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, AQuorumQueueIsMadeWhereAskedFor) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), true);
  AmqpOptions wanted = options();
  wanted.queue_type = listener::QueueType::quorum;
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_connected());
  client.publish(exchange(), kInfo, update_numbered(1));
  ASSERT_TRUE(consumer.wait_bodies(1));
}

TEST_F(RabbitMq, AMissingExchangeIsWaitedForAndLeftToNova) {
  AmqpOptions wanted = options();
  wanted.exchanges = {name() + ".a", name() + ".b"};
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_connected());
  EXPECT_EQ(consumer.link().state().missing_exchanges.size(), 2U);
  RabbitMqClient client(*broker_);
  consumer.run_for(1500);
  EXPECT_TRUE(client.exchange_is(name() + ".b", true));
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().state().missing_exchanges.size() == 1; }));
  EXPECT_TRUE(client.exchange_is(name() + ".a", false));
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().state().missing_exchanges.empty(); }));
  client.publish(name() + ".a", kInfo, update_numbered(1));
  client.publish(name() + ".b", kInfo, update_numbered(2));
  ASSERT_TRUE(consumer.wait_bodies(2));
  EXPECT_EQ(consumer.link().counters().connects, 1U);
}

TEST_F(RabbitMq, TlsVerifiesTheBroker) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  AmqpOptions wanted = options();
  wanted.tls.enabled = true;
  wanted.tls.ca_file = broker_->ca_file();
  wanted.hosts[0].host = "localhost";
  wanted.hosts[0].port = broker_->tls_port();
  {
    Consumer consumer(wanted);
    ASSERT_TRUE(consumer.wait_connected());
    // More than one TLS record holds, and more than librabbitmq reads at once.
    const std::string big = R"({"event_type": "x", "fill": ")" + std::string(500'000, 'f') + "\"}";
    for (int i = 0; i < 5; ++i) client.publish(exchange(), kInfo, big);
    ASSERT_TRUE(consumer.wait_bodies(5));
    EXPECT_EQ(consumer.bodies()[4], big);
    expect_all_acked(consumer);
  }
  // The certificate is of `localhost`, not of this address.
  wanted.hosts[0].host = "127.0.0.1";
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().connect_failures > 1; }));
  EXPECT_THAT(consumer.link().state().last_error, HasSubstr("TLS"));
}

TEST_F(RabbitMq, TlsWithAClientCertificateAsLogin) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  AmqpOptions wanted = options();
  wanted.tls = {true, broker_->ca_file(), broker_->cert_file(), broker_->key_file(), true};
  wanted.login = listener::AmqpLogin::external;
  wanted.hosts[0] = {"localhost", broker_->tls_port(), "", ""};
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_connected()) << consumer.link().state().last_error;
  client.publish(exchange(), kInfo, update_numbered(1));
  ASSERT_TRUE(consumer.wait_bodies(1));
}

TEST_F(RabbitMq, TlsRefusesABrokerOfAnotherCa) {
  const std::string other = broker_->directory() + "/other.pem";
  ASSERT_EQ(std::system(fmt::format("openssl req -x509 -newkey ec -pkeyopt "
                                    "ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other "
                                    "-keyout /dev/null -out {} 2>/dev/null",
                                    other)
                            .c_str()),
            0);
  AmqpOptions wanted = options();
  wanted.tls.enabled = true;
  wanted.tls.ca_file = other;
  wanted.hosts[0] = {"localhost", broker_->tls_port(), broker_->user(), broker_->password()};
  Consumer refused(wanted);
  ASSERT_TRUE(refused.wait([&] { return refused.link().counters().connect_failures > 0; }));
  EXPECT_THAT(refused.link().state().last_error, HasSubstr("TLS"));
  EXPECT_FALSE(refused.link().state().connected);
  // Without a CA nothing is verified, as in oslo.messaging.
  wanted.tls.ca_file.clear();
  Consumer unverified(wanted);
  EXPECT_TRUE(unverified.wait_connected());
  // A file that is none, and a key that librabbitmq would abort on.
  wanted.tls.ca_file = "/nonexistent";
  Consumer no_ca(wanted);
  ASSERT_TRUE(no_ca.wait([&] { return no_ca.link().counters().connect_failures > 0; }));
  EXPECT_THAT(no_ca.link().state().last_error, HasSubstr("ssl_ca_file /nonexistent"));
  const std::string locked = broker_->directory() + "/locked.key";
  ASSERT_EQ(std::system(fmt::format("openssl ec -in {} -aes128 -passout pass:x -out {} 2>/dev/null",
                                    broker_->key_file(), locked)
                            .c_str()),
            0);
  wanted.tls = {true, broker_->ca_file(), broker_->cert_file(), locked, true};
  Consumer no_key(wanted);
  ASSERT_TRUE(no_key.wait([&] { return no_key.link().counters().connect_failures > 0; }));
  EXPECT_THAT(no_key.link().state().last_error, HasSubstr("pass phrase"));
}

TEST_F(RabbitMq, AWrongPasswordIsSaidAndTriedAgainSlowly) {
  AmqpOptions wanted = options();
  wanted.hosts[0].password = "hunter2";
  wanted.reconnect_interval_ms = 200;
  wanted.reconnect_max_ms = 400;
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().connect_failures >= 3; }));
  const AmqpState& state = consumer.link().state();
  EXPECT_THAT(state.last_error, HasSubstr("ACCESS_REFUSED"));
  EXPECT_THAT(state.last_error, HasSubstr("login as 'reclaim'"));
  EXPECT_THAT(state.last_error, Not(HasSubstr("hunter2")));
  EXPECT_EQ(state.incarnation, 0U);
}

TEST_F(RabbitMq, AMissingVhostIsSaid) {
  AmqpOptions wanted = options();
  wanted.vhost = "nowhere";
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().connect_failures > 0; }));
  EXPECT_THAT(consumer.link().state().last_error, HasSubstr("vhost 'nowhere'"));
}

TEST_F(RabbitMq, HostsAreTriedInTurn) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  AmqpOptions wanted = options();
  const listener::AmqpHost good = wanted.hosts[0];
  wanted.hosts = {{"127.0.0.1", 1, "u", "p"}, {"nowhere.invalid", 5672, "u", "p"}, good};
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_connected());
  EXPECT_EQ(consumer.link().state().host, fmt::format("127.0.0.1:{}", broker_->port()));
}

TEST_F(RabbitMq, UnsettledDeliveriesStopAtThePrefetchBoundAndComeAgain) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  AmqpOptions wanted = options();
  wanted.prefetch = 10;
  {
    Consumer consumer(wanted);
    ASSERT_TRUE(consumer.wait_connected());
    consumer.settle = [](const AmqpDelivery&) {};
    for (int i = 0; i < 40; ++i) client.publish(exchange(), kInfo, update_numbered(i));
    ASSERT_TRUE(consumer.wait_bodies(10));
    consumer.run_for(300);
    EXPECT_EQ(consumer.bodies().size(), 10U);
    EXPECT_EQ(consumer.link().outstanding(), 10U);
    EXPECT_EQ(client.messages(wanted.queue), 30U);
    // Settled in any order, acked only up to where all are settled.
    for (int i = 9; i > 0; --i) {
      consumer.link().ack(consumer.tags()[static_cast<std::size_t>(i)].first, 1);
    }
    consumer.run_for(200);
    EXPECT_EQ(consumer.link().counters().acked, 0U);
    consumer.link().ack(consumer.tags()[0].first, 1);
    ASSERT_TRUE(consumer.wait_bodies(20));
    consumer.link().ack(consumer.tags()[0].first, 1);
    EXPECT_EQ(consumer.link().counters().acks_dropped, 1U);
  }
  // Thirty were never settled; who comes next gets them again.
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_bodies(30));
  EXPECT_EQ(consumer.bodies()[0], update_numbered(10));
  EXPECT_EQ(consumer.link().counters().redelivered, 10U);
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, AQueueDeletedUnderUsIsMadeAgain) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  Consumer consumer(options());
  ASSERT_TRUE(consumer.wait_connected());
  client.delete_queue(name());
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().state().incarnation == 2; }));
  EXPECT_EQ(consumer.link().counters().cancels, 1U);
  client.publish(exchange(), kInfo, update_numbered(1));
  ASSERT_TRUE(consumer.wait_bodies(1));
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, WhatCannotBeUsedGoesToTheDeadLetterQueueWithoutItsContext) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  AmqpOptions wanted = options();
  wanted.body_bytes_max = 300'000;
  Consumer consumer(wanted);
  KickDecider decider(wanted.body_bytes_max);
  consumer.settle = [&](const AmqpDelivery& delivery) {
    const Decision decision = decider.decide_fast(delivery.body);
    if (decision.verdict == Verdict::reject) {
      consumer.link().dead_letter(delivery, decision.why);
    } else {
      consumer.link().ack(delivery.tag, delivery.incarnation);
    }
  };
  ASSERT_TRUE(consumer.wait_connected());
  const std::string good = update_numbered(1);
  client.publish(exchange(), kInfo, good);
  client.publish(
      exchange(), kInfo,
      R"({"oslo.version": "9.0", "oslo.message": "{\"event_type\": \"instance.delete.end\", )"
      R"(\"_context_auth_token\": \"gAAAAAsecret\"}"})");
  client.publish(exchange(), kInfo, R"({"event_type": "x", "_context_auth_token": "gAAAAAsecret")");
  client.publish(exchange(), kInfo, std::string(400'000, '['));
  client.publish(exchange(), kInfo, "");
  client.publish(exchange(), kInfo, good);
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().dead_lettered == 4; }));
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().acked == 6; }));
  EXPECT_EQ(consumer.link().counters().oversized, 1U);
  const std::string dead = wanted.dead_letter_queue;
  const auto wrong_version = client.get(dead);
  ASSERT_TRUE(wrong_version);
  EXPECT_THAT(wrong_version->body, HasSubstr("instance.delete.end"));
  EXPECT_THAT(wrong_version->body, Not(HasSubstr("secret")));
  EXPECT_THAT(wrong_version->body, Not(HasSubstr("_context")));
  EXPECT_THAT(wrong_version->why, HasSubstr("version '9.0' is not known"));
  const auto broken = client.get(dead);
  ASSERT_TRUE(broken);
  EXPECT_THAT(broken->body, HasSubstr("event_type"));
  EXPECT_THAT(broken->body, Not(HasSubstr("secret")));
  ASSERT_TRUE(client.get(dead));
  ASSERT_TRUE(client.get(dead));
  EXPECT_FALSE(client.get(dead));
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, ABrokerRestartInTheMiddleLosesNothing) {
  AmqpOptions wanted = options();
  wanted.prefetch = 500;  // more than are sent while a third is not acknowledged
  {
    RabbitMqClient client(*broker_);
    client.declare_exchange(exchange(), true);
  }
  Consumer consumer(wanted);
  // Every third delivery is left for later, and by then its connection is gone.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> later;
  bool first = true;
  consumer.settle = [&](const AmqpDelivery& delivery) {
    if (first && delivery.tag % 3 == 0) {
      later.emplace_back(delivery.tag, delivery.incarnation);
    } else {
      consumer.link().ack(delivery.tag, delivery.incarnation);
    }
  };
  ASSERT_TRUE(consumer.wait_connected());
  {
    RabbitMqClient client(*broker_);
    for (int i = 0; i < 300; ++i) client.publish(exchange(), kInfo, update_numbered(i));
    ASSERT_TRUE(consumer.wait_bodies(300));
  }
  broker_->stop();
  ASSERT_TRUE(consumer.wait([&] { return !consumer.link().state().connected; }));
  EXPECT_FALSE(consumer.link().state().last_error.empty());
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().counters().connect_failures > 2; }));
  for (const auto& [tag, incarnation] : later) consumer.link().ack(tag, incarnation);
  EXPECT_EQ(consumer.link().counters().acks_dropped, later.size());
  first = false;
  ASSERT_TRUE(broker_->start());
  ASSERT_TRUE(consumer.wait_connected());
  RabbitMqClient client(*broker_);
  for (int i = 300; i < 400; ++i) client.publish(exchange(), kInfo, update_numbered(i));
  const auto seen_all = [&] {
    std::map<std::string, int> seen;
    for (const std::string& body : consumer.bodies()) ++seen[body];
    return seen.size() == 400;
  };
  ASSERT_TRUE(consumer.wait(seen_all));
  EXPECT_GE(consumer.link().counters().redelivered, 100U);
  EXPECT_EQ(consumer.link().state().incarnation, 2U);
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().outstanding() == 0; }));
  expect_all_acked(consumer);
}

TEST_F(RabbitMq, ASilentBrokerIsNoticedByItsHeartbeat) {
  RabbitMqClient client(*broker_);
  client.declare_exchange(exchange(), false);
  AmqpOptions wanted = options();
  wanted.heartbeat_s = 1;
  Consumer consumer(wanted);
  ASSERT_TRUE(consumer.wait_connected());
  // Ours keep the connection up much longer than two silent heartbeats would. A machine that does
  // much else may miss some and lose it: then the next one is looked at.
  std::uint64_t since = 0;
  for (int i = 0; i < 60 && since != consumer.link().state().incarnation; ++i) {
    ASSERT_TRUE(consumer.wait_connected());
    since = consumer.link().state().incarnation;
    consumer.run_for(5000);
  }
  EXPECT_EQ(consumer.link().state().incarnation, since);
  const std::uint64_t before = consumer.link().counters().disconnects;
  broker_->pause();
  EXPECT_TRUE(consumer.wait([&] { return consumer.link().counters().disconnects > before; }));
  broker_->resume();
  EXPECT_THAT(consumer.link().state().last_error, HasSubstr("heartbeat"));
  ASSERT_TRUE(consumer.wait([&] { return consumer.link().state().incarnation > since; }));
}

TEST_F(RabbitMq, StoppingInEveryStateComesToAnEnd) {
  AmqpOptions nowhere = options();
  nowhere.hosts[0].port = 1;
  {
    Consumer never(nowhere);  // stopped while its first attempt is under way
  }
  {
    Consumer waiting(nowhere);  // stopped between two attempts
    ASSERT_TRUE(waiting.wait([&] { return waiting.link().counters().connect_failures > 0; }));
  }
  uv::Loop loop;
  NullLogger logger;
  auto link =
      AmqpLink::create(loop.raw(), options(), logger, {[](const AmqpDelivery&) {}, nullptr});
  ASSERT_TRUE(link.ok());
  (*link)->start();  // destroyed without a stop
}

TEST(AmqpLinkOptions, WhatCannotWorkIsSaid) {
  uv::Loop loop;
  NullLogger logger;
  const auto error = [&](const std::function<void(AmqpOptions&)>& change) {
    AmqpOptions options;
    options.hosts = {{"h", 5672, "u", "p"}};
    change(options);
    const auto made =
        AmqpLink::create(loop.raw(), options, logger, {[](const AmqpDelivery&) {}, nullptr});
    return made.ok() ? std::string() : made.error().what;
  };
  EXPECT_EQ(error([](AmqpOptions&) {}), "");
  EXPECT_THAT(error([](AmqpOptions& o) { o.hosts.clear(); }), HasSubstr("no RabbitMQ host"));
  EXPECT_THAT(error([](AmqpOptions& o) { o.hosts[0].port = 70000; }), HasSubstr("port 70000"));
  EXPECT_THAT(error([](AmqpOptions& o) { o.prefetch = 0; }), HasSubstr("prefetch"));
  EXPECT_THAT(error([](AmqpOptions& o) { o.queue = std::string(300, 'q'); }),
              HasSubstr("255 bytes"));
  EXPECT_THAT(error([](AmqpOptions& o) { o.dead_letter_queue = o.queue; }), HasSubstr("its own"));
  EXPECT_THAT(error([](AmqpOptions& o) { o.login = listener::AmqpLogin::external; }),
              HasSubstr("ssl_cert_file"));
}

}  // namespace
}  // namespace reclaim::testing
