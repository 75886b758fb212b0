// Clean steps that an operator names for one cleaning of a device, as Ironic's manual cleaning has
// them: they are run first, in his order, and the whole plan follows. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "state/device/record.h"

namespace reclaim {

inline constexpr std::size_t kNamedStepsMax = 16;
inline constexpr std::size_t kNamedArgsBytesMax = 4'096;  // of one step, as JSON
inline constexpr std::size_t kNamedStepsBytesMax = 32'768;
// The limit of all named steps in a plan, each with what is configured: they have to fit into a
// record.
inline constexpr std::size_t kNamedPlanBytesMax = 49'152;

// Reads the steps out of {"clean_steps": [{"interface": "card", "step": "reflash", "args": {…}}]},
// as Ironic's API has it, or of the list alone, as its command line reads it from a file. Without
// args: none are given. Errc::invalid or Errc::limit names the element.
[[nodiscard]] Result<std::vector<CleanStep>> parse_named_steps(std::string_view json_text);

// Checks that `offered` (Record::steps_offered) has each of the named steps, and that the step's
// order_args, which stand there as its args, accept the arguments given. Errc::invalid names the
// first that is not there, and what there is.
[[nodiscard]] Status check_named_steps(const std::vector<CleanStep>& named,
                                       const std::vector<CleanStep>& offered);

}  // namespace reclaim
