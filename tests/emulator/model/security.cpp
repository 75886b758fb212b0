// Security Send and Receive: the list of protocols (00h), the TPer's Level 0 discovery and Block
// SID (TCG Storage SIIS, Opal SSC 2.01, Block SID feature set), and RPMB (EAh). All TCG fields are
// big-endian, all RPMB fields little-endian. Message authentication codes are left zero: who has no
// key cannot check them.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint16_t kOacsSecurity = 1U << 0U;
constexpr std::uint8_t kProtocolInformation = 0x00;
constexpr std::uint8_t kProtocolTcg = 0x01;
constexpr std::uint8_t kProtocolTcgManagement = 0x02;
constexpr std::uint8_t kProtocolNvme = 0xea;
constexpr std::uint16_t kComIdDiscovery = 0x0001;
constexpr std::uint16_t kComIdBlockSid = 0x0005;
constexpr std::uint16_t kSpecificRpmb = 0x0001;
constexpr std::size_t kDiscoveryHeader = 48;

constexpr std::size_t kFrameBytes = 256;  // of RPMB, without data
constexpr std::size_t kFrameTarget = 223;
constexpr std::size_t kFrameNonce = 224;
constexpr std::size_t kFrameCounter = 240;
constexpr std::size_t kFrameResult = 252;
constexpr std::size_t kFrameType = 254;
constexpr std::uint16_t kRpmbProgramKey = 0x0001;
constexpr std::uint16_t kRpmbReadCounter = 0x0002;
constexpr std::uint16_t kRpmbReadResult = 0x0005;
constexpr std::uint16_t kRpmbGeneralFailure = 0x0001;
constexpr std::uint16_t kRpmbNoKey = 0x0007;

std::uint8_t protocol_of(const Command& command) {
  return static_cast<std::uint8_t>(command.cdw10 >> 24U);
}
std::uint16_t specific_of(const Command& command) {
  return static_cast<std::uint16_t>(command.cdw10 >> 8U);
}

// Answers are cut to what the host has room for.
Completion answer(const Command& command, std::span<const std::byte> page) {
  const std::size_t room = std::min<std::size_t>(command.cdw11, command.data.size());
  std::fill_n(command.data.begin(), room, std::byte{0});
  std::copy_n(page.begin(), std::min(room, page.size()), command.data.begin());
  return Completion{};
}

}  // namespace

void Controller::level0_discovery(std::span<std::byte> page) const {
  const SecurityState& security = state_.security;
  std::size_t at = kDiscoveryHeader;
  const auto feature = [&](std::uint16_t code, std::uint8_t version, std::size_t length) {
    page[at] = static_cast<std::byte>(code >> 8U);
    page[at + 1] = static_cast<std::byte>(code & 0xffU);
    page[at + 2] = static_cast<std::byte>(version << 4U);
    page[at + 3] = static_cast<std::byte>(length);
    const std::span<std::byte> body = page.subspan(at + 4, length);
    at += 4 + length;
    return body;
  };
  feature(0x0001, 1, 12)[0] = std::byte{0x11};  // TPer: Sync and Streaming
  const auto locking = feature(0x0002, 1, 12);
  locking[0] = static_cast<std::byte>(
      1U | (security.locking_enabled ? 2U : 0U) | (security.locked ? 4U : 0U) | 8U |
      (security.mbr_enabled ? 16U : 0U) | (security.mbr_done ? 32U : 0U));
  const auto opal = feature(0x0203, 1, 16);
  opal[0] = static_cast<std::byte>(kOpalComId >> 8U);
  opal[1] = static_cast<std::byte>(kOpalComId & 0xffU);
  opal[3] = std::byte{1};  // number of ComIDs
  opal[6] = std::byte{4};  // Locking SP admins
  opal[8] = std::byte{9};  // users
  if (security.block_sid) {
    feature(0x0402, 1, 12)[0] =
        static_cast<std::byte>((security.sid_set ? 1U : 0U) | (security.sid_blocked ? 2U : 0U));
  }
  const std::size_t length = at - 4;  // of what follows the length field
  page[2] = static_cast<std::byte>(length >> 8U);
  page[3] = static_cast<std::byte>(length & 0xffU);
  page[7] = std::byte{1};  // revision 0.1
}

Completion Controller::rpmb_answer(std::span<std::byte> frame) {
  SecurityState& security = state_.security;
  const std::uint16_t request = security.rpmb_request;
  security.rpmb_request = 0;
  std::uint16_t result = kRpmbGeneralFailure;
  if (request == kRpmbReadCounter) {
    result = security.rpmb_key ? 0 : kRpmbNoKey;
    std::memcpy(frame.data() + kFrameNonce, security.rpmb_nonce.data(), security.rpmb_nonce.size());
    if (security.rpmb_key) {
      std::memcpy(frame.data() + kFrameCounter, &security.rpmb_counter,
                  sizeof(security.rpmb_counter));
    }
  } else if (request == kRpmbReadResult) {
    result = 0;
  }
  const auto type = static_cast<std::uint16_t>(request << 8U);
  frame[kFrameTarget] = static_cast<std::byte>(security.rpmb_target);
  std::memcpy(frame.data() + kFrameResult, &result, sizeof(result));
  std::memcpy(frame.data() + kFrameType, &type, sizeof(type));
  return Completion{};
}

Completion Controller::security_send(const Command& command) {
  if ((state_.capabilities.oacs & kOacsSecurity) == 0) return Completion{kInvalidOpcode, 0};
  SecurityState& security = state_.security;
  if (protocol_of(command) == kProtocolTcgManagement && specific_of(command) == kComIdBlockSid &&
      security.opal && security.block_sid) {
    if (security.sid_set) return Completion{kInvalidField, 0};  // an owned drive takes no block
    security.sid_blocked = true;
    security.block_ends = !command.data.empty() && (command.data[0] & std::byte{1}) != std::byte{0};
    return Completion{};
  }
  if (protocol_of(command) == kProtocolTcg && specific_of(command) == kOpalComId && security.opal) {
    return opal_send(command);
  }
  const std::uint32_t targets = state_.capabilities.rpmbs & 7U;
  if (protocol_of(command) != kProtocolNvme || specific_of(command) != kSpecificRpmb ||
      (command.cdw10 & 0xffU) >= targets || command.data.size() < kFrameBytes) {
    return Completion{kInvalidField, 0};
  }
  std::memcpy(&security.rpmb_request, command.data.data() + kFrameType, 2);
  std::memcpy(security.rpmb_nonce.data(), command.data.data() + kFrameNonce, 16);
  security.rpmb_target = static_cast<std::uint8_t>(command.cdw10);
  if (security.rpmb_request == kRpmbProgramKey) security.rpmb_key = true;  // there is no way back
  return Completion{};
}

Completion Controller::security_receive(const Command& command) {
  if ((state_.capabilities.oacs & kOacsSecurity) == 0) return Completion{kInvalidOpcode, 0};
  const std::uint8_t protocol = protocol_of(command);
  const std::uint16_t specific = specific_of(command);
  const bool rpmb = (state_.capabilities.rpmbs & 7U) != 0;
  std::array<std::byte, 512> page{};
  if (protocol == kProtocolInformation && specific == 0) {
    std::size_t count = 0;
    const auto add = [&](std::uint8_t each) { page[8 + count++] = static_cast<std::byte>(each); };
    add(kProtocolInformation);
    if (state_.security.opal) add(kProtocolTcg);
    if (state_.security.opal) add(kProtocolTcgManagement);
    if (rpmb) add(kProtocolNvme);
    page[7] = static_cast<std::byte>(count);
    return answer(command, page);
  }
  if (protocol == kProtocolTcg && specific == kComIdDiscovery && state_.security.opal) {
    level0_discovery(page);
    return answer(command, page);
  }
  if (protocol == kProtocolTcg && specific == kOpalComId && state_.security.opal) {
    return answer(command, std::span(page).first(opal_answer(page)));
  }
  if (protocol == kProtocolNvme && specific == kSpecificRpmb && rpmb) {
    const std::span<std::byte> frame = std::span(page).first<kFrameBytes>();
    const Completion done = rpmb_answer(frame);
    return done.status == kSuccess ? answer(command, frame) : done;
  }
  return Completion{kInvalidField, 0};
}

}  // namespace reclaim::emulator
