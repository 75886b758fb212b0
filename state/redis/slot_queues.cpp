#include "state/redis/slot_queues.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "state/base/check.h"
#include "state/redis/slot_search.h"

namespace reclaim {
namespace {

constexpr std::size_t kRedirectsMax = 5;
constexpr std::int64_t kPauseMs = 50;

std::int64_t now_ms() {
  return static_cast<std::int64_t>(uv_hrtime() / 1'000'000);
}

}  // namespace

SlotQueues::SlotQueues(uv_loop_t* loop, const RedisOptions& options, ClusterNodes& nodes,
                       RedisAnswers& answers, SlotRoutes routes)
    : options_(options),
      nodes_(nodes),
      answers_(answers),
      routes_(std::move(routes)),
      wait_timer_(loop) {}

void SlotQueues::add(std::uint16_t slot, std::vector<std::string> args, Callback<RedisReply> done,
                     int timeout_ms) {
  CHECK(!closed_);
  const int timeout = timeout_ms > 0 ? timeout_ms : options_.command_timeout_ms;
  Queue& queue = queues_[slot];
  Command& command = queue.commands.emplace_back();
  command.args = std::move(args);
  command.done = std::move(done);
  command.timeout_ms = timeout;
  command.send_until_ms = now_ms() + timeout;
  ++size_;
  dispatch(slot);
}

void SlotQueues::look_again() {
  std::vector<std::uint16_t> slots;
  slots.reserve(queues_.size());
  for (const auto& [slot, queue] : queues_) slots.push_back(slot);
  for (const std::uint16_t slot : slots) dispatch(slot);
}

void SlotQueues::close() {
  closed_ = true;
  wait_timer_.stop();
  for (auto& [slot, queue] : queues_) {
    // The command under way stays first; the others were never sent.
    while (queue.commands.size() > (queue.under_way ? 1U : 0U)) {
      answers_.add(std::move(queue.commands.back().done),
                   Error{Errc::cancelled, "the connection to Redis was given up"});
      queue.commands.pop_back();
      --size_;
    }
  }
}

void SlotQueues::dispatch(std::uint16_t slot) {
  const auto at = queues_.find(slot);
  if (closed_ || at == queues_.end()) return;
  Queue& queue = at->second;
  while (!queue.under_way && !queue.commands.empty()) {
    if (dispatch_first(slot, queue)) continue;
    if (!wait_timer_.active()) wait_timer_.after(kPauseMs, [this] { look_again(); });
    return;
  }
  if (queue.commands.empty()) queues_.erase(at);
}

bool SlotQueues::dispatch_first(std::uint16_t slot, Queue& queue) {
  const Command& first = queue.commands.front();
  const std::int64_t now = now_ms();
  if (now < first.not_before_ms) return false;
  const auto refuse = [&](std::string why) {
    finish_first(queue, Error{Errc::unavailable, std::move(why)});
    return true;
  };
  const RedisAddress* owner = first.ask ? &*first.ask : routes_.owner(slot);
  if (owner == nullptr) return refuse(fmt::format("no master of the cluster has slot {}", slot));
  ClusterNodes::Node* node = nodes_.at(*owner);
  if (node == nullptr) return refuse("the cluster has too many nodes");
  if (const std::string failure = node->failure(); !failure.empty()) return refuse(failure);
  if (now > first.send_until_ms) {
    return refuse(fmt::format("{} was not sent to Redis at {} within {} ms{}{}", first.args.front(),
                              describe(*owner), first.timeout_ms, first.said.empty() ? "" : ": ",
                              first.said));
  }
  if (!node->connected()) return false;
  send(slot, queue, *node);
  return true;
}

void SlotQueues::send(std::uint16_t slot, Queue& queue, ClusterNodes::Node& node) {
  const Command& first = queue.commands.front();
  queue.under_way = true;
  ++node.in_flight;
  if (first.ask) {
    // It counts for the next command of the connection.
    node.client->command({"ASKING"}, [this](const Result<RedisReply>& reply) {
      asking_error_ = reply.ok() ? "" : reply.error().what + cluster_remedy(reply.error().what);
    });
  }
  node.client->command(
      first.args,
      [this, slot, from = node.address](Result<RedisReply> reply) {
        on_reply(slot, from, std::move(reply));
      },
      first.timeout_ms);
}

void SlotQueues::on_reply(std::uint16_t slot, const RedisAddress& from, Result<RedisReply> reply) {
  if (ClusterNodes::Node* node = nodes_.find(from); node != nullptr) --node->in_flight;
  const auto at = queues_.find(slot);
  CHECK(at != queues_.end() && at->second.under_way);
  Queue& queue = at->second;
  queue.under_way = false;
  if (!reply.ok() && !closed_) {
    Error error = std::move(reply).error();
    if (put_back(slot, from, queue.commands.front(), error)) return dispatch(slot);
    reply = std::move(error);
  }
  const bool answered = reply.ok();
  finish_first(queue, std::move(reply));
  // The slot's master answers: the next command has its time from now on, however many were asked
  // before it.
  if (answered && !queue.commands.empty()) {
    Command& next = queue.commands.front();
    next.send_until_ms = std::max(next.send_until_ms, now_ms() + next.timeout_ms);
  }
  dispatch(slot);
}

bool SlotQueues::put_back(std::uint16_t slot, const RedisAddress& from, Command& command,
                          Error& error) {
  const std::int64_t now = now_ms();
  if (auto redirect = redirect_in(error)) {
    if (redirect->to.host.empty()) redirect->to.host = from.host;
    if (++command.redirects > kRedirectsMax) {
      error =
          Error{Errc::unavailable,
                fmt::format(
                    "{} was redirected {} times and no node accepted it; the last, {}, says: {}{}",
                    command.args.front(), kRedirectsMax, describe(from), redis_words_of(error),
                    asking_error_.empty() ? "" : "; to ASKING " + asking_error_)};
      return false;
    }
    // A second time: the nodes do not agree yet.
    if (command.redirects > 1) command.not_before_ms = now + kPauseMs;
    command.said = redis_words_of(error);
    command.ask.reset();
    if (redirect->ask) {
      command.ask = std::move(redirect->to);
    } else {
      routes_.moved(slot, redirect->to);
    }
    return true;
  }
  if (!says_try_again(error)) return false;
  routes_.unsettled();
  if (now >= command.send_until_ms) return false;
  command.ask.reset();
  command.redirects = 0;  // where its slot is moving, it is sent on between any two of these
  command.not_before_ms = now + kPauseMs;
  command.said = redis_words_of(error);
  return true;
}

void SlotQueues::finish_first(Queue& queue, Result<RedisReply> result) {
  answers_.add(std::move(queue.commands.front().done), std::move(result));
  answers_.soon();
  queue.commands.pop_front();
  --size_;
}

}  // namespace reclaim
