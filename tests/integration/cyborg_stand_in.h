// The stand-in for Cyborg's REST API (stack/cyborg.py) for a test binary: started in a temporary
// folder, stopped at the end. Thread: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "state/base/result.h"
#include "tests/temp_folder.h"

namespace reclaim::testing {

class CyborgStandIn final {
 public:
  // `arguments` are those of `cyborg.py start`.
  [[nodiscard]] static Result<std::unique_ptr<CyborgStandIn>> start(
      std::vector<std::string> arguments);
  ~CyborgStandIn();
  CyborgStandIn(const CyborgStandIn&) = delete;
  CyborgStandIn& operator=(const CyborgStandIn&) = delete;

  // `cyborg.py do COMMAND NAME=VALUE...`: what it made, as JSON, or an empty text on failure.
  [[nodiscard]] std::string run(const std::string& command,
                                const std::vector<std::string>& words = {}) const;
  // A member of what it made.
  [[nodiscard]] std::string made(const std::string& command, const std::vector<std::string>& words,
                                 const std::string& member = "uuid") const;

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  CyborgStandIn() = default;
  const TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::string endpoint_;
};

}  // namespace reclaim::testing
