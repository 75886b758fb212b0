// ioctl(2) before the C library's: linked into a test as objects, or preloaded before nvme-cli.
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "tests/guest/hybrid/hybrid.h"

// By assembler label: the C library's own declaration, variadic, then has no say.
extern "C" __attribute__((visibility("default"))) int hybrid_ioctl(int fd, unsigned long request,
                                                                   void* argument) __asm__("ioctl");

int hybrid_ioctl(int fd, unsigned long request, void* argument) {
  using reclaim::guest::hybrid_admin;
  if (request == NVME_IOCTL_ADMIN_CMD && reclaim::guest::is_hybrid(fd)) {
    return hybrid_admin(fd, *static_cast<nvme_passthru_cmd*>(argument));
  }
  if (request == NVME_IOCTL_ADMIN64_CMD && reclaim::guest::is_hybrid(fd)) {
    auto& wide = *static_cast<nvme_passthru_cmd64*>(argument);
    nvme_passthru_cmd command{};
    command.opcode = wide.opcode;
    command.flags = wide.flags;
    command.nsid = wide.nsid;
    command.addr = wide.addr;
    command.data_len = wide.data_len;
    command.cdw10 = wide.cdw10;
    command.cdw11 = wide.cdw11;
    command.cdw12 = wide.cdw12;
    command.cdw13 = wide.cdw13;
    command.cdw14 = wide.cdw14;
    command.cdw15 = wide.cdw15;
    command.timeout_ms = wide.timeout_ms;
    const int done = hybrid_admin(fd, command);
    wide.result = command.result;
    return done;
  }
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}
