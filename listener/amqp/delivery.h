// One delivery of RabbitMQ's, whole.
#pragma once

#include <cstdint>
#include <string_view>

namespace reclaim::listener {

struct AmqpDelivery {
  std::uint64_t tag = 0;
  std::uint64_t incarnation = 0;  // of the connection; acks name both
  bool redelivered = false;
  bool oversized = false;  // body_bytes is over the limit and `body` is empty
  std::uint64_t body_bytes = 0;
  // The views last as long as the callback.
  std::string_view exchange;
  std::string_view routing_key;
  std::string_view body;
};

}  // namespace reclaim::listener
