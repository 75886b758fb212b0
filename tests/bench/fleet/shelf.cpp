#include "tests/bench/fleet/shelf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <ctime>
#include <utility>

#include "state/base/check.h"

namespace reclaim::fleet {

Shelf::Shelf(const UniqueFd& file) {
  CHECK(file.valid());
  struct stat facts {};
  CHECK(::fstat(file.get(), &facts) == 0);
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  CHECK(at != MAP_FAILED);
  disks_ = {static_cast<Disk*>(at), bytes / sizeof(Disk)};
}

Shelf::Shelf(Shelf&& other) noexcept : disks_(std::exchange(other.disks_, {})) {}

Shelf::~Shelf() {
  if (!disks_.empty()) ::munmap(disks_.data(), disks_.size_bytes());
}

// A file of zeros is a shelf of blank drives.
Shelf Shelf::make(const std::string& path, std::size_t drives) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  CHECK(file.valid());
  CHECK(::ftruncate(file.get(), static_cast<off_t>(drives * sizeof(Disk))) == 0);
  return Shelf(file);
}

Shelf Shelf::open(const std::string& path) {
  return Shelf(UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
}

void tenant_comes(Disk& disk) {
  disk.guest = 1;
  disk.dirty = 1;
  disk.tenants += 1;
  disk.content += 2;
  disk.host_reads += 10;
  disk.host_writes += 10;
}

void tenant_leaves(Disk& disk) {
  disk.host_writes += 10;
  disk.guest = 0;
}

void settle(Disk& disk, std::int64_t now) {
  if (disk.sanitize_runs == 0 || now < disk.sanitize_ends_ms) return;
  if (disk.guest != 0) disk.erased_with_guest = 1;
  disk.content += 2;
  disk.canary = 0;
  disk.dirty = 0;
  disk.erases += 1;
  disk.sanitize_runs = 0;
}

std::int64_t now_ms() {
  timespec now{};
  CHECK(::clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace reclaim::fleet
