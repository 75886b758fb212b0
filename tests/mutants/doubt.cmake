# Who owns a device, what is believed of it, and what may still come: a fault for each answer that
# has to be "in doubt it stays reserved".
unit_mutant(work_goes_on_on_what_is_taken conductor handlers/conductor/reserver.cpp
  OnOffer.*InTheMiddleOfItsErase
  "an erase goes on for a minute while an instance that got the drive starts its guest"
  [[  context_.post(address, Event{Trigger::allocation_seen, 0, std::move(taken.facts)});]] [[]])
unit_mutant(errors_end_with_redis conductor handlers/survey/admission.cpp Doubt.AnErrorWaits*
  "a quarantined drive is erased and given back without an operator, because Redis was lost"
  [[    if (ledger->error) be_in_error_again(record);]] [[]])
unit_mutant(old_records_end_errors state state/ledger/trust.cpp
  Trust.AnOlderRecordIsInError*
  "a quarantined drive is given back without an operator, because an older record was put back"
  [[    if (known->error) {]] [[    if (false) {]])
unit_mutant(taken_since_is_erased conductor handlers/conductor/recheck.cpp
  Doubt.WhatAnInstanceGotSince*
  "a drive is erased that an instance got after the survey, and before the claim"
  [[  if (!view->free()) {]] [[  if (false) {]])
unit_mutant(any_class_is_its_own conductor handlers/conductor/release.cpp
  KeptErase.AProviderOfAnotherClass*
  "a drive is given back into a class of resources that nobody looked at"
  [[  if (view.is_device() && view.inventories.front().resource_class != record.resource_class) {]]
  [[  if (false) {]])
unit_mutant(novas_too_is_cyborgs conductor handlers/conductor/kept_erase.cpp KeptErase.*TwoOwners*
  "a drive of Cyborg's is given back by a provider that Nova claims, too"
  [[row.owner_cyborg && !row.one_time_use
]] [[row.owner_cyborg
]])
unit_mutant(cyborgs_too_is_novas conductor handlers/conductor/kept_erase.cpp KeptErase.*TwoOwners*
  "a drive of Nova's is given back by a provider that Cyborg claims, too"
  [[: row.one_time_use && !row.owner_cyborg;]] [[: row.one_time_use;]])
unit_mutant(one_of_two_providers_is_its_own conductor handlers/conductor/kept_erase.cpp
  KeptErase.OfTwoProviders*
  "a drive is given back by one of two providers of its address, though another may own it"
  [[        if (rows.size() != 1 || !is_owners]] [[        if (rows.empty() || !is_owners]])
unit_mutant(maintenance_hides_a_tenancy conductor handlers/survey/admission.cpp
  MaintenanceReservation.WhatAnArqBound*
  "a drive that somebody had during its maintenance is given back without a cleaning"
  [[ &&
                  !(record.flow == Flow::cyborg && missed_tenancy(record, sighting)) &&]] [[ &&]])
unit_mutant(heard_of_is_not_bound conductor handlers/conductor/bind_reservation.cpp
  BindReservationUnasked.*
  "a device that an ARQ is said to bind is un-reserved"
  [[else if (!sighting.holder && ]] [[else if (]])
unit_mutant(silence_is_unbound conductor handlers/conductor/bind_reservation.cpp
  BindReservation.*DoesNotAnswer
  "a device is un-reserved though Cyborg, which may have bound it, does not answer"
  [[record.maintenance || sighting.cyborg_silent ||]] [[record.maintenance ||]])
unit_mutant(bound_at_the_last_moment conductor handlers/conductor/release.cpp
  CyborgUnasked.*Release*
  "a device that an ARQ binds is given back, because that was heard right before"
  [[  if (const auto arq = arqs_.binding_of(record)) {]]
  [[  if (const auto arq = arqs_.binding_of(record); arq && false) {]])
unit_mutant(provider_anew_keeps_its_erase state state/device/step.cpp
  Step.*AnotherProvider*
  "an erase that was begun counts for the device of another provider"
  [[  if ((another && !kept) || somebody]] [[  if (somebody]])
unit_mutant(any_drive_is_given_back handlers handlers/survey/admission.cpp
  Assessment.OnlyTheDriveOfItsCertificate*
  "another drive that was put there in a maintenance is given back without a cleaning"
  [[record.certified_host_writes && sighting.standing.match == nvme::Match::same &&]]
  [[record.certified_host_writes &&]])
unit_mutant(clocks_are_never_set_back state state/device/step.cpp Step.*ClockWasSetBack
  "a release counts as one from before the certificate that came before it"
  [[WallMs{record.cleaning_started_at.ms + 1},
                   WallMs{record.certificate_at.ms + 1}});]]
  [[WallMs{record.cleaning_started_at.ms + 1}});]])
unit_mutant(erases_outlive_an_error state state/device/step.cpp Step.ErasesAreCounted*
  "a device that an operator has cleaned again is in error after its first erase"
  [[  if (from == Stage::error) record.erases = 0;]] [[]])
unit_mutant(unreadable_is_erased nvme nvme/verify/verdict.cpp Verdict.ARelaxedUnreadable*
  "a drive of which nothing that held data can be read counts as erased"
  [[  if (reads && report.samples_counted == 0) {]] [[  if (false) {]])

# What a record found at the start is good for (state/ledger/trust.h).
unit_mutant(older_than_its_dirt state state/ledger/trust.cpp TrustOfRelease.*Dirt*
  "a drive is given back by a release that was asked for before its last tenant"
  [[nonce != record.cleaning_nonce || known->dirty_since > erased_at(record)) {]]
  [[nonce != record.cleaning_nonce) {]])
unit_mutant(erase_before_the_dirt state state/ledger/trust.cpp TrustOfErase.*Dirt*
  "an erase is taken for this cleaning's though a tenant came after it"
  [[known->dirty && known->dirty_since <= record.cleaning_started_at &&]] [[known->dirty &&]])
unit_mutant(baselines_are_not_compared state state/ledger/trust.cpp TrustOfErase.*Baseline
  "an erase is verified against a baseline that somebody put into Redis"
  [[ &&
         known->cleaning.baseline_digest == digest(record.baseline);]] [[;]])
unit_mutant(redis_accepts_drives state state/ledger/trust.cpp Trust.ADriveIsTaken*
  "a drive is taken as it is found because Redis says that an operator accepted it"
  [[  record.accepted = record.accepted && known->accepted;
]] "")
unit_mutant(dirt_is_held state state/ledger/trust.cpp Trust.WhatIsDirty*
  "a drive that a tenant left dirty is shown as held by an operator, and never cleaned"
  [[  if (is_dirty_since(*known, record.certificate_at)) record.held = false;
]] "")
unit_mutant(rests_of_an_earlier_life state state/ledger/trust.cpp Trust.AnOlderRecordRests*
  "a tenancy of a card of Cyborg's after a release that Redis forgot leaves it reserved, silently"
  [[    if (released_since && known]] [[    if (false && released_since && known]])
unit_mutant(left_to_the_agent_by_another_life state state/ledger/trust.cpp Trust.AnOlderRecordRests*
  "a card that was left to Cyborg's agent looks like an operator's hold, without a word"
  [[      record.handed_over = known->handed_over;
]] "")
unit_mutant(what_is_dirty_was_let_go state state/ledger/trust.cpp Trust.ALine*
  "a dirty drive is taken for one that an operator disowned"
  [[known->epoch && !known->dirty && ]] [[known->epoch && ]])

# Writes of `reserved` that are answered late, or not.
unit_mutant(lost_reservation_is_nobodys conductor handlers/survey/reserved_by.cpp
  LateWrites.WhatTookItOut*
  "what is taken out of the pool stays reserved for ever, because one answer was lost"
  [[  return made ? ReservedBy::us : ReservedBy::unknown;]] [[  return ReservedBy::unknown;]])
unit_mutant(any_reservation_is_the_lost_one conductor handlers/survey/reserved_by.cpp
  MaintenanceReservation.*:*LateOrders.*
  "what an operator reserved is put on offer, because an answer was lost before"
  [[  return made ? ReservedBy::us : ReservedBy::unknown;]] [[  return ReservedBy::us;]])
unit_mutant(nobody_says_whose_it_may_be conductor handlers/survey/admission.cpp
  LateWrites.WhatNobodyKnows*
  "a drive is reserved for ever, and nothing tells why"
  [[    case ReservedBy::unknown:
      out.held = out.unsure = true;]]
  [[    case ReservedBy::unknown:
      return false;
      out.held = out.unsure = true;]])
unit_mutant(write_is_not_remembered conductor handlers/conductor/own_reservation.cpp
  LateWrites.TheEndOf*:*LateOrders.*
  "a write of the worker before puts a drive on offer that an operator works at"
  [[  note(address, {true, {view.uuid, view.generation, reserved}},]]
  [[  note(address, {reserved, {}},]])
unit_mutant(end_of_maintenance_outlives_it conductor handlers/conductor/taken_out.cpp *LateOrders.*
  "the end of one maintenance comes late and ends the next one"
  [[      return reservation_.is_asked(address) ? reservation_.reserve(address, view) : void();]]
  [[      return;]])
unit_mutant(late_bind_is_forgotten conductor handlers/conductor/bind_reservation.cpp
  LateWrites.TheReservationOfABind*
  "a card that nobody has any more is reserved for ever, by the write of its bind"
  [[      return reservation_.reserve(address, view);  //]]
  [[      return reservation_.forget(address);  //]])
unit_mutant(unwritten_line_counts conductor handlers/conductor/own_reservation.cpp
  LateWrites.WhatTheLedger*
  "what an operator reserved is put on offer, because the ledger's disk was full"
  [[      show(before, [](const Status& /*kept*/) {});]] [[]])
unit_mutant(overtaken_is_unmade conductor handlers/conductor/write_fence.cpp *LateOrders.*
  "what an operator reserves right after a drive was given back is put on offer"
  [[WriteOutcome::unmade : WriteOutcome::overtaken;]]
  [[WriteOutcome::unmade : WriteOutcome::unmade;]])
unit_mutant(late_reservations_are_forgotten conductor handlers/conductor/release.cpp
  LateWrites.WhatIsReadBack*
  "a drive that was released stays reserved for nothing, by a write of ours that comes late"
  [[if (fence_.may_be_reserved(address, view)) return]] [[if (false) return]])
unit_mutant(handed_over_unread conductor handlers/conductor/release.cpp
  LateWrites.WhatIsHandedOver*
  "Cyborg's agent is told that a drive is clean that a tenant has had meanwhile"
  [[        if (stands) return]] [[        if (stands || !view->inventories.empty()) return]])
unit_mutant(no_write_is_no_tenant conductor handlers/survey/unseen.cpp *ReadersOfCyborg.*
  "a tenant of Cyborg's who loads firmware and writes nothing leaves the drive on offer"
  [[    return now.host_reads == *record.certified_host_reads ||]] [[    return true ||]])
unit_mutant(handed_over_as_it_was conductor handlers/conductor/record_writer.cpp
  HandedOver.WhatRedisTakesLate*
  "what Placement said before Redis was away counts as clean when Redis is back"
  [[  return change.entry.trigger == to_string(Trigger::handed_over);]]
  [[  return change.entry.trigger == to_string(Trigger::handed_over) && change.next.epoch == 0;]])
unit_mutant(arqs_take_the_tenants_name conductor state/device/step.cpp ForgedBinding.*
  "the certificate of an erasure names an instance that never was, in its tenant's place"
  [[facts.instance_source == InstanceSource::arq && !record]]
  [[facts.instance_source == InstanceSource::not_seen && !record]])
unit_mutant(arqs_begin_the_tenancy_again conductor handlers/conductor/audit_trail.cpp
  ForgedBinding.*
  "the signed journal dates a tenant's time anew with each accelerator request that is invented"
  [[  if (update.only_said || ]] [[  if (]])
unit_mutant(arqs_take_an_errors_note conductor handlers/survey/admission.cpp
  ForgedBinding.OfADeviceInError*
  "that an operator aborted a cleaning is told nowhere, because of a word on the bus"
  [[  if (stage == Stage::error && view.free()) return;]] [[]])
unit_mutant(tenants_are_migrations_of_the_invented conductor handlers/survey/tenant.cpp
  ForgedBinding.OfAFreeDevice*
  "the certificate names a tenant as the migration of an instance that never had the drive"
  [[  if (record.consumer().empty()) return Tenant::another;]] [[]])
unit_mutant(kept_is_given_back state state/ledger/trust.cpp TrustOfRelease.*
  "an erasure that was not given back is taken for a release"
  [[  if (!certificate || !certificate->returned()) return std::nullopt;]]
  [[  if (!certificate) return std::nullopt;]])
unit_mutant(recalled_releases_keep_an_old_kind state state/ledger/trust.cpp
  TrustOfForgottenRelease.IsOfTheKind*
  "a device that was no drive of ours when Redis wrote its record last stays in confirming for ever"
  [[  record.by_steps = known.by_steps;]] [[]])
unit_mutant(kept_is_recalled state state/ledger/trust.cpp TrustOfNoForgottenRelease.*
  "a drive that was kept is looked for in the pool after Redis lost its record"
  [[certificate && certificate->returned() && known]] [[certificate && known]])
unit_mutant(a_set_clock_makes_a_look_later conductor handlers/conductor/agent_report.cpp
  HandedOver.ALookIsNotLater*
  "Cyborg's agent takes a look for later than its unbinding, because the clock was set back between"
  [[  return std::min(began.wall, WallMs{now.wall.ms - (now.mono.ms - began.mono.ms)});]]
  [[  return began.wall;]])
unit_mutant(orders_come_back conductor handlers/conductor/order_desk.cpp LaggingReplica.*
  "a replica that takes over brings an order back, and it ends an operator's maintenance"
  [[  return !is_new;]] [[  return false && is_new;]])
unit_mutant(left_on_offer_is_untold handlers state/device/machine.cpp
  DeviceNotification.WhoeverOffers*
  "nobody hears of a drive that is on offer with what its tenant left"
  [[         trigger == to_string(Trigger::allocation_gone);]] [[         false;]])
unit_mutant(the_next_tenant_is_untold handlers state/device/machine.cpp
  DeviceNotification.ATenantOfWhat*
  "nobody hears that an instance has another's data"
  [[ || trigger == to_string(Trigger::passed_on);
  return is_given]]
  [[;
  return is_given]])
