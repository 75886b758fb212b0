# Faults in what keeps a host's login from others: what it writes into its own keys costs only it.
unit_mutant(forged_keys_stop_the_fleet handlers handlers/api/fleet.cpp
  ApiFleetTest.WhatOneHosts*
  "one host's login keeps the API from answering for all"
  [[if (rows || is_of_what_is_stored(rows.error())) {]]
  [[if (rows) {]])
unit_mutant(certificates_stand_anywhere handlers handlers/api/certificate_list.cpp
  ApiCertificatesTest.NoHost*
  "one host's login puts a certificate in another host's name into the API"
  [[it.host != at.host || it.address != at.address || it.device_uuid != at.uuid]]
  [[it.host.empty()]])
