// The Lua scripts every write goes through (docs/redis.md lists them): each looks and writes in one
// step, so that nothing comes between a condition and what hangs on it. All keys come in KEYS and
// share the host's hash tag. A script answers {"ok", ...} or {what it found instead, text}.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace reclaim {

enum class RedisScript : std::uint8_t {
  // KEYS device devices journal lock outbox outbox_dropped; ARGV epoch token journal_max n posts
  // outbox_max, journal, posts, address, record
  save,
  read_record,    // KEYS device; ARGV bytes_max
  save_progress,  // KEYS device; ARGV epoch, fields
  acquire_lock,   // KEYS lock fence; ARGV holder ttl_ms now_ms
  renew_lock,     // KEYS lock; ARGV token ttl_ms
  release_lock,   // KEYS lock; ARGV token
  ack_kicks,      // KEYS kicks; ARGV group, ids
  take_orders,    // KEYS orders, taken; ARGV count, life_ms of taken
  read_outbox,    // KEYS outbox outbox_dropped; ARGV count, bytes_max of an entry
  heartbeat,      // KEYS machine alive; ARGV machine_id value ttl_ms
  upgrade_hosts,  // KEYS hosts; ARGV host machine_id
  forget_host,    // KEYS alive, and all others of the host
  schema,         // KEYS schema; ARGV version, the older one that may be upgraded or nothing
};
inline constexpr std::size_t kRedisScriptCount = 13;

// Texts and the SHA-1 by which EVALSHA names them.
class RedisScripts final {
 public:
  RedisScripts();

  [[nodiscard]] static std::string_view text(RedisScript script);
  [[nodiscard]] const std::string& sha1(RedisScript script) const {
    return sha1s_.at(static_cast<std::size_t>(script));
  }

 private:
  std::array<std::string, kRedisScriptCount> sha1s_;
};

}  // namespace reclaim
