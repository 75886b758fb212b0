// A queue of the message bus, as a look at it found it. Pure; thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace reclaim {

struct BusQueue {
  std::string name;
  std::uint32_t messages = 0;   // ready for delivery
  std::uint32_t consumers = 0;  // of anybody's

  // It holds messages, and nobody reads them.
  [[nodiscard]] bool unread() const { return messages > 0 && consumers == 0; }

  friend bool operator==(const BusQueue&, const BusQueue&) = default;
};

}  // namespace reclaim
