# Faults that the search must notice, with the number of happenings that it takes.

exhaustive_mutant(any_serial handlers/conductor_effects.cpp 1
  "a drive that nobody enrolled is erased"
  [[  request.expected_serial = record.serial;
]] "")
exhaustive_mutant(holds_ignored handlers/admission.cpp 2
  "a drive that an operator reserved by hand is erased"
  [[  return counters.host_reads == *record.certified_host_reads ? Hold::held : Hold::dirty;]]
  [[  return Hold::dirty;]])
exhaustive_mutant(lost_release_means_released handlers/conductor_release.cpp 3
  "a release whose answer was lost counts as made"
  [[            return answer(address, epoch, Trigger::release_unknown, said(error));]]
  [[            return released(address, epoch, Trigger::released, said("hopefully"));]])
exhaustive_mutant(no_fence handlers/conductor_effects.cpp 3
  "a release whose answer was lost is made while the drive is being erased"
  [[  CHECK(view.burned());
  ports_.providers.set_reserved(]]
  [[  devices_.at(address).fence = false;
  return done(view);
  ports_.providers.set_reserved(]])
exhaustive_mutant(no_fence_after_a_restart handlers/conductor.cpp 3
  "a release that the worker before sent is made when another drive stands there"
  [[  device.fence_first = device.record.stage]]
  [[  device.fence = false && device.record.stage]])
