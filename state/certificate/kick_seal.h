// KickSeal: authenticates a kick that has a command in Redis, where every host may write into this
// one's stream: its `mac` is an HMAC by the host's key over the host, the command, whom it is for
// and when it was given. A copy of it stays good; what it asks for is of its time alone
// (handlers/conductor/device_orders.h). Pure. Thread: any.
#pragma once

#include <string>

#include "state/certificate/mac_key.h"
#include "state/device/store.h"

namespace reclaim {

class KickSeal final {
 public:
  KickSeal(std::string host, MacKey key) : host_(std::move(host)), key_(std::move(key)) {}

  // The host whose commands these are: no other host is given any.
  [[nodiscard]] const std::string& host() const { return host_; }

  [[nodiscard]] std::string mac_of(const Kick& kick) const;
  [[nodiscard]] bool fits(const Kick& kick) const;

 private:
  std::string host_;
  MacKey key_;
};

}  // namespace reclaim
