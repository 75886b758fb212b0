# Faults in what is done with PCI functions that are no drives, caught by the tests of the pure
# parts (nvme) and by those over the emulated card (pci).
unit_mutant(config_next_believed nvme nvme/pci/config_space.cpp ConfigSpace.ListsThatLeadAstray
  "a list of capabilities that loops hangs the worker, or is taken for a short one"
  [[    if (at < kHeaderBytes) {]] [[    if (false) {]])
unit_mutant(config_bridge nvme nvme/pci/config_space.cpp ConfigSpace.OfNoFunctionOrABridgeIsNone
  "a bridge is read as a device"
  [[  if ((header_type & 0x7fU) != 0) {]] [[  if (false) {]])
unit_mutant(config_gaps_ignored nvme nvme/pci/config_compare.cpp CompareConfig.NamesWhatDiffers
  "a register between the capabilities keeps what a tenant wrote"
  [[      region("device-specific registers", at, end);]] [[      ;]])
unit_mutant(config_new_ignored nvme nvme/pci/config_compare.cpp CompareConfig.ACapabilityThat*
  "new firmware's capability is not seen"
  [[      if (!has(before, each)) lines_.push_back(fmt::format("{} is new", to_string(each)));]]
  [[      ;]])
unit_mutant(config_bars_whole nvme nvme/pci/config_compare.cpp CompareConfig.NamesWhatDiffers
  "a BAR that changes its kind is not seen"
  [[(bar & 1U) != 0 ? ~3U : ~0xfU);]] [[~0U);]])
unit_mutant(pci_baseline_unchecked nvme nvme/pci/pci_state.cpp PciState.WhatIsWrongIsNamed
  "a damaged baseline is compared with"
  [[  if (rom.present ? !is_sha256(rom.sha256) : !rom.sha256.empty() || rom.bytes != 0) {]]
  [[  if (false) {]])

unit_mutant(pci_drive_claimed pci nvme/pci/pci_guards.cpp PciClaimTest.DrivesAndBridges*
  "a drive is taken for a card, past the guards of drives"
  [[  if (function.class_code >> 8U == kNvmeClass) {]] [[  if (false) {]])
unit_mutant(pci_another_card pci nvme/pci/pci_guards.cpp PciClaimTest.WhatItIsHasToFit
  "a card exchanged under its address is cleaned as the former one"
  [[  if (compare(context.request.expected, found) != Match::different) {]] [[  if (true) {]])
unit_mutant(pci_neighbours_guest pci nvme/pci/pci_guards.cpp PciClaimTest.GuestsOfOthersInItsGroup
  "a guest that has the card's other port has the card in its reach"
  [[      if (seen.finding.passed) continue;]] [[      if (true) continue;]])
unit_mutant(pci_hosts_driver pci nvme/pci/pci_guards.cpp PciClaimTest.ADriverOfTheHost
  "the host's own card is reset"
  [[  if (on_vfio(function) || driver == context.request.driver || driver == context.meanwhile) {]]
  [[  if (true) {]])
unit_mutant(pci_interface_up pci nvme/host/guards_host.cpp PciClaimTest.ADriverOfTheHost
  "the host's network goes down"
  [[    if (interface.up) {]] [[    if (false) {]])
unit_mutant(pci_interface_stacked pci nvme/host/function_uses.cpp PciClaimTest.AnInterface*
  "an interface below a VLAN of the host's is taken away"
  [[      if (each == "master" || each.starts_with("upper_")) {]] [[      if (each == "master") {]])
unit_mutant(pci_nodes_unseen pci nvme/host/function_uses.cpp PciClaimTest.NodesOfTheHost
  "a card on which the host's display runs is reset"
  [[    function_.generic_nodes.push_back(CharacterDevice{name, *number});]] [[    ;]])
unit_mutant(pci_behind_it pci nvme/host/function_uses.cpp PciClaimTest.FunctionsBehindIt*
  "drives behind a controller are not looked for"
  [[      if (parse_pci_address(each)) {]] [[      if (false) {]])

unit_mutant(pci_not_kept pci nvme/pci/driver_stay.cpp PciClaimTest.*:PciLeft.*
  "a card without a driver is given to a guest in the middle of its cleaning"
  [[  return write_override(options_, address_, override_);
}

DriverStay::~DriverStay() {]]
  [[  return Ok{};
}

DriverStay::~DriverStay() {]])
unit_mutant(pci_override_believed pci nvme/pci/driver_stay.cpp PciClaimTest.AGuestInBetween*
  "a guest that had the card during its cleaning is not found out"
  [[  if (*overridden == override_) return Ok{};]] [[  return Ok{};]])
unit_mutant(pci_group_believed pci nvme/pci/driver_stay.cpp PciClaimTest.AGroupThatWentAndCame*
  "a guest that had the card's group meanwhile is not found out"
  [[  if (!on_vfio_ || group_.ours()) return Ok{};]] [[  return Ok{};]])
unit_mutant(pci_group_not_again pci nvme/pci/driver_stay.cpp PciClaimTest.*
  "a guest gets the card between a step and the release"
  [[on_vfio_ ? group_.hold_again(options_, address_, kThing) : Status(Ok{});]] [[Status(Ok{});]])
unit_mutant(pci_taken_from_host pci nvme/pci/driver_stay.cpp PciClaimTest.IsNotTakenFrom*
  "an interface that the host uses by now is taken away from it"
  [[  if (auto unused = host_leaves_alone(options_, address_, options_.driver_wait_ms); !unused) {
    return Error{Errc::refused, unused.error().what, unused.error().raw};
  }
]] "")
unit_mutant(pci_not_noted pci nvme/pci/driver_stay.cpp PciLeft.*
  "after a crash nobody knows which driver the card had"
  [[  former_.meanwhile = driver;
  if (auto noted = note_former_driver(options_, address_, former_); !noted) return noted;
]] "")
unit_mutant(pci_left_as_it_is pci nvme/pci/driver_stay.cpp PciLeft.OrByTheNextClaim
  "what a crashed worker left is taken for the card's own driver"
  [[  if (*left) {]] [[  if (false) {]])
unit_mutant(pci_stays_changed pci nvme/pci/pci_steps.cpp PciStepsTest.ACleanCard*
  "a step's driver stays bound"
  [[  const Status back = claim.put_driver_back();]] [[  const Status back = Ok{};]])
unit_mutant(pci_guards_once pci nvme/pci/pci_steps.cpp PciClaimTest.GuardsAreLookedAtAgain
  "a step runs on a card that a guest has by now"
  [[  if (auto ready = claim.recheck(); !ready) return ready;
]] "")
unit_mutant(pci_swapped pci nvme/pci/pci_claim.cpp PciClaimTest.AnotherDeviceIsNot*
  "a card exchanged in the middle of its cleaning is given back"
  [[  if (same_identity(*space, space_)) return Ok{};]] [[  return Ok{};]])

unit_mutant(pci_bus_reset pci nvme/pci/pci_reset.cpp PciStepsTest.TheBusIsNotReset*
  "another guest's card is reset with this one"
  [[    if (other->empty()) return std::string(method);]] [[    return std::string(method);]])
unit_mutant(pci_method_stays pci nvme/pci/pci_reset.cpp PciStepsTest.TheMethodIsChosen*
  "an operator's list of reset methods is lost"
  [[    return write_attribute(path_, former_);]] [[    return Ok{};]])
unit_mutant(pci_reset_believed pci nvme/pci/pci_reset.cpp PciStepsTest.AResetAfterWhich*
  "a card that comes back as another one passes"
  [[  if (is->vendor_id != was->vendor_id || is->device_id != was->device_id ||
      is->class_code != was->class_code || is->subsystem_id != was->subsystem_id) {]]
  [[  if (false) {]])
unit_mutant(pci_rom_unseen_is_none pci nvme/pci/function_files.cpp PciStepsTest.ARomThatCannot*
  "a sleeping card hides an implant in its ROM"
  [[raw == EIO && could_be_seen(options, address);]] [[raw == EIO;]])
unit_mutant(pci_rom_stays_on pci nvme/pci/function_files.cpp PciStepsTest.TheRomIsSwitchedOff*
  "the ROM stays readable for anybody"
  [[    return write_attribute(path_, "0\n");]] [[    return Ok{};]])
unit_mutant(pci_rom_gone pci nvme/pci/pci_steps.cpp PciStepsTest.*
  "a changed ROM boots the next tenant"
  [[  if (*baseline && (*baseline)->rom == *rom) {]] [[  if (*baseline) {]])
unit_mutant(pci_config_unread pci nvme/pci/pci_steps.cpp PciStepsTest.AChangedRegister*
  "a changed register is given to the next tenant"
  [[  if (!differences->empty()) {]] [[  if (false) {]])
unit_mutant(pci_link_width pci nvme/pci/pci_steps.cpp PciStepsTest.ALinkThatIsNarrower*
  "a card on half of its lanes is given back"
  [[link.width < (*baseline)->link_width)) {]] [[false)) {]])
unit_mutant(pci_counters_begin_again pci nvme/pci/pci_steps.cpp PciStepsTest.NewErrors*
  "errors after a reboot are not counted"
  [[  return now >= before ? now - before : now;]] [[  return now >= before ? now - before : 0;]])
