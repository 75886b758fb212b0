# Faults in policies by role: what a section, a tag or a trait must never do.
unit_mutant(weakest_policy_counts handlers handlers/survey/strictest.cpp Strictest.Of*
  "of two policies the weaker one counts"
  [[return std::max(first, second) == first ? a : b;]]
  [[return std::max(first, second) == first ? b : a;]])
unit_mutant(strategies_fall_back handlers handlers/survey/strictest.cpp Strictest.*
  "a policy that asks for a block erase lets a drive be zeroed that would have been purged"
  [[a.strategy == b.strategy ? later(kActions, a.action, b.action) : ClearAction::sanitize]]
  [[later(kActions, a.action, b.action)]])
unit_mutant(zeroing_counts_as_crypto handlers handlers/survey/strictest.cpp Strictest.ACertain*
  "two policies come to what no drive can do"
  [[if (!nvme::check_policy(policy)) policy.action = ClearAction::sanitize;]] "")
unit_mutant(one_policy_relaxes_for_all handlers handlers/survey/strictest.cpp
  Strictest.OfWhatIsRelaxed
  "a cross-check is off because one of several policies puts up with it"
  [[return {a.global_data_erased && b.global_data_erased,]]
  [[return {a.global_data_erased || b.global_data_erased,]])
unit_mutant(policy_cleans_by_itself handlers handlers/survey/strictest.cpp
  RolePolicies.NoneWeakensTheEntry
  "a policy begins the cleaning that the entry leaves to an operator"
  [[policy_.manual || role_.manual.value_or(false)]] [[role_.manual.value_or(policy_.manual)]])
unit_mutant(unknown_policy_admits handlers handlers/survey/admission.cpp *unknown_policy*
  "a device whose policy nobody knows is cleaned anyhow"
  [[!why.empty()) return refuse(std::move(why));]]
  [[false && !why.empty()) return refuse(std::move(why));]])
unit_mutant(unknown_policy_is_offered conductor handlers/survey/resolve_policy.cpp Roles.AnOffered*
  "a device whose policy nobody knows stays on offer"
  [[  if (std::string why = why_unknown(policy); !why.empty()) {]]
  [[  if (std::string why = why_unknown(policy); false && !why.empty()) {]])
unit_mutant(lost_policy_is_claimed conductor handlers/conductor/drive_claims.cpp
  Roles.ASectionThatIsGoneBefore*
  "a cleaning goes on without the policy that it began with"
  [[  if (const std::string why = why_unknown(*policy); !why.empty()) {]]
  [[  if (const std::string why = why_unknown(*policy); false && !why.empty()) {]])
unit_mutant(traits_choose_nothing conductor handlers/conductor/policy_of.cpp Roles.ATrait*
  "a trait makes no difference"
  [[  if (policy) policy = raised_by_traits(*std::move(policy), sighting.policy_traits());
]] "")
unit_mutant(record_forgets_its_policies conductor handlers/conductor/policy_of.cpp Roles.TagsAre*
  "once admitted, a drive is cleaned as if it had no role"
  [[  if (policy) policy = raised_by_names(as_bound(*policy, record), record.policies);]]
  [[  if (policy) policy = as_bound(*policy, record);]])
