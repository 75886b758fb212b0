// An order: what an operator asks of a device's worker, and who he is. Orders have a stream of
// their own, reclaim:{HOST}:orders; all who have the fleet's Redis can write there. So an order
// that only begins or ends work is taken from anyone who gives a name, and one that accepts
// something, as `enrol` does, only when it is authenticated, fresh and new.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/clock.h"

namespace reclaim {

// An older one is not carried out: what somebody wanted of the drive that was there then is no
// order for the one that is there now.
inline constexpr std::int64_t kOrderLifeMs = 3'600'000;

enum class OrderKind : std::uint8_t {
  clean,
  abort,
  enrol,
  maintenance_on,
  maintenance_off,
  unhold,  // one approval of the hold at which a plan waits
  disown,  // what was ours and no device_spec entry matches any more is let go
  retire,  // it is erased, certified and never given back
  pause,   // no cleaning begins on the host that has the device, until a time
  resume,  // or until this
};
[[nodiscard]] std::string_view to_string(OrderKind kind);

// The purposes of a retirement: NIST SP 800-88r1's "media destination" of the drive (appendix G),
// and its destruction.
inline constexpr std::array<std::string_view, 4> kRetirePurposes{"destroyed", "returned-to-vendor",
                                                                 "recycled", "reused"};

struct Order {
  std::string id;       // of the stream's entry, set by the store
  std::string order;    // an OrderKind's name, or one that another version knows
  std::string address;  // of the device
  std::string who;      // "alice@controller-1", or a user of Keystone's
  std::string request_id;
  WallMs issued_at;
  std::string nonce;
  // The code of all else and the host (state/certificate/order_seal.h); empty: not authenticated.
  std::string mac;
  // The drive that `enrol` accepts, and no other: its serial, empty where none can be read yet, and
  // the identity of its hardware (nvme::encode_hardware).
  std::string serial;
  std::string hardware;
  std::string reason;  // of `disown`, `retire` and `pause`: why, in an operator's words
  // The steps of `clean` that an operator names, which are run first (encode_plan). Empty: none.
  std::string steps;
  std::string hold;  // of `unhold`: which one it approves (state/device/hold.h)
  // The purpose of `retire`: what becomes of the drive, one of kRetirePurposes.
  std::string purpose = {};
  WallMs until = {};  // of `pause`; 0: none
  friend bool operator==(const Order&, const Order&) = default;
};

// The limit of a request id, and of a name.
inline constexpr std::size_t kOrderWordBytesMax = 200;

[[nodiscard]] inline bool has_request_id(const Order& order) {
  return !order.request_id.empty() && order.request_id.size() <= kOrderWordBytesMax;
}

// True if the id has the form that OpenStack's services give it: "req-" and a UUID.
[[nodiscard]] bool is_request_id(std::string_view text);

// Nothing: this version does not know it.
[[nodiscard]] std::optional<OrderKind> kind_of(const Order& order);

// True if the order says what no stranger may: which drive is the right one, that a plan goes on
// behind a hold, that a device is to be let go or retired, which of an operator's commands are run
// with which arguments, or that a host cleans nothing for a while, or does again.
[[nodiscard]] inline bool accepts_something(const Order& order) {
  const auto kind = kind_of(order);
  return kind == OrderKind::enrol || kind == OrderKind::unhold || kind == OrderKind::disown ||
         kind == OrderKind::retire || kind == OrderKind::pause || kind == OrderKind::resume ||
         (kind == OrderKind::clean && !order.steps.empty());
}

// The fields of an order in the stream, and back. An order may be written by hand: absent fields
// are empty.
[[nodiscard]] std::map<std::string, std::string> order_fields(const Order& order);
[[nodiscard]] Order order_from_fields(const std::string& id,
                                      const std::map<std::string, std::string>& fields);

// The time at which the stream's entry was written, as Redis's clock tells: its id begins with
// that; 0: it does not.
[[nodiscard]] std::int64_t written_at_ms(std::string_view stream_id);

}  // namespace reclaim
