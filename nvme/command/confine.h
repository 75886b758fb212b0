// Takes from a process what no clean step needs (docs/clean-step-protocol.md). Privileges are not
// needed for it. Async-signal-safe: called between fork and exec.
#pragma once

namespace reclaim::nvme {

// Of the calling thread, and of all that it starts: no new privileges; of its capabilities only
// those that work on devices and files; without `network` no sockets but AF_UNIX and AF_NETLINK.
// False: errno says why.
[[nodiscard]] bool confine(bool network);

}  // namespace reclaim::nvme
