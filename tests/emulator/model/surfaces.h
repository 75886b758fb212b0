// What a tenant can leave behind beside blocks, as an emulated drive remembers it: reservations,
// TCG Opal and RPMB, boot partitions, lockdown, a running self-test, a host memory buffer. Passive,
// trivially copyable parts of DriveState.
#pragma once

#include <array>
#include <cstdint>

namespace reclaim::emulator {

inline constexpr std::uint32_t kRegistrantsMax = 8;
inline constexpr std::uint16_t kOpalComId = 0x07fe;    // the base ComID
inline constexpr std::uint32_t kSelfTestResults = 20;  // of log page 06h

struct Registrant {
  bool registered;
  std::uint16_t controller_id;
  std::array<std::uint8_t, 16> host_id;
  std::uint64_t key;
};

struct ReservationState {
  std::uint32_t generation;
  std::uint8_t type;    // RTYPE 1..6; 0 = no reservation
  std::uint8_t holder;  // index + 1 of the registrant that holds it
  bool persists;        // PTPL
  std::array<Registrant, kRegistrantsMax> registrants;
};

// TCG storage (security protocol 01h, ComID 1: Level 0 discovery; opal.cpp: sessions) and RPMB
// (security protocol EAh).
struct SecurityState {
  bool opal;             // has a TPer with the Opal SSC v2
  bool locking_enabled;  // the Locking SP is activated: somebody took ownership
  bool locked;           // at least one range is locked
  bool mbr_enabled;
  bool mbr_done;
  bool sid_set;               // the SID's credential is no longer the MSID
  bool block_sid;             // has the Block SID feature
  bool sid_blocked;           // SID authentication is blocked until a power cycle
  bool block_ends;            // or until a reset: Clear Events of the command that blocked it
  bool reverts_nothing;       // a fault: it says that it reverted, and is as it was
  std::array<char, 32> psid;  // first byte 0: it has none
  std::uint8_t psid_tries;    // wrong ones since the power came; at 5 it is barred
  std::uint32_t session;      // our number of the open session; 0: none is
  std::uint32_t host_session;
  bool by_psid;                // it is of the authority PSID
  std::uint8_t answers_after;  // so many answers of each method are "not yet"
  std::uint8_t answer_waits;
  std::uint8_t answer_bytes;  // the payload that is not fetched yet
  std::array<std::uint8_t, 64> answer;
  bool rpmb_key;  // the authentication key is programmed: for ever
  std::uint32_t rpmb_counter;
  std::uint16_t rpmb_request;  // the last request sent and not yet answered; 0 = none
  std::uint8_t rpmb_target;
  std::array<std::uint8_t, 16> rpmb_nonce;
};

// Two boot partitions whose content follows from a seed each; seed 0 is all zeros.
struct BootState {
  std::uint32_t units;  // of 128 KiB, each partition; 0 = no boot partitions
  std::uint8_t active;
  std::array<std::uint64_t, 2> seed;
};

// Bit N of the arrays: admin opcode N, feature N.
struct LockdownState {
  std::array<std::uint64_t, 4> opcodes;
  std::array<std::uint64_t, 4> features;
};

struct SelfTestResult {
  std::uint8_t code;    // 1 short, 2 extended
  std::uint8_t result;  // of log page 06h, "device self-test status"
  std::uint64_t power_on_hours;
};

struct SelfTestState {
  std::uint8_t running;  // code; 0 = none
  std::int64_t started_ms;
  std::uint32_t duration_ms;
  std::uint32_t results_count;
  std::array<SelfTestResult, kSelfTestResults> results;  // the newest first
};

struct HostMemoryState {
  bool enabled;
  std::uint32_t size;  // in 4 KiB units
  std::uint64_t list_address;
  std::uint32_t list_entries;
};

}  // namespace reclaim::emulator
