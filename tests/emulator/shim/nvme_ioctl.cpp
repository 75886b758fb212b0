// The NVMe driver's ioctls, as drivers/nvme/host/ioctl.c of Linux 6.1 has them.
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "tests/emulator/shim/kernel.h"

namespace reclaim::emulator {
namespace {

int fail(int number) {
  errno = number;
  return -1;
}

Command command_of(const nvme_passthru_cmd& from) {
  Command made;
  made.opcode = from.opcode;
  made.nsid = from.nsid;
  made.cdw10 = from.cdw10;
  made.cdw11 = from.cdw11;
  made.cdw12 = from.cdw12;
  made.cdw13 = from.cdw13;
  made.cdw14 = from.cdw14;
  made.cdw15 = from.cdw15;
  if (from.addr != 0 && from.data_len != 0) {
    made.data = {reinterpret_cast<std::byte*>(from.addr), from.data_len};
  }
  return made;
}

nvme_passthru_cmd narrow(const nvme_passthru_cmd64& from) {
  nvme_passthru_cmd made{};
  made.opcode = from.opcode;
  made.nsid = from.nsid;
  made.addr = from.addr;
  made.data_len = from.data_len;
  made.cdw10 = from.cdw10;
  made.cdw11 = from.cdw11;
  made.cdw12 = from.cdw12;
  made.cdw13 = from.cdw13;
  made.cdw14 = from.cdw14;
  made.cdw15 = from.cdw15;
  return made;
}

// Commands after which the kernel looks at the namespaces again.
bool changes_namespaces(std::uint8_t opcode) {
  return opcode == nvme_admin_ns_mgmt || opcode == nvme_admin_ns_attach ||
         opcode == nvme_admin_format_nvm || opcode == nvme_admin_set_features;
}

}  // namespace

int Kernel::admin(OpenNode& node, ::nvme_passthru_cmd& command, std::uint64_t& result) {
  const Completion done = node.drive->with(
      [&](Controller& controller, DriveState&) { return controller.admin(command_of(command)); });
  result = done.result;
  if (done.status == kSuccess && changes_namespaces(command.opcode)) {
    if (!node.host->sync(*node.drive).ok()) return fail(EIO);
  }
  return done.status;
}

int Kernel::io(OpenNode& node, ::nvme_passthru_cmd& command, std::uint64_t& result) {
  std::uint32_t nsid = node.nsid;
  if (nsid == 0) {  // the controller's node takes I/O only if it has exactly one namespace
    int count = 0;
    node.drive->with([&](Controller&, DriveState& state) {
      for (std::uint32_t i = 0; i < kNamespacesMax; ++i) {
        if (!state.host.known[i]) continue;
        ++count;
        nsid = i + 1;
      }
    });
    if (count == 0) return fail(ENOTTY);
    if (count > 1) return fail(EINVAL);
  }
  if (command.nsid != nsid) return fail(EINVAL);
  const Completion done = node.drive->with(
      [&](Controller& controller, DriveState&) { return controller.io(command_of(command)); });
  result = done.result;
  return done.status;
}

int Kernel::submit_io(OpenNode& node, const ::nvme_user_io& request) {
  nvme_passthru_cmd command{};
  command.opcode = request.opcode;
  command.nsid = node.nsid;
  command.addr = request.addr;
  const std::uint32_t block = node.drive->with(
      [&](Controller& controller, DriveState&) { return controller.block_bytes(node.nsid); });
  command.data_len = (request.nblocks + 1U) * block;
  command.cdw10 = static_cast<std::uint32_t>(request.slba);
  command.cdw11 = static_cast<std::uint32_t>(request.slba >> 32U);
  command.cdw12 = request.nblocks | static_cast<std::uint32_t>(request.control) << 16U;
  switch (request.opcode) {
    case nvme_cmd_write:
    case nvme_cmd_read:
    case nvme_cmd_compare:
      break;
    default:
      return fail(EINVAL);
  }
  std::uint64_t result = 0;
  return io(node, command, result);
}

int Kernel::passthrough(OpenNode& node, unsigned long request, void* argument) {
  std::uint64_t result = 0;
  switch (request) {
    case NVME_IOCTL_ADMIN_CMD:
    case NVME_IOCTL_IO_CMD: {
      auto& command = *static_cast<nvme_passthru_cmd*>(argument);
      const int status = request == NVME_IOCTL_ADMIN_CMD ? admin(node, command, result)
                                                         : io(node, command, result);
      if (status >= 0) command.result = static_cast<std::uint32_t>(result);
      return status;
    }
    case NVME_IOCTL_ADMIN64_CMD:
    case NVME_IOCTL_IO64_CMD: {
      auto& command = *static_cast<nvme_passthru_cmd64*>(argument);
      nvme_passthru_cmd narrowed = narrow(command);
      const int status = request == NVME_IOCTL_ADMIN64_CMD ? admin(node, narrowed, result)
                                                           : io(node, narrowed, result);
      if (status >= 0) command.result = result;
      return status;
    }
    case NVME_IOCTL_SUBMIT_IO:
      if (node.nsid == 0) return fail(ENOTTY);
      return submit_io(node, *static_cast<const nvme_user_io*>(argument));
    default:
      return fail(ENOTTY);
  }
}

int Kernel::ioctl(OpenNode& node, int, unsigned long request, void* argument) {
  const InternalIo internal;
  if (node.kind == NodeKind::vfio || node.kind == NodeKind::sysfs) return fail(ENOTTY);
  if (const int number = dead(node); number != 0) return fail(number);
  switch (request) {
    case NVME_IOCTL_ID:
      return node.nsid != 0 ? static_cast<int>(node.nsid) : fail(ENOTTY);
    case NVME_IOCTL_RESET:
      if (node.nsid != 0) return fail(ENOTTY);
      return node.host->reset(node.drive->address()).ok() ? 0 : fail(EIO);
    case NVME_IOCTL_RESCAN:
      if (node.nsid != 0) return fail(ENOTTY);
      return node.host->rescan(*node.drive).ok() ? 0 : fail(EIO);
    case NVME_IOCTL_ADMIN_CMD:
    case NVME_IOCTL_IO_CMD:
    case NVME_IOCTL_ADMIN64_CMD:
    case NVME_IOCTL_IO64_CMD:
    case NVME_IOCTL_SUBMIT_IO:
      return passthrough(node, request, argument);
    default:
      return node.nsid != 0 ? block_ioctl(node, request, argument) : fail(ENOTTY);
  }
}

}  // namespace reclaim::emulator
