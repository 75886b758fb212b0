#include "nvme/host/device_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <sstream>

#include "state/base/unique_fd.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kResourceBytesMax = 4096;
// Registers and the doorbells of more queues than any drive has.
constexpr std::uint64_t kRegistersBytesMax = 64U << 10U;

struct Registers {
  std::uint32_t capabilities = 0;  // the upper half of CAP
  std::uint32_t buffer_size = 0;   // CMBSZ
};

// Registers are read 32 bits at a time: not every controller takes more.
std::optional<Registers> read_registers(const std::string& resource) {
  const UniqueFd file(::open(resource.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 ||
      info.st_size < static_cast<off_t>(kPageBytes)) {
    return std::nullopt;
  }
  void* const mapped = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  const auto* const words = static_cast<const volatile std::uint32_t*>(mapped);
  const std::uint32_t queue_entries = words[0] & 0xffffU;  // CAP.MQES, which is at least 1
  const Registers registers{words[1], words[0x38 / 4]};
  ::munmap(mapped, kPageBytes);
  // A controller that is gone, or that sleeps in D3, answers with ones, or with zeroes in a guest.
  if (queue_entries == 0 || registers.capabilities == ~std::uint32_t{0}) return std::nullopt;
  return registers;
}

// True if the function shows the host memory in which a CMB or a PMR could lie: another memory BAR
// than that of the registers, or one that is larger than they are. The kernel's lines are "start
// end flags", six of BARs first. Nothing: not told.
std::optional<bool> has_room_for_memory(const std::string& resource) {
  constexpr std::uint64_t kMemory = 0x200;  // IORESOURCE_MEM of the kernel's include/linux/ioport.h
  constexpr int kBars = 6;
  const auto text = read_file(resource, kResourceBytesMax);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  lines >> std::hex;
  for (int bar = 0; bar < kBars; ++bar) {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t flags = 0;
    for (std::uint64_t* const value : {&start, &end, &flags}) {
      if (!(lines >> *value)) return std::nullopt;
    }
    if ((flags & kMemory) != 0 && (bar != 0 || end - start >= kRegistersBytesMax)) return true;
  }
  return false;
}

}  // namespace

DeviceMemory read_device_memory(const std::string& sysfs_root, const SysDrive& drive) {
  constexpr std::uint32_t kPmrs = 1U << (56U - 32U);
  constexpr std::uint32_t kCmbs = 1U << (57U - 32U);
  const std::string function =
      fmt::format("{}/bus/pci/devices/{}", sysfs_root, to_string(drive.address));
  DeviceMemory memory;
  if (const auto registers = read_registers(function + "/resource0")) {
    memory.buffer = (registers->capabilities & kCmbs) != 0 || registers->buffer_size != 0;
    memory.persistent = (registers->capabilities & kPmrs) != 0;
  } else if (has_room_for_memory(function + "/resource") == std::optional(false)) {
    memory.buffer = false;
    memory.persistent = false;
  }
  const std::string folder = fmt::format("{}/class/nvme/{}", sysfs_root, drive.controller);
  if (!drive.controller.empty() && (::access((folder + "/cmb").c_str(), F_OK) == 0 ||
                                    ::access((folder + "/cmbsz").c_str(), F_OK) == 0)) {
    memory.buffer = true;
  }
  return memory;
}

}  // namespace reclaim::nvme
