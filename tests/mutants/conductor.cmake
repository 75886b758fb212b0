# Faults in the conductor that its own tests see, in the single situations where they do harm.
unit_mutant(unknown_steps_are_tried_again conductor handlers/conductor/cleaning_steps.cpp
  *StepEnds.*
  "a step that may have happened or not is run once more"
  [[error.code == Errc::cancelled;]]
  [[error.code == Errc::cancelled || error.code == Errc::unknown;]])
unit_mutant(guarded_steps_fail conductor handlers/conductor/cleaning_steps.cpp Dirty.AStepThat*
  "a mount of a moment puts a drive into error"
  [[const bool passes = may_pass(error) || ]] [[const bool passes = ]])
unit_mutant(damaged_records_are_offered conductor handlers/conductor/assessor.cpp
  Dirty.ADirtyDrive*
  "a dirty drive whose record is damaged stays on offer"
  [[  if ((dirty || bound) && sighting.view && ]] [[  if (false && sighting.view && ]])
unit_mutant(quarantine_for_ever conductor handlers/conductor/conductor.cpp *Mended.*
  "a record that was mended is not taken up again"
  [[    end_quarantine(address, found]] [[    if (false) end_quarantine(address, found]])
unit_mutant(certificate_stays_lost conductor handlers/conductor/inbox.cpp *TheLostCertificate*
  "a drive that was given back and taken at once has no certificate"
  [[    if (update->effect == EffectKind::finish || update->effect == EffectKind::certify) {]]
  [[    if (false) {]])
unit_mutant(certificate_of_another_tenant conductor handlers/conductor/certificate_keeper.cpp
  *ItNeverNames*
  "a certificate names an instance that came after the erasure"
  [[      certificate->id, text,]]
  [[      certificate->id,
      [&] {
        Certificate other = *certificate;
        other.instance = record.instance;
        return encode_certificate(other);
      }(),]])
unit_mutant(tenancy_outlives_its_release conductor handlers/conductor/inbox.cpp *EarlierTenancy
  "a certificate names an instance that had the drive before another, whom nobody saw"
  [[      forget_tenancy(update->record);
]]
  [[]])
unit_mutant(unseen_releases_are_not_certified conductor handlers/conductor/release.cpp
  ReleaseUnseen.IsCertified*
  "an erasure that led to a release has no certificate, for nobody saw the release"
  [[  if (trace != Trace::written || ]] [[  if (trace == Trace::written || ]])
unit_mutant(forgotten_releases_are_not_certified conductor state/ledger/trust.cpp
  */ReleaseForgotten.IsCertified*
  "an erasure that led to a release has no certificate, for Redis forgot that it was asked for"
  [[    recall_release(*known, record);]] [[]])
unit_mutant(forgotten_releases_are_done_again conductor state/ledger/trust.cpp
  */ReleaseForgotten.IsNotDoneAgain*
  "a clean drive on offer is reserved and erased once more, for Redis forgot its release"
  [[  record.stage = Stage::confirming;]] [[]])
unit_mutant(unmade_releases_are_certified conductor handlers/conductor/release.cpp
  ReleaseUnseen.ThatWasNotMade*
  "a write of the host to a drive certifies a release that was not made"
  [[    return Trace::written;
  }
  return record.flow == Flow::nova ? Trace::unmade : Trace::none;]]
  [[    return Trace::written;
  }
  return Trace::written;]])
unit_mutant(fences_are_taken_for_releases conductor state/ledger/trust.cpp
  ReleaseUnseen.ThatWasNotMade*
  "the fence of a worker that died and a write of the host certify a release that was not made"
  [[  if (generation == record.release_generation) return true;]]
  [[  return generation == record.release_generation;]])
unit_mutant(still_drives_show_a_release conductor handlers/conductor/release.cpp
  ReleaseUnseen.IsNotCertifiedWhere*
  "another client's write to the provider certifies a release"
  [[                  drive.counters->host_writes > verified->host_writes;]]
  [[                  drive.counters->host_writes >= verified->host_writes;]])
unit_mutant(any_drive_shows_a_release conductor handlers/conductor/release.cpp
  ReleaseUnseen.IsNotShownByAnotherDrive*
  "what another drive counts certifies a release"
  [[                  drive.identity->serial == certificate.serial && drive.counters &&]]
  [[                  drive.counters &&]])
unit_mutant(former_releases_are_certified conductor handlers/conductor/cleaning_steps.cpp
  ReleaseUnseen.IsNotShownByTheCert*
  "a certificate tells of a release that an earlier cleaning asked for, and that was not made"
  [[entry.certificate_pending.clear();]] [[(void)entry;]])
unit_mutant(approvals_outlive_a_cleaning conductor handlers/conductor/operator_steps.cpp
  OwnSteps.ApprovalsOfAHold*
  "approvals of a cleaning that was aborted count for the next one"
  [[  Hold& hold = holds_[address] = Hold{};]]
  [[  Hold& hold = holds_[address];]])
unit_mutant(binding_while_admitted conductor handlers/conductor/arq_desk.cpp
  CyborgUnasked.AnArqHeardWhile*
  "a drive that an ARQ came to bind while its admission was recorded is erased"
  [[    if (is_bound_meanwhile(address, epoch)) return;
    return next();]]
  [[    return next();]])
unit_mutant(approvals_are_of_any_cleaning conductor handlers/conductor/operator_steps.cpp
  OwnSteps.AnApprovalOfAnEarlier*
  "an approval that was withheld counts at the hold of a later cleaning"
  [[  if (approval.hold != hold_id(context_.record_of(address))) return std::string(kOtherHold);]]
  [[]])
unit_mutant(approvals_of_what_is_to_come conductor handlers/conductor/operator_steps.cpp
  OwnSteps.AnApprovalThatNamesALaterHold*
  "an approval of one hold, signed as one of a later hold that Redis showed, counts at that"
  [[  return approval.issued_at.ms < began_ms ? std::string(kEarlierThanHold) : "";]]
  [[  return {};]])
unit_mutant(unseen_releases_are_errors conductor handlers/conductor/conduct.cpp
  ReleaseUnseen.IsNoError*
  "a cleaning that came to its release is an interrupted one"
  [[ &&
                           update.effect != EffectKind::finish;]]
  [[;]])
unit_mutant(tenants_are_named_in_doubt conductor state/device/step.cpp ReleaseUnseen.*
  "a certificate names a tenant whom another one may have followed"
  [[was_withheld) && !facts.instance) {]] [[was_withheld) && false) {]])
unit_mutant(blind_surveys_end_holds conductor handlers/survey/admission.cpp Dirty.AHoldOutlasts*
  "a drive that an operator reserved by hand is erased, once it could not be read for a moment"
  [[  switch (stays ? Hold::held : hold) {]] [[  switch (stays ? Hold::dirty : hold) {]])
unit_mutant(heard_of_is_proven conductor handlers/survey/hold.cpp CyborgHold.No*
  "what an operator or Cyborg reserved is erased on the word of a notification"
  [[  return arq.allocation_seen || arq.listed;]]
  [[  return !arq.uuid.empty();]])
unit_mutant(tenancies_of_arqs_are_forgotten conductor handlers/survey/hold.cpp
  CyborgHold.ATenancy*
  "a tenancy that nothing but its ARQ told of leaves its data for the next one"
  [[  return sighting.ended && sighting.ended->held_at > record.certificate_at;]]
  [[  return sighting.ended && sighting.ended->uuid.empty();]])
unit_mutant(doubts_are_kept_to_oneself conductor handlers/survey/hold.cpp CyborgHold.Without*
  "a drive that was never cleaned is held for ever, and no word of an operator helps"
  [[  if (record.certificate_id.empty()) {]]
  [[  if (record.uuid.empty()) {]])
unit_mutant(fence_waits_for_a_cleaning conductor handlers/conductor/assessor.cpp LateRelease.*
  "a release of an earlier worker comes late and offers a drive that waits for an operator"
  [[  if (fence_.is_needed_first(address) && sighting &&]]
  [[  if (false &&]])
unit_mutant(no_fence_after_a_restart conductor handlers/conductor/conductor.cpp LateRelease.*
  "a release that the worker before sent is made while the drive is being erased"
  [[  fence_.need_first(address, device.record.stage]]
  [[  fence_.need_first(address, dirty ? false : device.record.stage]])
unit_mutant(late_answers_are_believed conductor handlers/conductor/release.cpp Dirty.NothingIs*
  "a drive is given back on what it said before the process was frozen"
  [[        if (took_ms > kLastAnswerMaxMs) {]] [[        if (false) {]])
unit_mutant(offers_are_forgotten conductor handlers/conductor/ledger_gate.cpp *OnOfferMeanwhile.*
  "an erasure is adopted though a tenant whom nobody saw came after it"
  [[  if (is_busy(record.stage) || known || !context_.stays_ours(address)) return next();]]
  [[  if (!known || known) return next();]])
unit_mutant(reservations_wait_for_records conductor handlers/conductor/assessor.cpp *Unrecorded.*
  "while Redis is away, a drive that its tenant leaves is on offer with his data"
  [[    if (device.saving_since <= context_.survey.began) reserve_unrecorded(sighting);
]] "")
unit_mutant(orders_overtake_looks conductor handlers/conductor/device_orders.cpp *Flood*
  "orders are given so fast that nobody sees who has a drive, nor what he leaves"
  [[  if (kind != OrderKind::abort && looks_.is_owed(address)) return true;
]] "")
unit_mutant(fresh_looks_wait_for_orders conductor handlers/conductor/assessor.cpp *Flood*
  "orders are given so fast that each survey remembers what it should read afresh"
  [[    if (device != nullptr) looks_.came_to_nothing(address);
]] "")
unit_mutant(unclosed_drives_are_on_offer conductor handlers/conductor/assessor.cpp
  DriveThatIsNeverClosed.*
  "a drive that cannot be closed is on offer while an instance has it"
  [[ && !sighting.view->free()) reserve_unrecorded(sighting);]] [[) return true;]])
unit_mutant(nobody_is_told_of_the_unseen conductor handlers/conductor/look_watch.cpp
  DriveThatIsNeverClosed.*
  "no look at a device counts any more, and nobody is told"
  [[    tell(address, for_ms);
]] "")
unit_mutant(silence_is_consent conductor handlers/conductor/cyborg_watch.cpp
  DoubtOfCyborg.IsNotGivenBack*
  "what Cyborg took under maintenance is given back, since Cyborg's last answer failed"
  [[  if (!status) return "Cyborg's API does not answer";
]] "  if (!status) return {};
")
unit_mutant(maintaining_not_asked_again conductor handlers/conductor/recheck.cpp
  DoubtOfCyborg.IsNotTouched*
  "what Cyborg took under maintenance after the admission is erased"
  [[  arqs_.ask_once_more(address, epoch, maintaining,
                      [this, address, epoch] { read(address, epoch); });]]
  [[  (void)maintaining;
  read(address, epoch);]])
unit_mutant(kept_whatever_the_ledger_knows conductor handlers/conductor/kept_erase.cpp
  KeptErase.NewerDirt*
  "an erasure is kept though the ledger knows of dirt that came after it"
  [[known->dirty_since <= erased_at(record);]]
  [[true;]])
unit_mutant(kept_without_its_place conductor handlers/conductor/kept_erase.cpp KeptErase.ADriveThat*
  "a drive that Cyborg has under maintenance keeps the others of its host from being cleaned"
  [[admissions_.is_one_waiting_for_thread() || admissions_]] [[admissions_]])
unit_mutant(kept_for_another_owner conductor handlers/conductor/kept_erase.cpp
  KeptErase.AProviderOf*
  "a drive is given back into the pool of another owner, who made its provider again"
  [[    if (rows.size() != 1 || !is_owners(rows.front(), record.flow)) {]]
  [[    if (rows.size() != 1) {]])
unit_mutant(kept_for_ever conductor handlers/conductor/kept_erase.cpp KeptErase.AProviderThatStays*
  "a drive whose provider was deleted for good stays claimed until the worker is restarted"
  [[ <= kProviderMaxMs;]] [[ <= kProviderMaxMs * 1000;]])
unit_mutant(kept_by_nothing conductor handlers/conductor/kept_erase.cpp KeptErase.*Repeat*
  "a drive that was erased is erased again because Cyborg had it under maintenance for a minute"
  [[  if (!proven || ]] [[  if (true || !proven || ]])
unit_mutant(made_again_is_not_noticed handlers handlers/survey/reading_memory.cpp Memory.*
  "a provider of Cyborg's that was deleted and made again is taken for the one before"
  [[return stands && was_not_made_again ? &reading : nullptr;]]
  [[return stands || (was_not_made_again && stands) ? &reading : nullptr;]])
unit_mutant(servers_have_one_clock handlers handlers/survey/reading_memory.cpp Memory.*
  "a change by a server of Placement's whose clock is behind is not noticed"
  [[const bool steady = now.ms - modified_at_.ms >= kClocksApartMs;]]
  [[const bool steady = now.ms >= modified_at_.ms;]])
unit_mutant(readings_never_age handlers handlers/survey/reading_memory.cpp Memory.WhatNoGeneration*
  "what was written into Placement's tables by hand is not noticed as long as no generation moves"
  [[                      now.ms - reading.at.ms < full_interval_ms_ &&]]
  [[                      full_interval_ms_ > 0 &&]])
unit_mutant(certificate_overtaken handlers handlers/survey/admission.cpp *certificate_owed*
  "the next release takes the place of a certificate not sealed yet"
  [[  if (!record.certificate_pending.empty()) {]] [[  if (false) {]])
unit_mutant(foreign_records_are_adopted conductor handlers/conductor/record_writer.cpp
  ForeignRedis.ARecordReplaced*
  "what somebody wrote into Redis is taken over by a running worker"
  [[      return overwrite(address, *stored, change);
]]
  [[      device.saving = false;
      device.unsaved.reset();
      device.record = *stored;
      return;
]])
unit_mutant(given_away_in_silence conductor handlers/survey/taken.cpp OnOffer.*Alarm
  "a tenant gets a drive that is known to be dirty, and nobody is told"
  [[  if (out.trigger == Trigger::allocation_seen && is_known_dirty(record, ledger)) {]]
  [[  if (false) {]])
unit_mutant(second_providers_offer conductor handlers/survey/taken.cpp OnOffer.Every*
  "a dirty drive is on offer by a second provider"
  [[    if (view.is_device() && !view.burned()) out.reserve_too.push_back(view.uuid);
]] "")
unit_mutant(left_is_on_offer_by_another conductor handlers/survey/taken.cpp OnOffer.WhatATenant*
  "what a tenant has, or has left, is on offer by a second provider"
  [[base.cleanable()) return reserve_each(out, sighting);]] [[base.cleanable()) return;]])
unit_mutant(kicks_put_the_survey_off conductor handlers/survey/schedule.cpp Schedule.Kicks*
  "a host that hears of much is never surveyed in full"
  [[  if (periodic_) periodic_due_ = now_ms + next_interval();]]
  [[  periodic_due_ = now_ms + next_interval();]])
unit_mutant(a_survey_for_each_event conductor handlers/survey/schedule.cpp Schedule.Surveys*
  "a flood of events becomes a flood of requests to Placement"
  [[  next = std::max(next, not_before_);
]] "")
unit_mutant(redis_says_what_is_signed conductor handlers/conductor/certificate_keeper.cpp
  ForeignRedis.ACertificateThatTheLedger*
  "a certificate is sealed because Redis says so"
  [[  const std::string text = known != nullptr ? known->certificate_pending : std::string();]]
  [[  const std::string text = record.certificate_pending;]])
unit_mutant(tenants_put_back_are_believed conductor state/ledger/trust.cpp ForeignRedis.AnOlder*
  "a certificate names the tenant before"
  [[    forget_tenancy(record);
]] "")
unit_mutant(locked_plans_outlive_policies conductor handlers/conductor/drive_claims.cpp
  ForeignRedis.APlan*
  "a drive is erased by a method that is not allowed any more"
  [[check_method(policy, context_.policies.choose_method, identity->capabilities, *locked);]]
  [[Ok{};]])
unit_mutant(anyone_may_enrol conductor handlers/conductor/order_desk.cpp Orders.OneThatAccepts*
  "a stranger who has Redis lets a drive of his own into the pool"
  [[  if (!is_proven(order)) {]]
  [[  if (false) {]])
unit_mutant(orders_accept_any_drive conductor handlers/survey/identity.cpp
  Managed/OrdersOfAnyDrive.AcceptNoDriveThatWas*
  "an operator accepts one drive, and another one is erased"
  [[  return is ? other_than_accepted(]]
  [[  return is && false ? other_than_accepted(]])
unit_mutant(opened_drives_are_not_compared conductor handlers/conductor/drive_claims.cpp
  Managed/OrdersOfAnyDrive.AcceptNoDriveThatIsPutThereBefore*
  "a drive that is put there after an order for another one is erased"
  [[  if (!accepted)
]] [[  if (false)
]])
unit_mutant(holds_are_cleaned conductor handlers/conductor/device_orders.cpp
  OrdersOfAHeldDevice.*Clean*
  "an operator's `clean` erases what another operator reserved by hand"
  [[  if (at_rest && !assessor_.is_unsure(address)) {]]
  [[  if (at_rest && !device.record.held) {]])
unit_mutant(holds_are_enrolled conductor handlers/conductor/device_orders.cpp
  OrdersOfAHeldDevice.*Enrol*
  "an operator's --enrol erases what another operator has just reserved by hand"
  [[= view && view->burned() && !kept_by_us;]]
  [[= view && !view->is_device() && !kept_by_us;]])
unit_mutant(orders_overtake conductor handlers/conductor/order_desk.cpp Orders.ForOneDevice*
  "an abort that was given last is carried out first"
  [[  accepting_.insert(address);]] [[  accepting_.erase(address);]])
unit_mutant(orders_are_lost conductor handlers/conductor/order_desk.cpp OrdersOfAStart.*Dies
  "an order ends with its worker, and who issued it hears nothing"
  [[        for (const Order& order : *left) {]]
  [[        for (const Order& order : std::vector<Order>()) {]])
unit_mutant(orders_are_heard_twice conductor handlers/conductor/order_desk.cpp Orders.*Once*
  "an order that was copied from Redis is carried out again"
  [[  if (known != nullptr && order.issued_at <= known->ordered_at) {]] [[  if (false) {]])
unit_mutant(orders_live_for_ever conductor handlers/conductor/order_desk.cpp Orders.AnOld*
  "what an operator wanted yesterday is done to the drive of today"
  [[  if (written > 0 && now - written > kOrderLifeMs) {]] [[  if (false) {]])
unit_mutant(boots_are_not_told_apart conductor handlers/survey/identity.cpp
  Hosts/Unmanaged.ADirtyDrive*
  "after a reboot with other bus numbers a dirty unmanaged drive is on offer"
  [[  if (!boot_id.empty() && memory.boot_id == boot_id) return {};]] [[  return {};]])
unit_mutant(hardware_is_not_compared conductor handlers/survey/identity.cpp *AnExchangedDrive*
  "a dirty unmanaged drive that was put into the slot of a clean one is on offer"
  [[  switch (compare_as(sighting.by_steps, known, drive.hardware)) {]]
  [[  switch (Match::unknown) {]])
unit_mutant(whereabouts_are_not_asked conductor handlers/survey/identity.cpp
  *ADriveThatAnswersElsewhereInTheSameBoot*
  "what stands where a drive stood that answers elsewhere now is on offer"
  [[    const bool by_serial = !serial.empty() && drive.serial == serial;]]
  [[    const bool by_serial = serial.empty() && false;]])
unit_mutant(serials_are_learnt_across_boots conductor handlers/survey/identity.cpp Hosts/ShutOff.*
  "the drive of another, shut-off instance is erased after a reboot"
  [[  if (sighting.standing.match == nvme::Match::same || told_by_claim) return Ok{};]]
  [[  return Ok{};]])
unit_mutant(guests_are_not_looked_for conductor handlers/survey/admission.cpp Managed/Guest.*
  "a drive that a guest has by Nova's mistake stays on offer"
  [[sighting.drive && !sighting.drive->guest.empty()) {]] [[false) {]])
unit_mutant(peeks_believe_anything conductor handlers/conductor/assessor.cpp Unseen.WhatAGuard*
  "what a tenant left whom nobody saw is taken for an operator's hold"
  [[  sighting.drive->counters = *peeked;]]
  [[  const Record& known = devices_.at(sighting.address).record;
  sighting.drive->counters =
      nvme::Counters{*known.certified_host_reads, *known.certified_host_writes};]])
unit_mutant(nobody_watches conductor handlers/survey/close_watch.cpp OnOffer.What*
  "a dirty drive that somebody un-reserves is on offer until the next survey"
  [[  if (offered) {]] [[  if (false) {]])
unit_mutant(unread_is_steady conductor handlers/survey/close_watch.cpp OnOffer.*
  "a dirty drive that is un-reserved before the close watch's first look stays on offer"
  [[    return each.generation_tells && known != steady_.end() &&
           known->second == listed_.at(each.provider);]]
  [[    return each.generation_tells && listed_.contains(each.provider);]])
unit_mutant(offered_is_steady conductor handlers/survey/close_watch.cpp OnOffer.*
  "a dirty drive that could not be reserved at once stays on offer until the next survey"
  [[    told_.on_offer(at.address, provider);
    return false;]]
  [[    told_.on_offer(at.address, provider);]])
unit_mutant(what_is_burned_again_is_free conductor handlers/conductor/reserver.cpp
  OnOffer.SoIsOneThatAnInstanceGetsAnd*
  "a drive is erased on while an instance has it that got it and burned it within two seconds"
  [[    stop_work(address, view);]] [[    if (!view.burned()) stop_work(address, view);]])
unit_mutant(a_generation_tells_of_cyborg conductor handlers/conductor/assessor.cpp
  OnOfferOfCyborg.EachIsRead*
  "a dirty drive whose provider Cyborg's agent makes again at its generation stays on offer"
  [[    const bool generation_tells = record.flow == Flow::nova && providers.size() <= 1;]]
  [[    const bool generation_tells = providers.size() <= 1;]])
unit_mutant(providers_made_again_are_not_found conductor handlers/survey/close_watch.cpp
  OnOffer.Whose*
  "a dirty drive whose provider is made again is on offer until the next survey"
  [[    if (gone && !at.provider_name.empty()) {]] [[    if (gone && false) {]])
unit_mutant(threads_stay_idle conductor handlers/conductor/admissions.cpp Schedule.ADriveThatWaits*
  "a drive that waits for a drive thread waits for the next survey"
  [[  if (is_one_waiting_for_thread()) context_.want_survey(0);]] "")
unit_mutant(orders_are_refused_unseen conductor handlers/conductor/device_orders.cpp Given/Ordered.*
  "an order right after a restart is refused, on what nobody has looked at yet"
  [[  if (!is_of_the_drive) return false;]] [[  return false;]])
unit_mutant(other_addresses_dirt_is_ignored conductor handlers/survey/identity.cpp *TooIsNotErased
  "the drive of an instance that is shut off is erased at an address that had it before"
  [[    if (!same || !is_dirty_since(entry, record.certificate_at)) continue;]]
  [[    continue;]])
unit_mutant(news_of_others_is_kept conductor handlers/conductor/arq_desk.cpp DoubtOfTwo.*
  "a drive that Cyborg has bound is erased, for it was told while another was asked about"
  [[      stop_what_is_bound();
      if (binding_of(record)) return;]]
  [[      if (binding_of(record)) return;]])
unit_mutant(tenancies_wait_for_redis conductor handlers/conductor/assessor.cpp
  Doubt.ATenancyIsOnTheLedger*
  "a tenancy that Redis could not be told of is forgotten with the worker"
  [[device.record.stage == Stage::available &&
      device.record.cleanable()) {]]
  [[false) {]])
unit_mutant(old_orders_are_carried_out conductor handlers/conductor/inbox.cpp
  Doubt.ACleanThatIsOrdered*
  "a device that was just given back is taken to our driver while it is on offer"
  [[    if (hooks_.is_over(address, event)) {]] [[    if (false) {]])
unit_mutant(enrolments_are_forgotten conductor state/ledger/trust.cpp ForeignRedis.AnEnrolment*
  "an enrolment that Redis has forgotten is undone"
  [[  if (enrolled_since) {]] [[  if (false) {]])
unit_mutant(let_go_is_reserved_again conductor handlers/conductor/context.cpp Disown.Nothing*
  "a device that was let go is reserved, and called dirty, until its record is written"
  [[(device.unsaved ? *device.unsaved : device.record)]] [[device.record]])
unit_mutant(enrolled_by_an_old_look conductor handlers/conductor/device_orders.cpp
  HandedOver.IsEnrolled*
  "a drive that is enrolled while it is on offer is opened before it is reserved"
  [[        admissions_.provider_moved(address, *view);]] [[]])
unit_mutant(what_is_listed_is_let_go conductor handlers/conductor/disowning.cpp
  Disown.RefusedWhileAnEntry*
  "a device of the pool is let go, and its dirt forgotten"
  [[if (policy || assessor_.is_listed(address)) {]] [[if (false) {]])
unit_mutant(what_is_cleaned_is_let_go conductor handlers/conductor/disowning.cpp
  Disown.RefusedWhileItIsCleaned
  "a device is let go in the middle of its erase"
  [[  if (is_busy(record.stage)) {]] [[  if (false) {]])
unit_mutant(let_go_stays_dirty conductor handlers/conductor/disowning.cpp Disown.*
  "a device that was let go is dirty again when Redis is lost"
  [[  ledger_.let_go(address, [this, address, change] { writer_.save(address, change); });]]
  [[  writer_.save(address, change);]])
unit_mutant(named_steps_are_not_run conductor handlers/survey/named_plan.cpp NamedSteps.*
  "a cleaning leaves out the steps that an operator named"
  [[  if (record.steps_ordered.empty()) return plan;]] [[  return plan;]])
unit_mutant(named_arguments_are_lost conductor handlers/survey/named_plan.cpp NamedSteps.*
  "a step that an operator named runs with the configured arguments, and not with his"
  [[given.args = merged_args(own->args, named.args);]] [[given.args = own->args;]])
unit_mutant(an_order_sets_every_argument conductor state/device/named_steps.cpp
  NamedSteps.AnUnknownStep*
  "whoever may order a cleaning says which command root runs"
  [[    if (Status good = check_ordered_args(named[i].args, known->args); !good) {]]
  [[    if (Status good = check_ordered_args(named[i].args, known->args); false) {]])
unit_mutant(refused_orders_are_heard_again conductor handlers/conductor/order_desk.cpp
  Orders.OneThatWasRefused*
  "an approval that came too early is put back by another, and passes the next hold"
  [[  entry.ordered_at = order.issued_at;]]
  [[  if (devices_.why_refused(order).empty()) entry.ordered_at = order.issued_at;]])
unit_mutant(orders_for_strangers_are_heard_again conductor handlers/conductor/order_desk.cpp
  OrdersOfWhatIsNot*
  "an order whose device was not Reclaim's is put back by another when it is"
  [[  if (to_be_proven && address && context_.devices.contains(*address)) {]]
  [[  if (to_be_proven && address && context_.on_ledger(*address) != nullptr) {]])
unit_mutant(a_key_is_for_some_orders conductor handlers/conductor/order_desk.cpp
  Orders.WhereAKeyIs*
  "who may write orders aborts cleanings in another's name, though the host has a key"
  [[  return accepts_something(order) || context_.policies.orders_are_sealed;]]
  [[  return accepts_something(order);]])
unit_mutant(every_name_is_believed conductor handlers/conductor/device_orders.cpp Orders.ANameThat*
  "the signed journal says that an operator did what somebody did in his name"
  [[facts.detail = is_proven ? ]] [[facts.detail = true ? ]])
unit_mutant(a_maintenance_outlives_its_cleaning conductor handlers/conductor/release.cpp
  MaintenanceReservation.AHandAfter*
  "what an operator reserves right after a cleaning is put on offer, for a maintenance before it"
  [[  if (!entry.maintenance) {]] [[  if (false) {]])
unit_mutant(unproven_maintenance_lasts conductor handlers/conductor/device_orders.cpp
  Orders.MaintenanceThat*
  "who may write orders keeps drives out of the pool for good"
  [[    const bool is_over = !begun_here_.contains(address) || now >= line->maintenance_until.ms;]]
  [[    const bool is_over = !begun_here_.contains(address);]])
unit_mutant(steps_need_no_rule_of_their_own handlers handlers/api/api.cpp
  ApiNamedStepsTest.WhoMayHave*
  "whoever may have drives cleaned says what root runs"
  [[    if (resource == Resource::clean && names_steps(call.request.body)) {]] [[    if (false) {]])
unit_mutant(one_user_is_two_persons handlers handlers/api/api.cpp ApiUnholdTest.OneUser*
  "one operator with tokens of two projects approves twice"
  [[word(call->who.user_domain_id));]] [[word(call->who.project_id));]])
unit_mutant(a_delegate_approves_for_anybody handlers handlers/api/api.cpp ApiUnholdTest.ADelegated*
  "whoever acts by others' trusts approves a hold as often as he likes"
  [[!call->who.is_in_person()]] [[!call->who.service_roles.empty()]])
unit_mutant(anybody_is_a_user handlers handlers/api/api.cpp ApiAccessTest.WithAuthOffNobody*
  "an order of who reaches an API without Keystone is told as a user's"
  [[    if (!options_.authenticate) order.who =]] [[    if (false) order.who =]])
unit_mutant(beside_a_service handlers handlers/api/api.cpp ApiDisownTest.BesideAServices*
  "whoever has a service's token and old tokens of others accepts drives in their names"
  [[is_an_operators(order, found.record) && !call->who.service_roles.empty()]] [[false]])
unit_mutant(a_service_ends_an_error handlers handlers/api/api.cpp ApiDisownTest.AServiceUndoes*
  "whoever has a compute host has a drive erased that an operator keeps as it is on another"
  [[    if (overrides_an_operator(order, found.record)) {]] [[    if (false) {]])
unit_mutant(one_person_is_two conductor handlers/conductor/operator_steps.cpp
  OwnSteps.OnePersonAtTwoMachines*
  "one operator approves twice, at two machines"
  [[  return who.substr(0, who.rfind('@'));]] [[  return who;]])
unit_mutant(services_are_operators handlers handlers/api/policy.cpp ApiPolicyTest.WhatAccepts*
  "whoever has a compute host approves as two people on another, and accepts its drives"
  [[{"operator_api", "role:admin and not role:service"}]] [[{"operator_api", "role:admin"}]])
unit_mutant(services_end_holds handlers handlers/api/orders.cpp ApiDisownTest.AServiceUndoes*
  "whoever has a compute host has a drive erased and offered that an operator holds"
  [[(record.stage == Stage::error || record.held || record.maintenance)]]
  [[record.stage == Stage::error]])
unit_mutant(a_plan_sets_every_argument conductor handlers/survey/plan.cpp
  NamedSteps.APlanThatWasChanged*
  "whoever writes a plan into Redis says which command root runs"
  [[      if (!check_planned_args(*given, defined.args, defined.order_args)) continue;]]
  [[      if (false) continue;]])
unit_mutant(a_cast_takes_named_steps_back conductor handlers/conductor/device_orders.cpp
  NamedStepsOfCyborg.*
  "a drive is released without the step that its operator ordered, because Cyborg asked for it"
  [[  facts.by_cyborg = true;]] [[]])
unit_mutant(accepted_steps_are_lost conductor handlers/conductor/device_orders.cpp
  NamedSteps.AreRunWhere*
  "an operator is told that his steps are accepted, and the drive is released without them"
  [[  if (device.saving && !is_busy(stage)) return done(std::string(kIsWritten));
  if (find_row]]
  [[  if (find_row]])
unit_mutant(accepted_enrolments_are_lost conductor handlers/conductor/device_orders.cpp
  Dirty.WhatIsTold*
  "an operator is told that a drive is enrolled, and it is not"
  [[  if (device.saving) return done(std::string(kIsWritten));
  facts.serial =]]
  [[  facts.serial =]])
unit_mutant(named_steps_outlive_a_tenancy conductor state/device/step.cpp NamedSteps.ATenant*
  "steps that were named for one cleaning are run after the next tenant"
  [[(begins_tenancy(event.trigger) && !is_said) || ]] [[]])
unit_mutant(requests_end_an_order conductor state/device/step.cpp
  NamedStepsOfCyborg.SurviveATenancy*
  "two messages on the bus have a drive offered without the step that its operator ordered"
  [[(begins_tenancy(event.trigger) && !is_said)]] [[begins_tenancy(event.trigger)]])
unit_mutant(said_tenancies_keep_an_order conductor state/device/step.cpp
  NamedStepsOfCyborg.AreForgotten*
  "steps that were named for one cleaning are run after the next tenant of Cyborg's"
  [[  if (is_shown_at_last(record, next)) forget_order(next);]] [[]])
unit_mutant(seen_offered_tenancies_keep_an_order conductor state/device/step.cpp
  NamedStepsOfCyborg.AreForgotten*
  "a drive that only an operator has cleaned is erased after its next tenant, without a word"
  [[ || is_shown_at_last(record, next);]] [[;]])
unit_mutant(an_order_counts_twice conductor state/device/step.cpp
  NamedStepsOfCyborg.ACast*
  "a drive that only an operator has cleaned is erased by a cast, because he had begun it once"
  [[  record.clean_start = CleanStart::automatic;  // an]]
  [[  // an]])
unit_mutant(anybodys_reservation_ends conductor handlers/conductor/own_reservation.cpp
  BindReservation.*:MaintenanceReservation.*
  "what an operator reserved is put on offer when it is unbound, or its maintenance ends"
  [[Mark{} : Mark{line->*reason_.mark, line->asked};]] [[Mark{true, {}} : Mark{true, {}};]])
unit_mutant(senseless_answer_is_none_written conductor handlers/conductor/write_fence.cpp
  MaintenanceReservation.*
  "what an operator reserves after a maintenance is put on offer, where an answer made no sense"
  [[      return WriteOutcome::unknown;]]
  [[      return answer.error().code == Errc::invalid ? WriteOutcome::unmade
                                                  : WriteOutcome::unknown;]])
unit_mutant(maintenance_is_a_certificate conductor handlers/survey/admission.cpp
  MaintenanceReservation.*
  "a drive that was never cleaned is given back when its maintenance ends"
  [[record.is_drive() && !record.certificate_id.empty() &&]] [[record.is_drive() &&]])
unit_mutant(observing_worker_reserves conductor handlers/conductor/reserver.cpp
  Observe*
  "a worker that is only to observe writes to Placement"
  [[!context_.stays_ours(address) || context_.options.observes()]]
  [[!context_.stays_ours(address)]])
unit_mutant(observing_worker_cleans conductor handlers/conductor/admissions.cpp Observe*
  "a worker that is only to observe erases a drive"
  [[  if (plan && context_.options.observes()) plan]] [[  if (false) plan]])
unit_mutant(cyborgs_generation_counts conductor handlers/conductor/recheck.cpp
  FewRequests.ACyborgs*
  "a drive is given back while an instance has it, because its provider was made again meanwhile"
  [[  return record.flow == Flow::nova;]] [[  return !record.provider.empty();]])
unit_mutant(each_telling_is_a_survey conductor handlers/conductor/conduct.cpp ToldTwice.TheSame*
  "each deletion that Nova tells of costs Placement two surveys"
  [[    } else if (!told_again) {]] [[    } else {]])
unit_mutant(an_old_look_stands conductor handlers/survey/survey.cpp
  MaintenanceReservation.WhatWasWrittenWhile*
  "a drive that was written to while Placement was slow is given back as clean"
  [[constexpr std::int64_t kLookStandsMs = 2'000;]]
  [[constexpr std::int64_t kLookStandsMs = 2'000'000;]])
unit_mutant(a_look_is_as_old_as_its_answer conductor handlers/survey/survey.cpp
  MaintenanceReservation.WhatWasWrittenDuring*
  "a drive that was written to while it was looked at is given back as clean"
  [[    run->drives = std::move(drives).value();]]
  [[    run->drives = std::move(drives).value();
    run->looked = clock_.now().mono;]])
unit_mutant(a_look_outlives_a_slow_read conductor handlers/survey/survey.cpp
  */ReadersOfCyborg.OneWithin*:MaintenanceReservation.WhatWasWrittenWhileIts*
  "who had a drive of Cyborg's while its provider was read is not seen, and it stays on offer"
  [[if (is_old(*run)) run->read_late.insert(at);]] "")
unit_mutant(each_deletion_is_three_surveys conductor handlers/conductor/conductor.cpp
  Deleted.OneWithout*
  "each deletion of an instance without a device of ours costs Placement three surveys"
  [[  forget_the_deviceless(*survey);]] "")
unit_mutant(no_allocation_is_waited_for conductor handlers/conductor/conduct.cpp Deleted.OneWhose*
  "a drive whose allocation ends after the deletion was told of waits a minute for its cleaning"
  [[    if (!tenants.contains(instance) && !is_on_record(instance)) schedule_.settle(instance);]]
  [[    schedule_.settle(instance);]])
unit_mutant(first_surveys_come_together conductor handlers/conductor/conductor.cpp
  Schedule.TheFirstSurveyOfAFleet*
  "a fleet that starts at once asks Placement at once"
  [[* kFirstSurveysApartMs);]] [[* 0);]])
unit_mutant(slow_answers_are_not_heeded conductor handlers/survey/schedule.cpp
  SlowPlacement.*
  "a Placement that answers slowly is asked as often as one that answers at once"
  [[  if (!is_slow(took_ms)) ]] [[  if (took_ms >= 0) ]])
unit_mutant(generations_tell_nothing conductor handlers/survey/unseen.cpp
  */OfCyborg.*:*/ReadersOfCyborg.*:*/FailedBuild.*
  "a tenancy of Cyborg's while the worker was down leaves its drive on offer, dirty"
  [[  if (rest.generation < 0) return false;]] [[  if (rest.generation < 1'000'000) return false;]])
unit_mutant(holds_that_are_over_are_silent conductor handlers/survey/admission.cpp
  */FailedBuild.BehindAHold*
  "a device whose build failed after a hold stays reserved, and nothing says why"
  [[  const std::string doubt = doubt_of_hold(record, ledger, sighting, now);]]
  [[  const std::string doubt = cyborg ? doubt_of_hold(record, ledger, sighting, now) : "";]])
unit_mutant(late_writes_are_holds conductor handlers/survey/hold.cpp
  */ReservedLate.*
  "what Nova reserved again after a release is told as an operator's hold, for ever"
  [[  if (record.held) return record.waiting_for.starts_with(kReservedLate);]]
  [[  if (record.held) return false;]])
unit_mutant(refused_enrolments_end_a_doubt conductor handlers/conductor/device_orders.cpp
  */ReservedLate.StaysInDoubt*
  "what Nova reserved again after a release is an operator's hold once an enrolment was refused"
  [[  if (!next.held || next.waiting_for.empty()) next.waiting_for = why;]]
  [[  next.waiting_for = why;]])
unit_mutant(hand_overs_are_forgotten conductor handlers/conductor/ledger_gate.cpp HandedOver.*
  "a drive that was left to Cyborg's agent stays reserved, silent, when Redis loses its record"
  [[  entry.handed_over = record.handed_over;]] [[  entry.handed_over = false;]])
unit_mutant(doubt_is_told_as_clean conductor handlers/conductor/agent_report.cpp
  HandedOver.ATenantWhomNoRecordTellsOf*
  "Cyborg's agent is told as clean what a tenant had while Redis took no record of him"
  [[ && !look.unrecorded &&
         !unsure]] [[ && !unsure]])
unit_mutant(moved_counters_ignored conductor handlers/survey/admission.cpp
  CyborgSpec.ATenancyThatNobodySaw*
  "a tenancy that nobody saw leaves its data for the next one"
  [[      drive.counters->host_writes != *record.certified_host_writes) {
    return]]
  [[      drive.counters->host_writes != *record.certified_host_writes && false) {
    return]])
unit_mutant(maintenance_yields_to_cyborg conductor handlers/conductor/device_orders.cpp
  HandedOver.Maintenance*
  "a drive is erased behind an operator's maintenance, for an agent that never asked"
  [[  if (record.maintenance) return std::string(kEndMaintenance);
]] "")
unit_mutant(copied_requests_count conductor handlers/conductor/device_orders.cpp HandedOver.ACopy*
  "another host's login has a drive of Cyborg's erased again"
  [[  return last != cleanups_asked_.end() && kick]] [[  return false && kick]])
unit_mutant(errors_yield_to_earlier_orders conductor handlers/conductor/device_orders.cpp
  Orders.AnErrorThat*
  "a service's login cleans what an operator has aborted, and it goes back into the pool"
  [[record.stage == Stage::error && is_before(]] [[false && is_before(]])
unit_mutant(releases_are_known_before_they_are conductor handlers/conductor/device_orders.cpp
  */ReservedLate.*
  "an order that was issued before a release ends a hold that an operator made after it"
  [[      is_before(assessor_.last_free(record))) {]] [[      false) {]])
unit_mutant(handed_over_for_good conductor handlers/survey/hold.cpp HandedOver.*
  "Cyborg's agent is told as clean what an operator has reserved since, and un-reserves it"
  [[  if (may_be_reserved_again(record, *sighting.view)) {]] [[  if (false) {]])
unit_mutant(looks_of_claims_grow_old conductor handlers/conductor/drive_claims.cpp
  */OfCyborg.TheLookOfAClaim*
  "what a tenant left whom nobody saw is on offer, for the drive was looked into before he came"
  [[stands ? peeked : std::nullopt;]] [[stands ? peeked : peeked;]])
unit_mutant(looks_of_claims_know_no_generation conductor handlers/conductor/drive_claims.cpp
  */HiddenUnmanaged.BehindTheLook*
  "what a tenant left behind a claim's look is given back, for his drive is reserved again by then"
  [[ &&
                      view->generation == drive.peeked_at;]] [[;]])
unit_mutant(unwritten_questions_stay_on_offer conductor handlers/survey/admission.cpp
  */HiddenUnmanaged.WhileItsRecord*
  "an unmanaged drive that somebody may have had is on offer as long as Redis is away"
  [[ || (assessment->take_out && !record.maintenance));]] [[);]])
unit_mutant(lost_records_rested_nowhere conductor handlers/survey/admission.cpp */HiddenOfNova.*
  "what a tenant of a lost record left is given back when its maintenance ends"
  [[!is_in_question(record, &ledger, sighting);]] [[!is_in_question(record, nullptr, sighting);]])
unit_mutant(second_units_are_told_for_ever conductor handlers/conductor/assessor.cpp
  */Hidden.ByASecondUnit*
  "an auditor reads each two seconds that a drive was reserved again, and it never was"
  [[ && !has_more_units) {]] [[ && (!has_more_units || true)) {]])
unit_mutant(observers_tell_again conductor handlers/survey/observed.cpp */Hidden.NotFromAnObserver*
  "an auditor reads with each survey that an observing worker reserved a drive again"
  [[record.stage != Stage::available;]] [[record.stage == Stage::error;]])
unit_mutant(first_looks_forget_the_ledger conductor handlers/survey/unseen.cpp
  Unseen.ALookThat*
  "a tenancy while Redis lost everything and two providers stood there is not noticed"
  [[  const Rest rest = last_rest(record, ledger);
  return may]]
  [[  const Rest rest = ledger == nullptr ? record.rest : record.rest;
  return may]])
unit_mutant(who_has_it_by_one_of_two_is_not_seen conductor handlers/survey/taken.cpp
  */BesideASecond.*
  "a tenant has a drive for hours, another provider offers it meanwhile, and he leaves it dirty"
  [[  const bool had = base.stage == Stage::available &&]] [[  const bool had = false &&]])
unit_mutant(former_providers_are_asked conductor handlers/survey/unseen.cpp */OfCyborg.AProvider*
  "a tenant whose provider was made anew leaves firmware on an unmanaged drive"
  [[  if (is_told_by_a_claim(record, sighting) && !is_made_anew(rest, *sighting.view)) {]]
  [[  if (is_told_by_a_claim(record, sighting)) {]])
unit_mutant(a_lost_record_asks_nothing conductor handlers/survey/unseen.cpp
  */FailedBuild.OfWhich*
  "a device whose build failed after Redis lost its record stays reserved, and nothing says why"
  [[  return is_on_record ? record.rest : ledger->rest;]] [[  return record.rest;]])
unit_mutant(first_sights_are_of_drives_alone conductor handlers/survey/cyborg_remarks.cpp
  FirstSightIsCleaned.*
  "a card of Cyborg's that nobody knows stays on offer with what its tenant left"
  [[  if (base.flow != Flow::cyborg || !base.cleanable() ||]]
  [[  if (base.flow != Flow::cyborg || !base.is_drive() ||]])
unit_mutant(first_sights_are_incidents conductor handlers/survey/cyborg_remarks.cpp
  FirstSightIsCleaned.*
  "with a host's first start an auditor reads of drives of which nobody knows who un-reserved them"
  [[  out.trigger = Trigger::unknown_offered;]] [[  out.trigger = Trigger::reserved_dropped;]])
unit_mutant(a_release_forgets_its_generation conductor state/device/step.cpp
  */OfCyborg.SoIsOneRightAfter*
  "a tenancy between a release and the survey after it is not noticed"
  [[        record.rest = as_released(record);]] [[        record.rest = Rest{};]])
unit_mutant(a_question_is_its_answer conductor handlers/survey/admission.cpp
  */ReadersOfCyborg.*
  "an unmanaged drive that a tenant read through and locked is given back as it is"
  [[ &&
                  !is_in_question(record, &ledger, sighting);]] [[;]])
unit_mutant(unmanaged_is_never_read conductor handlers/conductor/assessor.cpp
  */OfCyborg.ItsAgentIsToldOf*
  "Cyborg's agent waits for ever for an unmanaged drive, which is clean and on offer"
  [[ || drive->counters || !is_managed(context_.policies, sighting));]] [[ || drive->counters);]])
unit_mutant(vanished_tenants_are_not_watched conductor handlers/conductor/assessor.cpp
  OnOffer.WhatATenantHad*
  "a dirty drive is on offer for a minute, because its provider vanished under its tenant"
  [[(is_left_to_others(record) || is_gone)]] [[is_left_to_others(record)]])

unit_mutant(hurry_is_never_paid_back conductor handlers/survey/schedule.cpp HurriedSurveys.*
  "each of the events of an evacuation is a survey"
  [[  paid_until_ = std::max(paid_until_, began_ms_) + took_ms + times_.spacing_ms;]]
  [[  paid_until_ = now_ms + times_.spacing_ms;]])
unit_mutant(hurry_asks_a_slow_placement conductor handlers/survey/schedule.cpp HurriedSurveys.*
  "a Placement that answers slowly is asked without a pause"
  [[hurried_, false) && !slow_) ]] [[hurried_, false)) ]])
unit_mutant(ends_wait_for_the_spacing conductor handlers/conductor/conduct.cpp
  Schedule.WhatEndsATenancy*
  "a drive whose instance is gone waits two seconds for its worker"
  [[  if (kick.mark_allocated && !newly_begun) return want_survey(0);]]
  [[  return want_survey(0);]])
unit_mutant(known_ends_are_looked_at conductor handlers/conductor/conduct.cpp
  Schedule.NoSurvey*
  "the survey that nobody needs puts off the one that frees the drive"
  [[  if (says_nothing_new(kick)) return;
]] "")
unit_mutant(every_begin_of_an_end_is_known conductor handlers/conductor/conduct.cpp
  Schedule.NoSurvey*
  "a tenancy that no survey saw has no name in its certificate"
  [[record.stage == Stage::allocated && record.instance == kick.instance;]]
  [[record.stage == Stage::allocated;]])

# Drives that nobody can tell apart.
unit_mutant(unknown_boot_is_this_one conductor handlers/survey/identity.cpp *FirstBesideADirtyLine*
  "a dirty drive that came to a new address by a restart is on offer"
  [[    if (both_known && ]] [[    if (!both_known || ]])
unit_mutant(twins_make_all_wait conductor handlers/conductor/ledger_gate.cpp Twins.*
  "two ports of one drive keep every other new drive of the host out of the pool"
  [[  if (first_seen) entry]] [[  if (false) entry]])
unit_mutant(deaf_workers_say_nothing conductor handlers/conductor/conduct.cpp Hearing.*
  "a renamed topic makes each drive wait for the survey, and nobody says so"
  [[    hearing_.ended(ports_.clock.now());]] "")

# Whose tenancy it is.
unit_mutant(passed_on_is_one_tenancy conductor handlers/survey/taken.cpp PassedOn.*
  "a drive that goes unerased from one tenant to the next is no alarm"
  [[      out.trigger = Trigger::passed_on;
]] "")
unit_mutant(migrations_are_tenants conductor handlers/survey/taken.cpp Moved.TheSources*
  "a certificate names a migration as the tenant"
  [[out.facts.migration = consumer;]]
  [[out.facts.name_tenant(consumer, InstanceSource::allocation);]])
unit_mutant(a_move_is_an_alarm conductor handlers/survey/tenant.cpp Moved.WhatHasNoOther*:Tenant.*
  "an instance for which the scheduler looks for another host is an alarm"
  [[  return sighting.followed_for_ms < kMoveMs ? Tenant::unknown : Tenant::another;]]
  [[  return Tenant::another;]])
unit_mutant(another_provider_is_the_same conductor handlers/survey/tenant.cpp
  PassedOn.BehindAProvider*:Tenant.*
  "a drive that another instance got by a provider made anew is its migration's"
  [[  if (sighting.view->uuid != record.provider) return Tenant::another;
]] "")
unit_mutant(another_project_is_the_same conductor handlers/survey/tenant.cpp
  PassedOn.ToAnother*:Tenant.*
  "a drive that another project got is a move within the first one"
  [[  if (is_of_another_project(sighting, record, now)) return Tenant::another;
]] "")
unit_mutant(gone_consumers_count conductor handlers/survey/tenant.cpp Tenant.*
  "a migration that has just ended is an alarm, for its instance was deleted with it"
  [[ || !told->holds) return Tenant::unknown;]] [[) return Tenant::unknown;]])
unit_mutant(former_tenants_project state state/device/step.cpp Step.WhatIsPassedOn*
  "a tenancy bears the project of the one before"
  [[  record.project.clear();
]] "")

# Whom notifications alone tell of.
unit_mutant(heard_of_is_the_tenant conductor handlers/conductor/conduct.cpp HeardOf.ATenantWhom*
  "a certificate names as the tenant who was only heard of"
  [[  event.facts.heard = std::move(heard);]]
  [[  event.facts.name_tenant(heard.front(), InstanceSource::allocation);]])
unit_mutant(heard_of_elsewhere conductor handlers/survey/heard.cpp Heard.*AnotherHost
  "a certificate names an instance that lived on another host"
  [[ : !here.has(kick.host)) return false;]] [[ : false) return false;]])
unit_mutant(who_lives_on_had_it conductor handlers/survey/heard.cpp Heard.NamesWhose*
  "a certificate names an instance that goes on living with another device"
  [[    if (lies_within && life.began <= life.ended) known]] [[    if (lies_within) known]])
unit_mutant(who_comes_later_had_it conductor handlers/survey/heard.cpp Heard.DoesNotNameWhoBegan*
  "a certificate names an instance that was built while the drive was being erased"
  [[ && life.began <= gap.until;]] [[;]])
unit_mutant(all_are_remembered conductor handlers/survey/heard.cpp Heard.RemembersTheNewest*
  "the worker grows with every instance of its host"
  [[  forget_the_oldest();
]] "")
unit_mutant(seen_free_is_forgotten conductor handlers/conductor/assessor.cpp HeardOf.ATenantWhom*
  "a certificate names whoever lived since the last release, though the drive was seen free since"
  [[    look.free_at = look.began.wall;]] "")
unit_mutant(doubt_is_seen_free conductor handlers/conductor/assessor.cpp HeardOf.OfABuild*
  "whose build failed is not named, because the drive was looked at while it was in doubt"
  [[!assessment.trigger && !assessment.unsure) {]] [[!assessment.trigger) {]])
unit_mutant(heard_of_for_the_next conductor state/device/step.cpp HeardOf.*
  "a certificate names who was heard of in an earlier tenancy"
  [[  record.heard.clear();
]] "")
unit_mutant(a_lost_release_hears_nobody conductor state/device/step.cpp HeardOf.InTheTime*
  "who had a drive behind a release that nobody saw is not named"
  [[    record.unseen = {record.verified_at, now};
]] "")
unit_mutant(who_begins_waits conductor handlers/conductor/conduct.cpp FirstLook.WhoBegins*
  "an instance of two seconds is over before the survey that would have named it"
  [[  if (kick.mark_allocated && !newly_begun) return]] [[  if (kick.mark_allocated) return]])
unit_mutant(who_begins_hurries_always conductor handlers/conductor/conduct.cpp FirstLook.Once*
  "each event of an instance is in a hurry that the end of another one needs"
  [[  if (kick.mark_allocated && !newly_begun) return]] [[  if (false) return]])
unit_mutant(life_where_the_payload_says handlers handlers/bus/kick.cpp Kick.TellsOn*
  "an instance that moved away is heard of where it went"
  [[row.scope == KickScope::named_by_payload || publisher.empty();]] [[true;]])
unit_mutant(todays_owner_burned_it_then conductor handlers/survey/unseen.cpp Unburned.*
  "a tenancy of the time in which nobody burned the device leaves it on offer, dirty"
  [[  const bool is_burned = !rest.unburned && !is_unburned(sighting);]]
  [[  const bool is_burned = !is_unburned(sighting);]])
unit_mutant(the_ledger_keeps_the_first_kind conductor handlers/conductor/assessor.cpp
  FunctionSteps.WhatOnlyItsDirt*
  "a card that was away when it was first recorded waits as a drive once Redis lost its record"
  [[  if (record.cleanable()) entry.by_steps = facts.by_steps.value_or(record.by_steps);]] [[]])
unit_mutant(the_close_watch_tells_nobody conductor handlers/conductor/assessor.cpp
  Audit.AReleaseByAnotherHand*
  "a dirty device that somebody un-reserves is reserved again, and no journal has it"
  [[  context_.post(address, Event{Trigger::reserved_dropped, 0, std::move(facts)});]] [[]])
unit_mutant(an_order_that_waits_again_is_left conductor handlers/conductor/order_desk.cpp
  Disown.WhatWasBegun*
  "an order that comes while its device's record is written waits for the periodic survey"
  [[  if (again) return context_.want_survey(kLookAgainMs);]] [[  if (again) return;]])
unit_mutant(a_clock_that_is_ahead_uses_up_nothing conductor handlers/conductor/order_desk.cpp
  Orders.*
  "an order that was refused because its clock was ahead is carried out later, from a copy"
  [[    refused_ahead_.emplace(order.address, order.issued_at);]] [[]])
unit_mutant(a_paused_host_erases conductor handlers/conductor/admissions.cpp HostPaused.*
  "a cleaning begins on a host that an operator has paused"
  [[  if (plan && pause) plan = ]] [[  if (false) plan = ]])
unit_mutant(unfit_is_enrolled conductor handlers/conductor/cleaning_steps.cpp Unfit.IsNotEnrolled*
  "a drive with new media errors is given back by the second try"
  [[        if (!report->unfit.empty() || !retired.empty()) {]]
  [[        facts.enrolment = report->enrolment;
        if (!report->unfit.empty() || !retired.empty()) {]])
unit_mutant(the_ledger_retires_nothing conductor handlers/conductor/ledger_gate.cpp Retire.*
  "a drive that was retired is given back: no line says that it was"
  [[  if (retired) entry.retired = record.retired;]] "")
unit_mutant(enrolled_stays_retired conductor handlers/conductor/ledger_gate.cpp
  Retire.NothingButAnEnrolment*
  "a drive that was retired by mistake can never be given back"
  [[    entry.retired.clear();
    forget_retirement(address, record.serial);]] "")
unit_mutant(retired_is_of_its_bay conductor state/ledger/trust.cpp Retire.ItsSerial*
  "a retired drive is given back from another bay"
  [[  return moved == entries.end() ? std::string() : moved->second.retired;]]
  [[  return std::string(moved == entries.end() ? "" : "");]])
unit_mutant(hot_starts_over conductor handlers/conductor/release.cpp Unfit.IsHot*
  "a hot drive is erased again and again, which heats it"
  [[        if (!now && now.error().code == Errc::busy) {]] [[        if (false) {]])
