// RedisStore's wait for what is added to a host's streams, kicks and orders.
#include <fmt/core.h>

#include <utility>

#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

constexpr std::uint64_t kWatchRetryMs = 1000;

// The id of the last entry of `stream` in [[key, [entry, ...]], ...], the answer to XREAD; nothing
// where that has none.
const std::string* last_id_of(const RedisReply& reply, const std::string& stream) {
  for (const RedisReply& each : reply.elements) {
    if (each.elements.size() != 2 || each.elements.front().text != stream) continue;
    const std::vector<RedisReply>& entries = each.elements[1].elements;
    if (entries.empty() || entries.back().elements.empty()) return nullptr;
    return &entries.back().elements.front().text;
  }
  return nullptr;
}

}  // namespace

void RedisStore::watch_kicks(const std::string& host, std::function<void()> on_kick) {
  CHECK(watched_host_.empty() && !host.empty());
  watched_host_ = host;
  on_kick_ = std::move(on_kick);
  watcher_->on_state([this](const RedisState& state) {
    if (!state.connected) return;
    // Reads the streams from their beginning: what lies there is told of once, whatever became of
    // them meanwhile.
    watched_id_ = watched_order_ = "0-0";
    wait_for_kick();
    const auto notify = on_kick_;
    if (notify) notify();
  });
  watcher_->start();
}

// Waits on a connection of its own, since a blocked one answers nothing else. It only says that
// there is something: read_kicks and take_orders fetch it. Where a wait is under way already, as on
// another master of a cluster than the one that was away, that one goes on.
void RedisStore::wait_for_kick() {
  if (std::exchange(waiting_, true)) return;
  watch_retry_->stop();
  watcher_->command(
      {"XREAD", "COUNT", "100", "BLOCK", std::to_string(options_.watch_block_ms), "STREAMS",
       redis_keys::of_host(watched_host_, "kicks"), redis_keys::of_host(watched_host_, "orders"),
       watched_id_, watched_order_},
      [this](Result<RedisReply> reply) { on_waited(std::move(reply)); },
      options_.watch_block_ms + options_.redis.command_timeout_ms);
}

void RedisStore::on_waited(Result<RedisReply> reply) {
  waiting_ = false;
  if (!reply.ok()) {
    // A lost connection comes back through on_state; anything else is tried again.
    const Errc code = reply.error().code;
    if (code == Errc::unknown || code == Errc::cancelled || code == Errc::limit) return;
    logger_.warning(log_name::kStore, fmt::format("cannot wait for kicks: {}", reply.error().what));
    watch_retry_->start(kWatchRetryMs, 0, [this] { wait_for_kick(); });
    // The reader of the streams finds out, and removes what is not a stream.
    const auto notify = on_kick_;
    if (notify) notify();
    return;
  }
  // Nothing came. What is there now may have lower IDs than what was: the streams may have been
  // made again. So whoever reads them looks, too.
  const bool waited_in_vain = reply->is_nil();
  if (waited_in_vain) watched_id_ = watched_order_ = "$";
  const std::string* kick = last_id_of(*reply, redis_keys::of_host(watched_host_, "kicks"));
  const std::string* order = last_id_of(*reply, redis_keys::of_host(watched_host_, "orders"));
  if (kick != nullptr) watched_id_ = *kick;
  if (order != nullptr) watched_order_ = *order;
  wait_for_kick();
  const auto notify = on_kick_;
  if (notify && (kick != nullptr || order != nullptr || waited_in_vain)) notify();
}

}  // namespace reclaim
