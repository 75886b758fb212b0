// The drives of a fleet, in a file that all processes of the bench map: what a drive holds outlives
// the worker that is killed, and the bench sees what is on it.
//
// Thread: any; a drive is written by its host's worker, and by the bench while a tenant has it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "state/base/unique_fd.h"

namespace reclaim::fleet {

struct Disk {
  std::atomic<std::uint32_t> guest;   // a tenant's guest has it now
  std::atomic<std::uint32_t> dirty;   // it holds a tenant's data
  std::atomic<std::uint32_t> broken;  // it refuses each sanitize
  std::atomic<std::uint64_t> content;
  std::atomic<std::uint64_t> canary;
  std::atomic<std::uint64_t> host_reads;
  std::atomic<std::uint64_t> host_writes;
  std::atomic<std::int64_t> sanitize_ends_ms;  // CLOCK_MONOTONIC; 0: none ever ran
  std::atomic<std::uint32_t> sanitize_runs;
  std::atomic<std::uint32_t> sanitize_cdw10;     // of the last one
  std::atomic<std::uint32_t> tenants;            // that ever had it
  std::atomic<std::uint32_t> erases;             // that ever ended
  std::atomic<std::uint32_t> erased_with_guest;  // what must never be
};

class Shelf final {
 public:
  // A new file of `drives` blank drives.
  [[nodiscard]] static Shelf make(const std::string& path, std::size_t drives);
  [[nodiscard]] static Shelf open(const std::string& path);
  Shelf(Shelf&& other) noexcept;
  Shelf& operator=(Shelf&&) = delete;
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;
  ~Shelf();

  [[nodiscard]] std::span<Disk> disks() const { return disks_; }

 private:
  explicit Shelf(const UniqueFd& file);

  std::span<Disk> disks_;
};

// A tenant gets the drive and writes to it; it leaves, and the drive is as it left it.
void tenant_comes(Disk& disk);
void tenant_leaves(Disk& disk);
// Lets a sanitize whose time has come end.
void settle(Disk& disk, std::int64_t now_ms);
[[nodiscard]] std::int64_t now_ms();

}  // namespace reclaim::fleet
