// reclaim doctor, inside the restrictions of reclaim.service: root sees more than the worker may.
// Where systemd runs, doctor asks it for a transient service with the same restrictions, runs
// itself there, and takes over the rows. Thread: the command line's; blocks until that one ended.
//
// systemd-run(1), systemctl(1), systemd.exec(5), systemd.resource-control(5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor_checks.h"
#include "config/load.h"
#include "state/base/result.h"

namespace reclaim::cli {

inline constexpr const char* kWorkerUnit = "reclaim.service";

// Reads what restricts a service or grants it something, of the [Service] sections of `text`
// (`systemctl cat` prints the unit and its drop-ins in the order in which they count): options of
// systemd-run, in that order. An assignment with a specifier ("%h") is an error: systemd-run does
// not expand it.
[[nodiscard]] Result<std::vector<std::string>> sandbox_options(std::string_view text);

// `program doctor --inside-unit` with the files of `request`, in a transient service with
// `options`. Paths become absolute: the service begins elsewhere.
[[nodiscard]] std::vector<std::string> doctor_in_unit(const std::vector<std::string>& options,
                                                      const std::string& program,
                                                      const config::LoadRequest& request);

// Adds the rows that doctor printed with -f json; Errc::invalid, and none is added, where it
// printed something else.
[[nodiscard]] Status take_rows(std::string_view printed, Chart& chart);

// Runs doctor there and takes over its rows: true. False: it cannot be run there, and a row says
// why, and how to do it; what is to be checked has to be checked here.
[[nodiscard]] bool check_in_unit(const config::LoadRequest& request, Chart& chart);

}  // namespace reclaim::cli
