// Takes from a process what no clean step needs (docs/clean-step-protocol.md). Privileges are not
// needed for it. Async-signal-safe: called between fork and exec.
#pragma once

namespace reclaim::nvme {

// Leaves the calling thread, and all that it starts, no new privileges, and of its capabilities
// only those that work on devices and files, with `network` also those of the network. Without
// `network` it leaves no sockets but AF_UNIX and AF_NETLINK. False: errno says why.
[[nodiscard]] bool confine(bool network);

}  // namespace reclaim::nvme
