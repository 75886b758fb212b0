# Faults in what becomes of a drive that a tenant locked, or could lock.
unit_mutant(opal_guards_skipped claim nvme/reset_controller_state.cpp OpalTest.AGuardThatAppears*
  "all data of a drive that the host uses are destroyed by its PSID"
  [[  if (auto unchanged = drive.claim.recheck(); !unchanged) return std::move(unchanged).error();
  drive.log.warning(]]
  [[  drive.log.warning(]])
unit_mutant(opal_revert_believed claim nvme/reset_controller_state.cpp OpalTest.WhatTheDriveSays*
  "a drive that is still locked is said to be reverted"
  [[    look = look_at(drive, request, yardstick, patience);
    if (!look) return std::move(look).error();
  }]]
  [[    look->judgement.quarantine.clear();
  }]])
unit_mutant(opal_owner_is_reverted claim nvme/controller/residue.cpp OpalTest.AnOwnerOf*
  "an operator loses the drive that he owns by Opal"
  [[  if (taken && !sid_was_changed) judge.by_owner]] [[  if (taken) judge.by_owner]])
unit_mutant(opal_reverted_for_nothing claim nvme/controller/residue.cpp OpalTest.NothingIs*
  "all data of a drive are destroyed that is in error all the same"
  [[judge.by_owner != 0 && judge.by_owner == judge.out.quarantine.size();]]
  [[judge.by_owner != 0;]])
unit_mutant(any_sid_will_do claim nvme/controller/residue.cpp OpalTest.ABlockOf*
  "the next tenant can own a drive whose SID was blocked, and lock it"
  [[  return before.sid_blocked && !now.sid_blocked && !now.sid_changed;]] [[  return false;]])
unit_mutant(block_ends_with_a_reset claim nvme/controller/opal_revert.cpp OpalTest.ABlockOf*
  "the block of a drive ends when its next tenant resets it"
  [[  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  const auto sent = admin_command(
      controller_fd,]]
  [[  std::fill(bytes.begin(), bytes.end(), std::byte{1});
  const auto sent = admin_command(
      controller_fd,]])
unit_mutant(given_back_unblocked conductor handlers/conductor/cleaning_steps.cpp
  OpalLife.WhatWasBlocked*
  "the next tenant can own a drive that a reset during its erase unblocked"
  [[        if (left && before && nvme::lost_block(before->opal, left->opal)) {]]
  [[        if (false) {]])
unit_mutant(reverts_are_not_told conductor handlers/conductor/cleaning_steps.cpp OpalLife.ARevert*
  "the journal does not say that a drive was reverted by its PSID"
  [[  if (!report->reverted.empty()) {]] [[  if (false) {]])
