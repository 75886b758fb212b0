// Talks to systemd (sd_notify(3)): ready, status, stopping, and the watchdog's sign of life. The
// protocol is one datagram; nothing happens where NOTIFY_SOCKET is not set. Thread: the loop's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reclaim::listener {

class ServiceManager final {
 public:
  // Reads NOTIFY_SOCKET and WATCHDOG_USEC from the environment, once.
  ServiceManager();

  void ready(std::string_view status) const;
  void status(std::string_view status) const;
  void stopping() const;
  void alive() const;
  // The interval at which alive() is to be called; 0: there is no watchdog.
  [[nodiscard]] std::uint64_t alive_interval_ms() const { return alive_interval_ms_; }

 private:
  void send(const std::string& text) const;

  std::string socket_;
  std::uint64_t alive_interval_ms_ = 0;
};

}  // namespace reclaim::listener
