# Faults in putting firmware back, caught by the tests of the pure parts (nvme) and by those over
# the emulated drive (claim).
unit_mutant(firmware_digest_ignored nvme nvme/firmware/image.cpp FirmwareImageTest.AnotherContent*
  "an image that somebody exchanged is written"
  [[  if (digest != image.sha256) {]] [[  if (false) {]])
unit_mutant(firmware_of_others nvme state/base/owned_file.cpp FirmwareImageTest.WhatOthers*
  "an image that anybody may write is written"
  [[  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {]] [[  if (false) {]])
unit_mutant(firmware_written_by_halves nvme nvme/firmware/plan.cpp FirmwarePlan.AllOrNothing
  "a drive that is quarantined anyway is written"
  [[    planner.plan.slots.clear();
]] "")
unit_mutant(firmware_runs_the_tenants claim nvme/restore_firmware.cpp FirmwareTest.WhatWaits*
  "the reset before an image is sent activates a tenant's firmware"
  [[  if (activation_waits(now->state.firmware)) {]] [[  if (false) {]])
unit_mutant(firmware_pieces_stay claim nvme/restore_firmware.cpp FirmwareTest.PiecesThatWereLeft*
  "what a tenant sent is a part of the image"
  [[      if (auto dropped = drop_pieces(); !dropped) return dropped;
]] "")
unit_mutant(firmware_commit_believed claim nvme/restore_firmware.cpp FirmwareTest.ADriveIsNot*
  "a drive that says success and keeps the tenant's firmware passes for restored"
  [[    if (auto good = check_restored(*now, each); !good) return std::move(good).error();
]] "")
unit_mutant(firmware_guards_skipped claim nvme/restore_firmware.cpp FirmwareTest.AnotherDrive*
  "a drive that was swapped in while the image was sent gets it"
  [[  if (auto ours = drive_.claim.recheck(); !ours) return std::move(ours).error();
]] "")
