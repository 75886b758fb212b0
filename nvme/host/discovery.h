// Looking at the host's drives: sysfs says what is there, and each drive that is ours is asked what
// it is by a thread of its own, for a command may hang in the kernel for ever. None keeps the
// others from being told of; one that does not answer in time is told of without its answer.
// Blocking; thread: always the same one of the owner's, which is not the loop's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "nvme/drives.h"
#include "nvme/options.h"
#include "nvme/stop_flag.h"
#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::nvme {

class HostLook;
struct SysDrive;

class Discovery final {
 public:
  // `clock` outlives the object. Without `may_be_asked` all drives are asked.
  Discovery(Options options, const Clock& clock, MayBeAsked may_be_asked);
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  void replace_may_be_asked(MayBeAsked may_be_asked) { may_be_asked_ = std::move(may_be_asked); }

  // See Drives::discover. Drives of `on_threads` are not opened again; what their claim learnt is
  // told instead. Takes Options::discovery_timeout_ms at the longest. Errc::cancelled: stopped.
  [[nodiscard]] Result<std::vector<DriveFacts>> look(
      const std::map<PciAddress, std::optional<DriveFacts>>& on_threads,
      const std::set<PciAddress>& others, StopFlag& stop);

 private:
  struct Look;
  [[nodiscard]] std::optional<DriveFacts> from_sysfs(
      const PciAddress& address, const std::map<PciAddress, std::optional<DriveFacts>>& on_threads,
      const std::shared_ptr<HostLook>& host);
  void begin(const SysDrive& sys);
  [[nodiscard]] bool wait_for_all(StopFlag& stop) const;

  Options options_;
  const Clock& clock_;
  MayBeAsked may_be_asked_;
  // The asking of each drive, begun by this look or by one before that has not ended: a drive that
  // hangs is not asked again.
  std::map<PciAddress, std::shared_ptr<Look>> looks_;
};

}  // namespace reclaim::nvme
