// The NVMe controller model: one command in, one completion out, all memory in DriveState, all
// bytes in Media. It does no I/O of its own and reads no clock, so every run can be repeated.
// Thread: whichever holds the lock of the DriveState.
// Behaviour follows NVM Express base 1.4/2.0 as libnvme 1.3's <nvme/types.h> names its fields.
#pragma once

#include <nvme/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  // A write that is answered with success and changes nothing: asked after begin_write().
  [[nodiscard]] bool swallows(std::span<const std::byte> data) const;
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
  void disturb_sanitize(std::uint32_t done);
  [[nodiscard]] bool shows_media() const;
  Completion exit_media_verification(std::uint32_t action);
  void leave_media_verification();
  void cancel_media_verification();  // a loss of power does
  void erase_all(std::uint32_t percent);
  bool erase_range(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length, bool crypto,
                   bool keep_allocated);
  struct Part {
    std::uint64_t offset;
    std::uint64_t length;
  };
  bool erase_part(std::uint32_t nsid, const Part& part, bool crypto, bool keep_allocated);
  Completion sanitize(const Command& command);
  [[nodiscard]] std::uint16_t sanitize_prohibited() const;
  [[nodiscard]] std::uint16_t barred_by_sanitize() const;
  void sanitize_log(nvme_sanitize_log_page& log) const;

  // identify.cpp
  Completion identify(const Command& command);
  std::vector<std::byte> supported_logs() const;
  void made_up_controller(nvme_id_ctrl& id) const;
  void identify_controller(nvme_id_ctrl& id) const;
  void identify_namespace(std::uint32_t nsid, nvme_id_ns& id) const;
  void namespace_descriptors(std::uint32_t nsid, std::span<std::byte> page) const;
  [[nodiscard]] std::uint64_t unallocated_bytes() const;

  // logs.cpp
  Completion get_log(const Command& command);
  void smart_log(nvme_smart_log& log) const;
  void firmware_log(nvme_firmware_slot& log) const;

  // features.cpp
  Completion get_features(const Command& command);
  Completion set_features(const Command& command);
  Completion write_protection(const Command& command);
  Completion host_memory(const Command& command, bool set);
  Completion host_identifier(const Command& command, bool set);

  // reservations.cpp
  Completion reservation(const Command& command);
  Completion reservation_register(const Command& command);
  Completion reservation_acquire(const Command& command);
  Completion reservation_release(const Command& command);
  Completion reservation_report(const Command& command);
  [[nodiscard]] std::uint16_t reserved_to_others(std::uint32_t nsid, bool write) const;
  void reset_reservations(bool power_lost);

  // security.cpp
  Completion security_send(const Command& command);
  Completion security_receive(const Command& command);
  void level0_discovery(std::span<std::byte> page) const;
  Completion rpmb_answer(std::span<std::byte> frame);

  // opal.cpp
  Completion opal_send(const Command& command);
  std::size_t opal_answer(std::span<std::byte> page);  // of how many bytes it is

  // surfaces.cpp
  [[nodiscard]] std::vector<std::byte> boot_partition_log(std::uint32_t partition) const;
  [[nodiscard]] std::vector<std::byte> lockdown_log(std::uint32_t selected) const;
  [[nodiscard]] std::vector<std::byte> self_test_log() const;
  [[nodiscard]] std::uint16_t locked_down(const Command& command) const;
  Completion lock_down(const Command& command);
  Completion self_test(const Command& command);
  void end_self_test(std::uint8_t result);
  [[nodiscard]] std::uint32_t self_test_percent() const;

  // firmware.cpp
  Completion download_firmware(const Command& command);
  Completion commit_firmware(const Command& command);
  std::uint16_t store_firmware(std::uint8_t slot);
  void activate_firmware(std::uint8_t slot);
  void reset_firmware(bool power_lost);

  // namespaces.cpp
  Completion format(const Command& command);
  std::uint16_t format_one(std::uint32_t nsid, std::uint8_t lba_format, std::uint8_t erase);
  Completion manage_namespace(const Command& command);
  Completion create_namespace(const Command& command);
  Completion attach_namespace(const Command& command);

  // controller.cpp
  [[nodiscard]] NamespaceState* allocated(std::uint32_t nsid) const;
  // Allocated, and not kept from the host's eyes by a fault.
  [[nodiscard]] NamespaceState* visible(std::uint32_t nsid) const;
  [[nodiscard]] NamespaceState* attached(std::uint32_t nsid) const;
  [[nodiscard]] std::uint16_t check_range(std::uint32_t nsid, std::uint64_t offset,
                                          std::uint64_t length) const;
  // A fault of writing; one that is counted passes and looks like a drive's internal error.
  [[nodiscard]] std::uint16_t write_fault(std::uint32_t nsid, std::uint64_t offset,
                                          std::uint64_t length);
  [[nodiscard]] bool touches_unreadable(std::uint32_t nsid, std::uint64_t offset,
                                        std::uint64_t length) const;

  // io.cpp
  void mark_written(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] std::uint16_t may_write(std::uint32_t nsid, std::uint64_t offset,
                                        std::uint64_t length) const;
  // The parts of the range that a fault does not keep from being erased.
  [[nodiscard]] std::vector<Part> reachable(std::uint32_t nsid, std::uint64_t offset,
                                            std::uint64_t length) const;
  Completion read_write(const Command& command, bool write);
  Completion compare(const Command& command);
  Completion deallocate(const Command& command);

  DriveState& state_;
  Media& media_;
  std::int64_t now_ms_;
};

}  // namespace reclaim::emulator
