// The durable record of one device, and what is remembered of its last erasure. A record is a
// value: the reducer makes a new one, the store persists it, and only then anything is done. In
// Redis it is a hash with one readable field a member (docs/redis-keys.md#the-fields-of-a-device),
// so `redis-cli hgetall` is an operator's tool.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/clock.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/device/machine.h"
#include "state/device/timeline.h"

namespace reclaim {

// The version of the layout described in docs/redis-keys.md; stands in the key reclaim:schema.
inline constexpr int kSchemaVersion = 2;

// The highest epoch a stored record may have. Lua's numbers are doubles and skip values beyond
// 2^53; no record comes near by itself, but a hash can be edited by hand.
inline constexpr std::uint64_t kStoredEpochMax = 1ULL << 52U;

enum class Flow : std::uint8_t { nova, cyborg };

[[nodiscard]] std::string_view to_string(Flow flow);
[[nodiscard]] Result<Flow> parse_flow(std::string_view text);

// The source by which it is known whose tenancy it is, or was last. No notification of Nova's names
// a device, so that an instance is never taken from one.
enum class InstanceSource : std::uint8_t {
  not_seen,    // nobody was seen to have it
  allocation,  // Placement showed the instance as the provider's consumer
  arq,         // an accelerator request bound it for the instance, and Placement showed nobody
};

// The one who begins the cleaning of the device.
enum class CleanStart : std::uint8_t {
  automatic,  // Reclaim, as soon as nothing forbids it
  awaited,    // an operator, who has not said so yet ([clean] automated, device_spec's clean)
  ordered,    // an operator, who has
};
[[nodiscard]] std::string_view to_string(CleanStart start);
[[nodiscard]] Result<CleanStart> parse_clean_start(std::string_view text);

[[nodiscard]] std::string_view to_string(InstanceSource source);
[[nodiscard]] Result<InstanceSource> parse_instance_source(std::string_view text);

// One unit of a plan, as in Ironic. A plan is ordered, highest priority first; the erase is its
// last step, what stands before it prepares the drive.
struct CleanStep {
  std::string interface;  // "nvme", later "pci", "placement"
  std::string step;       // "sanitize_crypto"
  int priority = 0;       // higher first
  std::string args;       // JSON object as text
  bool by_hand = false;   // an operator named it for this cleaning; it runs before the plan's own
  friend bool operator==(const CleanStep&, const CleanStep&) = default;
};
// "nvme.sanitize_crypto"
[[nodiscard]] inline std::string name_of(const CleanStep& step) {
  return step.interface + "." + step.step;
}

// A drive, cleaned by an erase. A device of another type is cleaned by its steps, where [devices]
// device_spec lists it, and otherwise only shown.
inline constexpr std::string_view kTypeNvme = "NVME";
// One of which no more is known than that it is no drive.
inline constexpr std::string_view kTypeUnknown = "PCI";

using Fields = std::map<std::string, std::string>;

// The drive that the last look found at an address, whatever is recorded of it: a drive may have
// been put there since. It is shown, and an operator's `enrol` names it; nothing rests on it.
struct FoundDrive {
  std::string serial;  // empty: no drive answers, or it cannot be read where it stands
  std::string model;
  std::string hardware;  // nvme::encode_hardware
  friend bool operator==(const FoundDrive&, const FoundDrive&) = default;
};

// A provider as it was last seen with the device in the pool, on offer or reserved, and nobody
// having it. What its generation tells of the time since is in handlers/survey/unseen.h.
struct Rest {
  std::string provider;          // UUID
  std::int64_t generation = -1;  // -1: not known
  bool reserved = false;
  bool unburned = false;  // by its traits nobody burned what was given away of it: Cyborg's, say
  friend bool operator==(const Rest&, const Rest&) = default;
};

// Within which somebody had a device whom nobody saw: from the last look that found it clean and
// free, or from its verification where its release is in doubt, until it was known to be dirty.
struct Gap {
  WallMs from;
  WallMs until;  // 0: there is none
  friend bool operator==(const Gap&, const Gap&) = default;
};

// The limit of instances that are heard of at a time, of one host and of one device.
inline constexpr std::size_t kHeardMax = 64;

// The end of `waiting_for` where nothing tells an operator's hold from a tenancy that nobody saw:
// his order to clean ends the doubt.
inline constexpr std::string_view kCleanInDoubt = ", `reclaim device clean` it";

// The beginning of the reason for which a retired drive is erased and not returned.
inline constexpr std::string_view kRetired = "retired: ";

struct Record {
  // The device's identity.
  std::string host;
  PciAddress address;
  std::string uuid;  // device_uuid(host, address)
  Flow flow = Flow::nova;
  // The device's type, in Cyborg's words (cyborg/common/constants.py DEVICE_*) or in those of the
  // entry that lists it.
  std::string type = std::string(kTypeNvme);
  // No drive, and cleaned by the steps of its plan ([devices] device_spec).
  bool by_steps = false;
  [[nodiscard]] bool is_drive() const { return type == kTypeNvme; }
  // Any other is shown only, and never given back by us.
  [[nodiscard]] bool cleanable() const { return is_drive() || by_steps; }
  std::string vendor_id;  // "144d", lower-case hex without 0x
  std::string product_id;
  std::string model;
  std::string serial;  // as recorded when first seen; a change is an error until enrolled
  std::string firmware;
  std::uint64_t capacity_bytes = 0;
  // The identity of its hardware (nvme::encode_hardware), and the boot of the host in which the
  // drive at the address was last known to be this one. Empty: not known.
  std::string hardware;
  std::string boot_id;
  FoundDrive found;
  // The address of a network card, as its driver told last; it is not known while a guest has the
  // card. Empty: not known.
  std::string mac;
  // The roles that the operator gave it: of its device_spec entry, a pair's as "key=value". Opaque.
  std::vector<std::string> tags;
  // The [policy:NAME] sections that are for it, by a tag or a trait: those of the last survey, of
  // the admission while it is cleaned.
  std::vector<std::string> policies;

  // The device's place in Placement.
  std::string provider;  // UUID
  std::string provider_name;
  std::string resource_class;
  Rest rest;

  // The device's place in its life. Every persisted change raises the epoch; an answer that has
  // another epoch than the record's is dropped.
  Stage stage = Stage::available;
  std::uint64_t epoch = 0;
  WallMs created_at;  // of this record
  WallMs stage_since;
  WallMs updated_at;
  bool held = false;         // reserved by an operator: shown, never touched
  bool maintenance = false;  // set by an operator: not cleaned until it is unset
  // An operator has it erased and never given back: what becomes of it, and why. Empty: nobody has.
  std::string retired;
  // To un-reserve it is Cyborg's agent's: its options say so, or we registered it and Cyborg does
  // not know it yet. Until it was seen unreserved, or somebody had it.
  bool handed_over = false;
  std::string waiting_for;  // why nothing happens though something should: one line
  std::string last_error;   // of the last failure: what, and what to do; cleared by a release

  // The tenancy that is, or was last, until its release: nothing of it is told of the next.
  std::string instance;  // its UUID; empty where nobody was seen, or the ARQ named none
  InstanceSource instance_source = InstanceSource::not_seen;
  // The instance as Placement showed it; empty: it did not.
  [[nodiscard]] std::string consumer() const {
    return instance_source == InstanceSource::allocation ? instance : std::string();
  }
  // The consumer that followed the instance on the device, as that of its migration; empty: none.
  std::string migration;
  std::string project;  // of the consumer, as Placement says; empty: not told, and the next
  std::string user;
  std::string request_id;  // of the order that led here
  // A tenancy that was not seen: when it was, and the UUIDs of the instances whose life on this
  // host the notifications put within that time. Whether one of them had the device is not proven,
  // and nothing rests on it.
  Gap unseen;
  std::vector<std::string> heard;
  WallMs tenancy_seen_at;  // an allocation was last seen; 0: never
  std::string arq;         // UUID of the ARQ that binds it, or did last; empty: none was heard of
  // Libvirt's managed mode when the tenancy began, as the ARQ's attach handle, or else the
  // configuration, said.
  bool managed = true;
  // Cyborg's scheduling switch: "enabled", "maintaining", or empty where Cyborg was not asked. One
  // that is maintaining is never un-reserved.
  std::string cyborg_status;
  // UUID of Cyborg's device of it; empty where Cyborg was not asked or does not tell.
  std::string cyborg_uuid;

  // The cleaning under way or last done.
  CleanStart clean_start = CleanStart::automatic;
  std::vector<CleanStep> plan;  // locked in at admission
  // The steps that an operator may name for it, as the last survey found: empty where no
  // device_spec entry matches it. And those that one has named for the cleaning to come or under
  // way, in his order.
  std::vector<CleanStep> steps_offered;
  std::vector<CleanStep> steps_ordered;
  std::uint32_t step_index = 0;  // of the plan's step under way, while preparing
  std::string clean_step;        // "nvme.sanitize_crypto" while it runs
  double progress_percent = 0;
  std::int64_t progress_eta_s = -1;
  std::string progress_message;  // of an operator's own step: printable, at most some 200 bytes
  // The times at which the cleaning under way or last done reached each of its stages
  // (state/device/timeline.h).
  std::vector<StageMark> timeline;
  // Erases begun, or plans of a device that is no drive done to their end, since the last release
  // or an operator's word; bounded.
  std::uint32_t erases = 0;
  std::uint32_t attempts = 0;  // cleanings started since the last release
  WallMs cleaning_started_at;
  bool erase_begun = false;   // persisted before the command: a running sanitize may be ours
  bool planned_stop = false;  // the worker was stopped by SIGTERM in the middle
  // Drawn with the baseline: what the ledger says of the erase it says of this one and no other.
  std::string cleaning_nonce;
  std::string baseline;      // nvme::encode_baseline, persisted before the erase
  std::string evidence;      // JSON of nvme::EraseEvidence
  std::string verification;  // JSON of nvme::VerifyReport
  WallMs verified_at;
  // The generation of the provider that the PUT of the release asked for last was to be made at;
  // -1: not known.
  std::int64_t release_generation = -1;
  std::string findings;  // JSON object: of each clean step that was run, what it found and reset
  // The drive as it should be (nvme/'s text): taken when Reclaim itself had cleaned it, compared
  // with after every tenancy. Empty: not taken yet, or of a drive that an operator just enrolled.
  std::string enrolment;
  // An operator accepted the drive as it is found (device set --enrol), and no tenant had it since:
  // what a first tenant may have left for ever is told then, and quarantines it otherwise.
  bool accepted = false;

  // The last erasure that led to a release.
  std::string certificate_id;
  WallMs certificate_at;
  // The certificate of the last release, or of the erasure that was not given back
  // (encode_certificate), from then on until it is known to be sealed and kept, whatever becomes of
  // the device meanwhile. Empty: it is.
  std::string certificate_pending;
  std::optional<std::uint64_t> certified_host_reads;  // SMART counters after its verification
  std::optional<std::uint64_t> certified_host_writes;

  // Never stored: why what is in the store cannot be read. Such a record shows the address and
  // nothing else that could be relied on.
  std::string damage;

  friend bool operator==(const Record&, const Record&) = default;
};

[[nodiscard]] Fields encode_record(const Record& record);
// Unknown fields are ignored (a newer version wrote them); a bad one, or a missing one, is an error
// naming it.
[[nodiscard]] Result<Record> decode_record(const Fields& fields);

// JSON array of {interface, step, priority, args}, as the API and the record show it, and "by_hand"
// of what an operator named.
[[nodiscard]] std::string encode_plan(const std::vector<CleanStep>& plan);
[[nodiscard]] Result<std::vector<CleanStep>> decode_plan(std::string_view text);

// JSON array of strings: tags and policies.
[[nodiscard]] std::string encode_words(const std::vector<std::string>& words);
[[nodiscard]] Result<std::vector<std::string>> decode_words(std::string_view text);

// The version of docs/certificate.schema.json.
inline constexpr int kCertificateSchemaVersion = 3;

// The proof of one erasure (design "certificate"). Kept as a file and in Redis.
struct Certificate {
  std::string id;  // UUID
  std::string host;
  std::string address;
  std::string device_uuid;
  std::string flow;
  std::string vendor_id;
  std::string product_id;
  std::string model;
  std::string serial;
  std::string firmware;
  std::uint64_t capacity_bytes = 0;
  std::vector<std::string> tags;      // of the device, as its record has them
  std::vector<std::string> policies;  // [policy:NAME] sections that it was cleaned by
  std::string provider;
  std::string instance;         // the tenancy it ends; empty when none was heard of
  std::string instance_source;  // an InstanceSource; empty: of a version that did not tell
  std::string migration;        // the record's, and the next
  std::string project;
  std::string user;
  std::vector<std::string> heard;
  std::string request_id;
  std::string method;              // "sanitize_crypto"
  std::string sanitization_class;  // "purge" or "clear"
  std::string evidence;            // JSON object
  std::string verification;        // JSON object
  std::string findings;            // JSON object: what each clean step found and reset
  WallMs started_at;
  WallMs verified_at;
  WallMs released_at;               // 0: it was not
  std::string not_returned;         // why the drive was erased and not given back; empty: it was
  std::vector<StageMark> timeline;  // up to the release; empty: of a version that did not tell
  std::string tool_version;

  [[nodiscard]] bool returned() const { return not_returned.empty(); }
  // The time at which what it tells of had come to its end.
  [[nodiscard]] WallMs ended_at() const { return returned() ? released_at : verified_at; }
  friend bool operator==(const Certificate&, const Certificate&) = default;
};

[[nodiscard]] std::string encode_certificate(const Certificate& certificate);
[[nodiscard]] Result<Certificate> decode_certificate(std::string_view json_text);

}  // namespace reclaim
