// A session with a TCG drive's Admin SP, opened with its PSID, as the bytes that are sent and
// received: TCG Storage Core 2.01 (5.1.5 status codes, 6.3 UIDs), Opal SSC 2.01, and its feature
// set PSID. All numbers are big-endian. Pure; thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::nvme {

inline constexpr std::size_t kPsidBytes = 32;
// The size of every packet and answer: the least that an Opal 2 drive accepts as a whole.
inline constexpr std::size_t kOpalPacketBytes = 2048;
using OpalPacket = std::array<std::byte, kOpalPacketBytes>;

struct OpalSession {
  std::uint16_t com_id = 0;  // the base ComID of its Level 0 discovery
  std::uint32_t tper = 0;    // the drive's number of it; 0: not open
  std::uint32_t host = 0;    // ours
  friend bool operator==(const OpalSession&, const OpalSession&) = default;
};

// Opens a session that may write, as the authority PSID; it has the PSID in clear. `psid` has
// kPsidBytes.
[[nodiscard]] OpalPacket start_session_packet(std::uint16_t com_id, std::string_view psid);
// Revert of the Admin SP: all data and all that an owner has set are gone. The drive then ends the
// session.
[[nodiscard]] OpalPacket revert_packet(const OpalSession& session);
[[nodiscard]] OpalPacket end_session_packet(const OpalSession& session);

struct OpalAnswer {
  // Status codes that have a remedy of their own; 0: done.
  static constexpr std::uint64_t kNotAuthorized = 0x01;
  static constexpr std::uint64_t kLockedOut = 0x12;

  bool pending = false;  // the drive still works on it: ask again
  std::uint64_t status = 0;
  OpalSession session;  // of the answer to a start that succeeded
};

// Errc::invalid names what is wrong with it.
[[nodiscard]] Result<OpalAnswer> parse_opal_answer(std::span<const std::byte> page,
                                                   std::uint16_t com_id);

}  // namespace reclaim::nvme
