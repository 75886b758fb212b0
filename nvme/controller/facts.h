// The facts known of a drive, as plain values: from the host's sysfs, from the opened controller,
// and from measuring its media. Pure; part of nvme_core.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "nvme/controller/hardware_identity.h"
#include "nvme/rules.h"
#include "state/base/clock.h"
#include "state/base/pci_address.h"

namespace reclaim::nvme {

// Bits of Identify Controller that decide how a drive can be erased (NVM Express Base 2.0, Figure
// 275; VERS: Base 2.1, Figure 312).
struct Capabilities {
  std::uint32_t sanicap = 0;
  std::uint16_t oncs = 0;
  std::uint16_t oacs = 0;
  std::uint8_t fna = 0;

  [[nodiscard]] bool crypto_erase() const { return (sanicap & 1U) != 0; }
  [[nodiscard]] bool block_erase() const { return (sanicap & 2U) != 0; }
  [[nodiscard]] bool sanitize() const { return (sanicap & 7U) != 0; }            // of any kind
  [[nodiscard]] bool media_verification() const { return (sanicap & 8U) != 0; }  // VERS
  [[nodiscard]] bool write_zeroes() const { return (oncs & 8U) != 0; }
  [[nodiscard]] bool format() const { return (oacs & 2U) != 0; }
  [[nodiscard]] bool format_crypto() const { return format() && (fna & 4U) != 0; }
  [[nodiscard]] bool namespace_management() const { return (oacs & 8U) != 0; }
  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

struct NamespaceFacts {
  std::uint32_t nsid = 0;
  std::string node;  // "nvme0n1", relative to the dev root
  std::uint64_t capacity_bytes = 0;
  std::uint32_t block_bytes = 0;  // logical block size in use
  std::uint8_t dlfeat =
      0;  // bits 2:0: what a deallocated block reads as (0 unknown, 1 zeroes, 2 ones)
  // NGUID and EUI64 of Identify Namespace, in hex; empty: it has neither, or was not asked.
  std::string identifier = {};
  std::uint16_t metadata_bytes = 0;  // of each block, in the format in use
};

// A drive's identity, as its controller tells it when opened. Serial and model are trimmed of
// padding.
struct Identity {
  std::string serial;
  std::string model;
  std::string firmware;
  std::uint8_t cmic = 0;
  Capabilities capabilities;
  std::uint64_t capacity_bytes = 0;  // TNVMCAP; 0: it does not tell
};

// A drive's Sanitize Status (log page 81h).
struct SanitizeLog {
  std::uint16_t sprog = 0xffff;  // numerator of n/65536 while in progress
  std::uint16_t sstat = 0;
  std::uint32_t scdw10 = 0;                // dword 10 of the command that started the last sanitize
  std::uint32_t overwrite_s = 0xffffffff;  // ETO, estimated; 0xffffffff: not reported
  std::uint32_t block_s = 0xffffffff;      // ETBE
  std::uint32_t crypto_s = 0xffffffff;     // ETCE
  std::uint32_t deallocate_s = 0xffffffff;  // ETPVDS: after the media verification
  std::uint8_t state = 0;                   // SANS; 0 of a drive without media verification

  [[nodiscard]] unsigned status() const { return sstat & 7U; }
  [[nodiscard]] bool in_progress() const { return status() == 2; }
  // Processed, and in progress until a command ends it: the media can be read, nothing be written,
  // and no other sanitize begun (Base 2.1, 8.1.24.3.6).
  [[nodiscard]] bool media_verification() const { return in_progress() && state == 5; }
  [[nodiscard]] bool global_data_erased() const { return (sstat & 0x100U) != 0; }
  friend bool operator==(const SanitizeLog&, const SanitizeLog&) = default;
};

// SMART counters that tell whether anybody touched the media (log page 02h; the low 64 bits of the
// 128-bit counters, which no drive of today exceeds).
struct Counters {
  std::uint64_t host_reads = 0;
  std::uint64_t host_writes = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

// One PCI function as the host sees it. `identity` is absent when the controller could not be
// opened (no driver bound, not live); `problem` then says why.
struct DriveFacts {
  PciAddress address;
  std::uint16_t vendor_id = 0;
  std::uint16_t device_id = 0;
  std::uint32_t class_code = 0;  // 0x010802 for NVMe
  std::string driver;            // "nvme", "vfio-pci", "" when unbound
  std::string controller;        // "nvme0"; "" without the nvme driver
  std::string controller_state;  // "live", "resetting", …
  std::string subsystem_nqn;
  int iommu_group = -1;  // -1: none
  std::uint32_t sriov_vfs_enabled = 0;
  HardwareIdentity hardware;  // known whatever driver is bound
  std::string mac;            // "00:1b:21:aa:00:01" of a network card with a driver; else empty
  std::optional<Identity> identity;
  std::optional<Counters> counters;
  std::optional<SanitizeLog> sanitize;  // of a claim, and with Options::looks_at_sanitize
  std::optional<HealthState> health;    // of a look at the host's drives; a claim does not tell it
  std::vector<NamespaceFacts> namespaces;
  std::string problem;
  [[nodiscard]] bool is_drive() const { return class_code >> 8U == 0x0108; }
  // The guest of the host that has the device, in words: a libvirt domain that names it, a process
  // that holds its vfio group. Looked for only where the device may be asked; empty: none was seen.
  std::string guest;
};

// The finding of one guard (nvme/host/guards.h); a claim lists them in the order in which it
// looked. A guard refuses with one line that an operator understands.
struct GuardFinding {
  std::string guard;  // "mounted", "libvirt_domain", "vfio_open", "claim", …
  bool passed = false;
  std::string detail;  // what was looked at; when refused, what is in the way and what to do
};

// The request for a drive's claim: all that the claim is checked against.
struct ClaimRequest {
  PciAddress address;
  std::string resource_class;  // of the provider: CUSTOM_PCI_<VID>_<PID> must match the ids
  std::optional<std::string>
      resource_class_override;            // device_spec's own resource_class, normalised
  std::string expected_serial;            // as recorded; empty: none recorded yet
  bool shared_subsystem_allowed = false;  // device_spec shared_subsystem = allow
  // device_spec managed. Not managed: the drive stands on vfio-pci or a variant driver; the claim
  // takes it over to the nvme driver, and restore_driver() or drop() puts the former one back.
  bool managed = true;
  Rules rules;  // kept with the claim: the steps, the erase and the verification go by them
  // The enrolment baseline of the record, with which the drive's health is compared after its
  // erase; empty: none.
  std::string enrolment;
  // Commands of the operator's own steps that the plan will run, absolute paths.
  std::vector<std::string> commands;
};

// A claim that was granted: the controller and every namespace node are open (O_RDWR|O_EXCL) and
// stay so until the claim is dropped.
struct ClaimReport {
  std::vector<GuardFinding> findings;
  DriveFacts facts;                                    // identity read from the opened controller
  std::map<std::string, std::string> command_digests;  // SHA-256 of each of the commands, by path
};

enum class EraseMethod : std::uint8_t {
  sanitize_crypto,
  sanitize_block,
  write_zeroes,      // the drive's own Write Zeroes, over every block
  overwrite,         // zeroes written by the host (the specification's "shred")
  format_crypto,     // Format NVM, SES 2
  format_user_data,  // Format NVM, SES 1
};
[[nodiscard]] std::string_view to_string(EraseMethod method);
[[nodiscard]] Result<EraseMethod> parse_erase_method(std::string_view text);
[[nodiscard]] bool is_sanitize(EraseMethod method);
// NIST SP 800-88 / IEEE 2883: "purge" for Sanitize, "clear" for everything else.
[[nodiscard]] std::string_view sanitization_class(EraseMethod method);

// One place read before the erase. A blank sample (all bytes equal) proves nothing and is not
// counted; nor is one that could not be read, which has to be readable after the erase.
struct Sample {
  std::uint32_t nsid = 0;
  std::uint64_t offset_bytes = 0;
  std::uint32_t length_bytes = 0;
  std::string sha256;  // lower-case hex of what was read before; empty: it could not be
  bool blank = false;
  friend bool operator==(const Sample&, const Sample&) = default;
};

// The places that verification compares the media with. Persisted before the erase is started, so
// that a sanitize adopted after a restart can still be verified.
struct Baseline {
  std::vector<Sample> samples;
  std::vector<Sample> canaries;  // written by us before the erase, then read back and digested

  [[nodiscard]] std::size_t counted() const {
    std::size_t count = canaries.size();
    for (const Sample& sample : samples) count += sample.blank ? 0U : 1U;
    return count;
  }
  friend bool operator==(const Baseline&, const Baseline&) = default;
};

// Compact text for the device record, and back.
[[nodiscard]] std::string encode_baseline(const Baseline& baseline);
[[nodiscard]] Result<Baseline> decode_baseline(std::string_view text);

struct EraseRequest {
  EraseMethod method = EraseMethod::sanitize_crypto;
  // A restart: a sanitize with our CDW10 may be running, or a zeroing of ours has left a mark.
  bool adopt_ours = false;
  std::int64_t timeout_ms = 900'000;        // [nvme] cleanup_timeout
  std::int64_t stall_timeout_ms = 600'000;  // no movement of SPROG for so long: stuck
  // The baseline with which the media is compared before it is deallocated, where the drive can
  // show it then (sanitized_media.h); empty: the media is not looked at.
  Baseline baseline = {};
  // With adopt_ours: the last mark of the zeroing that was interrupted, or whose end nobody has
  // verified; empty: none.
  std::string mark = {};
  // A zeroing tells here, now and then and when it ends, what another could go on from
  // (erase/zero_mark.h). Nothing waits for it to be kept.
  std::function<void(const std::string& mark)> on_mark = nullptr;
};

struct EraseProgress {
  double percent = 0;       // of the step now running, 0..100
  std::int64_t eta_s = -1;  // estimate, -1 when the drive reports none
};

// The media of a sanitized drive as it was before it was deallocated, read in the state that a
// drive may have for that (NVM Express Base 2.1, 8.1.24.3.6). It proves what it says and no more:
// what verification asks for stands beside it.
struct SanitizedMedia {
  std::uint32_t places_read = 0;
  // The places read that held data before the erase, canaries included. None of them reads as it
  // did, or there is no evidence.
  std::uint32_t places_compared = 0;
  std::uint32_t places_unreadable = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_nonzero = 0;  // informative: after an erase the media may hold anything
  std::string not_read;  // why, where it was to be read; empty: it was, or the drive cannot
  friend bool operator==(const SanitizedMedia&, const SanitizedMedia&) = default;
};

// The evidence of an erase: what the drive said, cross-checked (our command accepted, SCDW10 equal,
// SSTAT 1 or 4, Global Data Erased set). Of the methods other than Sanitize only method, the
// counts, adopted and duration_ms are filled.
struct EraseEvidence {
  EraseMethod method = EraseMethod::sanitize_crypto;
  std::uint32_t cdw10 = 0;
  std::uint32_t scdw10 = 0;
  std::uint16_t sstat = 0;
  bool global_data_erased = false;
  bool adopted = false;  // it was already running, or begun, or at its end, when we came
  std::int64_t duration_ms = 0;
  std::uint64_t bytes_zeroed = 0;  // write_zeroes, overwrite: all of every namespace
  std::uint32_t commands = 0;      // format: accepted and completed, one a namespace or one in all
  // The part of bytes_zeroed, from the first byte on, that a worker before zeroed and this one read
  // back as zeroes.
  std::uint64_t resumed_at_bytes = 0;
  SanitizedMedia media = {};  // sanitize

  // SSTAT 4: erased, and deallocated although the drive was asked not to. An erasure like SSTAT 1.
  [[nodiscard]] bool unexpectedly_deallocated() const {
    return is_sanitize(method) && (sstat & 7U) == 4;
  }
  friend bool operator==(const EraseEvidence&, const EraseEvidence&) = default;
};

// The clean steps that stand between the guards and the baseline: looked at, reported by name,
// reset where the specification allows. What cannot be reset quarantines the drive.
enum class DriveStep : std::uint8_t {
  check_health,
  restore_firmware,
  recover_sanitize,
  reset_controller_state,
  reset_namespaces,
};
[[nodiscard]] std::string_view to_string(DriveStep step);
[[nodiscard]] Result<DriveStep> parse_drive_step(std::string_view text);

struct StepRequest {
  DriveStep step = DriveStep::check_health;
  EraseMethod method = EraseMethod::sanitize_crypto;  // that the plan will erase with
  std::string enrolment;  // the baseline of this drive (encode_controller_state); empty: none
  // Counts without a baseline. True: an operator accepted the drive as it is found, an owned SID
  // and an RPMB key that is programmed included.
  bool accept_found = false;
  std::int64_t timeout_ms = 900'000;
};

// One thing a step looked at.
struct StepFinding {
  std::string surface;  // "firmware", "opal", "namespaces", "percentage_used", …
  std::string found;    // what it was, in words
  bool reset = false;   // it was not as it should be, and is again
  friend bool operator==(const StepFinding&, const StepFinding&) = default;
};

struct StepReport {
  std::vector<StepFinding> findings;
  std::string reverted = {};  // what a revert of TCG Opal by PSID ended; empty: there was none
};

struct VerifyReport {
  VerifyLevel level = VerifyLevel::sample;
  Relaxations relaxed;
  std::uint64_t capacity_bytes = 0;  // of all namespaces as they were verified
  std::uint32_t samples_read = 0;
  std::uint32_t samples_counted = 0;    // that held data before, canaries included
  std::uint32_t samples_unchanged = 0;  // that still equal their old content: must be 0
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_nonzero = 0;   // informative; a failure where zeroes are promised or written
  std::uint32_t canaries_found = 0;  // must be 0
  // The faults that needed the relaxations; each is 0 where its check is not relaxed.
  std::uint32_t places_unreadable = 0;
  std::uint64_t bytes_unreadable = 0;
  std::uint32_t places_off_value = 0;  // that do not read as DLFEAT promises
  bool global_data_erased = false;     // read again, last of all
  Counters counters;                   // at the end of verification
  std::string expectation;  // "zeroes (DLFEAT 1)", "changed (crypto erase, DLFEAT 0)", …
  // `health` is the drive's health after its erase; empty: it was not judged
  // (HealthLimits::judged). `unfit` says why the drive is not to be given back, in sentences with
  // their remedy; empty: nothing speaks against that.
  std::vector<StepFinding> health;
  std::vector<std::string> unfit;
  // The drive as we leave it (encode_controller_state): the enrolment baseline of the next tenancy.
  std::string enrolment;
  friend bool operator==(const VerifyReport&, const VerifyReport&) = default;
};

}  // namespace reclaim::nvme
