#include "state/device/step.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "state/base/check.h"

namespace reclaim {
namespace {

template <typename T>
void take(T& member, const std::optional<T>& fact) {
  if (fact) member = *fact;
}

void take_facts(Record& record, const Facts& facts) {
  take(record.instance, facts.instance);
  take(record.instance_source, facts.instance_source);
  take(record.migration, facts.migration);
  take(record.project, facts.project);
  take(record.user, facts.user);
  take(record.heard, facts.heard);
  take(record.flow, facts.flow);
  take(record.type, facts.type);
  take(record.by_steps, facts.by_steps);
  take(record.arq, facts.arq);
  take(record.cyborg_status, facts.cyborg_status);
  take(record.managed, facts.managed);
  take(record.handed_over, facts.handed_over);
  take(record.last_error, facts.last_error);
  take(record.request_id, facts.request_id);
  take(record.retired, facts.retired);
  take(record.provider, facts.provider);
  take(record.provider_name, facts.provider_name);
  take(record.resource_class, facts.resource_class);
  take(record.vendor_id, facts.vendor_id);
  take(record.product_id, facts.product_id);
  take(record.model, facts.model);
  take(record.serial, facts.serial);
  take(record.firmware, facts.firmware);
  take(record.hardware, facts.hardware);
  take(record.mac, facts.mac);
  take(record.boot_id, facts.boot_id);
  take(record.capacity_bytes, facts.capacity_bytes);
  take(record.plan, facts.plan);
  take(record.steps_offered, facts.steps_offered);
  take(record.steps_ordered, facts.steps_ordered);
  take(record.tags, facts.tags);
  take(record.policies, facts.policies);
  take(record.cleaning_nonce, facts.cleaning_nonce);
  take(record.baseline, facts.baseline);
  take(record.evidence, facts.evidence);
  take(record.verification, facts.verification);
  take(record.findings, facts.findings);
  take(record.release_generation, facts.release_generation);
  take(record.enrolment, facts.enrolment);
  if (facts.host_reads) record.certified_host_reads = facts.host_reads;
  if (facts.host_writes) record.certified_host_writes = facts.host_writes;
}

// The `clean_step` that operators see in each stage of the fixed frame (design "clean step").
std::string clean_step_of(const Record& record) {
  switch (record.stage) {
    case Stage::guarding:
      return "pci.guards";
    case Stage::rechecking:
      return "placement.recheck";
    case Stage::preparing:
      return record.step_index < record.plan.size() ? name_of(record.plan[record.step_index])
                                                    : std::string("nvme.prepare");
    case Stage::baselining:
      return "nvme.baseline";
    case Stage::erasing:
      return record.step_index < record.plan.size() ? name_of(record.plan[record.step_index])
                                                    : std::string("nvme.erase");
    case Stage::verifying:
      return "nvme.verify";
    case Stage::concluding:
      return record.step_index < record.plan.size() ? name_of(record.plan[record.step_index])
                                                    : std::string("operator.after");
    case Stage::restoring:
      return "pci.restore_driver";
    case Stage::looking:
      return "placement.look_again";
    case Stage::releasing:
    case Stage::confirming:
      return "placement.release";
    default:
      return "";
  }
}

void forget_erase(Record& record) {
  record.erase_begun = false;
  record.cleaning_nonce.clear();
  record.baseline.clear();
  record.evidence.clear();
  record.verification.clear();
  record.findings.clear();
  record.step_index = 0;
}

void certify(Record& record, const Facts& facts, WallMs now) {
  record.certificate_id = facts.certificate_id.value_or("");
  // The wall clock may have been set back since; the release still came after the tenancy.
  record.certificate_at = std::max({now, record.tenancy_seen_at, erased_at(record)});
  record.accepted = false;
  forget_order(record);
  record.erase_begun = false;
  record.planned_stop = false;
  record.attempts = 0;
  record.erases = 0;
  record.last_error.clear();
}

// The PUT of a release is one write, at the generation that was looked at.
Rest as_released(const Record& record) {
  if (record.release_generation < 0) return Rest{};
  return {record.provider, record.release_generation + (record.handed_over ? 0 : 1),
          record.handed_over, record.flow == Flow::cyborg};
}

void enter_pending(Record& record, Stage from, Trigger on, const Facts& facts, WallMs now) {
  record.held = false;
  // Somebody may have had it since, whom nobody saw: then it is the last tenancy of which nothing
  // is known. Where nobody can have, the facts say so and name the tenant that is on record.
  const bool was_withheld = on == Trigger::look_changed && !record.waiting_for.empty();
  if ((from == Stage::confirming || was_withheld) && !facts.instance) {
    forget_tenancy(record);
    record.unseen = {record.verified_at, now};
  }
  if (from == Stage::available && record.instance_source == InstanceSource::not_seen &&
      facts.last_free) {
    record.unseen = {*facts.last_free, now};
  }
  // Cyborg's word keeps what an operator named, and starts nothing that waits for his.
  const bool cleans = on == Trigger::operator_clean && !facts.by_cyborg;
  const bool ordered = cleans || on == Trigger::operator_steps || on == Trigger::operator_retire;
  if (ordered) record.clean_start = CleanStart::ordered;
  // An operator's later word replaces the former; and what he named was for the device before.
  if (cleans || on == Trigger::operator_enrol || on == Trigger::operator_retire) {
    record.steps_ordered.clear();
  }
  // The steps that he names come first, so that nothing is adopted behind them.
  if (on == Trigger::operator_steps) forget_erase(record);
  // It may have been given back, and a tenancy may have come and gone: an operator's word was for
  // the cleaning before.
  if (from == Stage::confirming || on == Trigger::look_changed) forget_order(record);
  if (from == Stage::error) record.erases = 0;
  // The plan is locked in; in error, and where it cannot be carried out, it is made again.
  if (from == Stage::error || on == Trigger::policy_unsatisfied) record.plan.clear();
  // Another drive, or another yardstick: what was begun before says nothing of this one.
  if (on == Trigger::operator_enrol) {
    forget_erase(record);
    record.enrolment.clear();
    record.retired.clear();
    record.accepted = true;
  }
  // Only an erase that may be running still is worth remembering across attempts, or one that a
  // restart has confirmed: what that had read of it since is read again.
  const bool confirmed = on == Trigger::restarted_resume && record.erase_begun;
  if (confirmed) {
    record.evidence.clear();
    record.verification.clear();
  }
  if (!confirmed && from != Stage::erasing && from != Stage::guarding &&
      from != Stage::rechecking && from != Stage::pending_cleaning && from != Stage::error) {
    forget_erase(record);
  }
  if (on == Trigger::erase_not_started) forget_erase(record);
}

void enter_error(Record& record, const Row& row, const Facts& facts, WallMs now) {
  const Trigger on = row.on;
  record.clean_start = CleanStart::automatic;  // an operator's word was for the cleaning that ends
  if (on == Trigger::verified_unfit) record.verified_at = now;
  record.last_error =
      facts.detail.empty() ? std::string(row.why) : fmt::format("{}: {}", row.why, facts.detail);
  if (!record.retired.empty() && on != Trigger::verified_unfit) {
    record.last_error += fmt::format("; an operator asked to retire it ({})", record.retired);
  }
  // An erase whose end was not seen may be running still; every other error ends it.
  if (on != Trigger::erase_unknown && on != Trigger::restarted_error &&
      on != Trigger::operator_abort && on != Trigger::overdue && on != Trigger::restarted_resume) {
    record.erase_begun = false;
  }
}

// Changes the record as the entry into its stage asks, beyond the stage itself.
void enter(Record& record, Stage from, const Row& row, const Facts& facts, WallMs now) {
  const Trigger on = row.on;
  switch (record.stage) {
    case Stage::available:
      if (on == Trigger::released || on == Trigger::handed_over) {
        certify(record, facts, now);
        record.handed_over = on == Trigger::handed_over;
        record.rest = as_released(record);
      }
      break;
    case Stage::allocated:
      if (begins_tenancy(on)) {
        record.held = false;
        record.attempts = 0;
        record.erases = 0;
      }
      if (on == Trigger::released_taken) {
        certify(record, facts, now);
        record.tenancy_seen_at = WallMs{record.certificate_at.ms + 1};
      }
      break;
    case Stage::pending_cleaning:
      if (on == Trigger::released_unseen) certify(record, facts, now);
      enter_pending(record, from, on, facts, now);
      break;
    case Stage::guarding:
      record.attempts += 1;
      record.cleaning_started_at = now;
      record.planned_stop = false;
      break;
    case Stage::preparing:
      if (on == Trigger::step_done) {
        record.step_index += 1;
      } else {
        forget_erase(record);
      }
      break;
    case Stage::erasing:
      record.erase_begun = true;
      if (on == Trigger::baseline_taken) record.erases += 1;
      break;
    case Stage::verifying:
      record.erase_begun = false;
      break;
    case Stage::concluding:
      if (on == Trigger::step_done) {
        record.step_index += 1;
      } else {
        record.verified_at = now;
      }
      break;
    case Stage::restoring:
      if (on == Trigger::verified || on == Trigger::steps_verified) record.verified_at = now;
      if (on == Trigger::steps_verified) record.erases += 1;
      break;
    case Stage::error:
      enter_error(record, row, facts, now);
      break;
    default:
      break;
  }
}

// Verified, and not given back for a reason that says nothing of the drive.
bool is_of_a_kept_erase(Trigger on) {
  return on == Trigger::release_withheld || on == Trigger::provider_anew;
}

// Between the steps that prepare a drive and the return of its driver.
bool is_of_an_erase(Stage stage) {
  return stage == Stage::baselining || stage == Stage::erasing || stage == Stage::verifying ||
         stage == Stage::concluding;
}

// The specification's conductor takes a device that is not an NVMe from allocated straight to
// available again: what is only shown is never pending, never busy, never in error, and nothing
// that is cleaned takes that way. A drive comes to its release by an erase, and no other device.
bool is_its_way(const Record& record, const Row& row) {
  const bool starts = row.from == Stage::pending_cleaning &&
                      (row.on == Trigger::operator_clean || row.on == Trigger::operator_steps);
  if (starts && record.clean_start != CleanStart::awaited) return false;
  if (record.is_drive() && row.on == Trigger::steps_verified) return false;
  if (!record.is_drive() && row.on == Trigger::operator_retire) return false;
  if (record.by_steps && is_of_an_erase(row.to)) return false;
  // Nothing is kept but a drive's erase, and only one that was verified.
  const bool verified = !record.evidence.empty() && !record.verification.empty();
  if (is_of_a_kept_erase(row.on) && !(record.is_drive() && verified)) return false;
  if (record.cleanable()) return row.on != Trigger::gone_uncleanable;
  const auto at_rest = [](Stage stage) {
    return stage == Stage::available || stage == Stage::allocated;
  };
  return at_rest(row.from) && at_rest(row.to) && row.effect == EffectKind::none;
}

// Holds what is_its_way() lets through against what came of it.
void check_kind(const Record& next, const Row& row) {
  CHECK(next.cleanable() || row.effect == EffectKind::none);
  CHECK(row.on != Trigger::gone_uncleanable || !next.cleanable());
  CHECK(!next.by_steps || !is_of_an_erase(next.stage));
  CHECK(next.by_steps || row.on != Trigger::steps_verified);
}

// Anybody on the bus can invent an accelerator request. What that alone says puts nobody in the
// place of a tenant whom Placement showed and whose certificate is still to be made.
bool is_only_said(const Record& record, const Facts& facts) {
  return facts.instance_source == InstanceSource::arq && !record.consumer().empty() &&
         record.stage != Stage::available;
}

// Anybody on the bus can invent an accelerator request: it ends no operator's word.
bool ends_an_order(const Record& record, const Event& event, const Record& next) {
  const bool is_said = event.facts.instance_source == InstanceSource::arq;
  return (begins_tenancy(event.trigger) && !is_said) || is_shown_at_last(record, next);
}

void note_tenant(Record& next, const Facts& facts) {
  const bool is_taken = next.stage == Stage::allocated;
  // The next instance of a device whose release was seen only by its being taken.
  if (is_taken && facts.instance) {
    next.instance = *facts.instance;
    next.instance_source = facts.instance_source.value_or(InstanceSource::allocation);
    // Another one under the same tenant: it left, and came back.
    take(next.provider, facts.provider);
  }
  if (!is_taken && facts.instance != next.consumer()) return;
  take(next.migration, facts.migration);
  take(next.project, facts.project);
  take(next.user, facts.user);
}

}  // namespace

std::optional<Update> step(const Record& record, const Event& event, WallMs now) {
  if (event.epoch != 0 && event.epoch != record.epoch) return std::nullopt;
  const Row* row = find_row(record.stage, event.trigger);
  if (row == nullptr || !is_its_way(record, *row)) return std::nullopt;

  Update update{record, row->effect, row, is_only_said(record, event.facts),
                event.facts.by_proven_order};
  // The tenancy that it would begin is not on record: what is not clean stays what it is.
  if (update.only_said && row->to == Stage::allocated) return std::nullopt;
  Record& next = update.record;
  next.stage = row->to;
  next.epoch = record.epoch + 1;
  next.updated_at = now;
  if (row->to != record.stage) {
    next.stage_since = now;
    note_stage(next.timeline, row->to, now);
  }
  // An erase that was begun on the drive of another provider, or before another tenancy, is not our
  // erasure of what is on it now; and a device on offer may have had a tenant whom nobody saw.
  const bool another = event.facts.provider && *event.facts.provider != record.provider;
  const bool somebody_may_have_had_it = begins_tenancy(event.trigger) ||
                                        event.trigger == Trigger::reserved_dropped ||
                                        event.trigger == Trigger::unknown_offered;
  // The claim that was not given up since tells that nobody else had the drive, whatever provider
  // stands for it.
  const bool kept = is_of_a_kept_erase(event.trigger);
  // Findings tell how worn a drive is, whoever has it or un-reserves it; its next cleaning clears
  // them.
  std::string findings = another ? std::string() : next.findings;
  if ((another && !kept) || somebody_may_have_had_it) {
    forget_erase(next);
    next.findings = std::move(findings);
  }
  // Whoever had it, bound it, or un-reserved it, knows it by now.
  const bool was_bound = event.trigger == Trigger::dirty_seen && event.facts.arq;
  if (somebody_may_have_had_it || was_bound || event.trigger == Trigger::released_taken ||
      event.trigger == Trigger::released_unseen) {
    next.handed_over = false;
  }
  Facts facts = event.facts;
  if (update.only_said) {
    facts.instance.reset();
    facts.instance_source.reset();
  } else if (begins_tenancy(event.trigger)) {
    forget_tenancy(next);
  }
  take_facts(next, facts);
  if (begins_tenancy(event.trigger)) {
    next.tenancy_seen_at = now;
    next.accepted = false;  // as it was before this tenant
  }
  if (ends_an_order(record, event, next)) forget_order(next);
  // An error keeps its text while it lasts: a self-loop is not a new error.
  if (row->to != record.stage || row->to != Stage::error) {
    enter(next, record.stage, *row, event.facts, now);
  }
  check_kind(next, *row);
  take(next.step_index, event.facts.step_index);
  next.clean_step = clean_step_of(next);
  if (next.stage != record.stage || next.step_index != record.step_index) {
    next.progress_percent = 0;
    next.progress_eta_s = -1;
    next.progress_message.clear();
  }
  // An outage of Placement ends no wait for the release of a kept erase.
  const bool waits_on = record.stage == Stage::looking && next.stage == Stage::looking && !kept;
  next.waiting_for = next.stage == Stage::pending_cleaning || kept ? event.facts.detail
                     : waits_on                                    ? record.waiting_for
                                                                   : "";
  return update;
}

Record note(const Record& record, const Note& learnt) {
  const Facts& facts = learnt.facts;
  Record next = record;
  next.held = learnt.held;
  if (learnt.taken_over) next.handed_over = false;
  // While pending, what admission or a guard said stands until they say otherwise.
  if (!learnt.waiting_for.empty() || next.stage != Stage::pending_cleaning) {
    next.waiting_for = learnt.waiting_for;
  }
  if (learnt.awaits_operator) next.clean_start = CleanStart::awaited;
  note_tenant(next, facts);
  if (next.stage != Stage::available && facts.arq) {
    next.arq = *facts.arq;
    take(next.managed, facts.managed);
  }
  take(next.flow, facts.flow);
  take(next.type, facts.type);
  take(next.tags, facts.tags);
  take(next.policies, facts.policies);
  take(next.steps_offered, facts.steps_offered);
  take(next.by_steps, facts.by_steps);
  if (next.serial.empty()) take(next.serial, facts.serial);
  take(next.hardware, facts.hardware);
  take(next.mac, facts.mac);
  take(next.boot_id, facts.boot_id);
  take(next.plan, learnt.plan);
  take(next.cyborg_status, learnt.cyborg_status);
  take(next.cyborg_uuid, learnt.cyborg_uuid);
  if (learnt.host_reads) next.certified_host_reads = learnt.host_reads;
  if (learnt.host_writes) next.certified_host_writes = learnt.host_writes;
  take(next.rest, learnt.rest);
  if (is_shown_at_last(record, next)) forget_order(next);
  return next;
}

Trigger restart_trigger(const Record& record, InterruptedCleaning policy) {
  // Nobody can have been given a device that Placement does not know yet, and nothing was begun
  // with it.
  if (record.flow == Flow::cyborg && record.stage == Stage::pending_cleaning &&
      record.provider.empty()) {
    return Trigger::restarted_resume;
  }
  if (policy == InterruptedCleaning::automatic) {
    policy = record.flow == Flow::cyborg ? InterruptedCleaning::error : InterruptedCleaning::resume;
  }
  if (policy == InterruptedCleaning::error && record.planned_stop && record.flow == Flow::nova) {
    policy = InterruptedCleaning::resume;
  }
  return policy == InterruptedCleaning::resume ? Trigger::restarted_resume
                                               : Trigger::restarted_error;
}

WallMs erased_at(const Record& record) {
  return std::max({record.verified_at, WallMs{record.cleaning_started_at.ms + 1},
                   WallMs{record.certificate_at.ms + 1}});
}

bool same_but_progress(const Record& stored, Record ours) {
  ours.clean_step = stored.clean_step;
  ours.progress_percent = stored.progress_percent;
  ours.progress_eta_s = stored.progress_eta_s;
  ours.progress_message = stored.progress_message;
  // A record has more than is stored, so the stored forms are compared as well.
  return stored == ours || encode_record(stored) == encode_record(ours);
}

void forget_tenancy(Record& record) {
  record.instance.clear();
  record.instance_source = InstanceSource::not_seen;
  record.migration.clear();
  record.project.clear();
  record.user.clear();
  record.unseen = {};
  record.heard.clear();
  record.request_id.clear();
}

bool is_shown_at_last(const Record& before, const Record& after) {
  return before.stage == Stage::allocated && after.stage == Stage::allocated &&
         before.instance_source == InstanceSource::arq &&
         after.instance_source == InstanceSource::allocation;
}

void forget_order(Record& record) {
  record.clean_start = CleanStart::automatic;
  record.steps_ordered.clear();
}

Record planned_stop(const Record& record, WallMs now) {
  Record next = record;
  next.planned_stop = true;
  next.epoch += 1;
  next.updated_at = now;
  return next;
}

}  // namespace reclaim
