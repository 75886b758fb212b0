// Judges what `reclaim upgrade check` reads: whether this version can take over what is there. In
// the manner of oslo.upgradecheck: its codes, its table, its JSON. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "state/device/record.h"
#include "state/device/store.h"
#include "state/redis/calls.h"

namespace reclaim::cli {

// The worst of all is the exit code. warning: look at it, the upgrade may go on; failure: stop.
enum class Readiness : std::uint8_t { success = 0, warning = 1, failure = 2 };
inline constexpr int kUpgradeUnexpected = 255;  // the check itself failed

struct UpgradeResult {
  std::string check;
  Readiness code = Readiness::success;
  std::string details;  // what was found, the remedy last; empty: nothing to say
};

// Judges the files: `problems` are wrong, a text each, `warnings` only discouraged.
[[nodiscard]] UpgradeResult judge_configuration(const std::vector<std::string>& problems,
                                                const std::vector<std::string>& warnings);
// The value of reclaim:schema; nothing: there is none yet.
[[nodiscard]] UpgradeResult judge_schema(const Result<std::optional<std::string>>& stored);
// Judges how Redis would run the Lua of this version.
[[nodiscard]] UpgradeResult judge_functions(const Result<RedisLua>& lua);
// This host's, as a worker of this version would read them.
[[nodiscard]] UpgradeResult judge_records(const Result<std::vector<Record>>& records);
// The file's text, read from `path`; nothing: no worker has run here yet.
[[nodiscard]] UpgradeResult judge_ledger(const Result<std::optional<std::string>>& text,
                                         const std::string& path);
// One kept file of the chain: its text, or why it cannot be read.
struct SealedFile {
  std::string name;
  Result<std::string> text;
};
[[nodiscard]] UpgradeResult judge_certificates(const Result<std::vector<SealedFile>>& newest);
// Judges whether the workers that run are of `own` version, or of the one before or after it.
[[nodiscard]] UpgradeResult judge_workers(const Result<std::vector<HostInfo>>& hosts,
                                          std::string_view own);

[[nodiscard]] int exit_code_of(const std::vector<UpgradeResult>& results);
// Prints the results as a table, with its last line break.
[[nodiscard]] std::string upgrade_table(const std::vector<UpgradeResult>& results);
[[nodiscard]] std::string upgrade_json(const std::vector<UpgradeResult>& results);

}  // namespace reclaim::cli
