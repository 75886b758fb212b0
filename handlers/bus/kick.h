// Makes a kick of a notification: which hosts should be looked at, when, and why. A kick carries no
// authority; Placement and the host decide. Pure; thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/bus/notification.h"
#include "state/base/clock.h"
#include "state/base/enum_names.h"
#include "state/device/life.h"
#include "state/device/store.h"

namespace reclaim {

enum class Verdict { kick, ignore, reject };

[[nodiscard]] constexpr std::string_view to_string(Verdict verdict) {
  return enum_names<Verdict::reject>("kick", "ignore", "reject")[verdict];
}

struct Decision {
  Verdict verdict = Verdict::ignore;
  std::vector<std::string> hosts;  // sorted, without repeats; empty when any_host or when no kick
  bool any_host = false;  // no host is named: every known one, of an instance's event only those
                          // that have burned devices
  std::vector<int> delays_s;    // seconds after now at which to look; empty when no kick
  bool mark_allocated = false;  // look now and record the allocations seen
  std::string event_type;       // empty when it could not be read
  std::string why;              // a sentence for an operator, without a trailing full stop
  std::string instance_uuid;
  Life life = Life::untold;  // of the instance,
  std::string life_host;     // on this host; empty: the message does not say on which
  std::string request_id;
  std::optional<WallMs> sent_at;  // of the notification
  std::string message_id;
  std::optional<Arq> arq;  // of an accelerator request's event
};

[[nodiscard]] Decision decide(const Notification& notification);
// A body nobody could decode.
[[nodiscard]] Decision reject(const Error& error);

// The kick that a worker is told. Only of Verdict::kick.
[[nodiscard]] Kick kick_of(const Decision& decision);

// True if one of the tables has this event type, so that its payload must be read.
[[nodiscard]] bool is_kick_event(std::string_view event_type);

// Decodes and decides RabbitMQ bodies. `decide_fast` stops reading as soon as the event type is
// known to be of no interest; `decide_exact` always reads the whole message. They differ only in
// that a message of no interest with a damaged tail is ignored by the one and rejected by the
// other: a kick is always the exact reading's. Thread: any, one a thread.
class KickDecider final {
 public:
  explicit KickDecider(std::size_t body_bytes_max = kBodyBytesMax)
      : body_bytes_max_(body_bytes_max), decoder_(body_bytes_max) {}

  [[nodiscard]] Decision decide_fast(std::string_view body);
  [[nodiscard]] Decision decide_exact(std::string_view body);

 private:
  std::size_t body_bytes_max_;
  NotificationDecoder decoder_;
};

}  // namespace reclaim
