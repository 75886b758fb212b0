#include "nvme/command/confine.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t bit(unsigned capability) {
  return std::uint64_t{1} << capability;
}

constexpr std::uint64_t kForDevicesAndFiles =
    bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_FOWNER) |
    bit(CAP_FSETID) | bit(CAP_KILL) | bit(CAP_SETGID) | bit(CAP_SETUID) | bit(CAP_IPC_LOCK) |
    bit(CAP_SYS_RAWIO) | bit(CAP_SYS_ADMIN) | bit(CAP_SYS_NICE) | bit(CAP_SYS_RESOURCE);
constexpr std::uint64_t kForNetwork =
    bit(CAP_NET_BIND_SERVICE) | bit(CAP_NET_ADMIN) | bit(CAP_NET_RAW);

// Drops all capabilities but `kept`, for good: without new privileges an exec by root permits
// nothing that was not permitted before.
bool keep_capabilities(std::uint64_t kept) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (__user_cap_data_struct& set : sets) {
    set.permitted &= static_cast<std::uint32_t>(kept);
    set.effective &= static_cast<std::uint32_t>(kept);
    set.inheritable = 0;  // and with it what is ambient
    kept >>= 32U;
  }
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this architecture's AUDIT_ARCH"
#endif
// x86-64 has a second table of calls from here on (x32); nothing else has so many.
constexpr std::uint32_t kCallsEnd = 0x40000000U;

// Calls of another architecture, and rings, which open sockets past socket(2), are refused whole.
// What is answered is what a kernel without them answers.
bool refuse_network() {
  constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr std::uint16_t kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr std::uint16_t kAtLeast = BPF_JMP | BPF_JGE | BPF_K;
  constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
  constexpr std::uint32_t kNoSuchCall = SECCOMP_RET_ERRNO | ENOSYS;
  constexpr std::uint32_t kNoSuchFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
  static constexpr std::array<sock_filter, 12> kFilter{{
      {kLoad, 0, 0, offsetof(seccomp_data, arch)},
      {kEqual, 0, 8, kArchitecture},
      {kLoad, 0, 0, offsetof(seccomp_data, nr)},
      {kAtLeast, 6, 0, kCallsEnd},
      {kEqual, 5, 0, SYS_io_uring_setup},
      {kEqual, 0, 5, SYS_socket},
      {kLoad, 0, 0, offsetof(seccomp_data, args)},  // the lower half: both are little-endian
      {kEqual, 3, 0, AF_UNIX},
      {kEqual, 2, 0, AF_NETLINK},
      {kReturn, 0, 0, kNoSuchFamily},
      {kReturn, 0, 0, kNoSuchCall},
      {kReturn, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{static_cast<unsigned short>(kFilter.size()),
                           const_cast<sock_filter*>(kFilter.data())};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

bool confine(bool network) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         keep_capabilities(network ? kForDevicesAndFiles | kForNetwork : kForDevicesAndFiles) &&
         (network || refuse_network());
}

}  // namespace reclaim::nvme
