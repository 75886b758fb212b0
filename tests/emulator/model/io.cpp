// The NVM command set, and the block layer's way in.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {

std::uint16_t Controller::begin_read(std::uint32_t nsid, std::uint64_t offset,
                                     std::uint64_t length) {
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) return barred;
  if (const std::uint16_t bad = check_range(nsid, offset, length); bad != kSuccess) return bad;
  ++state_.smart.host_reads;
  if (touches_unreadable(nsid, offset, length)) {
    ++state_.smart.media_errors;
    return kUnrecoveredRead;
  }
  state_.smart.sectors_read += length / 512;
  return kSuccess;
}

std::uint16_t Controller::begin_write(std::uint32_t nsid, std::uint64_t offset,
                                      std::uint64_t length) {
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) return barred;
  if (const std::uint16_t bad = check_range(nsid, offset, length); bad != kSuccess) return bad;
  if (allocated(nsid)->write_protect != 0) return kWriteProtected;
  ++state_.smart.host_writes;
  state_.smart.sectors_written += length / 512;
  state_.sanitize.data_erased = false;
  return kSuccess;
}

std::uint16_t Controller::zero_range(std::uint32_t nsid, std::uint64_t offset,
                                     std::uint64_t length) {
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) return barred;
  if (const std::uint16_t bad = check_range(nsid, offset, length); bad != kSuccess) return bad;
  if (allocated(nsid)->write_protect != 0) return kWriteProtected;
  state_.sanitize.data_erased = false;
  if (state_.faults.never_writes || state_.faults.lies_keeps_data) return kSuccess;
  return media_.discard(nsid, offset, length) ? kSuccess : kInternalError;
}

Completion Controller::read_write(const Command& command, bool write) {
  const std::uint64_t block = block_bytes(command.nsid);
  const std::uint64_t slba = command.cdw10 | std::uint64_t{command.cdw11} << 32U;
  const std::uint64_t length = ((command.cdw12 & 0xffffU) + 1) * block;
  const std::uint64_t limit = std::uint64_t{4096} << state_.capabilities.mdts;
  if (attached(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
  if (state_.capabilities.mdts != 0 && length > limit) return Completion{kInvalidField, 0};
  if (command.data.size() < length) return Completion{kInvalidField, 0};
  if (slba > namespace_bytes(command.nsid) / block) return Completion{kLbaOutOfRange, 0};
  const std::uint64_t offset = slba * block;
  const std::uint16_t may =
      write ? begin_write(command.nsid, offset, length) : begin_read(command.nsid, offset, length);
  if (may != kSuccess) return Completion{may, 0};
  const std::span<std::byte> data = command.data.first(length);
  if (write && state_.faults.never_writes) return Completion{};
  const bool done =
      write ? media_.write(command.nsid, offset, data) : media_.read(command.nsid, offset, data);
  return Completion{done ? kSuccess : kInternalError, 0};
}

Completion Controller::compare(const Command& command) {
  std::vector<std::byte> stored(command.data.size());
  Command read = command;
  read.data = stored;
  const Completion done = read_write(read, false);
  if (done.status != kSuccess) return done;
  const std::uint64_t length = ((command.cdw12 & 0xffffU) + 1) * block_bytes(command.nsid);
  const bool same = std::equal(stored.data(), stored.data() + length, command.data.data());
  return Completion{same ? kSuccess : kCompareFailed, 0};
}

Completion Controller::deallocate(const Command& command) {
  const std::uint64_t block = block_bytes(command.nsid);
  const std::uint32_t ranges = (command.cdw10 & 0xffU) + 1;
  if (command.data.size() < ranges * sizeof(nvme_dsm_range)) return Completion{kInvalidField, 0};
  if (attached(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
  if ((command.cdw11 & NVME_DSMGMT_AD) == 0) return Completion{};
  for (std::uint32_t i = 0; i < ranges; ++i) {
    nvme_dsm_range range{};
    std::memcpy(&range, command.data.data() + i * sizeof(range), sizeof(range));
    if (range.slba > namespace_bytes(command.nsid) / block) return Completion{kLbaOutOfRange, 0};
    const std::uint16_t done =
        zero_range(command.nsid, range.slba * block, std::uint64_t{range.nlb} * block);
    if (done != kSuccess) return Completion{done, 0};
  }
  return Completion{};
}

Completion Controller::io(const Command& command) {
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) {
    return Completion{barred, 0};
  }
  switch (command.opcode) {
    case nvme_cmd_flush:
      if (command.nsid != NVME_NSID_ALL && attached(command.nsid) == nullptr) {
        return Completion{kInvalidNamespace, 0};
      }
      return Completion{};
    case nvme_cmd_write:
      return read_write(command, true);
    case nvme_cmd_read:
      return read_write(command, false);
    case nvme_cmd_compare:
      if ((state_.capabilities.oncs & 1U) == 0) return Completion{kInvalidOpcode, 0};
      return compare(command);
    case nvme_cmd_write_zeroes: {
      if ((state_.capabilities.oncs & 1U << 3U) == 0) return Completion{kInvalidOpcode, 0};
      const std::uint64_t block = block_bytes(command.nsid);
      const std::uint64_t slba = command.cdw10 | std::uint64_t{command.cdw11} << 32U;
      const std::uint64_t length = ((command.cdw12 & 0xffffU) + 1) * block;
      const std::uint8_t wzsl = state_.capabilities.wzsl;
      if (wzsl != 0 && length > std::uint64_t{4096} << wzsl) return Completion{kInvalidField, 0};
      if (attached(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
      if (slba > namespace_bytes(command.nsid) / block) return Completion{kLbaOutOfRange, 0};
      return Completion{zero_range(command.nsid, slba * block, length), 0};
    }
    case nvme_cmd_dsm:
      if ((state_.capabilities.oncs & 1U << 2U) == 0) return Completion{kInvalidOpcode, 0};
      return deallocate(command);
    default:
      return Completion{kInvalidOpcode, 0};
  }
}

}  // namespace reclaim::emulator
