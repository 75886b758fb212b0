# Faults in claiming, zeroing, taking over and giving back, caught over the emulated host.
unit_mutant(shared_claim claim nvme/host/claim.cpp ClaimTest.*
  "whoever holds a namespace shares it with the erase"
  [[O_RDWR | O_EXCL | O_DIRECT]] [[O_RDWR | O_DIRECT]])
unit_mutant(no_host_lock claim nvme/host/claim.cpp ClaimTest.*
  "two workers of one host claim a drive"
  [[    return lock_ ? Status(Ok{}) : take_host_lock(findings);]] [[    return Ok{};]])
unit_mutant(numbers_not_checked claim nvme/host/nodes.cpp ClaimTest.TheNodeMustBe*
  "/dev names another drive than sysfs"
  [[  if ((info.st_mode & S_IFMT) == type && opened == wanted) return Ok{};]]
  [[  return Ok{};]])
unit_mutant(not_looked_at_again claim nvme/host/claim.cpp AppearsInTheMiddle.*
  "what comes between claim and command is not seen"
  [[    if (last.finding.passed) break;]] [[    break;]])
unit_mutant(swapped_in_the_middle claim nvme/host/claim.cpp AppearsInTheMiddle.AnotherSerial
  "a drive swapped between claim and command is erased"
  [[  if (identity->serial == identity_.serial) return Ok{};]] [[  return Ok{};]])
unit_mutant(resets_what_is_used claim nvme/host/claim.cpp ClaimTest.NothingIsReset*
  "a drive that the host uses is reset"
  [[    return result.finding.passed || result.by == guard_live ||
           (let_go && result.by == guard_driver);]]
  [[    return true;]])
unit_mutant(takes_what_a_guest_has claim nvme/host/driver_binding.cpp BindingTest.AGuest*
  "a guest's drive is taken away"
  [[    if (auto held = takeover->group_.hold(options, drive.address, kThing); !held) {
      return std::move(held).error();
    }
]] "")
unit_mutant(nothing_noted claim nvme/host/driver_override.cpp BindingTest.*:LeftTakenOver.*
  "after a crash nobody knows which driver a drive had"
  [[  if (::rename(fresh.c_str(), path.c_str()) != 0) {]] [[  if (false) {]])
unit_mutant(probe_believed claim nvme/host/driver_override.cpp BindingTest.*
  "a probe that bound nothing counts"
  [[  if (*now == wanted) return Ok{};
  return Error{]]
  [[  return Ok{};
  return Error{]])
unit_mutant(not_given_back claim nvme/host/driver_binding.cpp BindingTest.*
  "a failed cleaning leaves the drive on nvme"
  [[  if (!taken_ || put_back_) return;]] [[  return;]])
unit_mutant(override_stays claim nvme/host/driver_binding.cpp BindingTest.*
  "the override of the cleaning outlives it"
  [[former_.driver_override); !back]] [["nvme"); !back]])
unit_mutant(group_let_go claim nvme/host/vfio_group.cpp GivenBack.*
  "somebody had the drive between its verification and its release"
  [[held.st_dev == there.st_dev && held.st_ino == there.st_ino;]]
  [[true;]])
unit_mutant(gives_back_what_is_mounted claim nvme/host/driver_recovery.cpp LeftTakenOver.*
  "a restart takes a mounted drive away from the host"
  [[  if (auto free = host_leaves_alone(options, address, 0); !free) return free;
]] "")
unit_mutant(unbinds_what_is_mounted claim nvme/host/driver_binding.cpp BindingTest.IsNotTaken*
  "a cleaning that ends early takes a mounted drive away from the host"
  [[  if (done) done = put_back();]] [[  done = put_back();]])
unit_mutant(written_is_verified claim nvme/erase/zero_erase.cpp *ZeroAgainTest.*
  "an interrupted zeroing goes on behind zeroes that the drive has not kept"
  [[        verified_bytes_ += *read_back;]] [[        verified_bytes_ += swept.bytes_in_row;]])
unit_mutant(content_without_signature_is_nothing claim nvme/host/signatures.cpp
  SignaturesTest.ContentIsFound*
  "a drive with plain dm-crypt or an SPDK blobstore on it is qualified, which erases it"
  [[    blank = blank && is_uniform(*read);
]] "")
unit_mutant(edges_are_the_drive claim nvme/host/signatures.cpp SignaturesTest.ContentIsFound*
  "a drive that has data only behind its first megabytes is qualified, which erases it"
  [[{std::uint64_t{0}, middle, ns.capacity_bytes - length}]]
  [[{std::uint64_t{0}, ns.capacity_bytes - length}]])
unit_mutant(one_refusal_is_known claim nvme/reset_namespaces.cpp NamespacesTest.However*
  "a drive that refuses a large namespace in its own words is left without one"
  [[  return std::find(std::begin(kTooLarge), std::end(kTooLarge), status_code(error.raw)) !=
         std::end(kTooLarge);]]
  [[  return status_code(error.raw) == 0x115;]])
unit_mutant(unfit_is_not_erased claim nvme/clean_steps.cpp SurfacesTest.AnUnwellDrive*
  "a drive goes back to its maker with all that its last tenant wrote"
  [[  if (!judgement->problems.empty()) {
]]
  [[  if (!judgement->problems.empty()) {
    return Error{Errc::failed, judgement->problems.front()};
]])
unit_mutant(health_as_before_the_erase claim nvme/verification.cpp VerifyTest.Health*
  "a drive that its own erase has worn out is given back"
  [[  report->unfit = std::move(health->problems);
]] "")
unit_mutant(hot_is_given_back claim nvme/verification.cpp VerifyTest.ADriveThatIsTooHot*
  "a drive is given back while it is too hot"
  [[  if (!hot.empty()) return Error{Errc::busy, hot};
]] "")
unit_mutant(unmanaged_is_never_hot claim nvme/verification.cpp
  VerifyTest.AnUnmanagedDriveThatIsTooHot*
  "an unmanaged drive is given back while it is too hot"
  [[      judgement->problems.push_back(judgement->waits_for);
]] "")
unit_mutant(media_is_not_compared claim nvme/erase/sanitized_media.cpp
  SanitizedMediaTest.ADriveThatHides*
  "a drive that keeps its data and reads deallocated blocks as zeroes is given back"
  [[      if (old.is_in(reading)) {]] [[      if (false) {]])
unit_mutant(media_finding_is_lost claim nvme/erase/sanitize_erase.cpp
  SanitizedMediaTest.ADriveThatHides*
  "the same, because a worker that dies leads the drive out of the state that shows it"
  [[    if (!look) return std::move(look).error();
    run.looked = true;]]
  [[    run.looked = true;
    if (!look) {
      (void)leave_media_verification(drive);
      return std::move(look).error();
    }]])
unit_mutant(left_showing_its_media claim nvme/erase/sanitize_erase.cpp
  SanitizedMediaTest.WhatATenantLeft*
  "a tenant's drive is never erased, because it waits for a command that nobody sends"
  [[    if (shows_media(drive, *log) && !led_out) {]] [[    if (false) {]])
