// OutboxSeal: authenticates a notification that waits in Redis. The field `mac` is an HMAC by the
// host's key over the host and every other field. What another client put there is not published in
// this host's name. Pure. Thread: any.
#pragma once

#include <string>

#include "state/certificate/mac_key.h"
#include "state/device/record.h"

namespace reclaim {

class OutboxSeal final {
 public:
  OutboxSeal(std::string host, MacKey key) : host_(std::move(host)), key_(std::move(key)) {}

  // The fields with `mac` among them.
  [[nodiscard]] Fields seal(Fields fields) const;
  [[nodiscard]] bool fits(const Fields& fields) const;

 private:
  std::string host_;
  MacKey key_;
};

}  // namespace reclaim
