#include "tests/guest/hybrid/hybrid.h"

#include <fcntl.h>
#include <nvme/types.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <string>

#include "tests/emulator/model/controller.h"

namespace reclaim::guest {
namespace {

using emulator::kSuccess;

constexpr const char* kStateFile = "/run/hybrid-drive";
constexpr std::uint64_t kMediumBytes = 16U << 20U;
constexpr std::uint32_t kSlots = 3;
constexpr std::uint32_t kWhole = 1;
constexpr std::uint32_t kFirstHalf = 2;
constexpr std::uint32_t kSecondHalf = 3;

struct State {
  emulator::DriveState drive;
  std::array<bool, kSlots> allocated;
  std::uint64_t writes_at_end;  // host write commands when the last sanitize ended
};

std::uint64_t slot_bytes(std::uint32_t nsid) {
  return nsid == kWhole ? kMediumBytes : kMediumBytes / 2;
}

int kernel_admin(int fd, nvme_passthru_cmd& command) {
  return static_cast<int>(::syscall(SYS_ioctl, fd, NVME_IOCTL_ADMIN_CMD, &command));
}

template <typename T>
int send(int fd, std::uint8_t opcode, std::uint32_t nsid, std::uint32_t cdw10, T* data) {
  nvme_passthru_cmd command{};
  command.opcode = opcode;
  command.nsid = nsid;
  command.cdw10 = cdw10;
  command.timeout_ms = 60'000;
  if constexpr (!std::is_void_v<T>) {
    command.addr = reinterpret_cast<std::uint64_t>(data);
    command.data_len = sizeof(T);
  }
  return kernel_admin(fd, command);
}

std::uint64_t host_writes(int fd) {
  nvme_smart_log log{};
  const auto words = static_cast<std::uint32_t>(sizeof(log) / 4 - 1);
  if (send(fd, nvme_admin_get_log_page, NVME_NSID_ALL, NVME_LOG_LID_SMART | words << 16U, &log)) {
    return ~std::uint64_t{0};
  }
  std::uint64_t count = 0;
  std::memcpy(&count, log.host_writes, sizeof(count));
  return count;
}

bool is_attached(int fd, std::uint32_t nsid) {
  nvme_ns_list list{};
  if (send(fd, nvme_admin_identify, 0, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, &list) != 0) return false;
  for (const std::uint32_t each : list.ns) {
    if (each == nsid) return true;
  }
  return false;
}

int set_attached(int fd, std::uint32_t nsid, bool attached) {
  if (is_attached(fd, nsid) == attached) return 0;
  nvme_id_ctrl id{};
  if (const int failed = send(fd, nvme_admin_identify, 0, NVME_IDENTIFY_CNS_CTRL, &id)) {
    return failed;
  }
  nvme_ctrl_list list{};
  list.num = 1;
  list.identifier[0] = id.cntlid;
  return send(fd, nvme_admin_ns_attach, nsid,
              attached ? NVME_NS_ATTACH_SEL_CTRL_ATTACH : NVME_NS_ATTACH_SEL_CTRL_DEATTACH, &list);
}

std::uint32_t lba_format(int fd, std::uint32_t nsid) {
  nvme_id_ns ns{};
  if (send(fd, nvme_admin_identify, nsid, NVME_IDENTIFY_CNS_ALLOCATED_NS, &ns) != 0) return 0;
  return ns.flbas & 0xfU;
}

// A real Format NVM of a namespace that may be hidden.
bool format(int fd, std::uint32_t nsid, std::uint32_t lbaf) {
  const bool hidden = !is_attached(fd, nsid);
  if (hidden && set_attached(fd, nsid, true) != 0) return false;
  const std::uint32_t ses = NVME_FORMAT_SES_USER_DATA_ERASE;
  const bool done = send<void>(fd, nvme_admin_format_nvm, nsid, ses << 9U | lbaf, nullptr) == 0;
  return (!hidden || set_attached(fd, nsid, false) == 0) && done;
}

// What the model takes for its one namespace: the whole medium. It is erased in halves at the
// finest.
class RealMedium final : public emulator::Media {
 public:
  explicit RealMedium(int fd) : fd_(fd) {}
  bool create(std::uint32_t, std::uint64_t, bool) override { return false; }
  void remove(std::uint32_t) override {}
  void retire(std::uint32_t) override {}
  bool read(std::uint32_t, std::uint64_t, std::span<std::byte>) override { return false; }
  bool write(std::uint32_t, std::uint64_t, std::span<const std::byte>) override { return false; }
  bool discard(std::uint32_t, std::uint64_t offset, std::uint64_t length) override {
    const bool first = offset == 0 && length >= kMediumBytes / 2;
    const bool second = offset + length == kMediumBytes && length >= kMediumBytes / 2;
    if (first && second && is_attached(fd_, kWhole)) return erase(kWhole);
    return (!first || erase(kFirstHalf)) && (!second || erase(kSecondHalf));
  }

 private:
  bool erase(std::uint32_t nsid) { return format(fd_, nsid, lba_format(fd_, nsid)); }

  int fd_;
};

void make_new(State& state) {
  state = State{};
  emulator::reset_to_factory(state.drive);
  state.drive.sanitize.duration_ms = 300;
  state.drive.capabilities.capacity_bytes = kMediumBytes;
  emulator::NamespaceState& medium = state.drive.namespaces[0];
  medium.allocated = true;
  medium.attached = true;
  medium.blocks = kMediumBytes / 512;
  state.allocated[kWhole - 1] = true;
}

// The state, mapped and locked against threads and processes for as long as this lives.
class Locked final {
 public:
  Locked() : guard_(mutex()) {
    file_ = ::open(kStateFile, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0) ::abort();
    struct stat about {};
    if (::fstat(file_, &about) != 0) ::abort();
    const bool fresh = about.st_size == 0;
    if (fresh && ::ftruncate(file_, sizeof(State)) != 0) ::abort();
    void* const at = ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) ::abort();
    state_ = static_cast<State*>(at);
    if (fresh) make_new(*state_);
  }
  ~Locked() {
    ::munmap(state_, sizeof(State));
    ::close(file_);  // and with it the lock
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  State* operator->() { return state_; }
  State& operator*() { return *state_; }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  std::lock_guard<std::mutex> guard_;
  int file_ = -1;
  State* state_ = nullptr;
};

MonoMs now() {
  timespec at{};
  ::clock_gettime(CLOCK_BOOTTIME, &at);
  return MonoMs{std::int64_t{at.tv_sec} * 1000 + at.tv_nsec / 1'000'000};
}

// The command as the model sees it, and what must be known of the real drive before and after.
int ask_model(int fd, State& state, nvme_passthru_cmd& command) {
  emulator::SanitizeState& sanitize = state.drive.sanitize;
  // Writes pass the model by; that there were some shows in the drive's own counter.
  if (sanitize.data_erased && host_writes(fd) != state.writes_at_end) sanitize.data_erased = false;
  const bool was_erased = sanitize.data_erased;
  emulator::Command asked;
  asked.opcode = command.opcode;
  asked.nsid = command.nsid;
  asked.cdw10 = command.cdw10;
  asked.cdw11 = command.cdw11;
  asked.cdw12 = command.cdw12;
  asked.cdw13 = command.cdw13;
  asked.data = {reinterpret_cast<std::byte*>(command.addr), command.data_len};
  RealMedium medium(fd);
  emulator::Controller controller(state.drive, medium, now());
  const emulator::Completion done = controller.admin(asked);
  if (!was_erased && sanitize.data_erased) state.writes_at_end = host_writes(fd);
  command.result = done.result;
  return done.status;
}

int identify(int fd, const State& state, nvme_passthru_cmd& command) {
  const std::uint32_t cns = command.cdw10 & 0xffU;
  const auto allocated = [&](std::uint32_t nsid) {
    return nsid >= 1 && nsid <= kSlots && state.allocated[nsid - 1];
  };
  auto* const page = reinterpret_cast<std::byte*>(command.addr);
  if (command.data_len < NVME_IDENTIFY_DATA_SIZE) return kernel_admin(fd, command);
  if (cns == NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST) {
    nvme_ns_list list{};
    std::size_t count = 0;
    for (std::uint32_t nsid = command.nsid + 1; nsid <= kSlots; ++nsid) {
      if (allocated(nsid)) list.ns[count++] = nsid;
    }
    std::memcpy(page, &list, sizeof(list));
    return 0;
  }
  if (cns == NVME_IDENTIFY_CNS_ALLOCATED_NS && !allocated(command.nsid)) {
    std::memset(page, 0, NVME_IDENTIFY_DATA_SIZE);
    return 0;
  }
  const int done = kernel_admin(fd, command);
  if (done != 0 || cns != NVME_IDENTIFY_CNS_CTRL) return done;
  nvme_id_ctrl id{};
  std::memcpy(&id, page, sizeof(id));
  std::uint64_t used = 0;
  for (std::uint32_t nsid = 1; nsid <= kSlots; ++nsid) {
    if (allocated(nsid)) used += slot_bytes(nsid);
  }
  const std::uint64_t left = kMediumBytes - used;
  id.sanicap = state.drive.capabilities.sanicap;
  id.oacs |= NVME_CTRL_OACS_FORMAT | NVME_CTRL_OACS_NS_MGMT;
  std::memcpy(id.tnvmcap, &kMediumBytes, sizeof(kMediumBytes));
  std::memcpy(id.unvmcap, &left, sizeof(left));
  std::memcpy(page, &id, sizeof(id));
  return 0;
}

// QEMU's slot 1 holds another revision than its Identify tells, which no honest drive does.
int firmware_log(int fd, nvme_passthru_cmd& command) {
  nvme_id_ctrl id{};
  if (send(fd, nvme_admin_identify, 0, NVME_IDENTIFY_CNS_CTRL, &id) != 0) {
    return emulator::kInternalError;
  }
  const int done = kernel_admin(fd, command);
  if (done != 0 || command.data_len < sizeof(nvme_firmware_slot)) return done;
  auto* const page = reinterpret_cast<std::byte*>(command.addr);
  std::memcpy(page + offsetof(nvme_firmware_slot, frs), id.fr, sizeof(id.fr));
  return done;
}

int create_namespace(int fd, State& state, nvme_passthru_cmd& command) {
  nvme_id_ns wanted{};
  if (command.data_len < sizeof(wanted)) return emulator::kInvalidField;
  std::memcpy(&wanted, reinterpret_cast<const void*>(command.addr), sizeof(wanted));
  nvme_id_ns like{};  // any of QEMU's says which formats there are
  if (send(fd, nvme_admin_identify, kWhole, NVME_IDENTIFY_CNS_ALLOCATED_NS, &like) != 0) {
    return emulator::kInternalError;
  }
  const std::uint32_t lbaf = wanted.flbas & 0xfU;
  if (lbaf > like.nlbaf || like.lbaf[lbaf].ms != 0) return emulator::kInvalidFormat;
  const std::uint64_t bytes = wanted.nsze << like.lbaf[lbaf].ds;
  if (wanted.ncap != wanted.nsze) return emulator::kInvalidField;
  for (std::uint32_t nsid = 1; nsid <= kSlots; ++nsid) {
    if (state.allocated[nsid - 1] || slot_bytes(nsid) != bytes) continue;
    // The whole and the halves are the same blocks.
    const bool taken =
        nsid == kWhole ? state.allocated[1] || state.allocated[2] : state.allocated[kWhole - 1];
    if (taken) break;
    if (lba_format(fd, nsid) != lbaf && !format(fd, nsid, lbaf)) return emulator::kInternalError;
    state.allocated[nsid - 1] = true;
    command.result = nsid;
    return kSuccess;
  }
  return emulator::kInsufficientCapacity;
}

int delete_namespaces(int fd, State& state, const nvme_passthru_cmd& command) {
  const bool all = command.nsid == NVME_NSID_ALL;
  if (!all && (command.nsid < 1 || command.nsid > kSlots || !state.allocated[command.nsid - 1])) {
    return emulator::kInvalidNamespace;
  }
  for (std::uint32_t nsid = 1; nsid <= kSlots; ++nsid) {
    if (!state.allocated[nsid - 1] || (!all && nsid != command.nsid)) continue;
    if (set_attached(fd, nsid, false) != 0) return emulator::kInternalError;
    state.allocated[nsid - 1] = false;
  }
  return kSuccess;
}

int attach(int fd, const State& state, nvme_passthru_cmd& command) {
  const bool there =
      command.nsid >= 1 && command.nsid <= kSlots && state.allocated[command.nsid - 1];
  return there ? kernel_admin(fd, command) : int{emulator::kInvalidNamespace};
}

bool barred(const State& state) {
  return state.drive.sanitize.status == emulator::SanitizeStatus::in_progress ||
         state.drive.sanitize.failure_mode;
}

}  // namespace

bool is_hybrid(int fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISCHR(about.st_mode)) return false;
  const std::string folder = "/sys/dev/char/" + std::to_string(major(about.st_rdev)) + ":" +
                             std::to_string(minor(about.st_rdev));
  std::string serial;
  std::ifstream(folder + "/serial") >> serial;
  return serial == "HYBRID";
}

int hybrid_admin(int fd, nvme_passthru_cmd& command) {
  Locked state;
  switch (command.opcode) {
    case nvme_admin_sanitize_nvm:
      return ask_model(fd, *state, command);
    case nvme_admin_get_log_page:
      if ((command.cdw10 & 0xffU) == NVME_LOG_LID_SANITIZE) return ask_model(fd, *state, command);
      if ((command.cdw10 & 0xffU) == NVME_LOG_LID_FW_SLOT) return firmware_log(fd, command);
      return kernel_admin(fd, command);
    case nvme_admin_identify:
      return identify(fd, *state, command);
    case nvme_admin_get_features:
    case nvme_admin_set_features:
      return kernel_admin(fd, command);
    default:
      break;
  }
  if (barred(*state)) {
    return state->drive.sanitize.failure_mode ? emulator::kSanitizeFailed
                                              : emulator::kSanitizeInProgress;
  }
  switch (command.opcode) {
    case nvme_admin_ns_mgmt:
      return (command.cdw10 & 0xfU) == NVME_NS_MGMT_SEL_CREATE
                 ? create_namespace(fd, *state, command)
                 : delete_namespaces(fd, *state, command);
    case nvme_admin_ns_attach:
      return attach(fd, *state, command);
    default:
      return kernel_admin(fd, command);
  }
}

void with_hybrid(const std::function<void(emulator::DriveState&)>& work) {
  Locked state;
  work(state->drive);
}

void reset_hybrid(int fd) {
  Locked state;
  make_new(*state);
  for (const std::uint32_t nsid : {kFirstHalf, kSecondHalf}) set_attached(fd, nsid, false);
  set_attached(fd, kWhole, true);
  state->writes_at_end = host_writes(fd);
}

}  // namespace reclaim::guest
