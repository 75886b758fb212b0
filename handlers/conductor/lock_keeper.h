// Holds the locks in Redis of the devices that are being cleaned: takes them, renews them, and
// gives them back. Only another holder makes a cleaning stop; that Redis is away does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "handlers/conductor/context.h"

namespace reclaim {

// Thread: the loop's.
class LockKeeper final {
 public:
  using Lost = std::function<void(const PciAddress& address)>;

  // `lost`: another holder has the lock of a device, whose drive was told to stop.
  LockKeeper(const ConductorContext& context, Lost lost)
      : context_(context), lost_(std::move(lost)) {}

  // Takes the lock for the record of `epoch`. One that comes when the device has gone on is given
  // back, and `done` is not called.
  void take(const PciAddress& address, std::uint64_t epoch, std::function<void(Status)> done);
  // Takes the lock again after a conflict: it expired while Redis was away, or was taken. `done` is
  // not called when the cleaning that it was for is over.
  void reacquire(const PciAddress& address, std::function<void(bool ours)> done);
  // Another holder has it: the drive is told to stop.
  void lose(const PciAddress& address);
  // Ends the renewing of the lock: the caller gives it back when the drive is closed.
  [[nodiscard]] LockToken let_go(const PciAddress& address);
  void give_back(
      const PciAddress& address, const LockToken& lock, std::function<void()> given_back = [] {});

  // Token 0: it is not ours.
  [[nodiscard]] LockToken of(const PciAddress& address) const;
  [[nodiscard]] bool holds(const PciAddress& address) const { return of(address).token != 0; }

 private:
  struct Held {
    LockToken lock;                 // token 0: not ours, whatever timer or answer is on its way
    std::uint64_t renew_timer = 0;  // 0: none is set
  };

  void ask(const PciAddress& address, std::function<void(Result<LockToken>)> answered);
  void keep(const PciAddress& address);
  void renew(const PciAddress& address);

  const ConductorContext& context_;
  Lost lost_;
  std::map<PciAddress, Held> held_;
};

}  // namespace reclaim
