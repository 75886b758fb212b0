// RedisStore's marks of redelivered messages: reclaim:in_hand:NAME, one for the fleet.
#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

// Longer than a message stands in the queue (message_ttl), so that no mark goes before its message.
constexpr const char* kMarkSeconds = "86400";

std::string key_of(const std::string& name) {
  return std::string(redis_keys::kInHand) + ":" + name;
}

}  // namespace

void RedisStore::mark_in_hand(const std::string& name, Callback<bool> done) {
  client_->command({"SET", key_of(name), "1", "NX", "EX", kMarkSeconds},
                   reading<RedisReply>(std::move(done), "a message is not marked",
                                       [](const RedisReply& reply) { return !reply.is_nil(); }));
}

void RedisStore::clear_in_hand(const std::string& name, Callback<Ok> done) {
  client_->command(
      {"DEL", key_of(name)},
      without_value<RedisReply>(std::move(done), "a message's mark is not taken away"));
}

}  // namespace reclaim
