# Faults in what proves an erasure: which key may sign what in a host's chain.
unit_mutant(revoked_key_counts state state/certificate/succession.cpp
  AuditTest.ARevokedKeyProves*
  "whoever has a key that leaked proves erasures that did not happen, though it was revoked"
  [[found != revoked_.end() && sealed.sequence >= found->second.from]]
  [[found != revoked_.end() && sealed.sequence < found->second.from]])
unit_mutant(later_word_takes_a_revocation_back state state/certificate/succession.cpp
  AuditTest.ARevokedKeyProves*
  "a second revocation of the same key makes good what the first one voids"
  [[said.from < known->second.from]]
  [[said.from != known->second.from]])
unit_mutant(replaced_key_counts state state/certificate/succession.cpp
  AuditTest.AKeyInWhosePlace*
  "a key that was replaced, and leaks, proves erasures that did not happen"
  [[if (const auto entry = retired_by(sealed.key_id)) {]]
  [[if (const auto entry = retired_by(sealed.key_id); entry && false) {]])
unit_mutant(members_are_there_twice state state/certificate/seal.cpp SealTest.AMemberIsThereOnce
  "whoever has the host's key seals what one reader takes for another erasure than the next"
  [[  if (members.error()) return not_sealed(members.error()->what);]]
  "")
unit_mutant(one_order_hides_another conductor handlers/conductor/audit_keeper.cpp
  Flooded.TheJournal*
  "an operator's order is not in the journal, because another one came right behind it"
  [[!std::all_of(entries.begin(), entries.end(), is_of_an_offer)]] [[false]])
unit_mutant(overruled_orders_are_lost conductor handlers/conductor/device_orders.cpp
  Audit.EachOrder*
  "an order that another overruled is in no journal"
  [[  if (before != maintenance_wanted_.end()) {]] [[  if (false) {]])
unit_mutant(floods_fill_the_disk conductor handlers/conductor/audit_keeper.cpp Flooded.TheJournal*
  "whoever orders without end fills the disk with the journal"
  [[  if (minute.kept < kOfAKindMax) {]] [[  if (true) {]])
unit_mutant(floods_hide_the_proven conductor handlers/conductor/device_orders.cpp
  Flooded.EachOrder*
  "an operator's maintenance is in no journal, because somebody ordered more of it just before"
  [[  audits_.keep(address, {entry}, is_proven);]] [[  audits_.keep(address, {entry}, false);]])
unit_mutant(floods_hide_a_proven_abort conductor handlers/conductor/conduct.cpp Flooded.AnAbort*
  "an operator's abort is in no journal, because somebody ordered more of them just before"
  [[  audits_.keep(address, audit_of(before, update, detail), update.by_proven_order);]]
  [[  audits_.keep(address, audit_of(before, update, detail), false);]])
unit_mutant(counts_wait_for_an_event conductor handlers/conductor/audit_keeper.cpp
  Flooded.TheCount*
  "how many orders the journal left out is sealed an hour later, or never"
  [[      if (!context_.stopping) tell_counted(kind);]] [[]])
unit_mutant(copied_orders_are_proven conductor handlers/conductor/order_desk.cpp Flooded.ACopy*
  "whoever may write orders fills the journal in an operator's name, with a copy of his order"
  [[  if (!is_first && order.issued_at <= last->second) return false;]] [[]])
unit_mutant(anybody_chooses_the_request_id conductor handlers/conductor/device_orders.cpp
  Orders.OnlyAnAuth*
  "the certificate has a text of somebody who may write orders"
  [[is_proven && is_request_id(]] [[is_request_id(]])
unit_mutant(any_text_is_a_request_id conductor state/device/order.cpp Orders.OnlyAnAuth*
  "the certificate has any text for the request that led to it"
  [[  return text.starts_with(kBegin) && looks]] [[  return text.starts_with(kBegin) || looks]])
unit_mutant(what_is_only_said_is_sealed conductor handlers/conductor/audit_trail.cpp
  CyborgWords.ATenancyThatAnArq*
  "a host, or anybody on the bus, writes tenancies that never were into another host's journal"
  [[record.instance_source == InstanceSource::arq;]] [[record.epoch == 0;]])
unit_mutant(policies_are_incidents conductor handlers/conductor/audit_trail.cpp Audit.WhatItsPolicy*
  "an auditor reads that somebody offered a drive that its own policy took out of the pool"
  [[ == WhyReserved::offered) {]] [[ != WhyReserved::ordered) {]])
unit_mutant(shown_at_last_is_not_sealed conductor handlers/conductor/admissions.cpp
  CyborgWords.ATenancyThatPlacement*
  "a tenancy whose accelerator request came before its allocation is in no journal"
  [[    if (shown_at_last) {]] [[    if (false) {]])
unit_mutant(another_spelling_is_sealed state state/certificate/seal.cpp
  SealTest.WhatIsInsideHasOneSpelling
  "whoever has the host's key seals what the published script reads in another way than Reclaim"
  [[json::to_text(*document) + '\n' != line || !begins_with_id(out)]]
  [[!begins_with_id(out)]])
unit_mutant(key_event_has_more_members state state/certificate/succession.cpp
  AuditTest.WhatIsSaidOfAKeyHasOneForm
  "an entry that endorses a key has a member that one verifier passes over and the other does not"
  [[    plain.key_id.clear();]]
  "")
unit_mutant(key_of_small_order state state/certificate/signing_key.cpp
  SigningKeyTest.WhatIsNoneIsSaid
  "anybody signs certificates with a key that the host has endorsed"
  [[if (is_of_small_order(key.get())) {]]
  [[if (is_of_small_order(key.get()) && false) {]])
unit_mutant(ends_alone_are_no_tenancy state state/ledger/audit.cpp MissingErasures.*
  "a tenancy in whose middle a new chain began is handed over unerased, and no report says so"
  [[event.kind == DriveEvent::Kind::ended && !runs) {]]
  [[event.kind == DriveEvent::Kind::ended && false) {]])
unit_mutant(nested_members_are_there_twice state state/certificate/seal.cpp
  SealTest.AMemberIsThereOnce
  "whoever has the host's key seals evidence that one reader takes for another than the next"
  [[token == json::Token::key && !names_.back()]]
  [[token == json::Token::key && depth_ == 1 && !names_.back()]])
unit_mutant(key_files_have_two_keys state state/certificate/signing_key.cpp
  SigningKeyTest.WhatIsNoneIsSaid
  "one key file makes the published script and Reclaim verify with different keys"
  [[pem.find(kBegin, first + 1) != std::string::npos]] [[pem.find(kBegin, first + 1) == 0]])
unit_mutant(growing_chains_are_cut state state/certificate/chain.cpp ChainTest.ItMayGrow*
  "a chain that grows while it is verified is told to be cut, and nobody believes it next time"
  [[!(digest_of_head_ && has_grown())]] [[true]])
unit_mutant(heads_stay_behind state state/certificate/chain.cpp ChainTest.ItMayGrow*
  "a head that names an earlier entry than the newest is passed over"
  [[!(digest_of_head_ && has_grown())]] [[!digest_of_head_]])
unit_mutant(unknown_serials_are_other_drives state state/certificate/chain.cpp
  AuditTest.AnEntryWithoutASerial*
  "a drive is handed on unerased, and no report says so, for its serial became known in between"
  [[    name_drives(told.rbegin(), told.rend(), by_void);]]
  "")
unit_mutant(serials_are_any_text conductor handlers/conductor/order_desk.cpp
  Managed/OrdersOfAnyDrive.NameNoText*
  "what anybody writes to Redis as a drive's serial is sealed in an operator's name"
  [[!order.serial.empty() && !is_drive_serial(order.serial)]]
  [[!order.serial.empty() && false]])
unit_mutant(tenancies_are_of_their_begin state state/ledger/tenants.cpp TenantsTest.AnyEntry*
  "a project's report hides that its drive was handed on unerased, for the begin names no project"
  [[    projects.insert(known->second.projects.begin(), known->second.projects.end());]]
  "")
unit_mutant(nobodys_tenancies_are_anothers state state/ledger/tenants.cpp TenantsTest.WhatNothing*
  "a drive is handed on unerased, and no project's report says so, for nothing names its tenant"
  [[told.empty() ? Whose::not_known : Whose::anothers]]
  [[Whose::anothers]])
unit_mutant(any_member_is_listed handlers state/certificate/stored.cpp
  ApiCertificatesTest.WhatBreaks*
  "one host's certificate, with a number as its project, ends the list of the whole fleet"
  [[  if (Status fits = check_certificate_schema(sealed->content); !fits.ok()) {]]
  [[  if (Status fits = Ok{}; !fits.ok()) {]])
unit_mutant(what_is_not_returned_is_damaged handlers handlers/api/certificate_list.cpp
  ApiCertificatesTest.WhatWasNot*
  "no list of the API has the certificate of a drive that was erased and kept"
  [[names_another && certificate.returned() &&]]
  [[names_another &&]])
unit_mutant(only_what_a_record_names_is_served handlers handlers/api/certificate_list.cpp
  ApiCertificatesTest.WhatWasNot*
  "the API says that there is no certificate of a drive that was retired"
  [[return read.text && read.text->find(id_) != std::string::npos;]]
  [[return false;]])
unit_mutant(void_entries_count state state/certificate/chain.cpp ChainTest.AVoidCertificate*
  "an erasure that a leaked key invented keeps a drive's hand-over from being told"
  [[      report_.doubted.revoked.insert(file.name);]]
  "")
unit_mutant(old_keys_count_behind_a_gap state state/certificate/chain.cpp
  ChainTest.AVoidCertificateOutOf*
  "an erasure that a replaced key invented counts, because an entry before it is missing"
  [[in_order ? succession_.take(*sealed) : succession_.check_key(*sealed);]]
  [[in_order ? succession_.take(*sealed) : Status(Ok{});]])
unit_mutant(void_certificates_are_erasures state state/certificate/chain.cpp
  ChainTest.AVoidCertificate*
  "an erasure that a leaked key invented keeps a drive's hand-over from being told, though known"
  [[if (one->is_void && opened->kind == SealedKind::certificate) one->event.reset();]]
  "")
unit_mutant(void_entries_name_drives state state/certificate/chain.cpp ChainTest.AVoidEntry*
  "a leaked key makes a tenancy another drive's, and no report says that the drive was handed on"
  [[} else if (by_void || !from->is_void) {]]
  [[} else if (by_void || !known.empty() || !from->serial.empty()) {]])
unit_mutant(unproven_entries_count state state/certificate/chain.cpp
  ChainTest.WhatNoKnownKey*
  "whoever may write a mirror hides that a drive was handed on unerased"
  [[    if (!sealed.ok() || !is_itself) report_.doubted.unproven.insert(file.name);]]
  [[    if (false) report_.doubted.unproven.insert(file.name);]])
unit_mutant(forks_are_followed state state/certificate/chain.cpp
  ChainTest.ACertificateOfAnotherHistory*
  "a host's other history hides that a drive was handed on unerased: by a run of its entries"
  [[if (is_alone && follows) sound]]
  [[sound]])
unit_mutant(unknown_keys_are_never_void state state/certificate/chain.cpp
  ChainTest.AVoidCertificateIsNoErasure
  "what a revoked key signed counts where only the key that revoked it is known"
  [[if (is_revoked) report_]]
  [[if (false) report_]])
unit_mutant(two_at_one_place_count state state/certificate/chain.cpp
  ChainTest.ACertificateOfAnotherHistory*
  "a host's other history hides that a drive was handed on unerased: beside the true one"
  [[if (!is_alone || !follows]]
  [[if (!follows]])
unit_mutant(what_follows_nothing_counts state state/certificate/chain.cpp
  ChainTest.ACertificateOfAnotherHistory*
  "the same, of one that the chain does not lead to"
  [[if (!is_alone || !follows ||]]
  [[if (!is_alone ||]])
unit_mutant(what_nothing_follows_counts state state/certificate/chain.cpp
  ChainTest.ACertificateOfAnotherHistory*
  "the same, of one in the true one's place"
  [[ || !is_followed ||]]
  [[ ||]])
unit_mutant(what_the_head_does_not_know_counts state state/certificate/chain.cpp
  ChainTest.ACertificateOfAnotherHistory*
  "the same, of one behind the end"
  [[ || head_has_another)]]
  [[)]])
unit_mutant(unproven_erasures_hide state state/ledger/audit.cpp UnerasedMoves.WhatIsNotProven*
  "an erasure that nobody proved hides that a drive was moved unerased"
  [[  std::vector<UnerasedMove> moves = moves_between(proven);]]
  [[  std::vector<UnerasedMove> moves;]])
unit_mutant(later_keys_are_passed_over state state/certificate/signing_key.cpp
  SigningKeyTest.AFileMay*
  "a copy that was cut before the present key is verified in a report of all hosts, by an old key"
  [[    at = next;]] [[    at = std::string::npos;]])
unit_mutant(moved_drives_are_others state state/ledger/audit.cpp UnerasedMoves.ADrive*
  "a drive is handed on unerased from one host to another, and the report of all hosts is silent"
  [[open->chain != each.chain &&]] [[open->chain == each.chain &&]])
unit_mutant(any_models_erasure_counts state state/ledger/audit.cpp UnerasedMoves.ASerial*
  "a drive that was moved unerased is not told of, for another one of its serial was erased"
  [[    if (!named.empty() && !named.contains(model)) continue;]]
  "")
