// The lock in Redis of one device, for a command that works on it: a worker that wants the device
// waits as it would for another worker. Beside the lock in the host's kernel, which its claim
// takes. Thread: the session's. Owns the lock.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/session.h"
#include "state/base/pci_address.h"
#include "state/base/uv.h"
#include "state/device/store.h"

namespace reclaim::cli {

class DeviceLock final {
 public:
  // `lost`: another holder has it now. It is renewed while the loop runs. Errc::busy names who has
  // it; other errors: Redis cannot be used. `session` outlives the object.
  static Result<std::unique_ptr<DeviceLock>> take(Session& session, const PciAddress& address,
                                                  std::string holder, std::int64_t ttl_ms,
                                                  std::function<void()> lost);
  // Gives it back, unless it was lost.
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  DeviceLock(Session& session, const PciAddress& address, std::string holder, std::int64_t ttl_ms,
             std::function<void()> lost);
  [[nodiscard]] Status ask();
  void renew();
  void take_again();

  Session& session_;
  PciAddress address_;
  std::string holder_;
  std::int64_t ttl_ms_;
  std::function<void()> lost_;
  LockToken lock_;                                              // token 0: not ours
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);  // for answers that come too late
  uv::Timer timer_;
};

}  // namespace reclaim::cli
