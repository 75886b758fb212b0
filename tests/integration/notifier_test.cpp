// Notifications of devices over a real RabbitMQ, with Debian's own oslo.messaging as their
// listener.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "handlers/notify/device_notification.h"
#include "listener/amqp/notifier.h"
#include "state/base/json.h"
#include "tests/integration/rabbitmq_broker.h"
#include "tests/source_path.h"
#include "tests/unit/listener/memory_outbox.h"

namespace reclaim::testing {
namespace {

using listener::Notifier;
using listener::NotifierOptions;
using listener::OutgoingMessage;

// oslo_listen.py, until it is stopped.
class OsloListener final {
 public:
  OsloListener(const std::string& url, const std::string& exchange, std::string file)
      : file_(std::move(file)),
        pipe_(
            ::popen(fmt::format("/usr/bin/python3 {}/oslo_listen.py '{}' {} told >'{}' 2>/dev/null",
                                source_path("tests/integration"), url, exchange, file_)
                        .c_str(),
                    "w")) {
    CHECK(pipe_ != nullptr);
  }
  ~OsloListener() { stop(); }
  OsloListener(const OsloListener&) = delete;
  OsloListener& operator=(const OsloListener&) = delete;

  [[nodiscard]] std::vector<std::string> lines() const {
    std::ifstream in(file_);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  void stop() {
    if (pipe_ != nullptr) ::pclose(std::exchange(pipe_, nullptr));
  }

 private:
  std::string file_;
  FILE* pipe_;
};

class NotifierTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    broker_ = std::make_unique<RabbitMqBroker>();
    ASSERT_TRUE(broker_->start());
  }
  static void TearDownTestSuite() { broker_.reset(); }

  NotifierTest() { start(); }
  ~NotifierTest() override { stop(); }

  void start(int connect_timeout_ms = 60'000) {
    NotifierOptions options;
    options.amqp = broker_->options("unused");
    options.amqp.connect_timeout_ms = connect_timeout_ms;
    options.exchange = exchange();
    notifier_ = std::make_unique<Notifier>(
        loop_.raw(), options, outbox_,
        [](const OutboxEntry& entry) -> std::optional<OutgoingMessage> {
          return OutgoingMessage{entry.id,
                                 {"told." + entry.fields.at("priority")},
                                 in_envelope(entry.fields.at("message"))};
        },
        log_);
    notifier_->start();
  }
  void stop() {
    bool stopped = false;
    notifier_->stop([&] { stopped = true; });
    EXPECT_TRUE(run_until(loop_, [&] { return stopped; }));
  }
  // What the worker posts of the transition.
  void post(Stage from, Trigger trigger, Stage to) {
    Record record;
    record.host = "compute-1";
    record.address = *parse_pci_address("0000:c1:00.0");
    record.uuid = "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b";
    record.serial = "S64GNE0R123456";
    JournalEntry entry;
    entry.address = "0000:c1:00.0";
    entry.from = to_string(from);
    entry.trigger = to_string(trigger);
    entry.to = to_string(to);
    entry.why = "why \"quoted\"";
    entry.at = WallMs{1'763'640'000'000 + ++posted_};
    const NotifyOptions all{NotificationDriver::messagingv2, NotificationLevel::info};
    for (const DeviceNotification& told : notifications_of(record, entry, all)) {
      outbox_.post(fmt::format("{}-{}", posted_, outbox_.entries.size()), told.message,
                   std::string(to_string(told.level)));
    }
    notifier_->wake();
  }
  [[nodiscard]] bool wait_published() {
    return run_until(loop_, [&] { return outbox_.entries.empty(); });
  }
  static std::string exchange() {
    return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  // A queue bound before anything is told.
  static void bind(RabbitMqClient& client) {
    client.declare_exchange(exchange(), false);
    client.declare_queue("queue." + exchange(), false, "classic");
    for (const char* key : {"told.info", "told.error"}) {
      client.bind_queue("queue." + exchange(), exchange(), key);
    }
  }
  static std::string message_id_in(RabbitMqClient& client) {
    const auto message = client.get("queue." + exchange());
    if (!message) return "none";
    const auto body = json::parse(message->body, 1U << 20U);
    const auto inner = json::parse(*json::get_string(*body, "oslo.message"), 1U << 20U);
    return *json::get_string(*inner, "message_id");
  }

  static std::unique_ptr<RabbitMqBroker> broker_;
  uv::Loop loop_;
  NullLogger log_;
  MemoryOutbox outbox_;
  int posted_ = 0;
  std::unique_ptr<Notifier> notifier_;
};

std::unique_ptr<RabbitMqBroker> NotifierTest::broker_;

// A repeat has the id of the first; oslo's threads may both hear one that comes at the same moment.
TEST_F(NotifierTest, OslosListenerHearsEachEventById) {
  OsloListener oslo(broker_->transport_url(), exchange(),
                    broker_->directory() + "/" + exchange() + ".heard");
  ASSERT_TRUE(run_until(loop_, [&] {
    const auto lines = oslo.lines();
    return !lines.empty() && lines.front() == "ready";
  }));
  outbox_.keeps_removed = true;
  post(Stage::rechecking, Trigger::still_burned, Stage::preparing);
  ASSERT_TRUE(run_until(loop_, [&] { return outbox_.removals_refused > 0; }));
  // The worker ends before it removes what was confirmed; the next sends it again.
  stop();
  outbox_.keeps_removed = false;
  start();
  ASSERT_TRUE(wait_published());
  post(Stage::verifying, Trigger::verify_failed, Stage::error);
  ASSERT_TRUE(wait_published());
  const auto ids = [&] {
    std::set<std::string> all;
    const std::vector<std::string> lines = oslo.lines();
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto line = json::parse(lines[i], 1U << 20U);
      if (!line) continue;
      if (const auto id = json::get_string(*line, "message_id")) all.insert(*id);
    }
    return all;
  };
  ASSERT_TRUE(run_until(loop_, [&] { return ids().size() >= 3; }));
  oslo.stop();
  std::map<std::string, std::string> by_id;
  const std::vector<std::string> lines = oslo.lines();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto line = json::parse(lines[i], 1U << 20U);
    ASSERT_TRUE(line.ok()) << lines[i];
    by_id[*json::get_string(*line, "message_id")] =
        *json::get_string(*line, "priority") + " " + *json::get_string(*line, "event_type");
    EXPECT_EQ(*json::get_string(*line, "publisher_id"), "reclaim:compute-1");
    const auto* data = json::find(*json::find(*line, "payload"), "reclaim_object.data");
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(*json::get_string(*data, "serial"), "S64GNE0R123456");
    EXPECT_EQ(*json::get_string(*data, "why"), "why \"quoted\"");
  }
  std::vector<std::string> heard;
  for (const auto& [id, event] : by_id) heard.push_back(event);
  EXPECT_THAT(heard,
              ::testing::UnorderedElementsAre("info device.clean.start", "error device.clean.error",
                                              "error device.quarantine"));
}

TEST_F(NotifierTest, WhatWasNotRemovedIsSentAgainByItsId) {
  RabbitMqClient client(*broker_);
  bind(client);
  outbox_.keeps_removed = true;
  post(Stage::rechecking, Trigger::still_burned, Stage::preparing);
  ASSERT_TRUE(run_until(loop_, [&] { return outbox_.removals_refused > 0; }));
  stop();
  outbox_.keeps_removed = false;
  start();
  ASSERT_TRUE(wait_published());
  const std::string first = message_id_in(client);
  EXPECT_NE(first, "none");
  EXPECT_EQ(message_id_in(client), first);
  EXPECT_EQ(message_id_in(client), "none");
}

TEST_F(NotifierTest, WhatNobodyListensToIsPublishedAndCounted) {
  post(Stage::rechecking, Trigger::still_burned, Stage::preparing);
  ASSERT_TRUE(wait_published());
  EXPECT_EQ(notifier_->counters().published, 1U);
  EXPECT_EQ(notifier_->counters().unrouted, 1U);
  RabbitMqClient client(*broker_);
  EXPECT_TRUE(client.exchange_is(exchange(), false)) << "it made the exchange";
}

TEST_F(NotifierTest, NotificationsWaitForABrokerThatIsAway) {
  RabbitMqClient client(*broker_);
  bind(client);
  stop();
  start(3'000);  // a broker that says nothing is soon given up
  broker_->pause();
  for (int i = 0; i < 3; ++i) post(Stage::rechecking, Trigger::still_burned, Stage::preparing);
  ASSERT_TRUE(run_until(loop_, [&] { return notifier_->counters().failed > 0; }));
  EXPECT_EQ(outbox_.entries.size(), 3U);
  broker_->resume();
  ASSERT_TRUE(wait_published());
  std::set<std::string> ids;
  for (std::string id = message_id_in(client); id != "none"; id = message_id_in(client)) {
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 3U);
}

}  // namespace
}  // namespace reclaim::testing
