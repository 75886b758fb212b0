// Certificates: the seam to the sealed certificates that all hosts keep in Redis, for those who
// only read. One real implementation (state/redis/store.h).
//
// Thread: called on the loop's thread, returns at once; callbacks come later, once, on the loop's
// thread. Errors as the Store's.
#pragma once

#include <string>

#include "state/device/store.h"

namespace reclaim {

class Certificates {
 public:
  virtual ~Certificates() = default;

  // The newest sealed text of the device, as its host stored it (state/certificate/seal.h);
  // empty: there is none. Nothing has looked at its signature.
  virtual void load_certificate(const std::string& host, const std::string& address,
                                Callback<std::string> done) = 0;
};

}  // namespace reclaim
