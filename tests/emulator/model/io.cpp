// The NVM command set, and the block layer's way in.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {

std::uint16_t Controller::begin_read(std::uint32_t nsid, std::uint64_t offset,
                                     std::uint64_t length) {
  const bool of_media = shows_media() && !state_.faults.refuses_media_reads;
  const std::uint16_t barred = barred_by_sanitize();
  if (barred != kSuccess && !of_media) return barred;
  if (const std::uint16_t bad = check_range(nsid, offset, length); bad != kSuccess) return bad;
  if (state_.security.locked) return kAccessDenied;
  if (const std::uint16_t no = reserved_to_others(nsid, false); no != kSuccess) return no;
  ++state_.smart.host_reads;
  if (state_.faults.written_while_read) ++state_.smart.host_writes;
  if (touches_unreadable(nsid, offset, length)) {
    ++state_.smart.media_errors;
    return kUnrecoveredRead;
  }
  state_.smart.sectors_read += length / 512;
  return of_media ? kSuccessfulMediaRead : kSuccess;
}

std::uint16_t Controller::may_write(std::uint32_t nsid, std::uint64_t offset,
                                    std::uint64_t length) const {
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) return barred;
  if (const std::uint16_t bad = check_range(nsid, offset, length); bad != kSuccess) return bad;
  if (state_.security.locked) return kAccessDenied;
  if (const std::uint16_t no = reserved_to_others(nsid, true); no != kSuccess) return no;
  return allocated(nsid)->write_protect != 0 ? kWriteProtected : kSuccess;
}

std::uint16_t Controller::begin_write(std::uint32_t nsid, std::uint64_t offset,
                                      std::uint64_t length) {
  if (const std::uint16_t no = may_write(nsid, offset, length); no != kSuccess) return no;
  if (const std::uint16_t no = write_fault(nsid, offset, length); no != kSuccess) return no;
  if (!state_.faults.counts_no_writes) ++state_.smart.host_writes;
  state_.smart.sectors_written += length / 512;
  state_.sanitize.data_erased = false;
  mark_written(nsid, offset, length);
  return kSuccess;
}

void Controller::mark_written(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t part = std::max<std::uint64_t>(namespace_bytes(nsid) / 4096, 1);
  if (length == 0 || !state_.sanitize.unreadable) return;
  for (std::uint64_t at = offset / part; at <= (offset + length - 1) / part; ++at) {
    const std::uint64_t bit = std::min<std::uint64_t>(at, 4095);
    state_.written[nsid - 1][bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

bool Controller::swallows(std::span<const std::byte> data) const {
  if (state_.faults.never_writes) return true;
  return state_.faults.drops_zero_writes &&
         std::all_of(data.begin(), data.end(), [](std::byte each) { return each == std::byte{0}; });
}

std::vector<Controller::Part> Controller::reachable(std::uint32_t nsid, std::uint64_t offset,
                                                    std::uint64_t length) const {
  const Faults& faults = state_.faults;
  const std::uint64_t end = offset + length;
  const std::uint64_t kept = faults.keeps_offset;
  const std::uint64_t kept_end = kept + faults.keeps_length;
  if (faults.keeps_nsid != nsid || kept >= end || kept_end <= offset) return {{offset, length}};
  std::vector<Part> parts;
  if (offset < kept) parts.push_back({offset, kept - offset});
  if (kept_end < end) parts.push_back({kept_end, end - kept_end});
  return parts;
}

std::uint16_t Controller::zero_range(std::uint32_t nsid, std::uint64_t offset,
                                     std::uint64_t length) {
  if (const std::uint16_t no = may_write(nsid, offset, length); no != kSuccess) return no;
  if (const std::uint16_t no = write_fault(nsid, offset, length); no != kSuccess) return no;
  const Faults& faults = state_.faults;
  if (!faults.counts_no_writes && !faults.counts_no_zeroing) ++state_.smart.host_writes;
  state_.sanitize.data_erased = false;
  if (faults.never_writes || faults.lies_keeps_data || faults.zeroes_nothing) return kSuccess;
  const std::uint64_t block = block_bytes(nsid);
  const std::uint64_t done = faults.zeroes_half ? length / 2 / block * block : length;
  mark_written(nsid, offset, done);
  for (const Part& part : reachable(nsid, offset, done)) {
    if (!media_.discard(nsid, part.offset, part.length)) return kInternalError;
  }
  return kSuccess;
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
  if (may != kSuccess && may != kSuccessfulMediaRead) return Completion{may, 0};
  const std::span<std::byte> data = command.data.first(length);
  if (write && swallows(data)) return Completion{};
  const bool done =
      write ? media_.write(command.nsid, offset, data) : media_.read(command.nsid, offset, data);
  return Completion{done ? may : kInternalError, 0};
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
  const std::uint16_t barred = barred_by_sanitize();
  const bool of_media = shows_media() && command.opcode == nvme_cmd_read;
  if (barred != kSuccess && !of_media) return Completion{barred, 0};
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
    case nvme_cmd_resv_register:
    case nvme_cmd_resv_report:
    case nvme_cmd_resv_acquire:
    case nvme_cmd_resv_release:
      return reservation(command);
    default:
      return Completion{kInvalidOpcode, 0};
  }
}

}  // namespace reclaim::emulator
