// One command to the drive as its dwords, for what has no stable typed call: libnvme's argument
// structures for namespace management, security and reservations differ between the versions we
// build against, its pass-through does not.
// Thread: whichever owns the descriptor; each call blocks until the drive answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::nvme {

struct RawCommand {
  std::uint8_t opcode = 0;
  std::uint32_t nsid = 0;
  std::uint32_t cdw10 = 0;
  std::uint32_t cdw11 = 0;
  std::uint32_t cdw12 = 0;
  std::uint32_t cdw13 = 0;
  std::uint32_t cdw14 = 0;
  std::uint32_t cdw15 = 0;
  std::span<std::byte> data = {};  // both directions
};

// Sends an admin command and returns dword 0 of the completion. Errors as status_to_error() and
// errno_to_error() have them, but for Errc::not_found where the drive says that it does not have
// the command, log page, feature or field at all. `name` begins their sentence.
[[nodiscard]] Result<std::uint32_t> admin_command(int controller_fd, const RawCommand& command,
                                                  std::uint32_t timeout_ms, std::string_view name);
// Sends an I/O command to a namespace's node; all else as admin_command().
[[nodiscard]] Result<std::uint32_t> io_command(int namespace_fd, const RawCommand& command,
                                               std::uint32_t timeout_ms, std::string_view name);

}  // namespace reclaim::nvme
