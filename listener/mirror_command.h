// The operator's command that takes each sealed certificate off the host ([certificates]
// mirror_command): a child process as clean steps are, restricted and ended with all it started.
// Thread: the mirror's; stop() from any.
#pragma once

#include <string>

#include "nvme/command/options.h"
#include "nvme/stop_flag.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/certificate/mirror.h"

namespace reclaim::listener {

class ConfinedMirrorCommand final : public MirrorCommand {
 public:
  ConfinedMirrorCommand(std::string path, nvme::CommandOptions options, Logger& log)
      : path_(std::move(path)), options_(std::move(options)), log_(log) {}

  [[nodiscard]] Status run(const std::string& path) override;
  void stop() override { stop_.request(); }

 private:
  const std::string path_;
  const nvme::CommandOptions options_;
  SystemClock clock_;
  Logger& log_;
  nvme::StopFlag stop_;
};

}  // namespace reclaim::listener
