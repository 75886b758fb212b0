// The life of one device as data. Each row says: in this stage, on this trigger, go there, do that,
// and why. The log prints `why`, the documentation's diagram is made from it, and the promise is
// held by static_asserts on the table: a release is reached only through a verified erasure.
//
// A stage is finer than the device state operators see: all stages of a cleaning show as
// `cleaning`. Pure; no clock, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim {

// The contract of the Cyborg specification ("Device State Machine"), used for both flows.
enum class DeviceState : std::uint8_t { available, allocated, pending_cleaning, cleaning, error };

enum class Stage : std::uint8_t {
  available,
  allocated,
  pending_cleaning,
  guarding,    // lock taken, the host's guards are looked at, the drive is claimed
  rechecking,  // Placement is read once more, with the claim in hand
  preparing,   // the plan's steps before the erase: what a tenant may have left is reset
  baselining,  // samples are read, the canary is written
  erasing,
  verifying,
  concluding,  // the plan's steps after the verification, all of them an operator's own
  restoring,   // an unmanaged drive, or a device that is no drive, gets its former driver back
  looking,     // Placement and the claim are looked at again
  releasing,   // the PUT that drops `reserved` is on its way
  confirming,  // the PUT's outcome is unknown: read back
  error,
};
inline constexpr std::size_t kStageCount = 15;

enum class Trigger : std::uint8_t {
  allocation_seen,     // a consumer holds the provider
  passed_on,           // another consumer holds it than the one on record, and nobody erased it
  allocation_gone,     // reserved = 0 and nobody holds it, where a tenancy was seen: missed burn
  dirty_seen,          // burned, unallocated, not held
  reserved_dropped,    // not available, yet reserved < total
  gone_uncleanable,    // its tenancy is over, and Reclaim does not clean its kind
  unknown_offered,     // on offer, and nothing is known of it ([nvme] enrol_first_sight = clean)
  unregistered_seen,   // a drive of ours that Placement does not know yet
  policy_unsatisfied,  // offered, but the configured policy cannot be satisfied by this drive
  admitted,            // nothing forbids cleaning it now
  lock_refused,        // another worker holds the lock
  guards_passed,
  guards_wait,         // something may pass by itself: driver not bound yet, a guest still there
  guards_failed,       // only an operator can mend it: changed serial
  still_burned,        // Placement as at admission
  still_burned_adopt,  // the same, and an erase of ours was under way when we were interrupted
  placement_changed,   // provider re-created, not burned any more, …
  placement_away,      // no answer: ask again
  step_done,           // and another one is to come before the baseline
  steps_done,
  steps_verified,  // of a device that is no drive: all of its plan, and one showed that it is clean
  step_failed,     // quarantine: the detail names the surface and the remedy
  baseline_taken,
  baseline_failed,
  nothing_to_adopt,  // the interrupted erase is not running any more: start over
  erased,
  erase_failed,
  erase_unknown,      // deadline, stall, reset: it may be running still
  erase_not_started,  // given up before the command was sent
  verified,
  verified_more,  // and the plan has steps after the verification
  verify_failed,
  verified_unfit,  // the erasure is shown, and the drive is too unwell to be given back, or retired
  driver_restored,
  restore_failed,
  look_ok,
  look_changed,      // claim or counters moved: a tenancy may have come between
  release_withheld,  // Cyborg has it maintaining, or its provider is gone or not reserved
  provider_anew,     // another provider stands for it, and the claim held all the while
  released,
  released_taken,   // and the next instance already has it
  released_unseen,  // and reserved again: somebody had it whom nobody saw
  handed_over,      // left reserved: Cyborg's agent un-reserves it
  release_conflict,
  release_unknown,
  release_refused,
  still_reserved,    // read back: nobody had it, and nothing of ours can release it any more
  lock_lost,         // somebody else holds the lock now
  restarted_resume,  // we were interrupted; the policy says resume
  restarted_error,   // we were interrupted; the policy says error
  operator_clean,
  operator_abort,
  operator_enrol,    // the operator accepts the drive that is there now
  operator_steps,    // the operator names clean steps, which its next cleaning begins with
  operator_retire,   // the operator has the drive erased and never given back
  overdue,           // its time is over (handlers/survey/cleaning_time.h)
  erases_exhausted,  // erased again and again without coming to a release
};
inline constexpr std::size_t kTriggerCount = 57;

enum class EffectKind : std::uint8_t {
  none,
  claim,     // take the lock, look at the guards, claim the drive
  recheck,   // read Placement
  run_step,  // the step of the plan that the record's step_index names
  take_baseline,
  erase,  // the one destructive effect
  verify,
  restore_driver,
  look,     // claim and Placement, once more
  release,  // PUT reserved = 0; the only effect that gives a device back
  confirm,  // read Placement after an unknown PUT
  certify,  // of an erasure that is not given back: certificate, drop claim and lock
  finish,   // certificate, strike the ledger's line, drop claim and lock
  drop,     // stop what runs in the drive thread, drop claim and lock
  reserve,  // PUT reserved = total
};

// When a survey looks at the device next, if that is before the periodic one.
enum class LookAgain : std::uint8_t {
  none,
  at_once,
  soon,   // in a second
  later,  // what it waits for takes its seconds, and each time longer
};

struct Row {
  Stage from;
  Trigger on;
  Stage to;
  EffectKind effect;
  std::string_view why;
  LookAgain look = LookAgain::none;
};

[[nodiscard]] std::span<const Row> machine_rows();
[[nodiscard]] const Row* find_row(Stage from, Trigger on);

// An operator's order, or a start's: said once, so that nothing finds it again if it is lost.
[[nodiscard]] bool is_said_once(Trigger trigger);

// Somebody has the device whose tenancy is not the one on record.
[[nodiscard]] constexpr bool begins_tenancy(Trigger trigger) {
  return trigger == Trigger::allocation_seen || trigger == Trigger::passed_on;
}

[[nodiscard]] DeviceState device_state(Stage stage);
// True in the middle of a cleaning: a lock and perhaps a claim are held.
[[nodiscard]] bool is_busy(Stage stage);
// The busy stages that take the drive's time: a survey looks at Placement meanwhile.
[[nodiscard]] bool may_last_long(Stage stage);

[[nodiscard]] std::string_view to_string(DeviceState state);
[[nodiscard]] std::string_view to_string(Stage stage);
[[nodiscard]] std::string_view to_string(Trigger trigger);
// True if the trigger that a journal names ends a cleaning well: with `reserved = 0`, or with its
// device handed over to Cyborg's agent.
[[nodiscard]] bool ends_well(std::string_view trigger);
// True if a journal's entry tells that somebody un-reserved a device that is not known to be clean.
// (One that was in the pool was un-reserved by Reclaim, and is found not to be clean after all.)
[[nodiscard]] bool is_offered_dirty(std::string_view from, std::string_view trigger);
// The words of the alarm in last_error, log and journal: see raise_alarm() of handlers/survey.
inline constexpr const char* kNotKnownToBeClean =
    "a tenant has got a drive that is not known to be clean";
// True if a journal's entry tells of that alarm.
[[nodiscard]] bool is_given_dirty(std::string_view trigger, std::string_view detail);
[[nodiscard]] std::string_view to_string(EffectKind effect);
[[nodiscard]] Result<Stage> parse_stage(std::string_view text);

// The table as people read it: "text", "markdown" or "dot".
[[nodiscard]] Result<std::string> render_machine(std::string_view format);

}  // namespace reclaim
