// A consumer of a test: the link that ships, on a loop that the test turns.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "listener/amqp/link.h"
#include "state/base/log.h"
#include "state/base/uv.h"

namespace reclaim::testing {

// A link, its loop, and what came over it. `settle` decides about each delivery; by default it is
// acked.
class Consumer final {
 public:
  explicit Consumer(const listener::AmqpOptions& options) {
    auto made = listener::AmqpLink::create(
        loop_.raw(), options, logger_,
        {[this](const listener::AmqpDelivery& delivery) {
           bodies_.emplace_back(delivery.body);
           tags_.emplace_back(delivery.tag, delivery.incarnation);
           last_ = delivery;
           last_.body = {};
           if (settle) {
             settle(delivery);
           } else {
             link_->ack(delivery.tag, delivery.incarnation);
           }
         },
         nullptr, [this](const std::vector<BusQueue>& queues) { looks_.push_back(queues); }});
    CHECK(made.ok());
    link_ = std::move(*made);
    link_->start();
  }
  ~Consumer() { stop(); }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Runs the loop until `done`, or gives up after a generous while.
  [[nodiscard]] bool wait(const std::function<bool()>& done) {
    bool late = false;
    uv::Timer patience(loop_.raw());
    patience.start(300'000, 0, [&] { late = true; });
    uv::Timer tick(loop_.raw());
    tick.start(20, 20, [] {});
    while (!done() && !late) loop_.run_once();
    return !late;
  }
  [[nodiscard]] bool wait_connected() {
    return wait([this] { return link_->state().connected; });
  }
  [[nodiscard]] bool wait_bodies(std::size_t count) {
    return wait([&] { return bodies_.size() >= count; });
  }
  void run_for(std::uint64_t ms) {
    bool over = false;
    uv::Timer timer(loop_.raw());
    timer.start(ms, 0, [&] { over = true; });
    while (!over) loop_.run_once();
  }
  void stop() {
    if (stopped_) return;
    bool done = false;
    link_->stop([&] { done = true; });
    EXPECT_TRUE(wait([&] { return done; }));
    stopped_ = true;
  }

  std::function<void(const listener::AmqpDelivery&)> settle;
  listener::AmqpLink& link() { return *link_; }
  std::vector<std::string>& bodies() { return bodies_; }
  std::vector<std::pair<std::uint64_t, std::uint64_t>>& tags() { return tags_; }
  // What each look at the queues of Nova's notifier found.
  const std::vector<std::vector<BusQueue>>& looks() const { return looks_; }
  const listener::AmqpDelivery& last() const { return last_; }

 private:
  uv::Loop loop_;
  NullLogger logger_;
  std::unique_ptr<listener::AmqpLink> link_;
  std::vector<std::string> bodies_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tags_;
  std::vector<std::vector<BusQueue>> looks_;
  listener::AmqpDelivery last_;
  bool stopped_ = false;
};

}  // namespace reclaim::testing
