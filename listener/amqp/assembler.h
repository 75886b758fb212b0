// Puts deliveries together from the frames of one channel: basic.deliver, a header, and the body in
// as many pieces as the broker likes. A body over the limit is passed over without being kept.
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "listener/amqp/connection.h"
#include "listener/amqp/delivery.h"

namespace reclaim::listener {

class AmqpAssembler final {
 public:
  explicit AmqpAssembler(std::size_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

  void reset();

  enum class Step { more, whole };
  // Errors: frames in an order AMQP does not have. When `whole`, delivery() is good until the
  // frame's memory is released or the next frame is taken.
  [[nodiscard]] Status on_deliver(const amqp_basic_deliver_t& method);
  [[nodiscard]] Result<Step> on_header(const amqp_frame_t& frame);
  [[nodiscard]] Result<Step> on_body(const amqp_frame_t& frame);

  [[nodiscard]] const AmqpDelivery& delivery() const { return delivery_; }
  // Lets go of memory a big body took.
  void trim();

 private:
  enum class Expect { deliver, header, body };

  std::size_t body_bytes_max_;
  Expect expect_ = Expect::deliver;
  AmqpDelivery delivery_;
  std::uint64_t seen_bytes_ = 0;
  std::string exchange_;
  std::string routing_key_;
  std::string body_;
};

}  // namespace reclaim::listener
