// Notifications as they stand on RabbitMQ: the oslo envelope (2.0, whose message is JSON inside a
// JSON string) or the bare message of driver `messaging`, around a versioned or a legacy payload,
// Nova's or that of an accelerator request (handlers/arq/notification.h). Only what a kick needs is
// taken out. Of `_context_*`, which may hold a live token, nothing but the request id is ever read.
// Pure; thread: any, one decoder a thread.
//
// Where a member stands twice the first one counts, everywhere alike.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/clock.h"
#include "state/base/result.h"
#include "state/device/arq.h"

namespace reclaim {

inline constexpr std::size_t kBodyBytesMax = std::size_t{16} << 20U;

struct Notification {
  std::string event_type;
  std::string publisher_id;       // empty when absent
  std::string message_id;         // empty when absent
  std::string request_id;         // of _context_request_id; empty when absent
  std::optional<WallMs> sent_at;  // as the sender's clock has it; nothing: absent, or no time
  bool versioned = false;
  std::string payload_version;      // "1.9"; empty for a legacy payload
  std::optional<std::string> host;  // nothing: absent or null
  std::string instance_uuid;        // uuid, or instance_id of a legacy payload; empty when absent
  std::optional<Arq> arq;           // of an accelerator_request.* event, whose host is the ARQ's
};

class NotificationDecoder final {
 public:
  explicit NotificationDecoder(std::size_t body_bytes_max = kBodyBytesMax)
      : body_bytes_max_(body_bytes_max) {}

  // Reads the whole message and holds it to the rules: JSON, envelope version, types, payload
  // version. The error (Errc::invalid, or Errc::limit) is a clause for an operator and holds no
  // foreign text but versions. The payload's members are only looked at when
  // `wants_payload(event_type)`: others are decoded without them, so that an event nobody asked for
  // cannot be wrong in a way that matters.
  [[nodiscard]] Result<Notification> decode(std::string_view body,
                                            bool (*wants_payload)(std::string_view));

  // The event type decode() last read, also when it then failed; empty when it did not get that
  // far.
  [[nodiscard]] const std::string& event_type_seen() const { return event_type_seen_; }

  // The event type, if it can be had from the first bytes of an enveloped message as oslo.messaging
  // writes it: plain string members up to `event_type`, which stands before the payload. Never
  // another value than decode() would give; nothing when it is not that plain, or at all doubtful.
  // What follows the event type is not read, so a damaged tail is not noticed. The view points into
  // `body`.
  [[nodiscard]] static std::optional<std::string_view> peek_event_type(std::string_view body);

 private:
  [[nodiscard]] Result<Notification> decode_message(std::string_view text, std::string_view what,
                                                    bool (*wants_payload)(std::string_view));

  std::size_t body_bytes_max_;
  std::string inner_;   // the unescaped oslo.message, kept to reuse its memory
  std::string paired_;  // the same with its unpaired surrogates replaced
  std::string event_type_seen_;
};

// The body as it may be stored for an operator: one JSON text without any member whose name begins
// with
// `_context_`, at any depth, and without any text that mentions one. What is not JSON is stored as
// a bounded printable excerpt that ends before the first thing that could begin such a name; what
// does not even look like a JSON object is stored as its size alone. At most `bytes_max` bytes of
// body are kept; a longer one loses its message and keeps its excerpt.
[[nodiscard]] std::string clean_for_storage(std::string_view body, std::size_t bytes_max);

// The text that may be stored of a body that nobody is to parse: its size and a printable excerpt,
// cut as by clean_for_storage().
[[nodiscard]] std::string unread_excerpt(std::string_view body);

// An excerpt as clean_for_storage() keeps it, for a log line: at most `bytes_max` printable bytes.
[[nodiscard]] std::string safe_excerpt(std::string_view body, std::size_t bytes_max);

}  // namespace reclaim
