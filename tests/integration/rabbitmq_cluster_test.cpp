// The link against a cluster of three real RabbitMQ nodes with quorum queues: a node that is killed
// and comes back, and a partition.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/integration/amqp_consumer.h"
#include "tests/integration/rabbitmq_cluster.h"

namespace reclaim::testing {
namespace {

constexpr const char* kInfo = "versioned_notifications.info";

class Cluster : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<RabbitMqCluster>();
    ASSERT_TRUE(cluster_->start());
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  static std::string name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static std::string exchange() { return name() + ".exchange"; }

  void publish(std::size_t node, int count) {
    ConfirmedPublisher publisher(cluster_->node(node));
    for (int i = 0; i < count; ++i) {
      const std::string body = fmt::format(
          R"({{"event_type": "instance.update", "payload": {{"number": {}}}}})", ++published_);
      publisher.publish(exchange(), kInfo, body);
      confirmed_.insert(body);
    }
  }

  [[nodiscard]] bool all_heard(Consumer& consumer) const {
    return consumer.wait([&] {
      const std::set<std::string> heard(consumer.bodies().begin(), consumer.bodies().end());
      return std::includes(heard.begin(), heard.end(), confirmed_.begin(), confirmed_.end());
    });
  }

  // Nothing was delivered twice but what RabbitMQ says it delivers again; and nothing is left.
  static void expect_settled(Consumer& consumer, std::size_t node) {
    const std::set<std::string> distinct(consumer.bodies().begin(), consumer.bodies().end());
    EXPECT_LE(consumer.bodies().size() - distinct.size(), consumer.link().counters().redelivered);
    ASSERT_TRUE(consumer.wait([&] { return consumer.link().outstanding() == 0; }));
    consumer.stop();
    RabbitMqClient client(cluster_->node(node));
    EXPECT_EQ(client.messages(name()), 0U);
    EXPECT_EQ(client.messages(name() + ".dead"), 0U);
  }

  static std::unique_ptr<RabbitMqCluster> cluster_;
  int published_ = 0;
  std::set<std::string> confirmed_;
};

std::unique_ptr<RabbitMqCluster> Cluster::cluster_;

TEST_F(Cluster, ANodeThatIsKilledAndComesBackLosesNothingThatWasConfirmed) {
  RabbitMqClient(cluster_->node(0)).declare_exchange(exchange(), true);
  Consumer consumer(cluster_->options(name()));
  ASSERT_TRUE(consumer.wait_connected());
  // It made the queue there, which therefore leads it.
  const std::size_t doomed = cluster_->at(consumer.link().state().host);
  const std::size_t other = RabbitMqCluster::beside(doomed);
  publish(other, 100);
  ASSERT_TRUE(all_heard(consumer));
  std::thread meanwhile([&] { publish(other, 200); });
  cluster_->node(doomed).kill_node();
  const bool connected = consumer.wait([&] { return consumer.link().state().incarnation == 2; });
  meanwhile.join();
  ASSERT_TRUE(connected);
  EXPECT_NE(cluster_->at(consumer.link().state().host), doomed);
  EXPECT_EQ(confirmed_.size(), 300U);
  ASSERT_TRUE(all_heard(consumer));
  ASSERT_TRUE(cluster_->node(doomed).start());
  publish(doomed, 50);
  EXPECT_EQ(confirmed_.size(), 350U);
  ASSERT_TRUE(all_heard(consumer));
  expect_settled(consumer, doomed);
}

// The one that has the consumer and leads the queue is alone on its side. It pauses, which closes
// its clients' connections; the other two go on.
TEST_F(Cluster, APartitionLosesNothingThatWasConfirmed) {
  RabbitMqClient(cluster_->node(0)).declare_exchange(exchange(), true);
  Consumer consumer(cluster_->options(name()));
  ASSERT_TRUE(consumer.wait_connected());
  const std::size_t isolated = cluster_->at(consumer.link().state().host);
  const std::size_t other = RabbitMqCluster::beside(isolated);
  ASSERT_TRUE(cluster_->leads(isolated, name()));
  publish(isolated, 50);
  ASSERT_TRUE(all_heard(consumer));
  std::atomic<bool> moved = false;
  std::thread meanwhile([&] {
    while (!moved) publish(other, 10);
  });
  const bool partitioned = cluster_->partition(isolated);
  const bool connected = consumer.wait([&] {
    return consumer.link().state().incarnation >= 2 && consumer.link().state().connected;
  });
  moved = true;
  meanwhile.join();
  ASSERT_TRUE(partitioned);
  ASSERT_TRUE(connected);
  EXPECT_NE(cluster_->at(consumer.link().state().host), isolated);
  publish(other, 50);
  ASSERT_TRUE(all_heard(consumer));
  ASSERT_TRUE(cluster_->heal(isolated));
  ASSERT_TRUE(cluster_->wait_whole(other));
  publish(isolated, 50);
  ASSERT_TRUE(all_heard(consumer));
  expect_settled(consumer, isolated);
}

}  // namespace
}  // namespace reclaim::testing
