// The [policy:NAME] sections: how devices in some role are cleaned. Inner to config/: a part of the
// table in config/schema.cpp. Each option is a key of a device_spec entry and means the same there
// (config/device_spec/clean_rules.h).
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kRole{"policy:"};

inline constexpr std::array kPolicyOptions = {
    kRole.option({.name = "clear_action",
                  .fallback = "",
                  .help = "Like each key here, as in a device_spec entry. Weakest first: format, "
                          "zero, auto, sanitize."}),
    kRole.option({.name = "clear_strategy",
                  .fallback = "",
                  .help = "Weakest first: auto, crypto, block. Where it differs from what the "
                          "entry or another policy says, clear_action becomes sanitize."}),
    kRole.option(
        {.name = "verify", .fallback = "", .help = "Weakest first: log, sample, nist, full."}),
    kRole.option({.name = "relax",
                  .fallback = "",
                  .help = "A list of cross-checks, separated by ','; only what the entry and all "
                          "policies relax is relaxed. Given and empty: nothing is."}),
    kRole.option({.name = "percentage_used_max", .fallback = "", .help = "The lowest counts."}),
    kRole.option({.name = "media_errors_max", .fallback = "", .help = "The lowest counts."}),
    kRole.option({.name = "zero_rate",
                  .fallback = "",
                  .help = "Bytes a second (500M, 2G; 0: no limit); the lowest counts."}),
    kRole.option({.name = "cleanup_timeout",
                  .fallback = "",
                  .help = "Seconds; the longest counts, because a stricter way needs its time."}),
    kRole.option({.name = "clean",
                  .fallback = "",
                  .help = "auto or manual; manual where one of them says so."}),
    kRole.option({.name = "steps",
                  .fallback = "",
                  .help = "Names of [step:NAME] sections, separated by ',': they are run beside "
                          "those of the entry and of the other policies."}),
};

}  // namespace reclaim::config
