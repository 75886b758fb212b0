// ReadAccelerators: the requests to Cyborg's REST API that show one host, sans-I/O: its ARQs, then
// the host's devices, then the deployables, which are where a provider stands.
//
// Cyborg lists the deployables of all hosts or none, so they are asked for again only when the
// host's devices have changed, one of them has no provider yet, or after a while.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "placement/conversations.h"
#include "placement/cyborg/accelerators.h"
#include "placement/cyborg/answers.h"
#include "placement/cyborg/options.h"
#include "placement/keystone/exchange.h"
#include "state/base/clock.h"

namespace reclaim::placement {

// The deployables of one host as they were last read.
struct KnownDeployables {
  std::string host;
  std::string devices;  // the devices' UUIDs, as they were then
  MonoMs read_at;
  std::vector<DeployableAnswer> deployables;
};

class ReadAccelerators final {
 public:
  using Value = CyborgView;
  using Step = ConversationStep<CyborgView>;

  // `known` is looked at, and changed when the deployables were read again; it outlives this.
  ReadAccelerators(const CyborgOptions& options, HostNames names, Now now, Microversion spoken,
                   KnownDeployables& known);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  [[nodiscard]] Step ask(RequestKind kind);
  [[nodiscard]] Result<Ok> take_in(const HttpResponse& response);
  [[nodiscard]] bool known_is_good() const;
  [[nodiscard]] std::string device_list() const;
  [[nodiscard]] Step finish();

  const CyborgOptions& options_;
  HostNames names_;
  Now now_;
  Microversion spoken_;
  KnownDeployables& known_;
  ApiRequest request_;
  std::vector<Arq> arqs_;
  std::vector<DeviceAnswer> devices_;
};

}  // namespace reclaim::placement
