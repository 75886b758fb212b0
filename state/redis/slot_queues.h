// SlotQueues: the commands for a Redis Cluster, in a queue for each slot. The first of a queue is
// under way, or waits: for a connection, or for a slot that is being moved.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "state/base/callback.h"
#include "state/base/uv.h"
#include "state/redis/answers.h"
#include "state/redis/cluster_nodes.h"
#include "state/redis/options.h"
#include "state/redis/slots.h"

namespace reclaim {

// The routes by which the queues learn, and tell, which master has a slot. None of them calls back.
struct SlotRoutes {
  // nullptr: nobody.
  std::function<const RedisAddress*(std::uint16_t slot)> owner;
  // A node says that another has the slot.
  std::function<void(std::uint16_t slot, const RedisAddress& owner)> moved;
  // A node says that the cluster is in a passage.
  std::function<void()> unsettled;
};

class SlotQueues final {
 public:
  // All of them outlive the queues.
  SlotQueues(uv_loop_t* loop, const RedisOptions& options, ClusterNodes& nodes,
             RedisAnswers& answers, SlotRoutes routes);

  void add(std::uint16_t slot, std::vector<std::string> args, Callback<RedisReply> done,
           int timeout_ms);
  [[nodiscard]] std::size_t size() const { return size_; }  // commands, those under way included
  // Looks at what waits again, after what it may wait for has changed.
  void look_again();
  // Nothing is sent any more. What is under way its connection still answers.
  void close();

 private:
  struct Command {
    std::vector<std::string> args;
    Callback<RedisReply> done;
    int timeout_ms = 0;
    std::int64_t send_until_ms = 0;
    std::int64_t not_before_ms = 0;
    std::optional<RedisAddress> ask;  // to be sent there, after ASKING
    std::size_t redirects = 0;
    std::string said;  // why it was not carried out when it was sent last
  };
  struct Queue {
    std::deque<Command> commands;
    bool under_way = false;  // the first
  };

  void dispatch(std::uint16_t slot);
  // Sends or refuses the first command. False: it waits.
  [[nodiscard]] bool dispatch_first(std::uint16_t slot, Queue& queue);
  void send(std::uint16_t slot, Queue& queue, ClusterNodes::Node& node);
  void on_reply(std::uint16_t slot, const RedisAddress& from, Result<RedisReply> reply);
  // True if the command is to be sent again, because it is known not to have been carried out.
  [[nodiscard]] bool put_back(std::uint16_t slot, const RedisAddress& from, Command& command,
                              Error& error);
  void finish_first(Queue& queue, Result<RedisReply> result);

  const RedisOptions& options_;
  ClusterNodes& nodes_;
  RedisAnswers& answers_;
  SlotRoutes routes_;
  std::map<std::uint16_t, Queue> queues_;
  std::size_t size_ = 0;
  bool closed_ = false;
  std::string asking_error_;  // what was said to ASKING, where that was no OK
  uv::Timer wait_timer_;
};

}  // namespace reclaim
