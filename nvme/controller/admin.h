// Admin commands through libnvme's typed calls, over descriptors of our own: libnvme's nvme_open()
// has neither O_CLOEXEC nor O_EXCL. Every command has its timeout. Only admin.cpp sees libnvme.
// Thread: whichever owns the descriptor; each call blocks until the drive answered.
#pragma once

#include <cstdint>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/controller/format.h"
#include "nvme/controller/log_pages.h"
#include "state/base/result.h"

namespace reclaim::nvme {

[[nodiscard]] Result<Identity> identify_controller(int fd, std::uint32_t timeout_ms);
[[nodiscard]] Result<NamespaceFacts> identify_namespace(int fd, std::uint32_t nsid,
                                                        std::uint32_t timeout_ms);
// The NSIDs attached to the controller, lowest first.
[[nodiscard]] Result<std::vector<std::uint32_t>> active_namespaces(int fd,
                                                                   std::uint32_t timeout_ms);
[[nodiscard]] Result<Counters> read_counters(int fd, std::uint32_t timeout_ms);
// Counters and health, both of one page.
struct SmartLog {
  Counters counters;
  HealthState health;
};
[[nodiscard]] Result<SmartLog> read_smart(int fd, std::uint32_t timeout_ms);
// Retains asynchronous events: other readers of the log lose nothing.
[[nodiscard]] Result<SanitizeLog> read_sanitize_log(int fd, std::uint32_t timeout_ms);
// The namespace behind a block node, from the kernel.
[[nodiscard]] Result<std::uint32_t> namespace_id(int fd);

// The one destructive command: sends a sanitize of the whole subsystem, with NSID 0 and dword 10 as
// sanitize_cdw10() makes it. Ok means that the drive accepted it, not that anything is erased.
[[nodiscard]] Status start_sanitize(int fd, std::uint32_t cdw10, std::uint32_t timeout_ms);
// Ends the state in which the media of a sanitized drive can be read; what it then deallocates is
// erased. Errc::failed: the drive is in no such state, or refuses.
[[nodiscard]] Status exit_media_verification(int fd, std::uint32_t timeout_ms);

// The format a namespace has now.
[[nodiscard]] Result<NamespaceFormat> identify_namespace_format(int fd, std::uint32_t nsid,
                                                                std::uint32_t timeout_ms);
// Every namespace that exists, attached or not (CNS 10h), of drives with namespace management.
[[nodiscard]] Result<std::vector<std::uint32_t>> allocated_namespaces(int fd,
                                                                      std::uint32_t timeout_ms);
// Format NVM of `command.nsid` with the secure erase of `method`, keeping the format that `command`
// names. Ok: the drive says that all of it is erased.
[[nodiscard]] Status format_namespace(int fd, const NamespaceFormat& command, EraseMethod method,
                                      std::uint32_t timeout_ms);

}  // namespace reclaim::nvme
