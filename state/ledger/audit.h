// The audit journal: what happened to a drive beside its erasures, which have certificates. Entries
// are sealed in the chain of the certificates (state/certificate/chain.h), so that a tenancy
// without an erasure behind it is seen by whoever has the chain. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim {

enum class AuditEvent : std::uint8_t {
  tenancy_seen,        // an instance has it
  tenancy_ended,       // and does not any more
  quarantined,         // it is in error; `detail` says why
  released_elsewhere,  // not by us: un-reserved while not clean, or when its tenant was gone
  reserved_again,      // it was on offer, and Reclaim reserved it
  enrolled,            // an operator accepted the drive that is there now
  maintenance,         // begun or ended by an operator; `detail` says which
  key_endorsed,        // the host's next signing key, vouched for by this one
  enrol_refused,       // an operator accepted another drive than the one that is there
  disowned,            // an operator let it go, as it is; `detail` says who, and why
  key_revoked,         // a signing key proves nothing from an entry on; `detail` says why
  retired,             // an operator has it erased and never given back; `detail` says who, and why
  opal_reverted,       // by PSID, since it was locked or owned; `detail` says how
};

[[nodiscard]] std::string_view to_string(AuditEvent event);

struct AuditEntry {
  std::string id;  // UUID, made of all the rest by identified()
  AuditEvent event = AuditEvent::tenancy_seen;
  std::string host;
  std::string address;              // PCI; empty: of no device
  std::string serial;               // as recorded; empty: not known yet
  std::string instance;             // the tenancy that is or was last; empty: not known
  std::string detail;               // one line
  std::string public_key;           // PEM, of key_endorsed
  std::string key_id;               // SHA-256 of its DER form, of key_revoked
  std::uint64_t from_sequence = 0;  // of key_revoked: the first entry that the key does not prove
  WallMs at;
  std::string project = {};  // of the instance, as Placement says; empty: not told, and the next
  std::string user = {};
  std::string migration = {};  // that followed the instance on the device; empty: none
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

// The entry with its id, and its detail as one printable line.
[[nodiscard]] AuditEntry identified(AuditEntry entry);
// The entry's detail for people: of key_revoked with the key, and from where on.
[[nodiscard]] std::string detail_of(const AuditEntry& entry);
// One JSON object in one line (docs/certificate.schema.json, definitions/audit), and back. Earlier
// versions wrote schema 1, without project, user and migration.
inline constexpr std::int64_t kAuditSchema = 2;
[[nodiscard]] std::string encode_audit(const AuditEntry& entry, std::int64_t schema = kAuditSchema);
[[nodiscard]] Result<AuditEntry> decode_audit(std::string_view json_text);

// A tenancy, or an erasure, of one drive: what a chain tells of it.
struct DriveEvent {
  enum class Kind : std::uint8_t { tenancy, ended, erasure };
  std::string drive;  // its serial; host and address where no entry there names one
  Kind kind = Kind::tenancy;
  std::string instance;
  WallMs at;  // the tenancy was seen or ended; the erasure was begun
  std::uint64_t sequence = 0;
  std::string model = {};  // the drive's, as the erasure's certificate names it
  bool is_void = false;    // signed with a key that proves nothing there: it may be invented
  std::string file = {};   // in the chain's folder: two may have one sequence
};

// A tenancy that another one followed without an erasure between them.
struct MissingErasure {
  DriveEvent tenancy;
  DriveEvent next;
  bool is_proven = true;  // by entries alone that keys signed which are known there
};
// `events` in the chain's order. Of a tenancy whose begin they do not have, its end is one too.
[[nodiscard]] std::vector<MissingErasure> find_missing_erasures(
    const std::vector<DriveEvent>& events);

// The events that one chain tells of its drives. Whoever may write its folder adds what no known
// key signed: that can add to what is missing, and hides nothing.
struct DriveEvents {
  std::vector<DriveEvent> proven;
  std::vector<DriveEvent> with_unproven;  // those and what is not proven; empty: there is none
};
[[nodiscard]] std::vector<MissingErasure> find_missing_erasures(const DriveEvents& events);

// A missing erasure between two hosts, of a drive that was moved.
struct UnerasedMove {
  std::size_t from = 0;  // which chain has the tenancy
  std::size_t to = 0;    // and which the next one
  MissingErasure missing;
};
// `chains`: the events of each. Between chains only the hosts' clocks tell what came first, and
// only the serial that it is one drive: two drives that share one look like it, unless certificates
// say that they are of different models.
[[nodiscard]] std::vector<UnerasedMove> find_unerased_moves(const std::vector<DriveEvents>& chains);

}  // namespace reclaim
