// The file of an operator's command: whether only root can have written it, and what is in it.
// Blocking; thread: any but the loop's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nvme/command/options.h"
#include "nvme/controller/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// The command's SHA-256, lower-case hex. Errc::refused where it is not a regular, executable file
// of `options.owner` that nobody else may write, or a directory above it is not; the text says
// which, and the remedy. The command is run by its path: what root alone can write, root alone
// exchanges.
[[nodiscard]] Result<std::string> digest_of_command(const CommandOptions& options,
                                                    const std::string& path);

// Digests each command as digest_of_command() does; the result is by path. As a guard of a claim it
// adds what was looked at to `findings`.
[[nodiscard]] Result<std::map<std::string, std::string>> digests_of_commands(
    const CommandOptions& options, const std::vector<std::string>& paths,
    std::vector<GuardFinding>& findings);

}  // namespace reclaim::nvme
