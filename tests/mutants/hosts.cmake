# Faults in what keeps a host's login from others: what it writes into its own keys costs only it.
unit_mutant(forged_keys_stop_the_fleet handlers handlers/api/fleet.cpp
  ApiFleetTest.WhatOneHosts*
  "one host's login keeps the API from answering for all"
  [[if (rows || is_of_what_is_stored(rows.error())) {]]
  [[if (rows) {]])
unit_mutant(certificates_stand_anywhere handlers state/certificate/stored.cpp
  ApiCertificatesTest.NoHost*
  "one host's login puts a certificate in another host's name into the API"
  [[certificate->host != host || certificate->address != address || !place ||
      certificate->device_uuid != device_uuid(host, *place)]]
  [[certificate->host.empty()]])
unit_mutant(a_host_says_two_things handlers state/certificate/seal.cpp
  ApiCertificatesTest.WhatIsNotSpelled*
  "one host's login shows another host's drive as erased to who reads what the API serves"
  [[json::to_text(*document) + '\n' != line]] [[false]])
unit_mutant(the_first_claim_of_an_id_counts handlers handlers/api/certificate_list.cpp
  ApiCertificatesTest.NoHostAnswers*
  "one host's login answers for the id of another host's certificate"
  [[&& !found_.text.empty()) {]] [[&& false) {]])
unit_mutant(pages_go_on_behind_an_id handlers handlers/api/certificate_list.cpp
  ApiCertificatesTest.PagesEnd*
  "one host's login keeps who reads certificates in pages from the other hosts'"
  [[  last_ = read.device->uuid;]] [[  last_ = sealed->certificate.id;]])
unit_mutant(the_newest_word_of_an_arq_counts handlers handlers/api/arqs.cpp
  ApiArqsTest.NoHostHides*
  "one host's login hides another host's ARQ in the API"
  [[    if (!is_over(row.arq)) binding.push_back(&row);]] [[]])
unit_mutant(the_first_claim_of_cyborgs_uuid_counts handlers handlers/api/fleet.cpp
  ApiDevicesTest.AUuidOfCyborgsThatTwo*
  "one host's login gets the orders that name another host's device by Cyborg's UUID"
  [[        if (found != nullptr) {]] [[        if (false) {]])
unit_mutant(copies_are_believed state state/certificate/state_folder.cpp
  StateFolder.OfACopied*
  "a cloned host takes the first host's drives for its own, and signs with that host's key"
  [[  if (*owner && (*owner)->machine_id != us.machine_id) {]] [[  if (false) {]])
unit_mutant(whoever_has_the_name_is_the_host state state/certificate/state_folder.cpp
  StateFolder.OfTheSame*
  "a host that is installed again forgets which of its drives are dirty"
  [[    if ((*owner)->host == us.host) return in_doubt(state_path, **owner, us);
    if (Status aside]] [[    if (Status aside]])
unit_mutant(put_aside_over_another state state/certificate/state_folder.cpp
  StateFolder.IsPutOver*
  "a ledger that was put aside is lost when another copy is put aside"
  [[  if (is_there(to)) {]] [[  if (false) {]])
unit_mutant(cyborg_overrides_an_abort conductor handlers/conductor/device_orders.cpp
  CyborgWords.ACleanupCastDoesNot*
  "a drive that an operator keeps as it is, is erased because Cyborg asks for it"
  [[line != nullptr && line->aborted]] [[line != nullptr && line->enrolled_serial == "no"]])
unit_mutant(casts_are_heard_without_a_listener conductor handlers/conductor/device_orders.cpp
  CyborgWords.NoCleanupCast*
  "a host where nobody listens for Cyborg's requests carries one out"
  [[  if (!context_.options.hears_cleanups) {]] [[  if (false) {]])
unit_mutant(copied_casts_count conductor handlers/conductor/device_orders.cpp
  CyborgEdge.TheUnbindsOwnCast*
  "another host repeats a request of Cyborg's, and the drive is cleaned again"
  [[ || kick.sent_at < record.stage_since) {]] [[) {]])
unit_mutant(hosts_lock_each_others_instances handlers handlers/api/arqs.cpp
  ApiArqsTest.NoHostLocks*
  "an instance's accelerators stay locked in the API for as long as another host says so"
  [[  if (filter_.instance && row.is_of_host)]] [[  if (filter_.instance)]])
unit_mutant(any_hosts_key_orders state state/certificate/order_key.cpp KeyFolder.AHosts*
  "whoever has one compute host orders on all of them"
  [[  if (host_ == host && !host.empty()) return key_;]] [[  if (!host_.empty()) return key_;]])
unit_mutant(roots_group_reads_secrets state state/base/durable_file.cpp Secrets.*
  "a key counts as secret though other accounts may read it"
  [[owner == 0 && own_user != 0 && group == own_group]] [[owner == 0 && group == own_group]])
unit_mutant(a_record_says_whose_it_is handlers handlers/api/fleet.cpp ApiOrdersTest.EachGoesTo*
  "one host's login gets the orders that name another host's device"
  [[  return device_uuid(record.host, record.address);]] [[  return record.uuid;]])
unit_mutant(a_record_moves_a_cursor handlers handlers/api/json.cpp ApiDevicesTest.NothingOfA*
  "what one host's login writes into its record rules the terminal of who asks the API"
  [[  const std::string shown = reclaim::visible(text);]] [[  const std::string shown(text);]])
