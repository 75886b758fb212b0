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
exhaustive_mutant(no_fence_after_a_restart handlers/conductor/conductor.cpp 3
  "a release that the worker before sent is made when another drive stands there")
