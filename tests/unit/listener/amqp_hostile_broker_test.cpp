// What a broker, or who stands between, may say to end a worker by librabbitmq's assertions, or to
// write into its memory: each ends the connection and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "listener/amqp/connector.h"
#include "listener/amqp/link.h"
#include "listener/amqp/publish.h"
#include "state/base/check.h"
#include "tests/unit/listener/hostile_broker.h"

namespace reclaim::listener {
namespace {

using hostile::frame;
using hostile::HostileBroker;
using hostile::kBodyFrame;
using hostile::kHeaderFrame;
using hostile::kHeartbeatFrame;
using hostile::kMethodFrame;
using hostile::long_text;
using hostile::method;
using hostile::method_id;
using hostile::number;

constexpr int kDeadlineMs = 100'000;

struct Words {
  const char* name;
  std::string bytes;
};

std::string deliver(int channel) {
  return method(channel, method_id(60, 60),
                number(0, 1) + number(1, 8) + number(0, 1) + number(0, 1) + number(0, 1));
}

std::string header(int channel, std::uint64_t body_bytes, const std::string& properties) {
  return frame(kHeaderFrame, channel,
               number(60, 2) + number(0, 2) + number(body_bytes, 8) + properties);
}

// A table with one entry, an array in an array in an array …, as deep as a frame can be.
std::string nested_arrays() {
  std::string inside;
  constexpr std::size_t kDepth = 20'000;
  std::string out;
  for (std::size_t left = kDepth; left > 0; --left) out += "A" + number((left - 1) * 5, 4);
  return long_text(number(1, 1) + "k" + out);
}

const std::vector<Words>& words() {
  const std::string rest(200'000, 'A');
  static const std::vector<Words> kAll{
      {"AFrameBeyondTheAgreedSize", "\x01" + number(1, 2) + number(0x7ffffff0, 4) + rest},
      {"AFrameOfTwoGibibytes", "\x01" + number(1, 2) + number(0xffffffff, 4) + rest},
      {"AFrameBeyondTheAgreedSizeInPieces",
       "\x01" + number(1, 2) + number(131'072, 4) + rest + "\xCE"},
      {"AMethodWithoutItsNumber", frame(kMethodFrame, 1, "")},
      {"AMethodWithHalfItsNumber", frame(kMethodFrame, 1, number(0, 2))},
      {"AHeaderWithoutItsSize", deliver(1) + frame(kHeaderFrame, 1, number(60, 2))},
      {"AWrongEnd", method(1, method_id(20, 11), number(0, 4)).replace(15, 1, "x")},
      {"AnUnknownFrame", frame(9, 1, rest.substr(0, 1000))},
      {"AnUnknownMethod", method(1, method_id(999, 1))},
      {"AMethodOfTheClient", method(1, method_id(60, 40), number(0, 5))},
      {"AMethodCutShort", method(1, method_id(60, 60), number(200, 1))},
      {"ATextLongerThanItsFrame",
       method(0, method_id(10, 10), number(9, 2) + number(0, 4) + number(0x7fffffff, 4))},
      {"ABodyOnChannelZero", frame(kBodyFrame, 0, "body")},
      {"AHeaderOnChannelZero", header(0, 4, number(0, 2))},
      {"AHeartbeatOnAnotherChannel", frame(kHeartbeatFrame, 7, "")},
      {"AHeartbeatWithAPayload", frame(kHeartbeatFrame, 0, rest.substr(0, 1000))},
      {"ADeliveryOnAnotherChannel",
       deliver(7) + header(7, 4, number(0, 2)) + frame(kBodyFrame, 7, "body")},
      {"AHeaderWithoutADelivery", header(1, 4, number(0, 2))},
      {"ABodyWithoutAHeader", deliver(1) + frame(kBodyFrame, 1, "body")},
      {"ABodyLargerThanAnnounced",
       deliver(1) + header(1, 4, number(0, 2)) + frame(kBodyFrame, 1, "larger than that")},
      {"AnEmptyBodyForAnAnnouncedOne",
       deliver(1) + header(1, 4, number(0, 2)) + frame(kBodyFrame, 1, "")},
      {"ABodyOfAllBytesThereAre", deliver(1) + header(1, ~std::uint64_t{0}, number(0, 2)) +
                                      frame(kBodyFrame, 1, rest.substr(0, 1000))},
      {"PropertiesThatAreNotThere", deliver(1) + header(1, 4, number(0xfffe, 2))},
      {"ADeepTable", deliver(1) + header(1, 4, number(0x2000, 2) + nested_arrays())},
      {"ASecondConsumeOk", HostileBroker::consume_ok()},
      {"AProtocolHeader", std::string("AMQP\0\0\x09\x01", 8)},
  };
  return kAll;
}

std::string the_end() {
  return method(0, method_id(10, 50),
                number(320, 2) + number(3, 1) + "end" + number(0, 2) + number(0, 2));
}

struct AmqpHostile : ::testing::TestWithParam<Words> {
  static AmqpOptions options_for(const HostileBroker& broker) {
    AmqpOptions options;
    options.hosts = {{"127.0.0.1", broker.port, "guest", "guest"}};
    options.exchanges = {"nova"};
    options.routing_keys = {"versioned_notifications.info"};
    options.connect_timeout_ms = kDeadlineMs;
    return options;
  }
  static std::string attempt(const HostileBroker& broker) {
    const std::atomic<bool> cancelled = false;
    const auto made = connect_and_consume(options_for(broker), 0, cancelled);
    return made ? "connected" : made.error().what;
  }
  // Why the connection ends on which that is said; empty: it does not end.
  static std::string while_consuming(const std::string& said) {
    const HostileBroker broker({{hostile::kConsume, {HostileBroker::consume_ok() + said}}});
    uv::Loop loop;
    NullLogger quiet;
    std::string lost;
    auto made = AmqpLink::create(loop.raw(), options_for(broker), quiet,
                                 {[](const AmqpDelivery&) {},
                                  [&lost](const AmqpState& state) {
                                    if (lost.empty()) lost = state.last_error;
                                  }});
    CHECK(made.ok());
    (*made)->start();
    bool late = false;
    uv::Timer patience(loop.raw());
    patience.start(kDeadlineMs, 0, [&late] { late = true; });
    while (lost.empty() && !late) loop.run_once();
    bool stopped = false;
    (*made)->stop([&stopped] { stopped = true; });
    while (!stopped && !late) loop.run_once();
    EXPECT_TRUE(stopped);
    return lost;
  }
};

TEST(AmqpBroker, OneThatSaysNothingWrongIsConsumedFrom) {
  const HostileBroker broker({});
  EXPECT_EQ(AmqpHostile::attempt(broker), "connected");
}

TEST(AmqpBroker, OneThatIsNotThereRefusesTheConnection) {
  // A port that is taken and not listened at.
  const UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  AmqpOptions options;
  options.hosts = {{"127.0.0.1", ntohs(address.sin_port), "guest", "guest"}};
  const std::atomic<bool> cancelled = false;
  const auto made = connect_and_log_in(options, 0, cancelled);
  ASSERT_FALSE(made.ok());
  const std::string peer = "127.0.0.1:" + std::to_string(options.hosts[0].port);
  EXPECT_THAT(
      made.error().what,
      ::testing::AllOf(::testing::HasSubstr("RabbitMQ at " + peer + ": the connection is refused"),
                       ::testing::HasSubstr("listens at " + peer)));
}

TEST_P(AmqpHostile, AsTheAnswerToALogin) {
  const HostileBroker broker({{hostile::kStart, {GetParam().bytes + the_end()}}});
  EXPECT_THAT(AmqpHostile::attempt(broker), ::testing::HasSubstr("RabbitMQ at 127.0.0.1"));
}

TEST_P(AmqpHostile, AsTheAnswerToACall) {
  const HostileBroker broker({{hostile::kChannelOpen, {GetParam().bytes + the_end()}}});
  EXPECT_THAT(AmqpHostile::attempt(broker), ::testing::HasSubstr("RabbitMQ at 127.0.0.1"));
}

// Whose failure other calls follow.
TEST_P(AmqpHostile, AsTheAnswerToADeclaration) {
  const std::string no_such_queue =
      method(1, method_id(20, 40), number(404, 2) + number(0, 1) + number(0, 4));
  const HostileBroker broker(
      {{hostile::kQueueDeclare, {no_such_queue, GetParam().bytes + the_end()}}});
  EXPECT_THAT(AmqpHostile::attempt(broker), ::testing::HasSubstr("RabbitMQ at 127.0.0.1"));
}

TEST_P(AmqpHostile, WhileConsuming) {
  EXPECT_NE(while_consuming(GetParam().bytes + the_end()), "");
}

// librabbitmq keeps a page for each channel that a frame names.
TEST(AmqpHostileChannel, IsRefusedWhileConsumingThoughItsFrameSaysNothing) {
  EXPECT_THAT(AmqpHostile::while_consuming(method(7, method_id(60, 21), number(0, 1))),
              ::testing::HasSubstr("channel 7, which is not open"));
}

TEST(AmqpHostileChannel, IsRefusedWhilePublishingThoughItsFrameSaysNothing) {
  const HostileBroker broker({{method_id(85, 10), {method(1, method_id(85, 11))}},
                              {method_id(60, 40), {method(7, method_id(60, 21), number(0, 1))}}});
  NotifierOptions options;
  options.amqp = AmqpHostile::options_for(broker);
  options.exchange = "nova";
  const std::atomic<bool> cancelled = false;
  const auto outcome = publish_confirmed(options, 0, {{"1", {"key"}, "body"}}, cancelled);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_THAT(outcome.error->what, ::testing::HasSubstr("channel 7, which is not open"));
}

TEST(AmqpHostileLogin, AMechanismsListWithoutAnythingOrWithEverythingIsNotOurs) {
  for (const std::string& mechanisms :
       {std::string(), std::string(" "), std::string("PLAI"), std::string(100'000, ' ')}) {
    const HostileBroker broker({{hostile::kStart, {HostileBroker::start("", mechanisms)}}});
    EXPECT_THAT(AmqpHostile::attempt(broker), ::testing::HasSubstr("login")) << mechanisms.size();
  }
}

TEST(AmqpHostileLogin, DeepPropertiesOfTheServerAreAnErrorOrNothing) {
  const HostileBroker broker(
      {{hostile::kStart, {HostileBroker::start(nested_arrays().substr(4), "PLAIN")}}});
  EXPECT_FALSE(AmqpHostile::attempt(broker).empty());
}

// A frame_max of 1 to 7 leaves no room for a frame.
TEST(AmqpHostileLogin, AFrameSizeThatHoldsNoFrameIsAnError) {
  for (const std::uint64_t frame_max : {1U, 7U, 8U, 100U}) {
    const HostileBroker broker(
        {{method_id(10, 11),
          {method(0, method_id(10, 30), number(0, 2) + number(frame_max, 4) + number(0, 2))}}});
    EXPECT_FALSE(AmqpHostile::attempt(broker).empty()) << frame_max;
  }
}

INSTANTIATE_TEST_SUITE_P(Words, AmqpHostile, ::testing::ValuesIn(words()),
                         [](const auto& words) { return words.param.name; });

}  // namespace
}  // namespace reclaim::listener
