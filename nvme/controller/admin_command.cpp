#include "nvme/controller/admin_command.h"

#include <libnvme.h>

#include <cerrno>

#include "nvme/controller/status.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint16_t kInvalidOpcode = 0x001;
constexpr std::uint16_t kInvalidField = 0x002;
constexpr std::uint16_t kInvalidLogPage = 0x109;

// libnvme's convention: 0, a positive NVMe status, or -1 with errno.
Result<std::uint32_t> judge(int returned, std::uint32_t result, std::string_view name) {
  if (returned == 0) return result;
  if (returned < 0) return errno_to_error(errno, name);
  Error error = status_to_error(returned, name);
  const std::uint16_t code = status_code(returned);
  if (code == kInvalidOpcode || code == kInvalidField || code == kInvalidLogPage) {
    error.code = Errc::not_found;
  }
  return error;
}

// nvme_admin_passthru and nvme_io_passthru take the same.
Result<std::uint32_t> pass_through(decltype(&nvme_admin_passthru) passthru, int fd,
                                   const RawCommand& command, std::uint32_t timeout_ms,
                                   std::string_view name) {
  std::uint32_t result = 0;
  const int returned = passthru(
      fd, command.opcode, 0, 0, command.nsid, 0, 0, command.cdw10, command.cdw11, command.cdw12,
      command.cdw13, command.cdw14, command.cdw15, static_cast<std::uint32_t>(command.data.size()),
      command.data.empty() ? nullptr : command.data.data(), 0, nullptr, timeout_ms, &result);
  return judge(returned, result, name);
}

}  // namespace

Result<std::uint32_t> admin_command(int controller_fd, const RawCommand& command,
                                    std::uint32_t timeout_ms, std::string_view name) {
  return pass_through(nvme_admin_passthru, controller_fd, command, timeout_ms, name);
}

Result<std::uint32_t> io_command(int namespace_fd, const RawCommand& command,
                                 std::uint32_t timeout_ms, std::string_view name) {
  return pass_through(nvme_io_passthru, namespace_fd, command, timeout_ms, name);
}

}  // namespace reclaim::nvme
