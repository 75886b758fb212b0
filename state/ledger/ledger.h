// Ledger: what must not be forgotten though Redis were lost
// (docs/dev/safety-claims.md#what-is-dirty-is-not-forgotten): which drives are dirty, in error,
// under maintenance, and which serial an operator enrolled. One real implementation
// (state/certificate/file_ledger.h: append-only, fsynced), one in memory (tests/sim).
//
// Thread: the loop's. Reading is from memory; a write's callback comes once it is on stable
// storage.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "state/base/callback.h"
#include "state/base/clock.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/device/record.h"
#include "state/ledger/audit.h"

namespace reclaim {

// The cleaning under way: what its release will rest on. A record in Redis says the same, and is
// not believed without it.
struct CleaningOnLedger {
  std::string nonce;            // the record's cleaning_nonce; empty: no erase was begun
  std::string baseline_digest;  // of the record's baseline; empty: its erase is not to be adopted
  std::string findings;         // JSON: of each clean step, as the record has them
  // The progress of its zeroing (nvme/erase/zero_mark.h); empty: not told, or it is not to go on.
  std::string zero_mark = {};
  friend bool operator==(const CleaningOnLedger&, const CleaningOnLedger&) = default;
};

// A write of ours to `reserved`, from before it is sent until its outcome is known
// (handlers/survey/reserved_by.h).
struct WriteAsked {
  std::string provider;          // UUID
  std::int64_t generation = -1;  // at which it is made, or never; -1: none is asked
  bool reserved = false;         // to its total, or 0
  [[nodiscard]] explicit operator bool() const { return generation >= 0; }
  friend bool operator==(const WriteAsked&, const WriteAsked&) = default;
};

struct LedgerEntry {
  bool dirty =
      false;  // set when first seen allocated or burned, struck only by a confirmed release
  bool error = false;
  bool aborted = false;  // it is in error by an operator's abort: only an operator ends that
  bool maintenance = false;
  std::string retired = {};  // as in Record
  bool by_steps = false;     // as in Record
  // This worker reserved it, or has asked for it, and is to un-reserve it: because it is bound
  // ([cyborg] reserve_all_types), or because it is taken out of the pool for a while
  // (handlers/conductor/taken_out.h).
  bool reserved_at_bind = false;
  bool taken_out = false;
  WriteAsked asked = {};  // of one of the two
  // The order of its maintenance was not authenticated: it ends then, or with the next start. None:
  // an operator ends it.
  WallMs maintenance_until;
  // An operator's word for the whole host, which any of its lines may have
  // (handlers/survey/host_pause.h): until then no cleaning begins; 0: none. And whose it is, and
  // why.
  WallMs paused_until = {};
  std::string paused_by = {};
  std::string serial;    // of the drive meant; empty: not known when it was written
  std::string provider;  // its provider's UUID when last written
  std::string enrolled_serial;
  // Both mean what they do in Record.
  std::string hardware;
  std::string boot_id;
  // The boot in which its address was first seen, dirty already, whatever drive stood there; empty:
  // not known, or clean since.
  std::string first_boot_id = {};
  WallMs dirty_since;
  // The last release: what lets an operator's hold, and a drive as it should be, be told though its
  // record were lost. Empty before the first one.
  std::string enrolment;
  std::string certificate_id;
  WallMs certificate_at;
  std::optional<std::uint64_t> host_reads;
  std::optional<std::uint64_t> host_writes;
  Rest rest;
  bool handed_over = false;  // that release left it reserved, for Cyborg's agent to un-reserve
  bool accepted =
      false;  // an operator accepted the drive as it is found, and no tenant had it since
  std::uint64_t epoch = 0;  // of the record, when this was written: an older one was put back
  WallMs
      ordered_at;  // when the last authenticated order was issued that was judged: older are over
  CleaningOnLedger cleaning;
  // The text of the certificate of the release that was asked for last, from before it was asked
  // for until the certificate is kept; or of an erasure that is not given back, until the next
  // cleaning. Only this text is ever sealed.
  std::string certificate_pending;
  // The generation of the provider that the PUT of that release was to be made at; -1: not known.
  std::int64_t release_generation = -1;
  // The one at which a fence behind that PUT was written last, while nothing showed that the
  // release was made (`shows_no_release`); -1: none was.
  std::int64_t fence_generation = -1;
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

// The serial of the drive that an entry speaks of: the one an operator enrolled, else the one last
// seen.
[[nodiscard]] inline const std::string& serial_of(const LedgerEntry& entry) {
  return entry.enrolled_serial.empty() ? entry.serial : entry.enrolled_serial;
}

// True if its dirt is of after the release at that time, which has nothing to say about it then.
[[nodiscard]] inline bool is_dirty_since(const LedgerEntry& entry, WallMs released_at) {
  return entry.dirty && entry.dirty_since > released_at;
}

class Ledger {
 public:
  virtual ~Ledger() = default;

  [[nodiscard]] virtual const std::map<PciAddress, LedgerEntry>& entries() const = 0;
  // Replaces what is remembered of the address. `done` after fsync; until then entries() shows the
  // new value already, since it only ever errs towards safety when it is asked for first.
  virtual void put(const PciAddress& address, const LedgerEntry& entry, Callback<Ok> done) = 0;
  // Keeps the certificate: sealed, as a file of its own. `done` gets the sealed text once it is on
  // stable storage; one that was kept already keeps its text, whatever this one says.
  virtual void keep_certificate(const std::string& id, const std::string& json_text,
                                Callback<std::string> done) = 0;
  // Seals an entry of the audit journal in the same chain, behind what was asked for before.
  virtual void keep_audit(const AuditEntry& entry, Callback<Ok> done) = 0;
};

}  // namespace reclaim
