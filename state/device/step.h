// The reducer: step(record, event, now) -> update. One synchronous function without clock, entropy
// or I/O; the table of state/device/machine.h decides where to go, this file what the record then
// says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "state/device/record.h"

namespace reclaim {

// The facts that an event brings along; each trigger fills what it has. A member that is present
// replaces the record's.
struct Facts {
  std::string detail;  // an error's text, numbers: for last_error, waiting_for and the journal
  bool by_proven_order = false;  // of an authenticated order, and no copy of one
  bool by_cyborg = false;        // it asks for what else an operator orders
  std::optional<std::string> instance;
  std::optional<InstanceSource> instance_source;
  std::optional<std::string> migration;
  std::optional<std::string> project;
  std::optional<std::string> user;
  std::optional<std::vector<std::string>> heard;
  std::optional<WallMs> last_free;  // of a device in the pool: when it was last seen clean and free
  std::optional<Flow> flow;
  std::optional<std::string> type;
  std::optional<bool> by_steps;
  std::optional<std::string> arq;
  std::optional<std::string> cyborg_status;
  std::optional<bool> managed;
  std::optional<bool> handed_over;
  std::optional<std::string> last_error;  // to be shown though the device is not in error
  std::optional<std::string> request_id;
  std::optional<std::string> retired;
  std::optional<std::string> provider;
  std::optional<std::string> provider_name;
  std::optional<std::string> resource_class;
  std::optional<std::string> vendor_id;
  std::optional<std::string> product_id;
  std::optional<std::string> model;
  std::optional<std::string> serial;
  std::optional<std::string> firmware;
  std::optional<std::string> hardware;
  std::optional<std::string> mac;
  std::optional<std::string> boot_id;
  std::optional<std::uint64_t> capacity_bytes;
  std::optional<std::vector<CleanStep>> plan;
  std::optional<std::vector<CleanStep>> steps_offered;
  std::optional<std::vector<CleanStep>> steps_ordered;
  std::optional<std::vector<std::string>> tags;
  std::optional<std::vector<std::string>> policies;
  std::optional<std::uint32_t> step_index;  // where the plan goes on
  std::optional<std::string> cleaning_nonce;
  std::optional<std::string> baseline;
  std::optional<std::string> evidence;
  std::optional<std::string> verification;
  std::optional<std::string> findings;
  std::optional<std::int64_t> release_generation;
  std::optional<std::string> enrolment;
  std::optional<std::uint64_t> host_reads;  // SMART counters that the certificate will stand on
  std::optional<std::uint64_t> host_writes;
  std::optional<std::string> certificate_id;

  void name_tenant(std::string who, InstanceSource source) {
    instance = std::move(who);
    instance_source = source;
  }
};

struct Event {
  Trigger trigger = Trigger::allocation_seen;
  std::uint64_t epoch =
      0;  // of the record it answers; 0: no answer, a survey's or an operator's word
  Facts facts;
};

struct Update {
  Record record;  // to be persisted before the effect is carried out
  EffectKind effect = EffectKind::none;
  const Row* row = nullptr;  // never null: what was decided and why
  // An accelerator request alone says that somebody has it, and the record's tenancy is another.
  bool only_said = false;
  bool by_proven_order = false;
};

// Nothing when the event is stale (another epoch) or the table has no row for it here. What no
// device_spec entry lists only ever goes from available to allocated and back; what is no drive
// never comes to an erase, and a drive never past one.
[[nodiscard]] std::optional<Update> step(const Record& record, const Event& event, WallMs now);

// Holds what is learnt of a device that does not move. A present member replaces the record's.
struct Note {
  // The tenant counts where the record's is not another; the serial, where the record has none. The
  // members below stand for those of the same name here.
  Facts facts;
  bool held = false;             // burned, but reserved by an operator
  bool taken_over = false;       // Cyborg's agent was to un-reserve it, and it is un-reserved
  bool awaits_operator = false;  // nothing forbids the cleaning but that he has to begin it
  std::string waiting_for;  // the reason why nothing happens though something should; empty: none
  std::optional<std::string> cyborg_status;  // no value: not known now
  std::optional<std::string> cyborg_uuid;    // its UUID in Cyborg; no value: not known now
  // Nobody has written to it so far, as far as is known, or only the host has read it: the SMART
  // counters that later writes are told by.
  std::optional<std::uint64_t> host_reads;
  std::optional<std::uint64_t> host_writes;
  // Its provider as it stands in the pool, where it is known that nobody had it.
  std::optional<Rest> rest;
  // Offered: the plan that policy and capabilities give today. It is locked in once somebody takes
  // the device.
  std::optional<std::vector<CleanStep>> plan;
};

// The record with what is learnt: stage and epoch stay.
[[nodiscard]] Record note(const Record& record, const Note& learnt);

// [recovery] interrupted_cleaning.
enum class InterruptedCleaning : std::uint8_t { automatic, error, resume };

// The trigger for a record found at start: `error` is the Cyborg specification's rule
// and the default of flow cyborg, `resume` the default of flow nova; a planned stop resumes, except
// in flow cyborg.
[[nodiscard]] Trigger restart_trigger(const Record& record, InterruptedCleaning policy);

// The date of the erasure on record: not before its cleaning began, and after the last certificate,
// though the wall clock were set back. What became dirty later has a later date.
[[nodiscard]] WallMs erased_at(const Record& record);

// True if both are the same state of the device. Progress is written outside the epoch, so that it
// may have come over a record of ours.
[[nodiscard]] bool same_but_progress(const Record& stored, Record ours);

// The tenancy is over, and its certificate is made: nothing of it is told of the next.
void forget_tenancy(Record& record);

// True if Placement shows an instance that its accelerator request alone had named.
[[nodiscard]] bool is_shown_at_last(const Record& before, const Record& after);

// An operator's word to clean, and the steps that he named, were for another cleaning.
void forget_order(Record& record);

// The record as a worker leaves it that is told to stop.
[[nodiscard]] Record planned_stop(const Record& record, WallMs now);

}  // namespace reclaim
