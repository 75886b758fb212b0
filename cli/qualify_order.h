// Before a drive of the pool is qualified, its worker has to know that it is going to be dirty, and
// must not take what is done to it for an erase of its own: an order to clean it, which is carried
// out when its maintenance is over. Thread: the session's.
#pragma once

#include <functional>

#include "cli/session.h"
#include "state/base/pci_address.h"
#include "state/device/record.h"

namespace reclaim::cli {

// True if the record is as the order leaves it, on which all that is done to the drive relies: it
// is known to be dirty, nothing is done to it by itself, and a cleaning begins with its first step.
[[nodiscard]] bool is_known_to_get_dirty(const Record& record);

// Issues it, unless the record says so already, and waits until the record does. Errc::refused with
// the remedy: no worker is alive, it refuses, or the order cannot be authenticated here;
// Errc::cancelled: `stop` said so.
[[nodiscard]] Status tell_worker(Session& session, const PciAddress& address,
                                 const std::function<bool()>& stop);

}  // namespace reclaim::cli
