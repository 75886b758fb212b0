// Cyborg's side of the bus with Debian's own oslo.messaging at the other end of a real RabbitMQ:
// requests to an agent, beside one and in the place of one, and notifications of accelerator
// requests.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "listener/amqp/kick_feed.h"
#include "listener/amqp/rpc_server.h"
#include "state/base/json.h"
#include "state/base/uv.h"
#include "tests/integration/rabbitmq_broker.h"
#include "tests/source_path.h"
#include "tests/unit/listener/kick_store.h"

namespace reclaim::testing {
namespace {

using listener::AmqpLink;
using listener::AmqpOptions;
using listener::KickFeed;
using listener::RpcServer;
using listener::RpcServerOptions;
using ::testing::HasSubstr;

constexpr const char* kDevice =
    R"({"uuid": "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e", "type": "NVME", "hostname": "cmp1", )"
    R"("device_state": "error", "std_board_info": "{\"pci_address\": \"0000:0c:00.0\"}"})";

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// How the senders' [oslo_messaging_rabbit] is set, and ours.
struct Flavor {
  const char* name;
  const char* query;  // of the senders' transport_url
  bool durable;
  listener::QueueType queue_type;
};

constexpr Flavor kTransient{"transient", "", false, listener::QueueType::automatic};
constexpr Flavor kDurable{"durable", "?amqp_durable_queues=true", true,
                          listener::QueueType::automatic};
constexpr Flavor kQuorum{"quorum", "?rabbit_quorum_queue=true", true, listener::QueueType::quorum};

class OsloMessaging : public ::testing::TestWithParam<Flavor> {
 protected:
  static void SetUpTestSuite() {
    broker_ = std::make_unique<RabbitMqBroker>();
    ASSERT_TRUE(broker_->start());
  }
  static void TearDownTestSuite() { broker_.reset(); }

  void SetUp() override {
    // Durability is an exchange's for ever, and a queue's, so each test has names of its own.
    exchange_ = fmt::format("cyborg-{}", next_++);
  }

  [[nodiscard]] std::string url() const { return broker_->transport_url() + GetParam().query; }
  [[nodiscard]] AmqpOptions amqp() const {
    AmqpOptions options = broker_->options(exchange_);
    options.durable = GetParam().durable;
    options.queue_type = GetParam().queue_type;
    return options;
  }
  [[nodiscard]] std::unique_ptr<RpcServer> make_server(bool serve) {
    RpcServerOptions options;
    options.amqp = amqp();
    options.host = "cmp1";
    options.exchange = exchange_;
    options.topic = exchange_ + "-agent";
    options.serve = serve;
    auto server = RpcServer::create(loop_.raw(), options, store_, marks_, timers_, log_);
    CHECK(server.ok());
    (*server)->start();
    return std::move(*server);
  }
  [[nodiscard]] std::string queue() const { return "reclaim." + exchange_ + "-agent.cmp1"; }

  // Runs the loop until `done`, or gives up after a generous while.
  [[nodiscard]] bool wait(const std::function<bool()>& done) {
    bool late = false;
    uv::Timer patience(loop_.raw());
    patience.start(60'000, 0, [&] { late = true; });
    uv::Timer tick(loop_.raw());
    tick.start(20, 20, [] {});
    while (!done() && !late) loop_.run_once();
    return !late;
  }
  [[nodiscard]] bool wait_bound(const RpcServer& server) {
    return wait(
        [&] { return server.state().connected && server.state().missing_exchanges.empty(); });
  }
  void stop(RpcServer& server) {
    bool done = false;
    server.stop([&] { done = true; });
    EXPECT_TRUE(wait([&] { return done; }));
  }

  // What a program prints, while the loop goes on.
  std::string run(const std::string& command) {
    std::string output;
    std::atomic<bool> ended{false};
    std::thread thread([&] {
      FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
      CHECK(pipe != nullptr);
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        output += static_cast<char>(c);
      }
      EXPECT_EQ(::pclose(pipe), 0) << command;
      ended = true;
    });
    EXPECT_TRUE(wait([&] { return ended.load(); }));
    thread.join();
    return output;
  }
  // `operations` as oslo_rpc.py takes them; what each of them came to, as it stands in its answer.
  std::string client(const std::string& operations) {
    return run(fmt::format("/usr/bin/python3 {}/oslo_rpc.py client {} {} cmp1 {}",
                           source_path("tests/integration"), shell_word(url()), exchange_,
                           shell_word(operations)));
  }
  static std::string operation(const char* kind, const char* version,
                               const char* method = "cleanup_device", int timeout_s = 30) {
    return fmt::format(
        R"({{"kind": "{}", "method": "{}", "version": "{}", "timeout": {}, "device": {}}})", kind,
        method, version, timeout_s, kDevice);
  }

  static std::unique_ptr<RabbitMqBroker> broker_;
  static int next_;
  std::string exchange_;
  uv::Loop loop_;
  NullLogger log_;
  OnlyKicks store_;
  NoMarks marks_;
  HandTimers timers_;
};

std::unique_ptr<RabbitMqBroker> OsloMessaging::broker_;
int OsloMessaging::next_ = 0;

// oslo_rpc.py as an agent, until it is stopped.
class Agent final {
 public:
  // What it prints stands in `file`.
  Agent(const std::string& url, const std::string& exchange, std::string file)
      : file_(std::move(file)),
        pipe_(::popen(fmt::format("/usr/bin/python3 {}/oslo_rpc.py agent {} {} cmp1 >{} "
                                  "2>/dev/null",
                                  source_path("tests/integration"), shell_word(url), exchange,
                                  shell_word(file_))
                          .c_str(),
                      "w")) {
    CHECK(pipe_ != nullptr);
  }
  ~Agent() { stop(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  [[nodiscard]] std::string printed() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // Lets it finish what it has; what it printed is whole then.
  void stop() {
    if (pipe_ != nullptr) ::pclose(std::exchange(pipe_, nullptr));
  }

 private:
  std::string file_;
  FILE* pipe_;
};

TEST_P(OsloMessaging, ALiveAgentLosesNothingAndWeHearAll) {
  // Ours comes first: the exchange is the agent's to make.
  const auto server = make_server(false);
  ASSERT_TRUE(wait([&] { return server->state().connected; }));
  EXPECT_FALSE(server->state().missing_exchanges.empty());
  Agent agent(url(), exchange_, broker_->directory() + "/" + exchange_ + ".agent");
  ASSERT_TRUE(wait([&] { return agent.printed() == "ready\n"; }));
  ASSERT_TRUE(wait_bound(*server));
  const std::string outcomes =
      client("[" + operation("cast", "1.1") + "," + operation("cast", "1.1") + "," +
             operation("call", "1.1") + "]");
  EXPECT_EQ(outcomes,
            "[{\"returned\": null}, {\"returned\": null}, "
            "{\"returned\": \"the agent's\"}]\n");
  ASSERT_TRUE(wait([&] { return store_.kicks.size() == 3; }));
  for (const Kick& kick : store_.kicks) {
    EXPECT_EQ(kick.reason, "cyborg-agent.cleanup_device");
    EXPECT_EQ(kick.command, "cleanup_device");
    EXPECT_EQ(kick.address, "0000:0c:00.0");
    EXPECT_EQ(kick.request_id, "req-oslo");
  }
  agent.stop();
  const std::string line = "cleanup_device 7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e\n";
  EXPECT_EQ(agent.printed(), "ready\n" + line + line + line);
  EXPECT_EQ(server->counters().answers, 0U);
  stop(*server);
  RabbitMqClient client(*broker_);
  EXPECT_EQ(client.messages(queue()), 0U);  // all acked
  EXPECT_TRUE(client.exchange_is(exchange_, GetParam().durable));
  client.delete_queue(queue());
}

TEST_P(OsloMessaging, WithoutAnAgentCallsAreAnsweredAsItWould) {
  {
    RabbitMqClient client(*broker_);
    client.declare_exchange(exchange_, GetParam().durable);
  }
  const auto server = make_server(true);
  ASSERT_TRUE(wait_bound(*server));
  std::string other = operation("call", "1.1");
  other.replace(other.find("\"uuid\""), 0, "\"object\": \"Deployable\", ");
  const std::string outcomes =
      client("[" + operation("call", "1.1") + "," + operation("call", "1.0") + "," +
             operation("call", "1.2") + "," + operation("call", "2.0") + "," +
             operation("call", "1.0", "fpga_program") + "," + other + "," +
             operation("cast", "1.2") + "," + operation("cast", "1.0", "fpga_program") + "]");
  const auto read = json::parse(outcomes, 65'536);
  ASSERT_TRUE(read.ok()) << outcomes;
  ASSERT_EQ(read->Size(), 8U) << outcomes;
  const auto& all = *read;
  EXPECT_EQ(json::to_text(all[0]), R"({"returned":null})");
  EXPECT_EQ(json::to_text(all[1]), R"({"returned":null})");
  for (const unsigned i : {2U, 3U}) {
    EXPECT_EQ(json::maybe_string(all[i], "raised"), "UnsupportedVersion_Remote") << outcomes;
    EXPECT_EQ(json::maybe_string(all[i], "of"), "oslo_messaging.rpc.dispatcher_Remote");
    EXPECT_THAT(*json::maybe_string(all[i], "text"), HasSubstr("Attempted method: cleanup_device"));
  }
  EXPECT_EQ(json::maybe_string(all[4], "raised"), "NoSuchMethod_Remote") << outcomes;
  EXPECT_THAT(*json::maybe_string(all[4], "text"), HasSubstr("fpga_program"));
  EXPECT_EQ(json::maybe_string(all[5], "raised"), "RemoteError") << outcomes;
  EXPECT_EQ(json::maybe_string(all[5], "of"), "UnsupportedObjectError");
  EXPECT_EQ(json::to_text(all[6]), R"({"returned":null})");
  ASSERT_TRUE(wait([&] { return server->counters().ignored == 6; }));
  EXPECT_EQ(store_.kicks.size(), 2U);
  EXPECT_EQ(server->counters().answers, 6U);
  stop(*server);
  RabbitMqClient client(*broker_);
  EXPECT_EQ(client.messages(queue()), 0U);
  client.delete_queue(queue());
}

TEST_P(OsloMessaging, BesideAnAgentACallIsHeardAndNeverAnswered) {
  {
    RabbitMqClient client(*broker_);
    client.declare_exchange(exchange_, GetParam().durable);
  }
  const auto server = make_server(false);
  ASSERT_TRUE(wait_bound(*server));
  const std::string outcomes = client("[" + operation("call", "1.1", "cleanup_device", 3) + "]");
  EXPECT_THAT(outcomes, HasSubstr("MessagingTimeout"));
  EXPECT_EQ(store_.kicks.size(), 1U);
  EXPECT_EQ(server->counters().answers, 0U);
  stop(*server);
  RabbitMqClient(*broker_).delete_queue(queue());
}

TEST_P(OsloMessaging, ACastWaitsForAWorkerThatIsAwayAndForRedis) {
  {
    RabbitMqClient client(*broker_);
    client.declare_exchange(exchange_, GetParam().durable);
  }
  {
    const auto server = make_server(false);
    ASSERT_TRUE(wait_bound(*server));
    store_.away = true;
    (void)client("[" + operation("cast", "1.1") + "]");
    ASSERT_TRUE(wait([&] { return !timers_.waiting.empty(); }));
    stop(*server);  // before Redis is back: nothing was acked
    timers_.waiting.clear();
  }
  (void)client("[" + operation("cast", "1.1") + "]");
  store_.away = false;
  const auto server = make_server(false);
  ASSERT_TRUE(wait([&] { return store_.kicks.size() == 2; }));
  stop(*server);
  RabbitMqClient(*broker_).delete_queue(queue());
}

TEST_P(OsloMessaging, TheExampleNotifiersArqsArrive) {
  AmqpOptions options = amqp();
  options.exchanges = {"cyborg"};  // the example's
  RabbitMqClient broker(*broker_);
  broker.declare_exchange("cyborg", GetParam().durable);
  std::unique_ptr<AmqpLink> link;
  HostInfo known;
  known.host = "cmp1";
  store_.known = {known};
  KickFeed feed(store_, timers_, log_, kBodyBytesMax, {0, 5, 30},
                [&](std::uint64_t tag, std::uint64_t incarnation) { link->ack(tag, incarnation); });
  auto made = AmqpLink::create(loop_.raw(), options, log_,
                               {[&](const listener::AmqpDelivery& delivery) {
                                  feed.take(delivery.body, delivery.tag, delivery.incarnation,
                                            [](std::string_view why) { ADD_FAILURE() << why; });
                                },
                                nullptr});
  ASSERT_TRUE(made.ok());
  link = std::move(*made);
  link->start();
  ASSERT_TRUE(wait([&] { return link->state().connected; }));
  for (const char* driver : {"messagingv2", "messaging"}) {
    store_.kicks.clear();
    store_.told.clear();
    (void)run(fmt::format("/usr/bin/python3 {}/arq_notifier.py {} cmp1 {}",
                          source_path("docs/examples"), shell_word(url()), driver));
    ASSERT_TRUE(wait([&] { return store_.kicks.size() == 2; })) << driver;
    EXPECT_THAT(store_.told, ::testing::ElementsAre("cmp1", "cmp1"));
    EXPECT_EQ(store_.kicks[0].reason, "accelerator_request.bind.end");
    EXPECT_EQ(store_.kicks[1].reason, "accelerator_request.unbind.end");
    const Result<Arq> bound = decode_arq(store_.kicks[0].arq);
    ASSERT_TRUE(bound.ok()) << store_.kicks[0].arq;
    EXPECT_EQ(bound->uuid, "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b");
    EXPECT_EQ(bound->state, ArqState::bound);
    EXPECT_EQ(bound->managed, false);
    ASSERT_TRUE(bound->address);
    EXPECT_EQ(to_string(*bound->address), "0000:0c:00.0");
    EXPECT_EQ(decode_arq(store_.kicks[1].arq)->state, ArqState::unbound);
  }
  bool stopped = false;
  link->stop([&] { stopped = true; });
  ASSERT_TRUE(wait([&] { return stopped; }));
  EXPECT_EQ(broker.messages(options.queue), 0U);
  broker.delete_exchange("cyborg");
  for (const char* queue : {"versioned_notifications.info"}) broker.delete_queue(queue);
}

INSTANTIATE_TEST_SUITE_P(Flavors, OsloMessaging, ::testing::Values(kTransient, kDurable, kQuorum),
                         [](const auto& flavor) { return std::string(flavor.param.name); });

}  // namespace
}  // namespace reclaim::testing
