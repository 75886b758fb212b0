#include "nvme/firmware/update.h"

#include <fmt/core.h>
#include <libnvme.h>

#include <algorithm>
#include <cerrno>

#include "nvme/controller/admin_command.h"
#include "nvme/controller/buffer.h"
#include "nvme/controller/status.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kGetLog = 0x02;
constexpr std::uint8_t kIdentify = 0x06;
constexpr std::uint8_t kFirmwareCommit = 0x10;
constexpr std::uint8_t kFirmwareDownload = 0x11;
constexpr std::uint32_t kSlotLog = 0x03;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLogBytes = 512;
constexpr std::size_t kDwordBytes = 4;
constexpr std::uint32_t kCommitTimeoutMs = 300'000;  // it may write flash for minutes
constexpr std::uint16_t kNeedsControllerReset = 0x111;
constexpr std::uint16_t kTakesTooLong = 0x112;

// Makes Errc::failed of Errc::not_found: a drive that does not know a command which it claims to
// have is no reason to go on without.
Error refused(Error error) {
  if (error.code == Errc::not_found) error.code = Errc::failed;
  return error;
}

}  // namespace

Result<FirmwareReading> read_firmware(int controller_fd, std::uint32_t timeout_ms) {
  AlignedBuffer buffer(kPageBytes);
  std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{0});
  RawCommand identify;
  identify.opcode = kIdentify;
  identify.cdw10 = 1;  // CNS: the controller
  identify.data = buffer.bytes();
  const auto told = admin_command(controller_fd, identify, timeout_ms, "Identify Controller");
  if (!told) return refused(told.error());
  FirmwareReading reading;
  const auto abilities = parse_controller_abilities(identify.data, reading.state);
  if (!abilities) return abilities.error();
  reading.abilities = *abilities;
  std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{0});
  RawCommand log;
  log.opcode = kGetLog;
  log.nsid = 0xffffffff;
  log.cdw10 = kSlotLog | static_cast<std::uint32_t>(kLogBytes / kDwordBytes - 1) << 16U;
  log.data = buffer.bytes().first(kLogBytes);
  const auto logged = admin_command(controller_fd, log, timeout_ms, "Get Log Page Firmware Slot");
  if (!logged) return refused(logged.error());
  auto firmware = parse_firmware(log.data);
  if (!firmware) return std::move(firmware).error();
  reading.state.firmware = *std::move(firmware);
  return reading;
}

Status download_firmware(int controller_fd, std::span<const std::byte> image,
                         std::size_t piece_bytes, std::uint32_t timeout_ms,
                         const Patience& patience,
                         const std::function<void(std::size_t)>& on_sent) {
  CHECK(piece_bytes > 0 && piece_bytes % kDwordBytes == 0 && image.size() % kDwordBytes == 0);
  AlignedBuffer buffer(piece_bytes);
  for (std::size_t at = 0; at < image.size(); at += piece_bytes) {
    if (auto going = patience.check(); !going) return going;
    const auto piece = image.subspan(at, std::min(piece_bytes, image.size() - at));
    RawCommand command;
    command.opcode = kFirmwareDownload;
    command.cdw10 = static_cast<std::uint32_t>(piece.size() / kDwordBytes - 1);
    command.cdw11 = static_cast<std::uint32_t>(at / kDwordBytes);
    command.data = buffer.bytes().first(piece.size());
    std::copy(piece.begin(), piece.end(), command.data.begin());
    const auto sent = admin_command(controller_fd, command, timeout_ms,
                                    fmt::format("Firmware Image Download at byte {}", at));
    if (!sent) return refused(sent.error());
    on_sent(at + piece.size());
  }
  return Ok{};
}

Result<Committed> commit_firmware(int controller_fd, std::uint8_t slot, CommitAction action,
                                  std::uint32_t timeout_ms) {
  RawCommand command;
  command.opcode = kFirmwareCommit;
  command.cdw10 = slot | static_cast<std::uint32_t>(action) << 3U;
  const auto done = admin_command(
      controller_fd, command, std::max(timeout_ms, kCommitTimeoutMs),
      fmt::format("Firmware Commit, slot {}, action {}", slot, static_cast<unsigned>(action)));
  const bool later =
      action == CommitAction::replace_and_activate_later || action == CommitAction::activate_later;
  if (done) return later ? Committed::waits_for_reset : Committed::done;
  const std::uint16_t status = status_code(done.error().raw);
  const bool answered = done.error().code == Errc::failed;
  if (answered && status == kNeedsControllerReset) return Committed::waits_for_reset;
  if (answered && status == kTakesTooLong && !later) return Committed::not_at_once;
  return refused(done.error());
}

Status reset_controller(int controller_fd) {
  if (nvme_ctrl_reset(controller_fd) == 0) return Ok{};
  return errno_to_error(errno, "NVME_IOCTL_RESET");
}

}  // namespace reclaim::nvme
