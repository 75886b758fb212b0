# Rules of the specifications: a fault that breaks one, and a test that its row of
# docs/dev/spec-coverage.md names.
unit_mutant(block_erase_is_crypto_erase nvme nvme/controller/log_pages.cpp
  IdentifyController.EachCapability*
  "a drive that can only erase its blocks is told to erase its keys, and the other way round"
  [[load_le<std::uint32_t>(page, 328);]] [[load_le<std::uint32_t>(page, 328) ^ 3U;]])
unit_mutant(any_data_management_is_write_zeroes nvme nvme/controller/log_pages.cpp
  IdentifyController.EachCapability*
  "a drive without Write Zeroes is said to have it"
  [[oncs = load_le<std::uint16_t>(page, 520);]] [[oncs = load_le<std::uint16_t>(page, 520) << 1U;]])
unit_mutant(firmware_is_namespace_management nvme nvme/controller/log_pages.cpp
  IdentifyController.EachCapability*
  "the namespaces of a drive are deleted that cannot make new ones"
  [[oacs = load_le<std::uint16_t>(page, 256);]] [[oacs = load_le<std::uint16_t>(page, 256) << 1U;]])
unit_mutant(the_trait_says_dirty handlers handlers/survey/admission.cpp
  Assessment.TheTraitAlone*
  "a device that nobody ever had is reserved and cleaned because Nova calls it one-time-use"
  [[  if (std::string why = changed_since_certified(record, sighting); !why.empty()) {]]
  [[  if (std::string why = "it has the trait"; !why.empty()) {]])
unit_mutant(left_burned_is_let_be handlers handlers/survey/admission.cpp
  Assessment.ADeviceThatIsTagged*
  "a device whose tenant is gone stays reserved for ever"
  [[  if (record.stage == Stage::allocated) {
    out.trigger = Trigger::dirty_seen;
    if]]
  [[  if (record.stage == Stage::allocated) {
    if]])
unit_mutant(tagged_late_is_dirty handlers handlers/survey/taken.cpp
  Assessment.ADeviceThatIsTagged*
  "a device that an instance has is called dirty, because it was tagged while it was in use"
  [[is_busy(stage)) {
    out.trigger = Trigger::allocation_seen;]]
  [[is_busy(stage)) {
    out.trigger = Trigger::dirty_seen;]])
unit_mutant(first_provider_is_enough handlers handlers/survey/admission.cpp
  All/AdmissionRefuses.*two_providers
  "a drive is erased though an instance may have it by its second provider"
  [[  if (sighting.rows.size() != 1 || !sighting.view) {
    return refuse]]
  [[  if (!sighting.view) {
    return refuse]])
unit_mutant(arqs_are_admitted handlers handlers/survey/admission.cpp
  All/AdmissionRefuses.*bound
  "a drive is erased though an ARQ is said to bind it"
  [[  if (sighting.holder) {
    return refuse(]] [[  if (false) {
    return refuse(]])
unit_mutant(silence_is_admitted handlers handlers/survey/admission.cpp
  All/AdmissionRefuses.*cyborg_silent
  "a drive is erased though Cyborg, which may have bound it, does not answer"
  [[  if (sighting.cyborg_silent) {]] [[  if (false) {]])
unit_mutant(refused_locks_are_taken conductor handlers/conductor/drive_claims.cpp
  Dirty.ADriveIsClaimedUnder*
  "two workers clean one drive"
  [[    if (!taken) return context_.answer(address, epoch, Trigger::lock_refused,]]
  [[    if (false) return context_.answer(address, epoch, Trigger::lock_refused,]])
unit_mutant(erases_have_no_end conductor handlers/conductor/cleaning_steps.cpp
  Dirty.AnEraseIsBounded*
  "an erase that does not end is waited for, whatever cleanup_timeout says"
  [[  request.timeout_ms = claims_.left_ms(address);
  request.stall_timeout_ms =]]
  [[  request.timeout_ms = 86'400'000;
  request.stall_timeout_ms =]])
unit_mutant(cleanings_have_no_end conductor handlers/conductor/drive_claims.cpp
  CleaningDeadline.*
  "a cleaning that does not end keeps its drive for ever"
  [[  drive.timer = context_.ports.timers.after(]] [[  if (false) context_.ports.timers.after(]])
unit_mutant(overdue_erases_are_forgotten state state/device/step.cpp
  Step.OnlyAnEraseThatMayBeRunning*
  "a sanitize that runs on is not known of, and another one is sent to the drive"
  [[on != Trigger::operator_abort && on != Trigger::overdue &&]]
  [[on != Trigger::operator_abort &&]])
unit_mutant(unbound_stays_reserved conductor handlers/conductor/bind_reservation.cpp
  BindReservation.IsReservedWhileItIsBound
  "a card that was reserved because it was bound stays out of the pool after its unbind"
  [[      return reservation_.unreserve(address, view);]] [[      return;]])
unit_mutant(unfit_is_not_told conductor handlers/conductor/conduct.cpp
  Dirty.ADriveThatCannotBeCleared*
  "a drive leaves the pool because its policy cannot be satisfied, and no error says so"
  [[ == Stage::error || update.row->on == Trigger::policy_unsatisfied;]] [[ == Stage::error;]])
unit_mutant(action_follows_the_configuration handlers handlers/survey/admitted_plan.cpp
  Admission.ALockedPlan*
  "a drive is cleaned by another method than was locked in, because the configuration changed"
  [[  if (is_whole(record.plan)) {]] [[  if (false) {]])
unit_mutant(action_never_changes state state/device/step.cpp Step.APlanIsLockedIn*
  "a drive in error is tried again by the method that failed, whatever is configured since"
  [[  if (from == Stage::error || on == Trigger::policy_unsatisfied) record.plan.clear();]] [[]])
unit_mutant(interrupted_goes_on state state/device/step.cpp Step.ARestartFollows*
  "a drive of Cyborg's that was interrupted is cleaned again, and waits for no operator"
  [[record.flow == Flow::cyborg ? InterruptedCleaning::error : InterruptedCleaning::resume;]]
  [[InterruptedCleaning::resume;]])
unit_mutant(handles_of_any_type_are_managed handlers handlers/api/arqs.cpp
  ApiArqsTest.HandlesThat*
  "an attach handle that is none of PCI has a member that Cyborg does not give it"
  [[version >= kVersionManaged && arq.attach_handle_type == "PCI"]] [[version >= kVersionManaged]])
unit_mutant(maintenance_is_no_status handlers handlers/api/fleet.cpp
  ApiDevicesTest.StatusIsIndependent*
  "a device in maintenance is shown as enabled"
  [[record.maintenance || record.cyborg_status == "maintaining" ? ]]
  [[record.cyborg_status == "maintaining" ? ]])
unit_mutant(tagged_without_serial state state/device/tagged_device.cpp TaggedDevice.HasTheForm*
  "a tagged device cannot be told from another by its serial"
  [[  if (!record.serial.empty()) text("serial", record.serial);
]] "")
unit_mutant(promised_steps_are_left_out handlers handlers/survey/plan.cpp Plan.KeepsWhat*
  "an operator leaves out the look for what a tenant may have left in the controller"
  [[      if (kind->may_be_disabled) continue;]] [[      continue;]])
unit_mutant(any_order_of_equals handlers handlers/survey/plan.cpp Plan.NamesTwoSteps*
  "two steps of the same priority run in an order that nobody has said"
  [[      if (priority_of(kSteps[j], priorities) != priority) continue;]] [[      continue;]])
unit_mutant(lowest_priority_first handlers handlers/survey/plan.cpp Plan.FollowsAnOperators*
  "the step that an operator wants first runs last"
  [[return a.priority != b.priority ? a.priority > b.priority]]
  [[return a.priority != b.priority ? a.priority < b.priority]])
unit_mutant(unknown_roles_are_offered conductor handlers/survey/resolve_policy.cpp
  Roles.AnOffered*
  "a device whose role nobody has defined is on offer"
  [[why_unknown(policy); !why.empty()) {]] [[why_unknown(policy); false) {]])
unit_mutant(steps_in_use_are_hidden handlers handlers/survey/resolve_policy.cpp
  Policy.OneInUse*
  "the steps of a device that was in use when it was first seen are not listed"
  [[  if (assessment.first_seen && used && planning.policy && record.cleanable()) {]]
  [[  if (false) {]])
unit_mutant(running_is_begun_again claim nvme/erase/sanitize_erase.cpp
  SanitizeTest.OneThatRunsIsAdopted*
  "a sanitize that still runs after a restart is not polled, and another one is sent behind it"
  [[  run.adopted = run.seen_running = true;]]
  [[  if (run.sent) return Error{Errc::not_found, "no sanitize of ours to adopt"};]])
unit_mutant(late_is_failed claim nvme/erase/sanitize_erase.cpp EraseTest.TheDeadlineIsUnknown*
  "a sanitize that goes on in the drive is taken for one that has ended"
  [[      return Error{Errc::unknown,
                   fmt::format("the sanitize did not end within {} s]]
  [[      return Error{Errc::failed,
                   fmt::format("the sanitize did not end within {} s]])
unit_mutant(arqs_are_no_tenancy conductor handlers/survey/admission.cpp CyborgSpec.AnArqThatBinds*
  "a drive that an ARQ binds stays in the pool, because Placement shows no allocation"
  [[(!view.free() || (sighting.holder && !stays_held(base, ledger, sighting)))]]
  [[!view.free()]])
unit_mutant(allocated_is_admitted handlers handlers/survey/admission.cpp
  All/AdmissionRefuses.*allocated
  "a drive is erased though an instance has it"
  [[!sighting.view->burned() || !sighting.view->free()]] [[!sighting.view->burned()]])
unit_mutant(agents_devices_are_released conductor handlers/conductor/release.cpp
  HandedOver.WhatTheAgentOwns*
  "a drive whose un-reserving is left to Cyborg's agent is un-reserved before the agent knows"
  [[         (record.handed_over || context_.options.cyborg_owner == CyborgOwner::agent);]]
  [[         record.handed_over;]])
