# Faults in the guards, caught by their unit tests, and in policy and verdict.
unit_mutant(any_class nvme nvme/host/guards.cpp GuardPciClass.*
  "a network card is erased"
  [[  if (drive.class_code >> 8U == kNvmeClass) {]] [[  if (true) {]])
unit_mutant(any_ids nvme nvme/host/guards.cpp GuardPciIds.*
  "Placement speaks of another device"
  [[  if (context.request.resource_class == wanted) {]] [[  if (true) {]])
unit_mutant(other_functions nvme nvme/host/guards.cpp GuardSriov.*
  "virtual functions in use lose their data"
  [[  if (drive.sriov_vfs_enabled != 0) {]] [[  if (false) {]])
unit_mutant(any_driver nvme nvme/host/guards.cpp GuardDriver.*
  "a drive of the host's is taken for one of managed=no"
  [[  if (on_vfio(drive)) return passes("driver", fmt::format("bound to {}", drive.driver));]]
  [[  return passes("driver", "");]])
unit_mutant(neighbours_ignored nvme nvme/host/guards.cpp GuardIommuGroup.*
  "the host uses another function of the drive's IOMMU group"
  [[other->driver == "pcieport"]] [[other->driver != "pcieport"]])
unit_mutant(peers_ignored nvme nvme/host/guards.cpp GuardSubsystemPeers.*:GuardSubsystem*
  "a sanitize erases what a second controller shows"
  [[  if (peers->empty()) {]] [[  if (true) {]])
unit_mutant(any_serial nvme nvme/host/guards.cpp GuardSerial.*
  "a drive that was swapped in is erased"
  [[  if (!expected.empty() && opened.serial != expected) {]] [[  if (false) {]])
unit_mutant(cmic_ignored nvme nvme/host/guards.cpp GuardSharedSubsystem.*
  "another host's controller of the same drive is not thought of"
  [[constexpr unsigned kCmicShared = 0x07;]] [[constexpr unsigned kCmicShared = 0x03;]])
unit_mutant(guest_ignored nvme nvme/host/guards_guest.cpp GuardVfioOpen.*
  "a running guest's drive is erased"
  [[  if (holder != open.files.end()) return &*holder;]] [[  if (false) return &*holder;]])
unit_mutant(names_are_believed nvme nvme/host/host_look.cpp UnderAnotherName.*
  "a container that has the drive under a name of its own is not seen"
  [[  if (::statx(AT_FDCWD, descriptor.c_str(), flags, STATX_TYPE, &info) != 0) return;]]
  [[  if (::statx(AT_FDCWD, descriptor.c_str(), flags, STATX_TYPE, &info) == 0) return;]])
unit_mutant(any_proc_will_do nvme nvme/host/guards_guest.cpp GuardProcessView.*
  "processes outside of Reclaim's container are not seen"
  [[  if (found != kInitialNamespace) {]] [[  if (false) {]])
unit_mutant(absent_means_no_domain nvme nvme/host/guards_guest.cpp GuardLibvirtDomain.Neither*
  "a domain in a container's volume is not asked"
  [[    if (folder.error && !unknown) unknown = unlisted(context, folder);]] "")
unit_mutant(unreadable_means_no_domain nvme nvme/host/guards_guest.cpp GuardLibvirtDomain.*
  "a domain whose definition cannot be read counts as one that names nothing"
  [[        if (!unknown) unknown = unreadable(context, domain);]] "")
unit_mutant(unseen_processes_pass nvme nvme/host/host_look.cpp GuardVfioOpen.*
  "a process that cannot be looked at counts as one that has nothing"
  [[    if (!read && !found.error) found.error = std::move(read).error();]] [[    (void)read;]])
unit_mutant(domains_ignored nvme nvme/host/guards_guest.cpp GuardLibvirtDomain.*
  "a defined domain that names the drive is not asked"
  [[    if (function == drive.address) return "the PCI function";]] "")
unit_mutant(controller_node_ignored nvme nvme/host/guards_guest.cpp GuardNodeOpen.*
  "a host process goes on sending commands by the controller's node"
  [[  if (!drive.controller.empty()) {]] [[  if (false) {]])
unit_mutant(generic_node_ignored nvme nvme/host/sysfs.cpp GuardNodeOpen.*
  "a host process goes on sending commands by io_uring"
  [[    if (numbers_of(child, "n", "ng")) {]] [[    if (false) {]])
unit_mutant(mounts_by_name_only nvme nvme/host/guards_host.cpp GuardMounted.*
  "a mounted drive is erased when its mount has another name for it"
  [[mount.number != to_string(device->number) && ]] "")
unit_mutant(holders_ignored nvme nvme/host/guards_host.cpp GuardHolders.*
  "a volume group loses a member"
  [[    if (device->holders.empty()) continue;]] [[    continue;]])
unit_mutant(loops_ignored nvme nvme/host/guards_host.cpp GuardLoop.*
  "a loop device loses what it stands on"
  [[    if (name.rfind("loop", 0) != 0) continue;]] [[    continue;]])
unit_mutant(exports_ignored nvme nvme/host/guards_host.cpp GuardExported.*
  "a drive that the host exports is erased under its initiator"
  [[node_of_ours(context.drive, node_behind(context.options, *path));]]
  [[node_of_ours(context.drive, *path);]])
unit_mutant(partitions_ignored nvme nvme/host/sysfs.cpp GuardSwap.*:GuardMounted.*
  "only whole disks are looked at"
  [[    found.partitions.push_back(*std::move(partition));]] "")

# In what judges an erase, and what chooses it.
unit_mutant(old_content_passes nvme nvme/verify/verdict.cpp Verdict.OldContent*
  "a drive that moved the old blocks elsewhere counts as erased"
  [[    } else if (old_samples_.count(digest) != 0) {]] [[    } else if (false) {]])
unit_mutant(promises_not_kept nvme nvme/verify/verdict.cpp Verdict.DlfeatPromises*
  "a drive that does not read as it promises counts as erased"
  [[  if (!zeroes_broken && !ones_broken) return;]] [[  return;]])
unit_mutant(half_read_is_read nvme nvme/verify/verdict.cpp Verdict.EveryPlace*
  "what could be read in part only counts as verified"
  [[  if (reading.length_bytes != place.length_bytes) {]] [[  if (false) {]])
unit_mutant(zero_by_crypto nvme nvme/erase/policy.cpp Policy.*
  "zeroing is taken for a cryptographic erase"
  [[  if (policy.action == ClearAction::zero && policy.strategy == ClearStrategy::crypto) {]]
  [[  if (false) {]])
unit_mutant(sanitize_falls_back nvme nvme/erase/policy.cpp Policy.*
  "a drive that was to be sanitized is only zeroed"
  [[  if (policy.action == ClearAction::sanitize) {]] [[  if (false) {]])
unit_mutant(deleted_is_forgotten nvme nvme/controller/namespace_layout.cpp NamespacePlan.*
  "what a tenant wrote to a small namespace and deleted is met by the next one after an overwrite"
  [[  if (fault.empty() && is_sanitize(method)) {]] [[  if (fault.empty()) {]])
unit_mutant(shrinks_bit_by_bit nvme nvme/controller/namespace_layout.cpp NamespacePlan.*
  "a namespace is measured against the last cleaning, not against the drive"
  [[  if (std::string fault = cover_fault(now); !fault.empty()) return fault;
]] "")
unit_mutant(slack_stays nvme nvme/controller/namespace_layout.cpp NamespaceCover.*
  "what a drive keeps beside its namespace is met by the next tenant after an overwrite"
  [[  return uncovered < smallest ? 0 : uncovered;]]
  [[  return uncovered < (1U << 26U) ? 0 : uncovered;]])
unit_mutant(former_size_is_not_asked_for nvme nvme/controller/size_search.cpp SizeSearch.*
  "at each cleaning a drive makes and deletes dozens of namespaces"
  [[      next_(former_ != 0 ? former_ : whole_),]] [[      next_(whole_),]])
unit_mutant(estimates_are_nothing nvme nvme/controller/sanitize.cpp SanitizeTime.*
  "a drive that is only slow is in error at each cleaning"
  [[  return std::max(configured_ms, std::min(by_estimate_ms, kByEstimateMaxMs));]]
  [[  return configured_ms;]])
unit_mutant(any_estimate_counts nvme nvme/controller/sanitize.cpp SanitizeTime.*
  "a drive that estimates a hundred years is waited for"
  [[  return std::max(configured_ms, std::min(by_estimate_ms, kByEstimateMaxMs));]]
  [[  return std::max(configured_ms, by_estimate_ms);]])
unit_mutant(memory_passes nvme nvme/controller/residue.cpp Surfaces.*
  "what lies in a controller memory buffer is met by the next tenant after an overwrite"
  [[  if (!*present) return judge.tell(surface, "none");]]
  [[  if (true) return judge.tell(surface, "none");]])
unit_mutant(spare_at_its_threshold nvme nvme/controller/health.cpp Health.EveryLimit*
  "a drive with all of its spare is to be replaced"
  [[now.available_spare < now.spare_threshold;]] [[now.available_spare <= now.spare_threshold;]])
unit_mutant(wear_excuses_everything nvme nvme/controller/health.cpp Health.Unreliable*
  "a drive whose media fail is given back, because it is worn out as well"
  [[ && errors == 0 && ]] [[ && ]])
unit_mutant(wear_is_excused_unasked nvme nvme/controller/health.cpp Health.Unreliable*
  "a drive that warns of its reliability is given back though nobody allowed its wear"
  [[           max > kWornOut && ]] [[           ]])
unit_mutant(heat_is_a_verdict nvme nvme/controller/health.cpp Health.WhatIsHot*
  "a drive that is hot for a minute waits for an operator"
  [[    counts = without(counts, Warning::temperature);
]] "")
unit_mutant(anew_is_less nvme nvme/controller/health.cpp Health.EveryLimit*
  "media errors are not seen, because the drive has lost its count of them"
  [[now_.media_errors - before : now_.media_errors;]] [[now_.media_errors - before : 0;]])
unit_mutant(any_drive_may_count_anew nvme nvme/controller/health.cpp Health.ACounterThatShrinks*
  "a drive that may be another one is given back though its counters say so"
  [[    if (!enrolled_->same_drive) {
]]
  [[    if (false) {
]])
