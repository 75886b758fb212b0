// The Lua scripts every write goes through (docs/redis.md lists them): each looks and writes in one
// step, so that nothing comes between a condition and what hangs on it. All keys come in KEYS and
// share the host's hash tag. A script answers {"ok", ...} or {what it found instead, text}.
//
// Whoever has a host's login chooses the arguments. No script does more than is in its arguments
// and keys: counts are bounded, and no pattern searches a text from each of its places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace reclaim {

enum class RedisScript : std::uint8_t {
  // KEYS device devices journal lock outbox outbox_dropped; ARGV epoch token journal_max n posts
  // outbox_max, journal, posts, address, record
  save,
  read,           // KEYS any; ARGV text_max bytes_max command, its arguments behind the key
  save_progress,  // KEYS device; ARGV epoch, fields
  acquire_lock,   // KEYS lock fence; ARGV holder ttl_ms now_ms
  renew_lock,     // KEYS lock; ARGV token ttl_ms
  release_lock,   // KEYS lock; ARGV token
  ack_kicks,      // KEYS kicks; ARGV group, ids
  take_orders,    // KEYS orders, taken; ARGV count, life_ms of taken
  read_outbox,    // KEYS outbox outbox_dropped; ARGV count, bytes_max of an entry
  heartbeat,      // KEYS machine alive; ARGV machine_id value ttl_ms
  forget_host,    // KEYS alive, and all others of the host
  schema,         // KEYS schema; ARGV version
};
inline constexpr std::size_t kRedisScriptCount = 12;

// The text of a script. Its Lua sees KEYS and ARGV: the whole of a script, or the body of a
// function.
struct RedisScriptText {
  RedisScript script;
  std::string_view name;
  std::string_view lua;
  std::string_view flag;  // of the function (redis.io, "Script flags"); empty: none
};

[[nodiscard]] const RedisScriptText& text_of(RedisScript script);
[[nodiscard]] std::span<const RedisScriptText> redis_scripts();

}  // namespace reclaim
