# Faults of the other lists that the search must notice too, with the number of happenings that it
# takes.

exhaustive_mutant(any_serial handlers/conductor/drive_claims.cpp 1
  "a drive that nobody enrolled is erased")
exhaustive_mutant(holds_ignored handlers/survey/admission.cpp 2
  "a drive that an operator reserved by hand is erased")
exhaustive_mutant(lost_release_means_released handlers/conductor/release.cpp 3
  "a release whose answer was lost counts as made")
exhaustive_mutant(no_fence handlers/conductor/write_fence.cpp 3
  "a release whose answer was lost is made while the drive is being erased")

# And in the worlds with an extra, what the base never comes to.
exhaustive_mutant(left_is_on_offer_by_another handlers/survey/taken.cpp 2
  "what a tenant has left is on offer by a second provider" second)
exhaustive_mutant(maintaining_released handlers/conductor/cyborg_watch.cpp 1
  "what Cyborg took under maintenance meanwhile is given back" cyborg)
exhaustive_mutant(driver_not_restored state/device/machine.cpp 1
  "an unmanaged drive is given back on our driver" unmanaged)
exhaustive_mutant(maintenance_ignored handlers/survey/admission.cpp 1
  "a drive in maintenance is cleaned" maintenance)
exhaustive_mutant(own_steps_left_out handlers/survey/plan.cpp 1
  "a drive is erased before an operator let it go on" hold)
exhaustive_mutant(named_steps_are_not_run handlers/survey/named_plan.cpp 2
  "a cleaning leaves out the steps that an operator named" steps)
exhaustive_mutant(what_is_listed_is_let_go handlers/conductor/disowning.cpp 2
  "a device of the pool is let go, and its dirt forgotten" disown)
exhaustive_mutant(holds_are_enrolled handlers/conductor/device_orders.cpp 3
  "an operator's --enrol erases what another operator has just reserved by hand" enrol)
exhaustive_mutant(ledger_failure_ignored handlers/conductor/ledger_gate.cpp 3
  "a full disk keeps nobody from going on" ledger)
