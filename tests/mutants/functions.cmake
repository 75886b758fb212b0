# Faults in the cleaning of PCI devices that are no drives: what gives one back, and which it is.
unit_mutant(any_step_verifies conductor handlers/survey/function_plan.cpp
  FunctionSteps.WithoutAStep*
  "a card that nothing shows to be clean stays on offer"
  [[[](const OperatorStep& step) { return step.verifies && step.priority > 0; });]]
  [[[](const OperatorStep& step) { return step.priority > 0; });]])
unit_mutant(steps_are_forgotten_by_the_ledger conductor handlers/conductor/cleaning_steps.cpp
  FunctionSteps.ACardIs*
  "a card is given back though the ledger has no finding of its last step"
  [[      facts.findings.value_or(record.findings)};]]
  [[      record.findings};]])
unit_mutant(failed_check_counts conductor handlers/conductor/cleaning_steps.cpp
  FunctionSteps.ABuiltInCheck*
  "a card whose ROM a tenant changed is given back"
  [[  context_.ports.drives.run_function_step(
      address, request,
      [this, address, epoch, key = findings_key(record.plan, record.step_index)](
          Result<nvme::StepReport> report) { step_answered(address, epoch, key, report); });]]
  [[  context_.ports.drives.run_function_step(
      address, request,
      [this, address, epoch, key = findings_key(record.plan, record.step_index)](
          Result<nvme::StepReport>) { step_answered(address, epoch, key, nvme::StepReport{}); });]])
unit_mutant(held_card_is_cleaned conductor handlers/survey/hold.cpp FunctionSteps.AHold*
  "a card that an operator reserved by hand is cleaned and given back"
  [[  if (!record.is_drive()) return Hold::unknown;]]
  [[  if (!record.is_drive()) return Hold::dirty;]])
unit_mutant(unlisted_card_is_cleaned conductor handlers/conductor/policy_of.cpp
  FunctionSteps.ACardThatNoEntry*
  "a card that no entry lists any more is cleaned as if it were a drive"
  [[  return lookup ? lookup(vendor_id, product_id, address) : std::nullopt;]]
  [[  auto policy = lookup(vendor_id, product_id, address);
  return policy ? policy : DevicePolicy{};]])
unit_mutant(lost_record_forgets_its_kind conductor handlers/survey/device_kind.cpp
  FunctionSteps.ItIsStill*
  "a dirty card whose record Redis lost is taken for one that was never ours"
  [[ledger->by_steps != sighting.is_drive();]] [[sighting.is_drive();]])
unit_mutant(cards_are_not_compared conductor handlers/survey/identity.cpp FunctionSteps.AnotherCard*
  "another card than the one that was cleaned is on offer"
  [[  if (!sighting.is_drive() && !sighting.by_steps) return {};]]
  [[  if (!sighting.is_drive()) return {};]])
