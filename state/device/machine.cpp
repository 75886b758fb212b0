#include "state/device/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "state/base/enum_names.h"
#include "state/device/machine_dot.h"

namespace reclaim {
namespace {

using E = EffectKind;
using L = LookAgain;
using S = Stage;
using T = Trigger;

constexpr std::array kRows{
    // clang-format off
    Row{S::available, T::allocation_seen, S::allocated, E::none, "an instance has it"},
    Row{S::available, T::dirty_seen, S::pending_cleaning, E::none, "reserved, not in use, and not certified clean"},
    Row{S::available, T::reserved_dropped, S::pending_cleaning, E::reserve, "not known to be clean any more, yet it is on offer: it is reserved, then cleaned"},
    Row{S::available, T::unknown_offered, S::pending_cleaning, E::reserve, "on offer, and nobody knows what is on it: it is reserved, and cleaned before its first tenant"},
    Row{S::available, T::unregistered_seen, S::pending_cleaning, E::none, "a drive of ours that Placement does not know: it is registered, reserved, and cleaned first", L::soon},
    Row{S::available, T::policy_unsatisfied, S::pending_cleaning, E::reserve, "its policy cannot be satisfied by this drive: out of the pool until configuration or drive is corrected"},
    Row{S::available, T::operator_clean, S::pending_cleaning, E::none, "an operator says that it is reserved for a tenancy that was not observed, not by hand"},
    Row{S::available, T::operator_enrol, S::pending_cleaning, E::reserve, "an operator accepts the drive that is there now: it is cleaned, and so gets its enrolment baseline"},
    Row{S::available, T::operator_steps, S::pending_cleaning, E::reserve, "an operator names clean steps for it: it is reserved first, and cleaned whole before it is given back"},
    Row{S::available, T::operator_retire, S::pending_cleaning, E::reserve, "an operator retires it: it is reserved, and erased before it leaves"},
    Row{S::available, T::restarted_resume, S::available, E::none, "nothing was under way"},
    Row{S::available, T::restarted_error, S::available, E::none, "nothing was under way"},

    Row{S::allocated, T::passed_on, S::allocated, E::none, "another instance has it, and nobody erased it after the one before"},
    Row{S::allocated, T::dirty_seen, S::pending_cleaning, E::none, "the instance is gone and left it burned"},
    Row{S::allocated, T::reserved_dropped, S::allocated, E::reserve, "used by a tenant, and on offer to another: it is reserved again"},
    Row{S::allocated, T::allocation_gone, S::pending_cleaning, E::reserve, "the tenant is gone, yet it is not reserved: it is reserved, then cleaned"},
    Row{S::allocated, T::gone_uncleanable, S::available, E::none, "its tenancy is over, and no device_spec entry matches it: not cleaned, and not given back by us either"},
    Row{S::allocated, T::restarted_resume, S::allocated, E::none, "nothing was under way"},
    Row{S::allocated, T::restarted_error, S::allocated, E::none, "nothing was under way"},

    Row{S::pending_cleaning, T::admitted, S::guarding, E::claim, "nothing in Placement or in the configuration forbids it"},
    Row{S::pending_cleaning, T::allocation_seen, S::allocated, E::none, "an instance has it, and nothing was done to it yet"},
    Row{S::pending_cleaning, T::reserved_dropped, S::pending_cleaning, E::reserve, "not clean, yet it is on offer: it is reserved again"},
    Row{S::pending_cleaning, T::erases_exhausted, S::error, E::none, "cleaned several times without coming to a release: something keeps changing"},
    Row{S::pending_cleaning, T::operator_abort, S::error, E::none, "aborted by an operator"},
    Row{S::pending_cleaning, T::operator_clean, S::pending_cleaning, E::none, "an operator starts its cleaning"},
    Row{S::pending_cleaning, T::operator_enrol, S::pending_cleaning, E::none, "an operator accepts the drive that is there now: its former baseline is forgotten", L::at_once},
    Row{S::pending_cleaning, T::operator_steps, S::pending_cleaning, E::none, "an operator starts its cleaning, with clean steps that he names first"},
    Row{S::pending_cleaning, T::operator_retire, S::pending_cleaning, E::none, "an operator retires it: it is cleaned, and not given back"},
    Row{S::pending_cleaning, T::restarted_resume, S::pending_cleaning, E::none, "nothing destructive was under way", L::soon},
    Row{S::pending_cleaning, T::restarted_error, S::error, E::none, "interrupted, and interrupted_cleaning = error"},

    Row{S::guarding, T::guards_passed, S::rechecking, E::recheck, "every guard of the host passed and the drive is claimed"},
    Row{S::guarding, T::guards_wait, S::pending_cleaning, E::drop, "something on the host prevents it; checked again with the next survey", L::later},
    Row{S::guarding, T::guards_failed, S::error, E::drop, "a guard refused for a reason that only an operator can settle"},
    Row{S::guarding, T::lock_refused, S::pending_cleaning, E::drop, "another worker holds the device's lock", L::later},
    Row{S::guarding, T::lock_lost, S::pending_cleaning, E::drop, "the lock was lost before anything was done"},
    Row{S::guarding, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::guarding, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::guarding, T::restarted_resume, S::pending_cleaning, E::drop, "interrupted before anything was done", L::soon},
    Row{S::guarding, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::rechecking, T::still_burned, S::preparing, E::run_step, "Placement still says burned and unallocated"},
    Row{S::rechecking, T::still_burned_adopt, S::erasing, E::erase, "Placement still says burned and unallocated, and our own erase was interrupted: adopt a sanitize that runs, go on with a zeroing"},
    Row{S::rechecking, T::placement_changed, S::pending_cleaning, E::drop, "Placement changed since admission: decide again", L::soon},
    Row{S::rechecking, T::placement_away, S::rechecking, E::recheck, "Placement does not answer: ask again"},
    Row{S::rechecking, T::lock_lost, S::pending_cleaning, E::drop, "the lock was lost before anything was done"},
    Row{S::rechecking, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::rechecking, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::rechecking, T::restarted_resume, S::pending_cleaning, E::drop, "interrupted before anything was done", L::soon},
    Row{S::rechecking, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::preparing, T::step_done, S::preparing, E::run_step, "step done"},
    Row{S::preparing, T::steps_done, S::baselining, E::take_baseline, "whatever a tenant may have left on the controller was looked at, and reset where it had to be"},
    Row{S::preparing, T::steps_verified, S::restoring, E::restore_driver, "not a drive: every step of its plan succeeded, and one showed that nothing of the tenant's is left"},
    Row{S::preparing, T::step_failed, S::error, E::drop, "quarantined"},
    Row{S::preparing, T::guards_wait, S::pending_cleaning, E::drop, "something on the host prevented a clean step", L::later},
    Row{S::preparing, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::preparing, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::preparing, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::preparing, T::overdue, S::error, E::drop, "it did not come to its end in time"},
    Row{S::preparing, T::restarted_resume, S::pending_cleaning, E::drop, "interrupted before the erase: every step can be run again", L::soon},
    Row{S::preparing, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::baselining, T::baseline_taken, S::erasing, E::erase, "what the drive held is known, so that its going can be shown"},
    Row{S::baselining, T::baseline_failed, S::error, E::drop, "the drive could not be read, or the canary not written"},
    Row{S::baselining, T::guards_wait, S::pending_cleaning, E::drop, "something on the host prevented it before anything was written", L::later},
    Row{S::baselining, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::baselining, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::baselining, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::baselining, T::overdue, S::error, E::drop, "it did not come to its end in time"},
    Row{S::baselining, T::restarted_resume, S::pending_cleaning, E::drop, "interrupted before the erase", L::soon},
    Row{S::baselining, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::erasing, T::erased, S::verifying, E::verify, "the drive says it is erased, and its log agrees with our command"},
    Row{S::erasing, T::erase_failed, S::error, E::drop, "the drive says it did not erase"},
    Row{S::erasing, T::erase_unknown, S::error, E::drop, "it was not seen to complete"},
    Row{S::erasing, T::erase_not_started, S::pending_cleaning, E::drop, "given up before the command was sent"},
    Row{S::erasing, T::nothing_to_adopt, S::preparing, E::run_step, "our interrupted erase neither runs nor can go on: start over"},
    Row{S::erasing, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::erasing, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::erasing, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::erasing, T::overdue, S::error, E::drop, "it did not come to its end in time"},
    Row{S::erasing, T::restarted_resume, S::pending_cleaning, E::drop, "interrupted while erasing: look, adopt what runs or can go on, verify", L::soon},
    Row{S::erasing, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::verifying, T::verified, S::restoring, E::restore_driver, "nothing of the old content was found, and enough was looked at"},
    Row{S::verifying, T::verified_more, S::concluding, E::run_step, "nothing of the old content was found; the operator's own steps follow"},
    Row{S::verifying, T::verified_unfit, S::error, E::certify, "erased, not returned"},
    Row{S::verifying, T::verify_failed, S::error, E::drop, "the erasure could not be shown"},
    Row{S::verifying, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::verifying, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::verifying, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::verifying, T::overdue, S::error, E::drop, "it did not come to its end in time"},
    Row{S::verifying, T::restarted_resume, S::pending_cleaning, E::drop, "interrupted before it was verified: verify what a zeroing had ended and nobody wrote to since, or start over", L::soon},
    Row{S::verifying, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::concluding, T::step_done, S::concluding, E::run_step, "step done"},
    Row{S::concluding, T::steps_done, S::restoring, E::restore_driver, "every step of the plan is done"},
    Row{S::concluding, T::step_failed, S::error, E::drop, "quarantined"},
    Row{S::concluding, T::guards_wait, S::pending_cleaning, E::drop, "something on the host prevented a clean step after the verification: start over", L::later},
    Row{S::concluding, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::concluding, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::concluding, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::concluding, T::overdue, S::error, E::drop, "it did not come to its end in time"},
    Row{S::concluding, T::restarted_resume, S::pending_cleaning, E::drop, "the claim was lost with the process: verify what a zeroing had ended and nobody wrote to since, or start over", L::soon},
    Row{S::concluding, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::restoring, T::driver_restored, S::looking, E::look, "it is bound as its next instance expects it"},
    Row{S::restoring, T::restore_failed, S::error, E::drop, "it is clean, but its former driver did not come back"},
    Row{S::restoring, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::restoring, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::restoring, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::restoring, T::overdue, S::error, E::drop, "it did not come to its end in time"},
    Row{S::restoring, T::restarted_resume, S::pending_cleaning, E::drop, "the claim was lost with the process: verify what a zeroing had ended and nobody wrote to since, or start over", L::soon},
    Row{S::restoring, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::looking, T::look_ok, S::releasing, E::release, "verified, still ours, still burned and unallocated: give it back"},
    Row{S::looking, T::look_changed, S::pending_cleaning, E::drop, "something moved since verification: start over", L::soon},
    Row{S::looking, T::placement_changed, S::pending_cleaning, E::drop, "Placement changed since admission: start over", L::soon},
    Row{S::looking, T::placement_away, S::looking, E::look, "Placement does not answer: ask again, for as long as the claim holds"},
    Row{S::looking, T::release_withheld, S::looking, E::look, "erased and verified, and it cannot be given back yet: look again, for as long as the claim holds"},
    Row{S::looking, T::provider_anew, S::looking, E::look, "its provider was made anew, and the claim held all the while: look at that one"},
    Row{S::looking, T::lock_lost, S::error, E::drop, "another worker took the lock while this one was at work"},
    Row{S::looking, T::allocation_seen, S::error, E::drop, "an instance got it while it was being cleaned"},
    Row{S::looking, T::operator_abort, S::error, E::drop, "aborted by an operator"},
    Row{S::looking, T::restarted_resume, S::pending_cleaning, E::drop, "the claim was lost with the process: verify what a zeroing had ended and nobody wrote to since, or start over", L::soon},
    Row{S::looking, T::restarted_error, S::error, E::drop, "interrupted, and interrupted_cleaning = error"},

    Row{S::releasing, T::released, S::available, E::finish, "reserved = 0, read back from Placement"},
    Row{S::releasing, T::handed_over, S::available, E::finish, "clean and left reserved: Cyborg's agent un-reserves it"},
    Row{S::releasing, T::release_conflict, S::confirming, E::confirm, "another client wrote the provider, before our PUT or right after it: read back, decide again"},
    Row{S::releasing, T::release_unknown, S::confirming, E::confirm, "no answer came: read back"},
    Row{S::releasing, T::release_refused, S::error, E::drop, "Placement refused the release"},
    Row{S::releasing, T::lock_lost, S::confirming, E::confirm, "another worker took the lock, but the PUT may have been made: read back"},
    Row{S::releasing, T::restarted_resume, S::confirming, E::confirm, "the PUT may have been made: read back"},
    Row{S::releasing, T::restarted_error, S::confirming, E::confirm, "the PUT may have been made: read back"},

    Row{S::confirming, T::released, S::available, E::finish, "reserved = 0, read back from Placement"},
    Row{S::confirming, T::released_taken, S::allocated, E::finish, "it was released, and the next instance already has it"},
    Row{S::confirming, T::released_unseen, S::pending_cleaning, E::finish, "it was released, and it is reserved again: somebody had it whom nobody saw", L::soon},
    Row{S::confirming, T::allocation_seen, S::allocated, E::drop, "an instance has it, and the erasure on record is older than its dirt"},
    Row{S::confirming, T::still_reserved, S::looking, E::look, "the PUT did not happen and the claim still holds"},
    Row{S::confirming, T::release_withheld, S::looking, E::look, "its provider was taken away, and the claim still holds: look again"},
    Row{S::confirming, T::look_changed, S::pending_cleaning, E::drop, "reserved, the claim is gone, and nothing shows that it was released: start over", L::soon},
    Row{S::confirming, T::placement_changed, S::pending_cleaning, E::drop, "the provider is another one now: start over", L::soon},
    Row{S::confirming, T::placement_away, S::confirming, E::confirm, "Placement does not answer: ask again"},
    Row{S::confirming, T::lock_lost, S::confirming, E::confirm, "another worker took the lock, but the PUT may have been made: read back"},
    Row{S::confirming, T::restarted_resume, S::confirming, E::confirm, "the PUT may have been made: read back"},
    Row{S::confirming, T::restarted_error, S::confirming, E::confirm, "the PUT may have been made: read back"},

    Row{S::error, T::operator_clean, S::pending_cleaning, E::none, "an operator asked for another try", L::at_once},
    Row{S::error, T::operator_enrol, S::pending_cleaning, E::none, "an operator accepts the drive that is there now", L::at_once},
    Row{S::error, T::operator_steps, S::pending_cleaning, E::none, "an operator asked for another try, with clean steps that he names first", L::at_once},
    Row{S::error, T::operator_retire, S::pending_cleaning, E::none, "an operator retires it: it is cleaned, and not given back", L::at_once},
    Row{S::error, T::allocation_seen, S::error, E::none, "an instance has it: what an earlier erasure did says nothing about it any more"},
    Row{S::error, T::reserved_dropped, S::error, E::reserve, "not clean, yet it is on offer: it is reserved again"},
    Row{S::error, T::restarted_resume, S::error, E::none, "an operator has to act"},
    Row{S::error, T::restarted_error, S::error, E::none, "an operator has to act"},
    // clang-format on
};

constexpr bool busy(Stage stage) {
  return stage != S::available && stage != S::allocated && stage != S::pending_cleaning &&
         stage != S::error;
}

constexpr bool rows_unique() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    for (std::size_t j = i + 1; j < kRows.size(); ++j) {
      if (kRows[i].from == kRows[j].from && kRows[i].on == kRows[j].on) return false;
    }
  }
  return true;
}

constexpr bool has_row(Stage from, Trigger on) {
  for (const Row& row : kRows) {
    if (row.from == from && row.on == on) return true;
  }
  return false;
}

constexpr bool every_stage_survives_a_restart() {
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (!has_row(stage, T::restarted_resume) || !has_row(stage, T::restarted_error)) return false;
  }
  return true;
}

// The promise, link by link: only `looking` leads to the release, only a former driver put back (or
// a release that did not happen, itself reached only from there) leads to `looking`, only a
// verification, or the last step after one, leads to the driver's return, or the plan of a device
// that is no drive, done to its end with a step that verifies; only an erase that was seen to
// complete leads to verification, and only a confirmed release leads to `available`: or, without
// any effect, the end of a tenancy of what is only shown, which never comes near the rest (below,
// and step()).
constexpr bool release_only_after_verified_erasure() {
  for (const Row& row : kRows) {
    if (row.effect == E::release && !(row.from == S::looking && row.on == T::look_ok)) return false;
    if (row.to == S::releasing && row.effect != E::release) return false;
    if (row.to == S::looking && row.from != S::looking &&
        !(row.from == S::restoring && row.on == T::driver_restored) &&
        !(row.from == S::confirming && row.on == T::still_reserved) &&
        !(row.from == S::confirming && row.on == T::release_withheld)) {
      return false;
    }
    if (row.to == S::restoring && !(row.from == S::verifying && row.on == T::verified) &&
        !(row.from == S::concluding && row.on == T::steps_done) &&
        !(row.from == S::preparing && row.on == T::steps_verified)) {
      return false;
    }
    // Only a device that is no drive may leave out the erase; step() gives a drive no such way.
    if (row.on == T::steps_verified && row.to != S::restoring) return false;
    if (row.to == S::concluding && !(row.from == S::verifying && row.on == T::verified_more) &&
        !(row.from == S::concluding && row.on == T::step_done)) {
      return false;
    }
    if (row.effect == E::restore_driver && row.to != S::restoring) return false;
    if (row.to == S::confirming && row.from != S::releasing && row.from != S::confirming)
      return false;
    if (row.to == S::verifying && !(row.from == S::erasing && row.on == T::erased)) return false;
    if (row.to == S::available && row.from != S::available && row.on != T::released &&
        row.on != T::handed_over && row.on != T::gone_uncleanable) {
      return false;
    }
    if (row.on == T::released && row.from != S::releasing && row.from != S::confirming)
      return false;
    if (row.on == T::released_taken && row.from != S::confirming) return false;
    if (row.on == T::released_unseen &&
        (row.from != S::confirming || row.to != S::pending_cleaning)) {
      return false;
    }
    if (row.on == T::handed_over && row.from != S::releasing) return false;
    if (row.effect == E::finish && row.on != T::released && row.on != T::released_taken &&
        row.on != T::released_unseen && row.on != T::handed_over) {
      return false;
    }
  }
  return true;
}

// A kept erase is one that was verified: what is withheld, or has another provider now, is looked
// at once more before anything else, and nothing but that look follows.
constexpr bool kept_erase_is_looked_at_again() {
  std::size_t rows = 0;
  for (const Row& row : kRows) {
    if (row.on != T::release_withheld && row.on != T::provider_anew) continue;
    const bool from_confirming = row.from == S::confirming && row.on == T::release_withheld;
    if (row.from != S::looking && !from_confirming) return false;
    if (row.to != S::looking || row.effect != E::look) return false;
    rows += 1;
  }
  return rows == 3;
}

// A device that no device_spec entry matches is shown and nothing else: its one row moves a record,
// and nothing in Placement or on the host.
constexpr bool uncleanable_devices_are_only_shown() {
  std::size_t rows = 0;
  for (const Row& row : kRows) {
    if (row.on != T::gone_uncleanable) continue;
    if (row.from != S::allocated || row.to != S::available || row.effect != E::none) return false;
    rows += 1;
  }
  return rows == 1;
}

// Before anything destructive: a claim, a second look at Placement and, unless adopting, every step
// that stands before the erase and a baseline.
constexpr bool erase_only_behind_the_guards() {
  for (const Row& row : kRows) {
    if (row.effect == E::erase && row.to != S::erasing) return false;
    if (row.to == S::erasing && !(row.from == S::baselining && row.on == T::baseline_taken) &&
        !(row.from == S::rechecking && row.on == T::still_burned_adopt)) {
      return false;
    }
    if (row.to == S::baselining && !(row.from == S::preparing && row.on == T::steps_done)) {
      return false;
    }
    if (row.effect == E::run_step && row.to != S::preparing && row.to != S::concluding) {
      return false;
    }
    if (row.to == S::preparing && !(row.from == S::rechecking && row.on == T::still_burned) &&
        !(row.from == S::preparing && row.on == T::step_done) &&
        !(row.from == S::erasing && row.on == T::nothing_to_adopt)) {
      return false;
    }
    if (row.to == S::rechecking && row.from != S::rechecking &&
        !(row.from == S::guarding && row.on == T::guards_passed)) {
      return false;
    }
  }
  return true;
}

// A drive that is too unwell, or retired, is certified, and never comes nearer to a release than
// that.
constexpr bool unfit_drives_are_kept() {
  std::size_t rows = 0;
  for (const Row& row : kRows) {
    if ((row.on == T::verified_unfit) != (row.effect == E::certify)) return false;
    if (row.on != T::verified_unfit) continue;
    if (row.from != S::verifying || row.to != S::error) return false;
    rows += 1;
  }
  return rows == 1;
}

// Whoever leaves the busy stages gives claim and lock back.
constexpr bool nothing_is_left_claimed() {
  for (const Row& row : kRows) {
    if (busy(row.from) && !busy(row.to) && row.effect != E::drop && row.effect != E::certify &&
        row.effect != E::finish) {
      return false;
    }
  }
  return true;
}

// A survey is wanted only for what waits: a device at rest is looked at by each.
constexpr bool only_what_waits_is_looked_at_again() {
  return std::all_of(kRows.begin(), kRows.end(), [](const Row& row) {
    return row.look == L::none || row.to == S::pending_cleaning;
  });
}

// No periodic survey is waited for where an operator ends an error, or a restart resumes.
constexpr bool nothing_resumed_waits_for_long() {
  return std::all_of(kRows.begin(), kRows.end(), [](const Row& row) {
    const bool resumed = row.from == S::error || row.on == T::restarted_resume;
    return row.to != S::pending_cleaning || !resumed || row.look != L::none;
  });
}

constexpr bool is_order(Trigger on) {
  return on == T::operator_clean || on == T::operator_abort || on == T::operator_enrol ||
         on == T::operator_steps || on == T::operator_retire;
}

constexpr bool said_once(Trigger on) {
  return is_order(on) || on == T::restarted_resume || on == T::restarted_error;
}

// It is told as an operator's order (why_reserved): a restart reserves nothing.
constexpr bool a_reservation_that_is_said_once_is_ordered() {
  return std::all_of(kRows.begin(), kRows.end(), [](const Row& row) {
    return row.effect != E::reserve || !said_once(row.on) || is_order(row.on);
  });
}

constexpr bool all_stages_reachable() {
  std::array<bool, kStageCount> reached{};
  reached[static_cast<std::size_t>(S::available)] = true;
  for (std::size_t round = 0; round < kStageCount; ++round) {
    for (const Row& row : kRows) {
      if (reached[static_cast<std::size_t>(row.from)])
        reached[static_cast<std::size_t>(row.to)] = true;
    }
  }
  for (const bool stage : reached) {
    if (!stage) return false;
  }
  return true;
}

static_assert(rows_unique());
static_assert(every_stage_survives_a_restart());
static_assert(release_only_after_verified_erasure());
static_assert(kept_erase_is_looked_at_again());
static_assert(uncleanable_devices_are_only_shown());
static_assert(erase_only_behind_the_guards());
static_assert(unfit_drives_are_kept());
static_assert(nothing_is_left_claimed());
static_assert(only_what_waits_is_looked_at_again());
static_assert(nothing_resumed_waits_for_long());
static_assert(a_reservation_that_is_said_once_is_ordered());
static_assert(all_stages_reachable());

constexpr auto kStageNames =
    enum_names<Stage::error>("available", "allocated", "pending_cleaning", "guarding", "rechecking",
                             "preparing", "baselining", "erasing", "verifying", "concluding",
                             "restoring", "looking", "releasing", "confirming", "error");

constexpr auto kTriggerNames = enum_names<Trigger::erases_exhausted>(
    "allocation_seen", "passed_on", "allocation_gone", "dirty_seen", "reserved_dropped",
    "gone_uncleanable", "unknown_offered", "unregistered_seen", "policy_unsatisfied", "admitted",
    "lock_refused", "guards_passed", "guards_wait", "guards_failed", "still_burned",
    "still_burned_adopt", "placement_changed", "placement_away", "step_done", "steps_done",
    "steps_verified", "step_failed", "baseline_taken", "baseline_failed", "nothing_to_adopt",
    "erased", "erase_failed", "erase_unknown", "erase_not_started", "verified", "verified_more",
    "verify_failed", "verified_unfit", "driver_restored", "restore_failed", "look_ok",
    "look_changed", "release_withheld", "provider_anew", "released", "released_taken",
    "released_unseen", "handed_over", "release_conflict", "release_unknown", "release_refused",
    "still_reserved", "lock_lost", "restarted_resume", "restarted_error", "operator_clean",
    "operator_abort", "operator_enrol", "operator_steps", "operator_retire", "overdue",
    "erases_exhausted");

constexpr auto kDeviceStates = enum_names<DeviceState::error>(
    "available", "allocated", "pending_cleaning", "cleaning", "error");

constexpr auto kEffectNames = enum_names<EffectKind::reserve>(
    "-", "claim", "recheck", "run_step", "take_baseline", "erase", "verify", "restore_driver",
    "look", "release", "confirm", "certify", "finish", "drop", "reserve");

std::string render_text() {
  std::string out;
  for (const Row& row : kRows) {
    out += fmt::format("{:<17} {:<19} -> {:<17} {:<14} {}\n", to_string(row.from),
                       to_string(row.on), to_string(row.to), to_string(row.effect), row.why);
  }
  return out;
}

std::string render_markdown() {
  std::string out = "| from | on | to | effect | why |\n|---|---|---|---|---|\n";
  for (const Row& row : kRows) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", to_string(row.from), to_string(row.on),
                       to_string(row.to), to_string(row.effect), row.why);
  }
  return out;
}

}  // namespace

std::span<const Row> machine_rows() {
  return kRows;
}

const Row* find_row(Stage from, Trigger on) {
  for (const Row& row : kRows) {
    if (row.from == from && row.on == on) return &row;
  }
  return nullptr;
}

bool is_said_once(Trigger trigger) {
  return said_once(trigger);
}

DeviceState device_state(Stage stage) {
  switch (stage) {
    case S::available:
      return DeviceState::available;
    case S::allocated:
      return DeviceState::allocated;
    case S::pending_cleaning:
      return DeviceState::pending_cleaning;
    case S::error:
      return DeviceState::error;
    default:
      return DeviceState::cleaning;
  }
}

bool is_busy(Stage stage) {
  return busy(stage);
}

bool may_last_long(Stage stage) {
  return stage == Stage::preparing || stage == Stage::baselining || stage == Stage::erasing ||
         stage == Stage::verifying || stage == Stage::concluding || stage == Stage::restoring;
}

std::string_view to_string(DeviceState state) {
  return kDeviceStates[state];
}

std::string_view to_string(Stage stage) {
  return kStageNames[stage];
}

std::string_view to_string(Trigger trigger) {
  return kTriggerNames[trigger];
}

bool ends_well(std::string_view trigger) {
  constexpr std::array kEnds{Trigger::released, Trigger::released_taken, Trigger::released_unseen,
                             Trigger::handed_over};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [trigger](Trigger end) { return to_string(end) == trigger; });
}

bool is_offered_dirty(std::string_view from, std::string_view trigger) {
  // Where the tenant has gone in between, it is on offer with what he left.
  return (trigger == to_string(Trigger::reserved_dropped) && from != to_string(Stage::available)) ||
         trigger == to_string(Trigger::allocation_gone);
}

bool is_given_dirty(std::string_view trigger, std::string_view detail) {
  const bool is_given =
      trigger == to_string(Trigger::allocation_seen) || trigger == to_string(Trigger::passed_on);
  return is_given && detail.find(kNotKnownToBeClean) != std::string_view::npos;
}

std::string_view to_string(EffectKind effect) {
  return kEffectNames[effect];
}

Result<Stage> parse_stage(std::string_view text) {
  if (const auto stage = kStageNames.find(text)) return *stage;
  return Error{Errc::invalid, fmt::format("'{}' is not a stage of a device", text)};
}

Result<std::string> render_machine(std::string_view format) {
  if (format == "text") return render_text();
  if (format == "markdown") return render_markdown();
  if (format == "dot") return render_machine_dot(MachineView::all);
  return Error{Errc::invalid,
               fmt::format("format '{}' is unknown; text, markdown and dot are", format)};
}

}  // namespace reclaim
