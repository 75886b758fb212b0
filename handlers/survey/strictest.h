// The policy of a device: what its device_spec entry says of its cleaning, made stricter by each
// [policy:NAME] section that is for it. What is stricter, field by field, is told by the tables of
// strictest.cpp and nowhere else. Pure. Thread: any.
//
// For each field strictest() is the join of a semilattice: the order in which policies are put
// together does not count, nor that one comes twice, and the result is never weaker than any of
// them. So a policy can only raise what the entry says; what the entry does not say has its
// default, and that counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/options.h"
#include "nvme/erase/policy.h"
#include "nvme/rules.h"

namespace reclaim {

// The later of the two in format, zero, auto, sanitize; and in auto, crypto, block. Strategies that
// differ make the action sanitize: only that keeps both from falling back to a weaker erase, and
// where the drive cannot do it, the device waits.
[[nodiscard]] nvme::Policy strictest(nvme::Policy a, nvme::Policy b);
// log, sample, nist, full.
[[nodiscard]] nvme::VerifyLevel strictest(nvme::VerifyLevel a, nvme::VerifyLevel b);
// The relaxations that both put up with.
[[nodiscard]] nvme::Relaxations strictest(nvme::Relaxations a, nvme::Relaxations b);
// The lower limit of each.
[[nodiscard]] nvme::HealthLimits strictest(nvme::HealthLimits a, nvme::HealthLimits b);
// The slower one, bytes a second; 0 is no limit.
[[nodiscard]] std::uint64_t strictest_rate(std::uint64_t a, std::uint64_t b);
// The longer one: what takes the stricter way needs its time.
[[nodiscard]] std::int64_t strictest_timeout_ms(std::int64_t a, std::int64_t b);
// The steps of both, in their order; one that stands in both once, where it stands first.
[[nodiscard]] std::vector<OperatorStep> strictest(std::vector<OperatorStep> a,
                                                  const std::vector<OperatorStep>& b);

// The policy raised by those that are chosen, out of `policy.roles`. One that is not there becomes
// unknown, and then the device must not be cleaned (why_unknown()).
[[nodiscard]] DevicePolicy raised(DevicePolicy policy, const std::vector<ChosenPolicy>& chosen);

// Raised by the sections that the traits of its provider choose.
[[nodiscard]] DevicePolicy raised_by_traits(DevicePolicy policy,
                                            const std::vector<std::string>& traits);

// Raised by the sections that were chosen when the device was last surveyed, by their names.
[[nodiscard]] DevicePolicy raised_by_names(DevicePolicy policy,
                                           const std::vector<std::string>& names);

// "CUSTOM_RECLAIM_GOLD" -> "gold".
[[nodiscard]] std::string policy_of_trait(std::string_view trait);

// The names of those chosen, known or not.
[[nodiscard]] std::vector<std::string> chosen_names(const DevicePolicy& policy);

// The reason why it must not be cleaned by what is known, with the remedy; empty: nothing speaks
// against it.
[[nodiscard]] std::string why_unknown(const DevicePolicy& policy);

// Tells which policies count and why, and what each of them made stricter: one line for people.
[[nodiscard]] std::string describe_origin(const DevicePolicy& policy);

}  // namespace reclaim
