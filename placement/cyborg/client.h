// CyborgClient: Accelerators over an HttpTransport, with Keystone behind it. Three requests a read
// (placement/cyborg/conversation.h), all of them GETs. Owns its session.
//
// The service user needs role admin: to any other, Cyborg lists the ARQs of its own project only,
// with 200, and a binding that is not seen looks like one that is over. So a token without that
// role is refused before anything is read.
//
// Thread: the loop's. Transport, timers, clock and logger outlive the client; callbacks that are
// outstanding when it is destroyed are dropped.
#pragma once

#include <memory>
#include <string>

#include "placement/cyborg/accelerators.h"
#include "placement/cyborg/conversation.h"
#include "placement/http/http.h"
#include "placement/keystone/api_session.h"
#include "state/base/clock.h"
#include "state/base/log.h"

namespace reclaim::placement {

class CyborgClient final : public Accelerators {
 public:
  // Fails with Errc::invalid, naming the option, where options cannot work.
  [[nodiscard]] static Result<std::unique_ptr<CyborgClient>> create(CyborgOptions options,
                                                                    Ports ports);
  ~CyborgClient() override = default;
  CyborgClient(const CyborgClient&) = delete;
  CyborgClient& operator=(const CyborgClient&) = delete;

  void read(const HostNames& names, Callback<CyborgView> done) override;

  // Logs in if that has not been done, and says where to.
  void log_in(Callback<LoginFacts> done);

  [[nodiscard]] const RequestCounts& counts() const { return api_.counts(); }

 private:
  CyborgClient(CyborgOptions options, Ports ports);

  const CyborgOptions options_;
  const Clock& clock_;
  KnownDeployables known_;
  ApiSession api_;
};

}  // namespace reclaim::placement
