// RedisStore's marks of redelivered messages: reclaim:in_hand:NAME, one for the fleet.
#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

// Longer than a message stands in the queue (message_ttl), so that no mark goes before its message.
constexpr const char* kMarkSeconds = "86400";

constexpr const char* kNotMarked = "a message is not marked";

std::string key_of(const std::string& name) {
  return std::string(redis_keys::kInHand) + ":" + name;
}

}  // namespace

void RedisStore::mark_in_hand(const std::string& name, Callback<bool> done) {
  client_->command({"SET", key_of(name), marks_owner_, "NX", "EX", kMarkSeconds},
                   [this, name, done = std::move(done)](Result<RedisReply> reply) mutable {
                     if (!reply.ok()) return done(reply.error().wrap(kNotMarked));
                     if (!reply->is_nil()) return done(true);
                     // Ours, where the answer to an earlier SET was lost.
                     client_->command(
                         {"GET", key_of(name)},
                         reading<RedisReply>(std::move(done), kNotMarked,
                                             [owner = marks_owner_](const RedisReply& whose) {
                                               return whose.text == owner;
                                             }));
                   });
}

void RedisStore::clear_in_hand(const std::string& name, Callback<Ok> done) {
  client_->command(
      {"DEL", key_of(name)},
      without_value<RedisReply>(std::move(done), "a message's mark is not taken away"));
}

}  // namespace reclaim
