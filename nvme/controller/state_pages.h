// The pages from which a ControllerState is read: namespaces, logs, security protocols, reservation
// reports. A drive is a foreign peer: everything is bounded and checked. Pure.
// Offsets are those of NVM Express Base 2.0, of the NVM Command Set 1.0 and of the TCG Storage
// Architecture Core Specification 2.01 (Level 0 Discovery).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "state/base/result.h"

namespace reclaim::nvme {

inline constexpr std::size_t kRpmbFrameBytes = 256;
inline constexpr std::size_t kBootHeaderBytes = 16;

// Identify Controller (CNS 01h) beyond what parse_identify_controller tells.
struct ControllerAbilities {
  std::uint8_t log_attributes = 0;    // LPA; bit 5: the log of supported log pages is there
  std::uint8_t firmware_updates = 0;  // FRMW
  std::uint8_t transfer_max = 0;      // MDTS, a power of two of 4 KiB; 0: no limit
  std::uint8_t update_pieces = 0;     // FWUG, in 4 KiB; 0: not told, FFh: any
  std::uint32_t rpmb = 0;             // RPMBS
  std::uint32_t attributes = 0;       // CTRATT
};
// Fills what Identify tells of the state, and returns the rest.
[[nodiscard]] Result<ControllerAbilities> parse_controller_abilities(
    std::span<const std::byte> page, ControllerState& state);

// A list of NSIDs (CNS 02h, 10h): ascending, zero ends it. Anything else is an error.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_nsid_list(std::span<const std::byte> page);

// Identify Namespace (CNS 00h, 11h). Errc::not_found: all zero, there is no such namespace.
// `formats`, if empty, is filled with the namespace's table.
[[nodiscard]] Result<NamespaceState> parse_namespace_state(std::span<const std::byte> page,
                                                           std::uint32_t nsid,
                                                           std::vector<LbaFormat>& formats);

[[nodiscard]] Result<HealthState> parse_health(std::span<const std::byte> page);      // log 02h
[[nodiscard]] Result<FirmwareState> parse_firmware(std::span<const std::byte> page);  // log 03h
// The operation that runs now (log 06h), 0: none.
[[nodiscard]] Result<std::uint8_t> parse_self_test(std::span<const std::byte> page);
// The identifiers that are prohibited (log 14h).
[[nodiscard]] Result<std::vector<std::uint8_t>> parse_lockdown(std::span<const std::byte> page);
// True if the log of supported log pages (log 00h) has this one.
[[nodiscard]] Result<bool> parse_supported_log(std::span<const std::byte> page, std::uint8_t log);
// The header of a boot partition's log (log 15h): what it tells of both partitions.
struct BootHeader {
  std::uint32_t active = 0;
  std::uint64_t bytes = 0;
};
[[nodiscard]] Result<BootHeader> parse_boot_header(std::span<const std::byte> page);

// NVM Set List (CNS 04h): "1 of group 1: 1024 bytes; …".
[[nodiscard]] Result<std::string> parse_nvm_sets(std::span<const std::byte> page);
// Endurance Group List (CNS 19h).
[[nodiscard]] Result<std::vector<std::uint16_t>> parse_endurance_groups(
    std::span<const std::byte> page);

// Secondary Controller List (CNS 15h).
[[nodiscard]] Result<std::vector<SecondaryController>> parse_secondary_controllers(
    std::span<const std::byte> page);

// The security protocols that Security Receive knows (protocol 00h).
[[nodiscard]] Result<std::vector<std::uint8_t>> parse_security_protocols(
    std::span<const std::byte> page);
// Level 0 Discovery (protocol 01h, ComID 0001h). A drive without TCG may answer with zeroes: then
// `supported` is false.
[[nodiscard]] Result<OpalState> parse_level0(std::span<const std::byte> page);

// The request "read the write counter" to an RPMB target, and whether its answer says that the
// target's authentication key is programmed.
[[nodiscard]] std::array<std::byte, kRpmbFrameBytes> rpmb_counter_request(
    std::uint8_t target, std::span<const std::byte, 16> nonce);
[[nodiscard]] Result<bool> parse_rpmb_counter(std::span<const std::byte> frame,
                                              std::span<const std::byte, 16> nonce);

// Reservation Report, the data structure of 64-bit host identifiers.
[[nodiscard]] Status parse_reservations(std::span<const std::byte> page, NamespaceState& into);

}  // namespace reclaim::nvme
