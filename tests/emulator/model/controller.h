// The NVMe controller model: one command in, one completion out, all memory in DriveState, all
// bytes in Media. It does no I/O of its own and reads no clock, so every run can be repeated.
// Thread: whichever holds the lock of the DriveState.
// Behaviour follows NVM Express base 1.4/2.0 as libnvme 1.3's <nvme/types.h> names its fields.
#pragma once

#include <nvme/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "state/base/clock.h"
#include "tests/emulator/model/drive_state.h"
#include "tests/emulator/model/media.h"
#include "tests/emulator/model/status.h"

namespace reclaim::emulator {

struct Command {
  std::uint8_t opcode = 0;
  std::uint32_t nsid = 0;
  std::uint32_t cdw10 = 0;
  std::uint32_t cdw11 = 0;
  std::uint32_t cdw12 = 0;
  std::uint32_t cdw13 = 0;
  std::uint32_t cdw14 = 0;
  std::uint32_t cdw15 = 0;
  std::span<std::byte> data = {};  // the host's buffer, both directions
};

struct Completion {
  std::uint16_t status = kSuccess;
  std::uint32_t result = 0;  // completion dword 0
};

class Controller final {
 public:
  Controller(DriveState& state, Media& media, MonoMs now);

  Completion admin(const Command& command);
  Completion io(const Command& command);

  // The kernel's block layer on its way to the drive: whether these bytes may be moved now, and the
  // counting of it. The bytes themselves are moved by the caller after a kSuccess.
  std::uint16_t begin_read(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length);
  std::uint16_t begin_write(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length);
  // Write Zeroes or deallocation as the block layer asks for it (BLKZEROOUT, BLKDISCARD).
  std::uint16_t zero_range(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length);

  void reset();       // controller level reset: a running sanitize goes on
  void power_loss();  // the same without warning; counted as an unsafe shutdown

  [[nodiscard]] std::uint64_t namespace_bytes(std::uint32_t nsid) const;
  [[nodiscard]] std::uint32_t block_bytes(std::uint32_t nsid) const;

 private:
  // sanitize.cpp
  void advance();
  [[nodiscard]] std::uint32_t progress() const;  // of 65536
  void finish_sanitize();
  void erase_all(std::uint32_t percent);
  bool erase_range(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length, bool crypto,
                   bool keep_allocated);
  Completion sanitize(const Command& command);
  [[nodiscard]] std::uint16_t sanitize_prohibited() const;
  [[nodiscard]] std::uint16_t barred_by_sanitize() const;
  void sanitize_log(nvme_sanitize_log_page& log) const;

  // identify.cpp
  Completion identify(const Command& command);
  void identify_controller(nvme_id_ctrl& id) const;
  void identify_namespace(std::uint32_t nsid, nvme_id_ns& id) const;
  void namespace_descriptors(std::uint32_t nsid, std::span<std::byte> page) const;
  [[nodiscard]] std::uint64_t unallocated_bytes() const;

  // logs.cpp
  Completion get_log(const Command& command);
  void smart_log(nvme_smart_log& log) const;
  void firmware_log(nvme_firmware_slot& log) const;
  Completion get_features(const Command& command);
  Completion set_features(const Command& command);

  // namespaces.cpp
  Completion format(const Command& command);
  std::uint16_t format_one(std::uint32_t nsid, std::uint8_t lba_format, std::uint8_t erase);
  Completion manage_namespace(const Command& command);
  Completion create_namespace(const Command& command);
  Completion attach_namespace(const Command& command);

  // controller.cpp
  [[nodiscard]] NamespaceState* allocated(std::uint32_t nsid) const;
  [[nodiscard]] NamespaceState* attached(std::uint32_t nsid) const;
  [[nodiscard]] std::uint16_t check_range(std::uint32_t nsid, std::uint64_t offset,
                                          std::uint64_t length) const;
  [[nodiscard]] bool touches_unreadable(std::uint32_t nsid, std::uint64_t offset,
                                        std::uint64_t length) const;

  // io.cpp
  Completion read_write(const Command& command, bool write);
  Completion compare(const Command& command);
  Completion deallocate(const Command& command);

  DriveState& state_;
  Media& media_;
  std::int64_t now_ms_;
};

}  // namespace reclaim::emulator
