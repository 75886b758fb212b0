#include "nvme/controller/opal_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "nvme/controller/bytes.h"
#include "state/base/check.h"

namespace reclaim::nvme {
namespace {

constexpr std::string_view kName = "TCG answer";

// ComPacket (20 bytes), packet (24) and subpacket (12), one in the other.
constexpr std::size_t kComId = 4;
constexpr std::size_t kOutstanding = 8;
constexpr std::size_t kMinTransfer = 12;
constexpr std::size_t kComLength = 16;
constexpr std::size_t kTperSession = 20;
constexpr std::size_t kHostSession = 24;
constexpr std::size_t kPacketLength = 40;
constexpr std::size_t kSubpacketLength = 52;
constexpr std::size_t kComHeader = 20;
constexpr std::size_t kPacketHeader = 44;
constexpr std::size_t kPayload = 56;

constexpr std::uint8_t kStartList = 0xf0;
constexpr std::uint8_t kEndList = 0xf1;
constexpr std::uint8_t kStartName = 0xf2;
constexpr std::uint8_t kEndName = 0xf3;
constexpr std::uint8_t kCall = 0xf8;
constexpr std::uint8_t kEndOfData = 0xf9;
constexpr std::uint8_t kEndOfSession = 0xfa;

constexpr std::uint64_t kSessionManager = 0xff;
constexpr std::uint64_t kStartSession = 0xff02;
constexpr std::uint64_t kAdminSp = 0x0000'0205'0000'0001;
constexpr std::uint64_t kPsidAuthority = 0x0000'0009'0001'ff01;
constexpr std::uint64_t kRevert = 0x0000'0006'0000'0202;
constexpr std::uint8_t kHostChallenge = 0;
constexpr std::uint8_t kHostSigningAuthority = 3;
constexpr std::uint8_t kOurSession = 1;
constexpr std::size_t kToNumbers = 20;  // call, two UIDs, start of list

class PacketWriter final {
 public:
  PacketWriter& byte(std::uint8_t value) {
    CHECK(at_ < packet_.size());
    packet_[at_++] = std::byte{value};
    return *this;
  }
  // A short atom of eight bytes.
  PacketWriter& uid(std::uint64_t value) {
    byte(0xa8);
    for (int shift = 56; shift >= 0; shift -= 8) byte(static_cast<std::uint8_t>(value >> shift));
    return *this;
  }
  // A medium atom.
  PacketWriter& text(std::string_view value) {
    CHECK(value.size() < 256);
    byte(0xd0).byte(static_cast<std::uint8_t>(value.size()));
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
    return *this;
  }
  // Behind every method: status codes that the host has none for.
  PacketWriter& end_of_method() {
    return byte(kEndOfData).byte(kStartList).byte(0).byte(0).byte(0).byte(kEndList);
  }
  OpalPacket packet(const OpalSession& session) {
    store_be(kSubpacketLength, static_cast<std::uint32_t>(at_ - kPayload));
    at_ = (at_ + 3) / 4 * 4;
    store_be(kComId, std::uint32_t{session.com_id} << 16U);
    store_be(kComLength, static_cast<std::uint32_t>(at_ - kComHeader));
    store_be(kTperSession, session.tper);
    store_be(kHostSession, session.host);
    store_be(kPacketLength, static_cast<std::uint32_t>(at_ - kPacketHeader));
    return packet_;
  }

 private:
  void store_be(std::size_t offset, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) {
      packet_[offset + i] = static_cast<std::byte>(value >> (24 - 8 * i) & 0xffU);
    }
  }

  OpalPacket packet_{};
  std::size_t at_ = kPayload;
};

Error malformed(std::string_view why) {
  return Error{Errc::invalid, fmt::format("{}: {}", kName, why)};
}

// Takes a number off the front: a tiny atom, or a short one.
std::optional<std::uint64_t> take_number(std::span<const std::byte>& rest) {
  if (rest.empty()) return std::nullopt;
  const auto first = load_be<std::uint8_t>(rest, 0);
  const std::size_t bytes = first < 0x40 ? 0 : first & 0x0fU;
  if ((first >= 0x40 && (first & 0xf0U) != 0x80) || bytes > 8 || rest.size() <= bytes) {
    return std::nullopt;
  }
  std::uint64_t value = bytes == 0 ? first & 0x3fU : 0;
  for (const std::byte each : rest.subspan(1, bytes)) {
    value = value << 8U | std::to_integer<std::uint64_t>(each);
  }
  rest = rest.subspan(1 + bytes);
  return value;
}

// The method's status: the first number in the list behind the last end of data.
std::optional<std::uint64_t> status_of(std::span<const std::byte> payload) {
  constexpr std::array kBefore = {std::byte{kEndOfData}, std::byte{kStartList}};
  const auto at = std::find_end(payload.begin(), payload.end(), kBefore.begin(), kBefore.end());
  if (at == payload.end()) return std::nullopt;
  auto rest = payload.subspan(static_cast<std::size_t>(at - payload.begin()) + kBefore.size());
  const auto status = take_number(rest);
  const bool whole =
      take_number(rest) && take_number(rest) && !rest.empty() && rest[0] == std::byte{kEndList};
  return whole ? status : std::nullopt;
}

}  // namespace

OpalPacket start_session_packet(std::uint16_t com_id, std::string_view psid) {
  CHECK(psid.size() == kPsidBytes);
  PacketWriter writer;
  writer.byte(kCall).uid(kSessionManager).uid(kStartSession).byte(kStartList);
  writer.byte(kOurSession).uid(kAdminSp).byte(1);  // it may write
  writer.byte(kStartName).byte(kHostChallenge).text(psid).byte(kEndName);
  writer.byte(kStartName).byte(kHostSigningAuthority).uid(kPsidAuthority).byte(kEndName);
  return writer.byte(kEndList).end_of_method().packet({com_id, 0, 0});
}

OpalPacket revert_packet(const OpalSession& session) {
  PacketWriter writer;
  writer.byte(kCall).uid(kAdminSp).uid(kRevert).byte(kStartList).byte(kEndList);
  return writer.end_of_method().packet(session);
}

OpalPacket end_session_packet(const OpalSession& session) {
  return PacketWriter().byte(kEndOfSession).packet(session);
}

Result<OpalAnswer> parse_opal_answer(std::span<const std::byte> page, std::uint16_t com_id) {
  if (auto size = check_size(page, kPayload, kName); !size) return std::move(size).error();
  if (load_be<std::uint16_t>(page, kComId) != com_id) return malformed("it is of another ComID");
  OpalAnswer answer;
  const auto length = load_be<std::uint32_t>(page, kComLength);
  const auto outstanding = load_be<std::uint32_t>(page, kOutstanding);
  answer.pending =
      length == 0 && outstanding != 0 && load_be<std::uint32_t>(page, kMinTransfer) == 0;
  if (answer.pending) return answer;
  const std::size_t bytes = load_be<std::uint32_t>(page, kSubpacketLength);
  if (length == 0 || bytes == 0) return malformed("it is empty");
  if (bytes > page.size() - kPayload) {
    return malformed(fmt::format("it says that it has {} bytes", bytes));
  }
  const auto payload = page.subspan(kPayload, bytes);
  const auto status = status_of(payload);
  if (!status) return malformed("it has no status");
  answer.status = *status;
  // SyncSession begins as StartSession does; its first two numbers are ours and the drive's.
  if (payload.size() <= kToNumbers || payload[0] != std::byte{kCall}) return answer;
  auto rest = payload.subspan(kToNumbers);
  const auto host = take_number(rest);
  const auto tper = take_number(rest);
  if (host && tper && *host == kOurSession) {
    answer.session = {com_id, static_cast<std::uint32_t>(*tper), kOurSession};
  }
  return answer;
}

}  // namespace reclaim::nvme
