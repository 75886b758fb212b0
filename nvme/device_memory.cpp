#include "nvme/device_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "nvme/unique_fd.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;

// The upper half of CAP. Registers are read 32 bits at a time: not every controller takes more.
std::optional<std::uint32_t> read_capabilities(const std::string& resource) {
  const UniqueFd file(::open(resource.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 ||
      info.st_size < static_cast<off_t>(kPageBytes)) {
    return std::nullopt;
  }
  void* const mapped = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  const std::uint32_t upper = static_cast<const volatile std::uint32_t*>(mapped)[1];
  ::munmap(mapped, kPageBytes);
  // What a controller answers that is not there any more.
  if (upper == ~std::uint32_t{0}) return std::nullopt;
  return upper;
}

}  // namespace

DeviceMemory read_device_memory(const std::string& sysfs_root, const SysDrive& drive) {
  constexpr std::uint32_t kPmrs = 1U << (56U - 32U);
  DeviceMemory memory;
  if (!drive.controller.empty()) {
    const std::string folder = fmt::format("{}/class/nvme/{}", sysfs_root, drive.controller);
    if (::access(folder.c_str(), F_OK) == 0) {
      memory.buffer = ::access((folder + "/cmb").c_str(), F_OK) == 0 ||
                      ::access((folder + "/cmbsz").c_str(), F_OK) == 0;
    }
  }
  const auto upper = read_capabilities(
      fmt::format("{}/bus/pci/devices/{}/resource0", sysfs_root, to_string(drive.address)));
  if (upper) memory.persistent = (*upper & kPmrs) != 0;
  return memory;
}

}  // namespace reclaim::nvme
