// The slots of a Redis Cluster: in which one a key is, and which master has it (Redis cluster
// specification, redis.io: "Key distribution model", "Hash tags", "MOVED Redirection"). Pure;
// thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "state/redis/options.h"
#include "state/redis/reply.h"

namespace reclaim {

inline constexpr std::size_t kSlotCount = 16'384;

// CRC16 (XMODEM) of what is between the key's first '{' and the next '}', or of all of it where
// that is empty or missing, modulo 16384.
[[nodiscard]] std::uint16_t slot_of_key(std::string_view key);

// The place of a command's first key; nothing: it has none. It knows the commands that we send,
// whose keys are all of one slot; MGET's may be of many.
[[nodiscard]] std::optional<std::size_t> first_key_of(const std::vector<std::string>& command);

// The place where a command is to be sent instead, as an error says it: MOVED for good, ASK this
// once.
struct RedisRedirect {
  bool ask = false;
  RedisAddress to;  // an empty host: the one that was asked
};
[[nodiscard]] std::optional<RedisRedirect> redirect_in(const Error& error);
// True if the cluster, or one of its nodes, is in a passage: nothing was done, and the same command
// may be carried out in a moment (TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN).
[[nodiscard]] bool says_try_again(const Error& error);

struct SlotMaster {
  RedisAddress address;
  std::size_t replicas = 0;
  bool operator==(const SlotMaster&) const = default;
};

class SlotMap final {
 public:
  SlotMap() : owners_(kSlotCount, kNobody) {}

  // The masters that have slots, in the order of their first ones.
  [[nodiscard]] const std::vector<SlotMaster>& masters() const { return masters_; }
  [[nodiscard]] const RedisAddress* owner_of(std::uint16_t slot) const;
  [[nodiscard]] std::size_t uncovered() const;  // slots that nobody has

  // False: more masters than a map may have.
  [[nodiscard]] bool give(std::uint16_t first, std::uint16_t last, const SlotMaster& master);

  bool operator==(const SlotMap&) const = default;

 private:
  static constexpr std::int16_t kNobody = -1;

  std::vector<SlotMaster> masters_;
  std::vector<std::int16_t> owners_;  // a slot's: which of masters_
};

// The answer to CLUSTER SLOTS. `asked` stands for a node that does not know its own host.
[[nodiscard]] Result<SlotMap> slot_map_from(const RedisReply& answer, const RedisAddress& asked);

}  // namespace reclaim
