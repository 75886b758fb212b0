// RedisReply: an answer of Redis as a value of ours. hiredis' own replies live only as long as
// their callback.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

struct redisReply;

namespace reclaim {

struct RedisReply {
  enum class Type : std::uint8_t { nil, integer, text, array };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;  // of strings and of status replies such as "OK"
  std::vector<RedisReply> elements;

  [[nodiscard]] bool is_nil() const { return type == Type::nil; }
  [[nodiscard]] bool is_text() const { return type == Type::text; }
  [[nodiscard]] bool is_array() const { return type == Type::array; }
};

// An error reply becomes an Error; see error_from_redis.
[[nodiscard]] Result<RedisReply> reply_from_hiredis(const redisReply& reply);

// "NOSCRIPT No matching script" and its like. refused: who we are or what we may (AUTH, ACL, a
// cluster node); unavailable: nothing was done, later it may be (loading, read-only replica, out of
// memory, cannot persist, without our functions); not_found: NOSCRIPT, NOGROUP; conflict:
// BUSYGROUP; failed: the rest.
[[nodiscard]] Error error_from_redis(std::string_view text);
// The server's own words in such an error; empty where it is another one. As long as it lives.
[[nodiscard]] std::string_view redis_words_of(const Error& error);

}  // namespace reclaim
