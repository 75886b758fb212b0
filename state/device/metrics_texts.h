// MetricsTexts: the seam to what each worker measures of itself (handlers/worker_samples.h), for
// the API to answer GET /metrics from. One real implementation (state/redis/store.h).
//
// Thread: called on the loop's thread, returns at once; callbacks come later, once, on the loop's
// thread. Errors as the Store's.
#pragma once

#include <string>

#include "state/base/callback.h"

namespace reclaim {

class MetricsTexts {
 public:
  virtual ~MetricsTexts() = default;

  // Kept as long as a heartbeat.
  virtual void save_metrics(const std::string& host, const std::string& text,
                            Callback<Ok> done) = 0;
  // Empty: there is none, or it has expired. Nothing has looked at it.
  virtual void load_metrics(const std::string& host, Callback<std::string> done) = 0;
};

}  // namespace reclaim
