# What lets a zeroing go on after a stop or a crash: a fault for each proof.
unit_mutant(another_boot_goes_on nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on though another system may have had the drive since"
  [[  if (mark.target.boot_id != now.boot_id) return]] [[  if (false) return]])
unit_mutant(another_serial_goes_on nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on behind blocks of another drive"
  [[  if (mark.target.serial != now.serial || mark.target.hardware != now.hardware) {]]
  [[  if (mark.target.hardware != now.hardware) {]])
unit_mutant(another_slot_goes_on nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on behind blocks of a drive with the same serial number"
  [[ || mark.target.hardware != now.hardware) {]] [[) {]])
unit_mutant(another_namespace_goes_on nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on behind blocks of a namespace that is gone"
  [[was.block_bytes != is.block_bytes || was.identifier != is.identifier) {]]
  [[was.block_bytes != is.block_bytes) {]])
unit_mutant(another_disk_goes_on nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on though a guest may have had the drive since"
  [[    if (was.disk_sequence != is.disk_sequence) {]] [[    if (false) {]])
unit_mutant(unproven_goes_on nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on though nothing tells the drive from another"
  [[  if (auto provable = check_provable(now); !provable) return provable;]] [[]])
unit_mutant(counters_are_not_compared nvme nvme/erase/zero_mark.cpp Each/ZeroMarkRefusal.*
  "a zeroing goes on though the drive counts a write of somebody else"
  [[  if (host_writes_now < mark.host_writes || host_writes_now > mark.host_writes_max) {]]
  [[  if (false) {]])
unit_mutant(stopped_may_have_written claim nvme/erase/zero_marks.cpp *ZeroResumeTest.AfterAStop*
  "after a stop, a write of somebody else passes for one of ours"
  [[(ended ? 0 : 2 * (*now - host_writes_))]] [[2 * (*now - host_writes_) + 1]])
unit_mutant(standing_counter_counts claim nvme/erase/zero_marks.cpp
  *ZeroResumeTest.ACounterThatStandsStill*
  "a drive that counts no write is believed that nobody wrote"
  [[  if (now && *now == host_writes_) {]] [[  if (false) {]])
unit_mutant(nothing_written_is_marked claim nvme/erase/zero_marks.cpp
  *ZeroResumeTest.UntilSomethingIsWritten*
  "a zeroing on a busy host writes blocks for nothing, and begins again after a crash"
  [[  if (!moved && !(ended && counts_)) {]] [[  if (false) {]])
unit_mutant(marked_is_verified claim nvme/erase/zero_erase.cpp *ZeroResumeTest.What*
  "a zeroing goes on behind what another wrote, where no counter shows it"
  [[    if (!read_back || *read_back == mark->position_bytes) return read_back;]]
  [[    if (!read_back || *read_back != 0) return mark->position_bytes;]])
unit_mutant(any_mark_is_ours conductor state/ledger/trust.cpp MarkOfZeroing.*
  "a zeroing goes on behind the mark of another cleaning"
  [[  if (!record.erase_begun || !knows_erase(known, record, digest)) return {};]]
  [[  if (known == nullptr) return {};]])
unit_mutant(marks_survive_errors conductor handlers/conductor/conduct.cpp
  ZeroingTest.BeginsAgainAfterAnError
  "a zeroing goes on after an error, though an operator may have written to the drive"
  [[    entry.cleaning.zero_mark.clear();]] [[]])
unit_mutant(no_look_behind_the_reading claim nvme/erase/zero_erase.cpp
  *ZeroResumeTest.AGuardThatRefuses*
  "a zeroing goes on though the drive was mounted while it was read back"
  [[    if (auto may = last_look(drive, stop); !may) return std::move(may).error();]] [[]])

# And behind one that had ended.
unit_mutant(mark_of_the_end_forgives_writes nvme nvme/erase/zero_mark.cpp ZeroMark.*
  "a zeroing counts as ended and untouched whose drive may have been written to"
  [[bytes_of(target) && host_writes == host_writes_max;]] [[bytes_of(target);]])
unit_mutant(half_a_zeroing_is_at_its_end nvme nvme/erase/zero_mark.cpp ZeroMark.*
  "a part of a zeroing counts as all of it"
  [[  return position_bytes == bytes_of(target) && host]] [[  return host]])
unit_mutant(ended_though_a_release_was_asked_for conductor state/ledger/trust.cpp
  *EndedZeroing.*
  "a zeroing from before a release counts for the next tenant's data"
  [[!known->cleaning.zero_mark.empty() &&
         known->certificate_pending.empty();]]
  [[!known->cleaning.zero_mark.empty();]])
unit_mutant(ended_zeroing_is_repeated conductor state/device/step.cpp *EndedZeroing.*
  "a drive is zeroed for hours twice, because its worker was killed before the release"
  [[  if (!confirmed && from]] [[  if (from]])
