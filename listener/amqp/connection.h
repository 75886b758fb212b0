// Owners and words for librabbitmq: a connection that closes itself, byte strings, and what a
// failed answer means. Thread: a connection belongs to one thread at a time; the connector hands it
// to the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "listener/amqp/library.h"
#include "state/base/result.h"

namespace reclaim::listener {

struct CloseAmqpConnection {
  void operator()(amqp_connection_state_t connection) const { amqp_destroy_connection(connection); }
};
// Destroying it closes the socket without a word to the broker.
using AmqpConnection = std::unique_ptr<amqp_connection_state_t_, CloseAmqpConnection>;

[[nodiscard]] inline std::string_view view(amqp_bytes_t bytes) {
  return bytes.bytes == nullptr
             ? std::string_view{}
             : std::string_view(static_cast<const char*>(bytes.bytes), bytes.len);
}

// librabbitmq takes non-const bytes and does not write to them. The text must outlive the call.
[[nodiscard]] inline amqp_bytes_t bytes(std::string_view text) {
  amqp_bytes_t out;
  out.len = text.size();
  out.bytes = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return out;
}

// The last call failed in librabbitmq, such as at a frame beyond the agreed size. The connection
// must not be read again, not even to say goodbye: librabbitmq 0.11 would write behind its buffer.
[[nodiscard]] bool is_lost(amqp_connection_state_t connection);

// Refuses a frame that is neither of the connection nor of one of its open channels, 1 to
// `highest`: librabbitmq keeps a page of memory for each channel that a broker names.
[[nodiscard]] Status check_channel(const amqp_frame_t& frame, amqp_channel_t highest);

// An entry of a table; a text must outlive the call.
[[nodiscard]] amqp_table_entry_t entry_of(const char* name, std::string_view text);
[[nodiscard]] amqp_table_entry_t entry_of(const char* name, std::int64_t number);
[[nodiscard]] amqp_table_entry_t flag(const char* name);

// The broker's `method` closed the connection or the channel: answered, and what it said.
[[nodiscard]] Error answer_close(amqp_connection_state_t connection, amqp_channel_t channel,
                                 const amqp_method_t& method);
// The broker closed a channel or the connection. 404 is not_found, 406 conflict, 403 and 530
// refused, everything else unavailable; `raw` is the AMQP reply code, the text the broker's own.
[[nodiscard]] Error closed_error(int reply_code, amqp_bytes_t reply_text);
// A negative status of librabbitmq's; `number`: the errno that came with it, 0 where none did.
[[nodiscard]] Error library_error(int status, int number = 0);

// Sends a method on an open channel, or the one that opens it. `method` is librabbitmq's structure
// of that id.
[[nodiscard]] Status send_method(amqp_connection_state_t connection, amqp_channel_t channel,
                                 amqp_method_number_t id, void* method);

}  // namespace reclaim::listener
