#include "nvme/controller/admin_change.h"

#include <fmt/core.h>
#include <libnvme.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "nvme/controller/admin_command.h"
#include "nvme/controller/buffer.h"
#include "nvme/controller/bytes.h"
#include "nvme/controller/status.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::uint8_t kSetFeatures = 0x09;
constexpr std::uint8_t kGetFeatures = 0x0a;
constexpr std::uint8_t kNamespaceManagement = 0x0d;
constexpr std::uint8_t kSelfTest = 0x14;
constexpr std::uint8_t kNamespaceAttachment = 0x15;
constexpr std::uint8_t kFormat = 0x80;
constexpr std::uint8_t kHostIdentifier = 0x81;
constexpr std::uint8_t kReservationRegister = 0x0d;
constexpr std::uint8_t kReservationRelease = 0x15;
constexpr std::uint64_t kOurKey = 0x5245434c41494d31;   // "RECLAIM1"
constexpr std::uint64_t kOurHost = 0x5245434c41494d48;  // "RECLAIMH"

Status without_result(Result<std::uint32_t> done) {
  if (!done) return std::move(done).error();
  return Ok{};
}

// A drive takes part in reservations only for a host that told who it is.
Status ensure_host_identifier(int controller_fd, std::uint32_t timeout_ms) {
  AlignedBuffer buffer(kPageBytes);
  const auto bytes = buffer.bytes().first(8);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  RawCommand get;
  get.opcode = kGetFeatures;
  get.cdw10 = kHostIdentifier;
  get.data = bytes;
  const auto read = admin_command(controller_fd, get, timeout_ms, "Get Features, host identifier");
  if (!read) return read.error();
  if (load_le<std::uint64_t>(bytes, 0) != 0) return Ok{};
  store_le(bytes, 0, kOurHost);
  RawCommand set = get;
  set.opcode = kSetFeatures;
  return without_result(
      admin_command(controller_fd, set, timeout_ms, "Set Features, host identifier"));
}

}  // namespace

Status set_feature(int controller_fd, std::uint8_t id, std::uint32_t nsid, std::uint32_t value,
                   bool save, std::uint32_t timeout_ms) {
  RawCommand command;
  command.opcode = kSetFeatures;
  command.nsid = nsid;
  command.cdw10 = id | (save ? 1U << 31U : 0U);
  command.cdw11 = value;
  return without_result(
      admin_command(controller_fd, command, timeout_ms, fmt::format("Set Features {:#04x}", id)));
}

Status abort_self_test(int controller_fd, std::uint32_t timeout_ms) {
  constexpr std::uint32_t kAbort = 0xf;
  RawCommand command;
  command.opcode = kSelfTest;
  command.nsid = 0xffffffff;
  command.cdw10 = kAbort;
  return without_result(
      admin_command(controller_fd, command, timeout_ms, "Device Self-test, abort"));
}

Status clear_reservations(int controller_fd, int namespace_fd, std::uint32_t nsid,
                          std::uint32_t timeout_ms) {
  constexpr std::uint32_t kRegisterOverMine = 1U << 3U;  // RREGA 0, IEKEY
  constexpr std::uint32_t kDoNotPersist = 2U << 30U;     // CPTPL: through a power loss
  constexpr std::uint32_t kClear = 1U;                   // RRELA
  if (auto host = ensure_host_identifier(controller_fd, timeout_ms); !host) return host;
  AlignedBuffer buffer(kPageBytes);
  RawCommand join;
  join.opcode = kReservationRegister;
  join.nsid = nsid;
  join.cdw10 = kRegisterOverMine | kDoNotPersist;
  join.data = buffer.bytes().first(16);
  store_le(join.data, 0, std::uint64_t{0});
  store_le(join.data, 8, kOurKey);
  const auto joined = io_command(namespace_fd, join, timeout_ms,
                                 fmt::format("Reservation Register, namespace {}", nsid));
  if (!joined) return joined.error();
  RawCommand clear;
  clear.opcode = kReservationRelease;
  clear.nsid = nsid;
  clear.cdw10 = kClear;
  clear.data = buffer.bytes().first(8);
  store_le(clear.data, 0, kOurKey);
  return without_result(io_command(namespace_fd, clear, timeout_ms,
                                   fmt::format("Reservation Release, namespace {}", nsid)));
}

Status delete_namespace(int controller_fd, std::uint32_t nsid, std::uint32_t timeout_ms) {
  RawCommand command;
  command.opcode = kNamespaceManagement;
  command.nsid = nsid;
  command.cdw10 = 1;  // SEL: delete
  return without_result(admin_command(controller_fd, command, timeout_ms,
                                      fmt::format("Namespace Management, delete {}", nsid)));
}

Result<std::uint32_t> create_namespace(int controller_fd, const NamespaceToMake& make,
                                       std::uint64_t blocks, std::uint32_t timeout_ms) {
  AlignedBuffer buffer(kPageBytes);
  const auto page = buffer.bytes().first(kPageBytes);
  std::fill(page.begin(), page.end(), std::byte{0});
  store_le(page, 0, blocks);  // NSZE
  store_le(page, 8, blocks);  // NCAP
  // FLBAS: the index in bits 3:0 and 6:5.
  store_le(page, 26, static_cast<std::uint8_t>((make.format & 0xfU) | (make.format & 0x30U) << 1U));
  store_le(page, 30, make.sharing);  // NMIC
  RawCommand command;
  command.opcode = kNamespaceManagement;
  command.data = page;
  return admin_command(controller_fd, command, timeout_ms, "Namespace Management, create");
}

Status attach_namespace(int controller_fd, std::uint32_t nsid, std::uint16_t controller_id,
                        bool attach, std::uint32_t timeout_ms) {
  AlignedBuffer buffer(kPageBytes);
  const auto page = buffer.bytes().first(kPageBytes);
  std::fill(page.begin(), page.end(), std::byte{0});
  store_le(page, 0, std::uint16_t{1});
  store_le(page, 2, controller_id);
  RawCommand command;
  command.opcode = kNamespaceAttachment;
  command.nsid = nsid;
  command.cdw10 = attach ? 0U : 1U;
  command.data = page;
  return without_result(admin_command(
      controller_fd, command, timeout_ms,
      fmt::format("Namespace Attachment, {} {}", attach ? "attach" : "detach", nsid)));
}

Status change_lba_format(int controller_fd, const NamespaceToFormat& format,
                         std::uint32_t timeout_ms) {
  RawCommand command;
  command.opcode = kFormat;
  command.nsid = format.nsid;
  command.cdw10 = (format.format & 0xfU) | (format.format & 0x30U) << 8U;
  return without_result(admin_command(controller_fd, command, timeout_ms,
                                      fmt::format("Format NVM, namespace {}", format.nsid)));
}

Status rescan_namespaces(int controller_fd) {
  if (nvme_ns_rescan(controller_fd) == 0) return Ok{};
  return errno_to_error(errno, "NVME_IOCTL_RESCAN");
}

}  // namespace reclaim::nvme
