// All that an emulated drive remembers: a flat, trivially copyable struct, mapped from a file by
// the host layer, so that it outlives processes and is shared by them (the daemon, nvme-cli, a
// test). Passive data; Controller keeps its invariants. Not thread safe: the file's lock guards it.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "tests/emulator/model/firmware.h"
#include "tests/emulator/model/surfaces.h"

namespace reclaim::emulator {

inline constexpr std::uint64_t kStateMagic = 0x3145564d4e4d4552;  // "REMNMVE1"
inline constexpr std::uint32_t kStateVersion = 10;
inline constexpr std::uint32_t kNamespacesMax = 32;
// Format 0: 512 bytes, format 1: 4096 bytes, format 2: 512 bytes and 8 of metadata behind each, of
// which the kernel makes a disk without a size. The last is only set as a tenant's doing.
inline constexpr std::uint32_t kLbaFormats = 3;
inline constexpr std::uint8_t kExtendedFormat = 2;

// What a tenant left or the drive was made with. An entry's index + 1 is its NSID.
struct NamespaceState {
  bool allocated;
  bool attached;        // to our one controller; allocated and not attached is "hidden"
  bool other_attached;  // to a second controller of the subsystem that this host does not see
  std::uint8_t lba_format;
  std::uint8_t nmic;  // bit 0: may be shared
  std::uint8_t
      write_protect;     // feature 84h: 0 none, 1 until cleared, 2 until power cycle, 3 for ever
  std::uint64_t blocks;  // NSZE
  std::array<std::uint8_t, 8> eui64;
  std::array<std::uint8_t, 16> nguid;
  ReservationState reservation;
};

// What the media reads as after its content was removed.
enum class Deallocated : std::uint8_t { zeros, ones, noise };

struct Capabilities {
  std::uint32_t sanicap;  // bit 0 crypto, 1 block, 2 overwrite, 3 VERS, 29 NDI, 31:30 NODMMAS
  std::uint16_t oacs;
  std::uint16_t oncs;
  std::uint8_t fna;
  std::uint8_t cmic;
  std::uint8_t dlfeat;
  std::uint8_t mdts;
  std::uint8_t vwc;
  std::uint8_t frmw;
  std::uint8_t fwug;  // pieces of a download, in 4 KiB; 0 = not told, FFh = any
  std::uint8_t lpa;
  std::uint8_t nwpc;
  std::uint32_t rpmbs;
  std::uint32_t hmpre;  // host memory buffer wished for, in 4 KiB units; 0 = none
  bool pmr_enabled;     // a persistent memory region is enabled: no sanitize
  bool cmb;             // a controller memory buffer
  std::uint16_t endurance_groups;
  std::uint8_t nvm_sets;
  std::uint8_t npss;  // power states beside the first
  std::uint8_t wzsl;  // NVM command set specific limit, a power of two of 4 KiB; 0 = none
  std::uint64_t capacity_bytes;  // TNVMCAP
};

enum class SanitizeStatus : std::uint8_t {
  never = 0,
  success = 1,
  in_progress = 2,
  failed = 3,
  success_unexpected_deallocation = 4,
};

// Of one that runs: what the log's SANS tells it from.
enum class SanitizePhase : std::uint8_t {
  processing = 0,
  media_verification = 5,
  post_verification = 6,
};

struct SanitizeState {
  SanitizeStatus status;
  SanitizePhase phase;
  bool verification_canceled;  // MVCNCLD: a reset came before or while the media could be read
  bool failure_mode;  // a failed sanitize bars I/O until a successful one or, if allowed, an exit
  bool restricted;   // started with AUSE = 0: the failure can be left by a successful sanitize only
  bool data_erased;  // "Global Data Erased": nothing was written since
  bool unreadable;   // blocks not written since the last sanitize cannot be read (a fault)
  std::uint8_t passes_done;
  std::uint32_t cdw10;
  std::uint32_t pattern;
  std::int64_t started_ms;
  std::uint32_t duration_ms;    // how long a sanitize takes on this drive
  std::uint32_t deallocate_ms;  // the same of the deallocation after the media verification
  std::uint32_t estimate_deallocate_s;
  std::int64_t left_ms;  // when the media verification was left
  // Log page estimates in seconds: overwrite, block, crypto, then the same with no-deallocate.
  std::array<std::uint32_t, 6> estimate_s;
};

struct SmartState {
  std::uint8_t critical_warning;
  std::uint8_t available_spare;
  std::uint8_t spare_threshold;
  std::uint8_t percent_used;
  std::uint16_t temperature_k;
  std::uint64_t sectors_read;  // of 512 bytes; reported in thousands, rounded up
  std::uint64_t sectors_written;
  std::uint64_t host_reads;
  std::uint64_t host_writes;
  std::uint64_t power_cycles;
  std::uint64_t power_on_hours;
  std::uint64_t unsafe_shutdowns;
  std::uint64_t media_errors;
  std::uint64_t error_log_entries;
};

struct FeatureState {
  std::uint32_t current;
  std::uint32_t saved;
  std::uint32_t factory;
};

// What a real drive answered: the answers begin as these pages, and what the model keeps by itself
// stands in its place in them. All zeros: none was given.
struct RealPages {
  std::array<std::uint8_t, 4096> identify;
  std::array<std::uint8_t, 512> smart;
  std::array<std::uint8_t, 512> sanitize_log;
};

// How binding the nvme driver fails.
enum class ProbeFault : std::uint8_t {
  none,
  unbound,   // the driver refuses: the function stays without one
  dead,      // it binds and its controller ends dead
  released,  // it binds, gives up and lets go of the function again
};

// How the drive betrays its host. `Faults{}` is an honest drive.
struct Faults {
  bool lies_keeps_data;              // reports success and GDE, erases nothing
  bool erases_half;                  // erases the first half of every namespace only
  bool no_gde;                       // never sets Global Data Erased
  bool refuses_emvs;                 // does not enter the media verification that it says it has
  bool refuses_media_reads;          // enters it, and bars reading there
  bool hides_media;                  // erases nothing, but reads deallocated blocks as DLFEAT says
  bool wrong_scdw10;                 // the log shows another command than the one given
  bool serial_changes;               // Identify answers with a serial that is not the enrolled one
  bool garbage_identify;             // Identify answers with noise
  bool unexpected_deallocation;      // a sanitize ends with SSTAT 4
  bool never_writes;                 // writes succeed and change nothing
  bool reset_fails;                  // a reset mends nothing and leaves the controller dead
  ProbeFault probe_fails;            // until a reset mends it, if that does not fail too
  bool garbage_sanitize_log;         // log page 81h answers with noise
  bool unreadable_after_crypto;      // blocks not written since a crypto erase cannot be read
  bool recycles_blocks;              // a new namespace shows the blocks of the deleted one
  bool zeroes_nothing;               // Write Zeroes and deallocation succeed and change nothing
  bool zeroes_half;                  // the same do the first half of every range only
  bool drops_zero_writes;            // a Write of zeros only succeeds and changes nothing
  bool format_keeps_data;            // Format NVM with SES succeeds and erases nothing
  bool ignores_features;             // Set Features succeeds and changes nothing
  bool ignores_delete;               // Namespace Management: delete succeeds and deletes nothing
  bool lacks_namespace_commands;     // OACS says that namespaces can be managed; they cannot
  bool written_while_read;           // each read command is beside a write of somebody else
  bool counts_no_zeroing;            // as the specification allows: Write Zeroes is no host write
  bool counts_no_writes;             // the counter of host writes stands still
  std::uint64_t namespace_headroom;  // bytes that must be left beside a namespace that is made
  std::uint32_t too_large_status;    // with which a namespace that is too large is refused; 0: 115h
  bool tells_no_capacity;            // TNVMCAP and UNVMCAP are 0
  std::int8_t stalls_at = -1;        // percent at which SPROG stands still for ever
  std::int8_t fails_at = -1;         // percent at which a sanitize fails
  std::int8_t power_loss_at = -1;    // percent of a sanitize at which power is lost, once
  std::int8_t reset_at = -1;         // percent of a sanitize at which the controller resets, once
  std::uint32_t hidden_nsid;         // a namespace that no list and no Identify shows; 0 = none
  std::uint64_t serial_changes_after;  // admin commands; from then on as serial_changes; 0 = never
  std::uint16_t refuses_sanitize;      // NVMe status answered to Sanitize, 0 = none
  std::uint16_t refuses_format;        // the same for Format NVM
  std::uint16_t refuses_log;           // the same for the sanitize log page
  std::uint32_t io_error_nsid;         // where reading fails; 0 = nowhere
  std::uint64_t io_error_offset;       // bytes
  std::uint64_t io_error_length;       // bytes
  std::uint32_t write_error_nsid;      // where writing and zeroing fail; 0 = nowhere
  std::uint64_t write_error_offset;    // bytes
  std::uint64_t write_error_length;    // bytes
  std::uint32_t write_error_times;     // so often, then no more; 0 = always
  std::uint32_t keeps_nsid;            // a region that no erase and no zeroing reaches; 0 = none
  std::uint64_t keeps_offset;          // bytes
  std::uint64_t keeps_length;          // bytes
  FirmwareFaults firmware;
};

// The host kernel's side of the drive: what sysfs and the device nodes are made from.
struct HostSide {
  std::uint32_t instance;    // N of nvmeN
  std::uint32_t disk;        // N of nvmeNnM: the kernel's two counters need not agree
  std::uint32_t generation;  // grows with each bind; descriptors of an older one are dead
  std::array<char, 16> address;
  std::array<char, 32> driver;            // "nvme", "vfio-pci", empty = none
  std::array<char, 16> controller_state;  // sysfs `state`: live, resetting, dead, …
  std::uint16_t vendor;
  std::uint16_t device;
  std::uint32_t sriov_total;
  std::uint32_t sriov_enabled;
  std::uint32_t iommu_group;
  std::int32_t numa_node;
  bool claimed;                // mounted, swapped on, held by md/LVM/dm: O_EXCL is refused
  bool needs_rescan;           // namespaces come and go in the kernel's eyes at a rescan only
  bool multipath;              // native multipath: disks are the subsystem's
  bool vfio_user;              // a guest has the device open through vfio
  std::uint32_t settle_ms;     // from a bind or reset until nodes are there and the state is live
  std::int64_t settles_at_ms;  // of the host's clock; 0 = settled
  ProbeFault outcome;          // what it then has come to
  std::array<bool, kNamespacesMax> known;  // what the kernel made disks of
};

struct DriveState {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t bytes;          // sizeof(DriveState), against files of another build
  std::array<char, 20> serial;  // blank padded, as the wire has it
  std::array<char, 40> model;
  std::array<char, 8> firmware;
  std::array<char, 223> subsystem_nqn;  // NUL padded
  std::uint16_t controller_id;
  std::uint16_t other_controller_id;   // a second controller of the subsystem; 0 = there is none
  std::uint8_t firmware_slot_active;   // 1..7
  std::uint8_t firmware_slot_pending;  // 0 = none
  bool firmware_needs_power;           // it waits for more than a controller reset
  std::uint32_t firmware_activations;
  std::array<std::array<char, 8>, 7> firmware_slots;
  std::int64_t clock_offset_ms;  // moved forward by tests that do not want to wait
  std::uint64_t admin_commands;
  std::uint64_t sanitizes_accepted;
  std::uint64_t noise_seed;
  Capabilities capabilities;
  RealPages pages;
  SanitizeState sanitize;
  SmartState smart;
  Faults faults;
  SecurityState security;
  BootState boot;
  LockdownState lockdown;
  SelfTestState self_test;
  HostMemoryState host_memory;
  DownloadState download;
  HostSide host;
  std::array<NamespaceState, kNamespacesMax> namespaces;
  std::array<FeatureState, 256> features;
  // What features with a structure hold follows from a seed; 0 is all zeros. One that was ever set
  // is there.
  std::array<std::uint64_t, 256> feature_seed;
  std::array<bool, 256> feature_structured;
  std::uint32_t placement;  // feature 1Dh of every endurance group
  std::array<std::uint8_t, 16> host_id;
  bool host_id_extended;  // it was given with 128 bits
  // Of each namespace, 4096 equal parts: whether one was written since the last sanitize.
  std::array<std::array<std::uint64_t, 64>, kNamespacesMax> written;
};

static_assert(std::is_trivially_copyable_v<DriveState>);

// The factory setting of everything that a drive description does not name.
void reset_to_factory(DriveState& state);

}  // namespace reclaim::emulator
