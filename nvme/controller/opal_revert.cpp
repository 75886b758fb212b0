#include "nvme/controller/opal_revert.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/controller/admin_command.h"
#include "nvme/controller/buffer.h"
#include "nvme/controller/opal_session.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kSecuritySend = 0x81;
constexpr std::uint8_t kSecurityReceive = 0x82;
constexpr std::uint8_t kProtocolTcg = 0x01;
constexpr std::uint8_t kProtocolTcgManagement = 0x02;
constexpr std::uint16_t kBlockSidComId = 0x0005;
constexpr std::size_t kBlockSidBytes = 512;  // all zero: no reset clears the block
constexpr std::int64_t kAskAgainMs = 100;

Error failed(const Error& error) {
  const bool stopped = error.code == Errc::cancelled;
  return Error{stopped ? Errc::cancelled : Errc::failed, error.what, error.raw};
}

RawCommand security_command(std::uint8_t opcode, std::uint8_t protocol, std::uint16_t com_id,
                            std::span<std::byte> data) {
  RawCommand command;
  command.opcode = opcode;
  command.cdw10 = std::uint32_t{protocol} << 24U | std::uint32_t{com_id} << 8U;
  command.cdw11 = static_cast<std::uint32_t>(data.size());
  command.data = data;
  return command;
}

class Tper final {
 public:
  Tper(int controller_fd, std::uint32_t timeout_ms, const Patience& patience, StopFlag& stop,
       std::uint16_t com_id)
      : fd_(controller_fd),
        timeout_ms_(timeout_ms),
        patience_(patience),
        stop_(stop),
        com_id_(com_id) {}

  Result<OpalAnswer> ask(const OpalPacket& packet, std::string_view name) {
    const auto bytes = buffer_.bytes().first(kOpalPacketBytes);
    std::copy(packet.begin(), packet.end(), bytes.begin());
    const auto sent = admin_command(
        fd_, security_command(kSecuritySend, kProtocolTcg, com_id_, bytes), timeout_ms_, name);
    // No PSID stays in memory.
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    if (!sent) return failed(sent.error());
    while (true) {
      const auto got = admin_command(
          fd_, security_command(kSecurityReceive, kProtocolTcg, com_id_, bytes), timeout_ms_, name);
      if (!got) return failed(got.error());
      const auto answer = parse_opal_answer(bytes, com_id_);
      if (!answer) return Error{Errc::failed, fmt::format("{}: {}", name, answer.error().what)};
      if (!answer->pending) return *answer;
      static_cast<void>(stop_.wait(kAskAgainMs));
      if (auto going = patience_.check(); !going) return failed(going.error());
    }
  }

 private:
  int fd_;
  std::uint32_t timeout_ms_;
  const Patience& patience_;
  StopFlag& stop_;
  std::uint16_t com_id_;
  AlignedBuffer buffer_{kOpalPacketBytes};
};

Error not_opened(const OpalAnswer& answer) {
  if (answer.status == OpalAnswer::kNotAuthorized) {
    return Error{Errc::failed,
                 "the drive does not accept its PSID of [nvme] psid_file, which was tried once: "
                 "correct its line as the drive's label has it, then clean the device again"};
  }
  if (answer.status == OpalAnswer::kLockedOut) {
    return Error{Errc::failed,
                 "the drive bars its PSID after wrong ones: correct its line in [nvme] psid_file, "
                 "power-cycle the drive, then clean the device again"};
  }
  return Error{Errc::failed,
               fmt::format("the drive opens no session for its PSID (status {:#04x}): power-cycle "
                           "it, then clean the device again",
                           answer.status)};
}

}  // namespace

Status revert_by_psid(int controller_fd, std::uint32_t timeout_ms, const Patience& patience,
                      StopFlag& stop, std::uint16_t com_id, std::string_view psid) {
  if (com_id == 0) {
    return Error{Errc::failed,
                 "the drive tells no ComID of Opal, Pyrite or Ruby: revert it by the tool of its "
                 "vendor, then clean the device again"};
  }
  Tper tper(controller_fd, timeout_ms, patience, stop, com_id);
  const auto opened =
      tper.ask(start_session_packet(com_id, psid), "Security Send, session by PSID");
  if (!opened) return opened.error();
  if (opened->status != 0 || opened->session.tper == 0) return not_opened(*opened);
  const auto reverted = tper.ask(revert_packet(opened->session), "Security Send, Revert");
  if (!reverted) return reverted.error();
  if (reverted->status == 0) return Ok{};
  // An open session keeps others out until a reset.
  static_cast<void>(
      tper.ask(end_session_packet(opened->session), "Security Send, end of session").ok());
  return Error{Errc::failed,
               fmt::format("the drive refuses the revert by its PSID (status {:#04x}): power-cycle "
                           "it, then clean the device again",
                           reverted->status)};
}

Status block_sid(int controller_fd, std::uint32_t timeout_ms) {
  AlignedBuffer buffer(kBlockSidBytes);
  const auto bytes = buffer.bytes().first(kBlockSidBytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  const auto sent = admin_command(
      controller_fd, security_command(kSecuritySend, kProtocolTcgManagement, kBlockSidComId, bytes),
      timeout_ms, "Security Send, Block SID");
  if (!sent) return sent.error();
  return Ok{};
}

}  // namespace reclaim::nvme
