// Decides which arguments of a configured clean step an order may set, and to what. Everything else
// of a [step:NAME] section is fixed, for its command runs as root. `allowed` is the order_args of
// the section, {"NAME": PATTERN or [TEXT, …]}: a pattern of RE2's syntax that has to match the
// whole text, in linear time, and accepts none with a '/'; or the texts that are accepted. Pure.
// Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

namespace reclaim {

inline constexpr std::size_t kOrderPatternBytesMax = 256;
inline constexpr std::size_t kOrderedArgBytesMax = 256;  // of a text that an order sets

// Checks that `allowed` can be judged by. Errc::invalid or Errc::limit names the argument.
[[nodiscard]] Status check_order_args(std::string_view allowed);

// Checks that each member of `given`, a JSON object as text, is one that `allowed` names, and its
// value a printable text that `allowed` accepts. Errc::invalid names the first that is not, and
// what is accepted.
[[nodiscard]] Status check_ordered_args(std::string_view given, std::string_view allowed);

// The arguments of `allowed` by which an order could name a file: a text with a '/', or one whose
// value in `configured` has one.
[[nodiscard]] std::vector<std::string> paths_in_order_args(std::string_view allowed,
                                                           std::string_view configured);

// `given` over what is `configured`, both JSON objects as text.
[[nodiscard]] std::string merged_args(std::string_view configured, std::string_view given);

// Checks that `args`, as a plan has them, are those that are `configured` and nothing is changed
// but to what `allowed` accepts. Errc::invalid: as check_ordered_args(), or one is missing.
[[nodiscard]] Status check_planned_args(std::string_view args, std::string_view configured,
                                        std::string_view allowed);

}  // namespace reclaim
