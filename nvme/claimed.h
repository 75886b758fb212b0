// A claimed device, a drive or another PCI function: it can run an operator's command, get its
// driver back, and show that it is ours still. Every method blocks. Thread: the device's own.
#pragma once

#include <functional>

#include "nvme/command/command.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

class Claimed {
 public:
  Claimed() = default;
  virtual ~Claimed() = default;
  Claimed(const Claimed&) = delete;
  Claimed& operator=(const Claimed&) = delete;

  // The facts that the claim learnt of the device.
  [[nodiscard]] virtual DriveFacts facts() const = 0;
  // See Drives::run_command; the claim is looked at again first.
  [[nodiscard]] virtual Result<CommandReport> run_command(
      const Command& command, const std::function<void(CommandProgress)>& on_progress,
      StopFlag& stop) = 0;
  // See Drives::restore_driver.
  [[nodiscard]] virtual Status restore_driver(StopFlag& stop) = 0;
  // See Drives::still_ours.
  [[nodiscard]] virtual Result<Counters> still_ours(const Counters& since) = 0;
};

}  // namespace reclaim::nvme
