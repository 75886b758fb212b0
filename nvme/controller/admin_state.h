// Reading a ControllerState from a drive: identify, logs, features, security protocols, reservation
// reports. Nothing here writes to the media, so Global Data Erased stays as it is.
// Thread: whichever owns the descriptors; blocks for some hundred admin commands.
#pragma once

#include <cstdint>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "nvme/stop_flag.h"
#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// The limit of how long a reading may go on; empty: as long as the drive answers each command.
struct Patience {
  const Clock* clock = nullptr;
  MonoMs deadline;
  const StopFlag* stop = nullptr;

  // Errc::cancelled: told to stop; Errc::failed: over the deadline.
  [[nodiscard]] Status check() const;
};

struct StateSource {
  struct Node {
    std::uint32_t nsid = 0;
    int fd = -1;
  };
  int controller_fd = -1;
  std::vector<Node> nodes;  // of the active namespaces, for their reservation reports
  std::uint32_t timeout_ms = 60'000;
  Patience patience = {};
};

// Reads everything. What the drive claims to have and does not let us read is in `unreadable`; an
// error is a drive that does not answer to Identify, or the end of the patience.
[[nodiscard]] Result<ControllerState> read_controller_state(const StateSource& source);

// Reads only what Identify tells: abilities, capacity, LBA formats and the namespaces, active and
// detached.
[[nodiscard]] Result<ControllerState> read_namespace_layout(int controller_fd,
                                                            std::uint32_t timeout_ms,
                                                            const Patience& patience = {});
[[nodiscard]] Result<HealthState> read_health(int controller_fd, std::uint32_t timeout_ms);

}  // namespace reclaim::nvme
