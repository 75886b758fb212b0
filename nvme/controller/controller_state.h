// The state of a controller that a tenant can change and that an erase of the media leaves as it
// is. The clean steps look at it; as text it is the enrolment baseline of a drive. What they do not
// look at stands in docs/clean-steps.md. Passive data and its codec. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

namespace reclaim::nvme {

// SMART / Health (log 02h). Counters are the low 64 bits of 128.
struct HealthState {
  std::uint8_t critical_warning = 0;
  std::uint8_t available_spare = 100;    // percent
  std::uint8_t spare_threshold = 0;      // percent
  std::uint8_t percentage_used = 0;      // of the estimated endurance; 255: that much or more
  std::uint64_t data_units_written = 0;  // of 512,000 bytes
  std::uint64_t power_on_hours = 0;
  std::uint64_t unsafe_shutdowns = 0;
  std::uint64_t media_errors = 0;
  friend bool operator==(const HealthState&, const HealthState&) = default;
};

// One row of a namespace's table of LBA formats.
struct LbaFormat {
  std::uint32_t block_bytes = 0;  // 0: not available
  std::uint16_t metadata_bytes = 0;
  std::uint8_t performance = 0;  // relative; 0 is best
  friend bool operator==(const LbaFormat&, const LbaFormat&) = default;
};

// An allocated namespace; not active: attached to no controller of ours, so that the host sees
// nothing of it.
struct NamespaceState {
  std::uint32_t nsid = 0;
  bool active = false;
  std::uint64_t size_blocks = 0;      // NSZE
  std::uint64_t capacity_blocks = 0;  // NCAP; less than the size: thin
  std::uint8_t format = 0;            // index into the table of LBA formats
  std::uint32_t block_bytes = 0;
  std::uint16_t metadata_bytes = 0;
  std::uint8_t protection = 0;     // DPS: end-to-end protection information
  std::uint8_t sharing = 0;        // NMIC
  std::uint8_t attributes = 0;     // NSATTR; bit 0: currently write protected
  std::uint8_t write_protect = 0;  // feature 84h: 1 until cleared, 2 until power cycle, 3 for ever
  std::uint16_t registrants = 0;   // of reservations
  std::uint8_t reservation = 0;    // type held, 0: none
  bool reservation_persists = false;  // through power loss

  [[nodiscard]] std::uint64_t bytes() const { return size_blocks * block_bytes; }
  // The bytes that the namespace takes of the drive's capacity, metadata included.
  [[nodiscard]] std::uint64_t bytes_taken() const {
    return size_blocks * (block_bytes + metadata_bytes);
  }
  friend bool operator==(const NamespaceState&, const NamespaceState&) = default;
};

struct FirmwareState {
  std::uint8_t active_slot = 0;
  std::uint8_t next_slot = 0;          // after the next reset; 0: the same
  std::vector<std::string> revisions;  // of slots 1..7; "": empty
  friend bool operator==(const FirmwareState&, const FirmwareState&) = default;
};

// TCG Level-0 discovery.
struct OpalState {
  bool supported = false;
  bool locking_enabled = false;
  bool locked = false;
  bool mbr_enabled = false;
  bool mbr_done = false;
  bool sid_known = false;    // the Block SID feature is there and says the next two
  bool sid_changed = false;  // the SID is not the manufacturer's: somebody owns the drive
  bool sid_blocked = false;
  std::uint16_t com_id = 0;  // for sessions; 0: it tells none. Not of an enrolment: not encoded
  friend bool operator==(const OpalState&, const OpalState&) = default;
};

struct BootPartitionState {
  bool supported = false;
  std::uint32_t active = 0;
  std::uint64_t bytes = 0;          // of each
  std::vector<std::string> sha256;  // of partition 0 and 1, lower-case hex
  friend bool operator==(const BootPartitionState&, const BootPartitionState&) = default;
};

// A feature with a value of one dword. Namespace specific ones bear an NSID.
struct FeatureState {
  std::uint8_t id = 0;
  std::uint32_t nsid = 0;
  std::uint32_t current = 0;
  std::optional<std::uint32_t> factory;  // SEL 1, "default"
  std::optional<std::uint32_t> saved;    // SEL 2
  bool saveable = false;
  bool changeable = true;
  friend bool operator==(const FeatureState&, const FeatureState&) = default;
};

// A setting of more than a dword, as text that is only compared: a digest of a feature's structure,
// a list of NVM sets. The enrolment's entry of the same surface and name is its yardstick.
struct ConfigurationState {
  std::string surface;  // "lba_range_types"
  std::string name;     // "of namespace 1"
  std::string now;
  std::string factory;  // what the drive calls its default; empty: it does not say
  friend bool operator==(const ConfigurationState&, const ConfigurationState&) = default;
};

// A controller made by virtualization management.
struct SecondaryController {
  std::uint16_t id = 0;
  bool online = false;
  std::uint16_t queues = 0;
  std::uint16_t interrupts = 0;
  friend bool operator==(const SecondaryController&, const SecondaryController&) = default;
};

// A surface that the drive claims to have and does not let us read.
struct Unreadable {
  std::string surface;
  std::string why;
  friend bool operator==(const Unreadable&, const Unreadable&) = default;
};

struct ControllerState {
  std::string serial;
  std::string model;
  std::string firmware_revision;  // as Identify says

  // The drive's abilities (Identify Controller), for judging.
  std::uint16_t oacs = 0;
  std::uint16_t oncs = 0;
  std::uint8_t nwpc = 0;
  std::uint16_t controller_id = 0;
  std::uint64_t capacity_bytes = 0;     // TNVMCAP, low 64 bits; 0: not reported
  std::uint64_t unallocated_bytes = 0;  // UNVMCAP
  std::uint32_t host_memory_pages = 0;  // HMPRE, of 4 KiB: what the drive would like to borrow
  std::uint16_t endurance_groups = 0;   // ENDGIDMAX

  HealthState health;
  FirmwareState firmware;
  OpalState opal;
  std::uint8_t rpmb_targets = 0;
  std::uint8_t rpmb_programmed = 0;  // a bit for each target: its authentication key is written
  BootPartitionState boot;
  std::uint8_t self_test = 0;                 // the operation now running; 0: none
  std::vector<std::uint8_t> locked_commands;  // admin opcodes now prohibited by lockdown
  std::vector<std::uint8_t> locked_features;  // the same for Set Features
  std::vector<SecondaryController> secondary;
  std::vector<LbaFormat> formats;  // of the first namespace that told them
  std::vector<NamespaceState> namespaces;
  std::vector<FeatureState> features;
  std::vector<ConfigurationState> configuration;

  // Never of an enrolment: not encoded.
  bool can_sanitize = false;  // by crypto or block erase
  std::vector<Unreadable> unreadable;
  // Memory past the blocks: the controller's buffer (CMB), the persistent region (PMR). Nothing: it
  // could not be looked at.
  std::optional<bool> memory_buffer;
  std::optional<bool> memory_region;

  [[nodiscard]] bool namespace_management() const { return (oacs & 8U) != 0; }
  friend bool operator==(const ControllerState&, const ControllerState&) = default;
};

// The features that are read. `host_sets`: the host's driver sets the current value at each probe,
// so that only the saved one tells what a tenant left.
struct FeatureRule {
  std::uint8_t id;
  bool per_namespace;
  bool host_sets;
  std::string_view name;
};
[[nodiscard]] std::span<const FeatureRule> feature_rules();
// The features with a data structure of `bytes` that are read; `host_sets` as in FeatureRule.
struct StructureRule {
  std::uint8_t id;
  bool per_namespace;
  bool host_sets;
  std::size_t bytes;
  std::string_view surface;
};
[[nodiscard]] std::span<const StructureRule> structure_rules();
[[nodiscard]] const FeatureRule* find_feature_rule(std::uint8_t id);

// The enrolment baseline as one line of JSON, and back. Errc::invalid names what is wrong.
// `state` has nothing unreadable.
[[nodiscard]] std::string encode_controller_state(const ControllerState& state);
[[nodiscard]] Result<ControllerState> decode_controller_state(std::string_view text);

}  // namespace reclaim::nvme
