# What the simulation must notice, one fault each; tests/mutants makes them. The sentence is what an
# operator would say about it.

# The reducer and its table.
sim_mutant(unconfirmed_is_available state/device/machine.cpp
  "a release that did not happen counts as one"
  [[Row{S::confirming, T::still_reserved, S::looking, E::look,]]
  [[Row{S::confirming, T::still_reserved, S::available, E::finish,]])
sim_mutant(acts_before_it_persists handlers/conductor/inbox.cpp
  "the drive is touched before the record says so"
  [[{ writer_.save(address, change); };]]
  [[{
      RecordChange early = change;
      devices_.at(address).record = early.next;
      std::exchange(early.saved, [] {})();
      writer_.save(address, early);
    };]])
sim_mutant(ledger_not_awaited handlers/conductor/ledger_gate.cpp
  "a ledger line counts before it is on stable storage"
  [[known != nullptr && line.dirty_durable &&]] [[known != nullptr &&]])
sim_mutant(ledger_forgotten handlers/conductor/inbox.cpp
  "nothing remembers a dirty drive but Redis"
  [[if (wants_ledger_line(update->record)) {]] [[if (false) {]])
sim_mutant(ledger_failure_ignored handlers/conductor/ledger_gate.cpp
  "a full disk keeps nobody from going on"
  [[    if (kept) {
      Line& now]]
  [[    if (kept || true) {
      Line& now]])
sim_mutant(lost_answers_mean_saved handlers/conductor/record_writer.cpp
  "a record whose write nobody answered counts as written"
  [[    if (!result) return save_failed(]]
  [[    if (!result && result.error().code != Errc::unknown) return save_failed(]])
sim_mutant(waiting_ends_are_overtaken handlers/conductor/conduct.cpp
  "a lost lock waits in the inbox while the drive is written to"
  [[  if (!goes_on(update.effect) || !inbox_.ends_are_waiting(address)) carry]] [[  carry]])

# Lock, claim, Placement.
sim_mutant(no_lock handlers/conductor/drive_claims.cpp
  "the drive is claimed without the lock"
  [[void DriveClaims::take(const PciAddress& address, std::uint64_t epoch) {
]]
  [[void DriveClaims::take(const PciAddress& address, std::uint64_t epoch) {
  return claim(address, epoch);
]])
sim_mutant(late_lock_is_used handlers/conductor/lock_keeper.cpp
  "a lock that comes after an abort leads to a claim that nobody gives back"
  [[    if (context_.is_stale(address, epoch)) return give_back(address, *lock);
]] "")
sim_mutant(claim_not_given_back handlers/conductor/drive_claims.cpp
  "a drive is never closed again"
  [[  context_.ports.drives.drop(address, [this, address, closed]]
  [[  context_.ports.timers.after(1, [this, address, closed]])
sim_mutant(any_serial handlers/survey/claim_request.cpp
  "a drive that nobody enrolled is erased"
  [[  request.expected_serial = record.serial;
]] "")
sim_mutant(no_fence handlers/conductor/write_fence.cpp
  "a release whose answer was lost is made while the drive is being erased"
  [[  CHECK(view.burned());]]
  [[  devices_[address].needed = false;
  return done(view);]])
sim_mutant(lost_release_cannot_come_late handlers/conductor/write_fence.cpp
  "a release whose answer was lost is made while the drive is being sanitized again"
  [[    fence.needed = true;]] [[]])
sim_mutant(lost_release_means_released handlers/conductor/release.cpp
  "a release whose answer was lost counts as made"
  [[        return context_.answer(address, epoch, Trigger::release_unknown, said(error));]]
  [[        return released(address, epoch, Trigger::released, said("hopefully"));]])
sim_mutant(release_not_dated handlers/conductor/release.cpp
  "an erasure that Redis remembers after its release was lost is taken for this one"
  [[  ledger_.put(address, entry, [this, address, epoch](Status kept) {
    if (context_.is_stale]]
  [[  context_.ports.timers.after(1, [this, address, epoch, kept = Status(Ok{})] {
    if (context_.is_stale]])
sim_mutant(drive_not_asked_again handlers/conductor/release.cpp
  "minutes pass between the last look at the drive and its release"
  [[        if (!now)
          return context_.answer(address, epoch, Trigger::release_conflict, said(now.error()));
]] "")
sim_mutant(never_reserves handlers/conductor/reserver.cpp
  "a dirty drive that Nova offers again stays on offer"
  [[  if (!tries.under_way.insert(provider).second) return false;
]]
  [[  if (tries.due_ms + 1 != 0) return false;
]])

# Ending well.
sim_mutant(struck_too_early handlers/conductor/ledger_gate.cpp
  "the ledger forgets the next tenancy"
  [[    return;
  }
  // Newer dirt than the certificate's: a tenancy whose record Redis has lost.
  if (is_dirty_since(*known, record.certificate_at)) return;
  // The change that is being recorded now may be the next tenancy: its dirt must stay remembered.
  const Device& device = context_.devices.at(address);
  if (device.saving || !device.inbox.empty()) return strike_later(address, certificate_id);]]
  [[  }
  if (false) return strike_later(address, certificate_id);]])
sim_mutant(certificate_not_awaited handlers/conductor/certificate_keeper.cpp
  "the ledger is struck though the certificate was not kept"
  [[            if (!kept) {
]]
  [[            if (false) {
]])
sim_mutant(certificate_tried_once handlers/conductor/conductor.cpp
  "a certificate that could not be kept at once is forgotten"
  [[    if (!device.quarantined) certificates_.keep(device.record);
]] "")
sim_mutant(capacity_as_claimed handlers/conductor/cleaning_steps.cpp
  "a certificate says another size than was verified"
  [[        facts.capacity_bytes = report->capacity_bytes;
]] "")
sim_mutant(certificate_without_evidence handlers/conductor/evidence.cpp
  "a certificate says nothing about the erasure"
  [[  out.evidence = record.evidence;
]] "")

# Surveys and admission.
sim_mutant(freed_is_not_noticed handlers/survey/reading_memory.cpp
  "a device that an instance left is taken for allocated"
  [[  return all_there ? &reading->view : nullptr;]] [[  return &reading->view;]])
sim_mutant(root_moves_unnoticed handlers/survey/reading_memory.cpp
  "a device that was taken from an instance is taken for allocated"
  [[(reading.view.free() || reading.root_generation == tree_.root_generation);]] [[true;]])
sim_mutant(taken_is_not_noticed handlers/survey/reading_memory.cpp
  "a device that an instance got is taken for free"
  [[reading.view.generation == row.generation &&]] "")
sim_mutant(erase_of_an_earlier_life state/ledger/trust.cpp
  "an erase that Redis remembers wrongly is taken for this one"
  [[  return known != nullptr && known->dirty &&]]
  [[  if (record.epoch != 0) return true;
  return known != nullptr && known->dirty &&]])
sim_mutant(old_looks_end_reservations handlers/conductor/own_reservation.cpp
  "a card stays reserved for ever, because a look from before its reservation forgot whose it was"
  [[ && context_.survey.began < settled->second);]] [[ && false);]])
sim_mutant(lost_records_stay_lost handlers/conductor/record_writer.cpp
  "what Redis lost is never written again"
  [[    device.persisted = false;
]] "")
sim_mutant(maintenance_ignored handlers/survey/admission.cpp
  "a drive in maintenance is cleaned"
  [[  if (record.maintenance) return refuse(std::string(kInMaintenance));
]] "")
sim_mutant(holds_ignored handlers/survey/hold.cpp
  "a drive that an operator reserved by hand is erased"
  [[  return unread ? Hold::held : Hold::dirty;]] [[  return unread ? Hold::dirty : Hold::dirty;]])
sim_mutant(ledger_not_asked handlers/survey/admission.cpp
  "a drive that only the ledger knows to be dirty stays on offer"
  [[    out.reserve = !out.strike;
]]
  [[    return;
]])

sim_mutant(strangers_records_stay handlers/conductor/record_writer.cpp
  "what a stranger wrote over the record of a device in work stays in Redis"
  [[  if (is_of_this_host(stored)) {
    change.next.epoch]]
  [[  if (is_of_this_host(stored) || !stored.damage.empty()) {
    change.next.epoch]])

# Clean steps, drivers, policies.
sim_mutant(steps_skipped state/device/machine.cpp
  "a drive is erased as its tenant left it, hidden namespaces and all"
  [[Row{S::rechecking, T::still_burned, S::preparing, E::run_step,]]
  [[Row{S::rechecking, T::still_burned, S::baselining, E::take_baseline,]])
sim_mutant(only_the_first_step handlers/conductor/cleaning_steps.cpp
  "the steps after the first one are left out"
  [[  const bool last = record.step_index + 1 >= last_step_of(record);
]]
  [[  const bool last = true;
]])
sim_mutant(failed_steps_do_not_matter state/device/machine.cpp
  "a drive that has to be quarantined is cleaned and given back"
  [[Row{S::preparing, T::step_failed, S::error, E::drop,]]
  [[Row{S::preparing, T::step_failed, S::baselining, E::take_baseline,]])
sim_mutant(damaged_records_are_believed handlers/conductor/conductor.cpp
  "a record that nobody can read is taken for one of a drive in error"
  [[  if (!record.damage.empty()) return quarantine(device, record);
]] "")
sim_mutant(failed_steps_wait handlers/conductor/cleaning_steps.cpp
  "a drive that has to be quarantined is tried again and again"
  [[  return passes ? Trigger::guards_wait : Trigger::step_failed;]]
  [[  return Trigger::guards_wait;]])
sim_mutant(a_step_left_out handlers/survey/plan.cpp
  "plans lack the step that resets namespaces"
  [[    const bool disabled = priority <= 0 && kind.may_be_disabled;]]
  [[    const bool disabled = kind.step == nvme::DriveStep::reset_namespaces;]])
sim_mutant(driver_not_restored state/device/machine.cpp
  "an unmanaged drive is given back on our driver"
  [[Row{S::verifying, T::verified, S::restoring, E::restore_driver,]]
  [[Row{S::verifying, T::verified, S::looking, E::look,]])
sim_mutant(failed_restore_does_not_matter state/device/machine.cpp
  "an unmanaged drive whose driver did not come back is given back"
  [[Row{S::restoring, T::restore_failed, S::error, E::drop,]]
  [[Row{S::restoring, T::restore_failed, S::looking, E::look,]])
sim_mutant(everything_is_managed handlers/survey/claim_request.cpp
  "an unmanaged drive is never taken over"
  [[  request.managed = policy.managed;
]] "")
sim_mutant(zeroing_is_adopted handlers/conductor/recheck.cpp
  "a zeroing that ended with its worker is taken for one that goes on"
  [[record.erase_begun && method && (nvme::is_sanitize(*method) || marked);]]
  [[record.erase_begun;]])
sim_mutant(plan_outlives_its_drive state/device/step.cpp
  "an enrolled drive is cleaned by the plan of the one before it"
  [[  if (from == Stage::error || on == Trigger::policy_unsatisfied) record.plan.clear();
]] "")
sim_mutant(enrolment_outlives_its_drive state/device/step.cpp
  "an enrolled drive is measured by the one before it"
  [[    record.enrolment.clear();
]] "")
sim_mutant(unopened_drives_cannot_be_enrolled handlers/conductor/device_orders.cpp
  "an unmanaged drive that was replaced stays in error for ever"
  [[  return policy && !policy->managed;]]
  [[  return false;]])

# Cyborg's devices.
sim_mutant(bind_not_reserved handlers/survey/admission.cpp
  "what Cyborg binds is reserved by nobody"
  [[  out.reserve = !view.burned();
]]
  [[  out.reserve = false;
  if (stage == Stage::allocated) return;
]])
sim_mutant(arqs_bind_nothing handlers/arq/book.cpp
  "a drive is cleaned although an ARQ binds it"
  [[  if (!arq.holds_device() || arq.released) return false;]]
  [[  return false;]])
sim_mutant(binding_while_cleaning handlers/conductor/arq_desk.cpp
  "a cleaning goes on although an ARQ came to bind the drive"
  [[  if (!changed) return;
  save();
  stop_what_is_bound();]]
  [[  if (!changed) return;
  save();]])
sim_mutant(nobody_binds_it handlers/conductor/arq_desk.cpp
  "a drive that an ARQ comes to bind is cleaned to the end, and given back"
  [[  if (record.flow != Flow::cyborg) return std::nullopt;
  return book_]]
  [[  if (record.flow != Flow::cyborg || true) return std::nullopt;
  return book_]])
sim_mutant(cyborgs_holds_ignored handlers/survey/hold.cpp
  "a device of Cyborg's that somebody reserved without a tenancy is erased"
  [[  if (!record.certified_host_writes) return Hold::held;]]
  [[  if (!record.certified_host_writes) return Hold::dirty;]])
sim_mutant(maintaining_admitted handlers/survey/admission.cpp
  "what Cyborg has under maintenance is cleaned"
  [[  if (sighting.cyborg_status.value_or(record.cyborg_status) == kMaintaining) {]]
  [[  if (false) {]])
sim_mutant(maintaining_released handlers/conductor/cyborg_watch.cpp
  "what Cyborg took under maintenance meanwhile is given back"
  [[  return *status == kMaintaining ? "Cyborg's]]
  [[  return status->empty() ? "Cyborg's]])
sim_mutant(cyborg_resumes state/device/step.cpp
  "what a restart found at work goes on by itself"
  [[record.flow == Flow::cyborg ? InterruptedCleaning::error :]]
  [[false ? InterruptedCleaning::error :]])
sim_mutant(restart_said_once state/device/machine.cpp
  "a restart that Redis did not take is forgotten"
  [[ is_order(on) || on == T::restarted_resume || on == T::restarted_error;]] [[ is_order(on);]])
sim_mutant(everything_of_novas_is_ours handlers/survey/device_kind.cpp
  "a one-time-use device that no device_spec matches is reserved again after its operator"
  [[  if (!sighting.drive) return;
  if (record == nullptr) {]]
  [[  if (record == nullptr || base.cleanable()) return;
  if (record == nullptr) {]])
sim_mutant(everything_of_cyborgs_is_ours handlers/survey/admission.cpp
  "a device of Cyborg's that no device_spec matches is written"
  [[(row.owner_cyborg && sighting.ours.value_or(false));]]
  [[row.owner_cyborg;]])
sim_mutant(drives_are_no_drives handlers/survey/device_kind.cpp
  "a drive's tenancy ends as that of a device which is not cleaned"
  [[    base.type = base.by_steps ? type_of(sighting) : std::string(kTypeNvme);]]
  [[    base.type = "PCI";]])
sim_mutant(signatures_ignored handlers/conductor/registration.cpp
  "a drive that has what somebody may miss is registered and erased"
  [[        if (!found->empty()) {]]
  [[        if (false) {]])
sim_mutant(registered_at_once handlers/conductor/registration.cpp
  "a drive is registered before anybody has looked what it has"
  [[  if ((same && (record.accepted || tenants)) || drives_[address].blank) {]]
  [[  {]])

# An operator's own steps, holds and word.
sim_own_steps_mutant(own_steps_left_out handlers/survey/plan.cpp
  "a plan lacks the operator's steps"
  [[    if (step.priority > 0) out.push_back(as_plan_step(step));]]
  [[    if (step.priority > 1000) out.push_back(as_plan_step(step));]])
sim_own_steps_mutant(steps_after_left_out handlers/conductor/cleaning_steps.cpp
  "the steps after the verification are not run"
  [[const bool more = next < context_.record_of(address).plan.size();]]
  [[const bool more = next > context_.record_of(address).plan.size();]])
sim_own_steps_mutant(failed_step_counts handlers/conductor/operator_steps.cpp
  "a step that failed counts as one that succeeded"
  [[if (!report) return done(epoch, std::move(report).error());]]
  [[if (!report) return done(epoch, nvme::StepReport{});]])
sim_own_steps_mutant(one_approval_is_enough handlers/conductor/operator_steps.cpp
  "a hold for two operators ends with the first one's word"
  [[  if (hold->approved_by.size() < hold->approvals) {]]
  [[  if (hold->approvals == 0) {]])
sim_own_steps_mutant(one_operator_twice handlers/conductor/operator_steps.cpp
  "one operator gives both approvals"
  [[    return fmt::format("{} has approved it already; it needs {} different operators", who,
                       hold->approvals);]] "")
sim_own_steps_mutant(manual_is_automatic handlers/survey/admission.cpp
  "a device that an operator starts is cleaned without his word"
  [[return refuse(std::string(kCleanedManually));]] [[void(0);]])
sim_own_steps_mutant(commands_not_locked_in handlers/conductor/drive_claims.cpp
  "the commands that a cleaning runs are not those it began with"
  [[    if (digest != report.command_digests.end()) step = with_digest(step, digest->second);]]
  [[    if (digest != report.command_digests.end()) step = with_digest(step, "");]])

# Devices that are no drives.
sim_function_mutant(functions_end_early handlers/conductor/cleaning_steps.cpp
  "a device is given back though the last steps of its plan were not run"
  [[  const bool last = record.step_index + 1 >= last_step_of(record);]]
  [[  const bool last = record.step_index + 2 >= last_step_of(record);]])
sim_mutant(generations_are_not_asked handlers/survey/unseen.cpp
  "an unmanaged drive of Cyborg's is left on offer after a tenancy that nobody saw"
  [[  if (rest.generation < 0) return false;]] [[  if (rest.generation < 1'000'000) return false;]])

# Whose tenancy it is.
sim_tenants_mutant(whoever_follows_is_the_tenant handlers/survey/tenant.cpp
  "who gets a drive unerased is taken for the one before"
  [[  if (record.instance.empty() || is_named(record, now)) return Tenant::same;]]
  [[  return Tenant::same;]])
sim_tenants_mutant(a_tenancy_keeps_its_first_name handlers/survey/tenant.cpp
  "the record of a drive that another tenant got goes on naming the one before"
  [[  if (former != nullptr && former->holds) return Tenant::moving;]]
  [[  return Tenant::moving;]])
sim_tenants_mutant(survey_counts_from_its_beginning handlers/conductor/assessor.cpp
  "a slow survey counts for the time that a move may take"
  [[    here.followed_since = context_.ports.clock.now().mono;]]
  [[    here.followed_since = MonoMs{0};]])
sim_mutant(held_without_a_word handlers/survey/hold.cpp
  "what a tenant or a failed build left reserved stays so for good, and nobody is told why"
  [[  if (may_have_had_a_tenant(last_rest(record, ledger), sighting)) {]]
  [[  if (false) {]])

# Whom notifications alone tell of.
sim_lives_mutant(heard_of_at_any_time handlers/survey/heard.cpp
  "a certificate names an instance that was gone before the drive was given back to anybody"
  [[gap.from <= life.began && ]] "")

# While nobody looks.
sim_unwatched_mutant(handed_over_is_had_by_nobody handlers/survey/admission.cpp
  "Cyborg's agent is told that a drive is clean which a tenant had since it was cleaned"
  [[hold != Hold::dirty &&
      doubt_of_hold(record, ledger, sighting, now).empty() &&]] [[hold != Hold::dirty &&]])

# What is sent faster than a survey looks.
sim_floods_mutant(given_back_into_maintenance handlers/conductor/own_reservation.cpp
  "a device is back in the pool right after its maintenance was ordered again"
  [[         if (!reserved && context_.on_ledger(address)->maintenance) {]]
  [[         if (false) {]])

# Drives that are too unwell to be given back.
sim_unfit_mutant(unfit_is_released handlers/conductor/cleaning_steps.cpp
  "a drive that is worn out is taken for one that is fit"
  [[        if (!report->unfit.empty() || !retired.empty()) {]] [[        if (!retired.empty()) {]])
sim_unfit_mutant(retired_is_released handlers/conductor/cleaning_steps.cpp
  "a drive that was retired is taken for one that goes back into the pool"
  [[        if (!report->unfit.empty() || !retired.empty()) {]]
  [[        if (!report->unfit.empty()) {]])
sim_unfit_mutant(unfit_is_not_certified handlers/conductor/inbox.cpp
  "nothing proves that a drive which goes back to its maker was erased"
  [[ || update->effect == EffectKind::certify) {]] [[) {]])
sim_unfit_mutant(unfit_ends_as_any_error state/device/machine.cpp
  "a drive that is worn out is cleaned again and again"
  [[Row{S::verifying, T::verified_unfit, S::error, E::certify,]]
  [[Row{S::verifying, T::verified_unfit, S::pending_cleaning, E::certify,]])
