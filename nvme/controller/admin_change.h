// Commands that put a controller right: each is one of the resets that residue.h or
// namespace_layout.h decided on. The caller has looked at the guards; whether a command had its
// effect is read back, not believed.
// Thread: whichever owns the descriptors; each call blocks until the drive answered.
#pragma once

#include <cstdint>

#include "nvme/controller/namespace_layout.h"
#include "nvme/controller/residue.h"
#include "state/base/result.h"

namespace reclaim::nvme {

[[nodiscard]] Status set_feature(int controller_fd, std::uint8_t id, std::uint32_t nsid,
                                 std::uint32_t value, bool save, std::uint32_t timeout_ms);
[[nodiscard]] Status abort_self_test(int controller_fd, std::uint32_t timeout_ms);

// Registers us with the namespace, whoever else is, and clears it: reservation and registrants are
// gone then, and do not outlive a power loss. Sets the host identifier where there is none, since
// reservations need one; a reset takes it away again.
[[nodiscard]] Status clear_reservations(int controller_fd, int namespace_fd, std::uint32_t nsid,
                                        std::uint32_t timeout_ms);

// Errc::not_found: the drive does not have the command, whatever OACS says.
[[nodiscard]] Status delete_namespace(int controller_fd, std::uint32_t nsid,
                                      std::uint32_t timeout_ms);
// `raw` of an error is the NVMe status: 115h says that there is not so much room. The NSID.
[[nodiscard]] Result<std::uint32_t> create_namespace(int controller_fd, const NamespaceToMake& make,
                                                     std::uint64_t blocks,
                                                     std::uint32_t timeout_ms);
[[nodiscard]] Status attach_namespace(int controller_fd, std::uint32_t nsid,
                                      std::uint16_t controller_id, bool attach,
                                      std::uint32_t timeout_ms);
// Format NVM without secure erase: the LBA format alone is wanted, the erase comes later.
[[nodiscard]] Status change_lba_format(int controller_fd, const NamespaceToFormat& format,
                                       std::uint32_t timeout_ms);
// Asks the kernel to look at the namespaces again. It goes on looking after the call.
[[nodiscard]] Status rescan_namespaces(int controller_fd);

}  // namespace reclaim::nvme
