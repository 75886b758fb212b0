#include "cli/upgrade_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/fit.h"
#include "cli/format.h"
#include "state/base/json.h"
#include "state/base/text.h"
#include "state/base/visible.h"
#include "state/certificate/file_ledger.h"
#include "state/certificate/seal.h"
#include "state/ledger/ledger_file.h"

namespace reclaim::cli {
namespace {

constexpr std::string_view kTitle = "Upgrade Check Results";
constexpr std::size_t kDetailsWidth = 60;
constexpr std::string_view kIndent = "  ";  // of every line of them but the first
constexpr std::size_t kNamedMax = 3;        // of what is wrong; the rest is counted

std::string first_few(const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size() && i < kNamedMax; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : "; ", texts[i]);
  }
  if (texts.size() > kNamedMax) out += fmt::format("; and {} more", texts.size() - kNamedMax);
  return out;
}

// "1.4.2": the version 1.4. Within a major version the one before has a minor number one less.
struct Version {
  unsigned major = 0;
  unsigned minor = 0;
};

std::optional<Version> parse_version(std::string_view text) {
  std::string_view rest = text;
  const auto major = parse_number<unsigned>(take_until(rest, '.'));
  const auto minor = parse_number<unsigned>(take_until(rest, '.'));
  if (!major || !minor) return std::nullopt;
  return Version{*major, *minor};
}

// Judges a worker of `other` version beside one of `own`. The last minor version of a major one is
// not known here.
Readiness beside(const Version& own, const Version& other) {
  const Version& newer = own.major > other.major ? own : other;
  const Version& older = own.major > other.major ? other : own;
  if (own.major == other.major) {
    const bool near = std::max(own.minor, other.minor) - std::min(own.minor, other.minor) <= 1;
    return near ? Readiness::success : Readiness::failure;
  }
  const bool maybe = newer.major - older.major == 1 && newer.minor == 0;
  return maybe ? Readiness::warning : Readiness::failure;
}

std::string_view word_of(Readiness code) {
  switch (code) {
    case Readiness::success:
      return "Success";
    case Readiness::warning:
      return "Warning";
    case Readiness::failure:
      return "Failure";
  }
  return "";
}

std::vector<std::string> details_of(const UpgradeResult& result) {
  const std::string text = result.details.empty() ? "None" : visible(result.details);
  const std::string first = wrap(text, kDetailsWidth).front();
  std::vector<std::string> lines{"Details: " + first};
  const std::string_view rest = strip(std::string_view(text).substr(first.size()), " ");
  if (rest.empty()) return lines;
  for (const std::string& line : wrap(rest, kDetailsWidth - kIndent.size())) {
    lines.push_back(fmt::format("{}{}", kIndent, line));
  }
  return lines;
}

}  // namespace

UpgradeResult judge_configuration(const std::vector<std::string>& problems,
                                  const std::vector<std::string>& warnings) {
  UpgradeResult result{"Configuration", Readiness::success, ""};
  if (!problems.empty()) {
    result.code = Readiness::failure;
    result.details = first_few(problems) + ": see `reclaim config check`";
  } else if (!warnings.empty()) {
    result.code = Readiness::warning;
    result.details = first_few(warnings) + ": see `reclaim config check`";
  }
  return result;
}

UpgradeResult judge_schema(const Result<std::optional<std::string>>& stored) {
  UpgradeResult result{"Redis layout", Readiness::failure, ""};
  if (!stored) {
    result.details = stored.error().what + ": correct [redis], and see that Redis runs";
    return result;
  }
  if (!*stored) {
    return {result.check, Readiness::success,
            "there is none yet; the first command with an operator's login writes it"};
  }
  const std::string& text = **stored;
  const auto version = parse_number<int>(text);
  if (version == kSchemaVersion) return {result.check, Readiness::success, ""};
  result.details = fmt::format(
      "reclaim:schema is '{}', this version speaks {}: use the version that wrote it, or a "
      "database of its own",
      printable_excerpt(text, 40), kSchemaVersion);
  return result;
}

UpgradeResult judge_functions(const Result<RedisLua>& lua) {
  UpgradeResult result{"Redis functions", Readiness::failure, ""};
  if (!lua) {
    result.details = lua.error().what + ": see that Redis runs, then check again";
    return result;
  }
  result.details = why_no_functions(*lua);
  if (*lua == RedisLua::functions) result.code = Readiness::success;
  if (*lua != RedisLua::functions && *lua != RedisLua::missing) result.code = Readiness::warning;
  return result;
}

UpgradeResult judge_records(const Result<std::vector<Record>>& records) {
  UpgradeResult result{"Device records", Readiness::failure, ""};
  if (!records) {
    result.details = records.error().what + ": see that Redis runs, then check again";
    return result;
  }
  std::vector<std::string> damaged;
  for (const Record& record : *records) {
    if (!record.damage.empty()) {
      damaged.push_back(fmt::format("{}: {}", to_string(record.address), record.damage));
    }
  }
  if (damaged.empty()) return {result.check, Readiness::success, ""};
  result.details = fmt::format(
      "{} of {} cannot be read, and their devices stay reserved: {}: mend or delete them, as "
      "redis-keys.md says",
      damaged.size(), records->size(), first_few(damaged));
  return result;
}

UpgradeResult judge_ledger(const Result<std::optional<std::string>>& text,
                           const std::string& path) {
  UpgradeResult result{"Ledger", Readiness::failure, ""};
  if (!text) {
    result.details = text.error().what + ": run the check as root, on the host itself";
    return result;
  }
  if (!*text) {
    return {result.check, Readiness::success, path + " is not there; the worker makes it"};
  }
  const auto replayed = ledger_file::replay(**text, path, FileLedgerOptions{}.entries_max);
  if (replayed) return {result.check, Readiness::success, ""};
  result.details = replayed.error().what +
                   ": let the version that wrote it end, or put back a whole copy; the worker "
                   "does not start with this one";
  return result;
}

UpgradeResult judge_certificates(const Result<std::vector<SealedFile>>& newest) {
  UpgradeResult result{"Certificates", Readiness::failure, ""};
  if (!newest) {
    result.details = newest.error().what + ": run the check as root, on the host itself";
    return result;
  }
  std::vector<std::string> wrong;
  for (const SealedFile& file : *newest) {
    const auto sealed = file.text ? open_seal(*file.text) : Result<Sealed>(file.text.error());
    const Status fits =
        sealed ? check_certificate_schema(sealed->content, sealed->kind) : Status(sealed.error());
    if (!fits) wrong.push_back(fmt::format("{}: {}", file.name, fits.error().what));
  }
  if (wrong.empty()) return {result.check, Readiness::success, ""};
  result.details = first_few(wrong) + ": see `reclaim certificate verify`";
  return result;
}

UpgradeResult judge_workers(const Result<std::vector<HostInfo>>& hosts, std::string_view own) {
  UpgradeResult result{"Versions of the workers", Readiness::success, ""};
  if (!hosts)
    return {result.check, Readiness::failure,
            hosts.error().what + ": see that Redis runs, then check again"};
  const auto ours = parse_version(own);
  std::vector<std::string> unlike;
  for (const HostInfo& info : *hosts) {
    if (info.heartbeat_at.ms == 0 || info.stopped) continue;
    const auto theirs = parse_version(info.version);
    const Readiness code = ours && theirs ? beside(*ours, *theirs) : Readiness::warning;
    if (code == Readiness::success) continue;
    unlike.push_back(fmt::format("{} runs '{}'", info.host, printable_excerpt(info.version, 40)));
    result.code = std::max(result.code, code);
  }
  if (unlike.empty()) return result;
  result.details = fmt::format(
      "{}; this is {}, and workers share a Redis with the version before theirs only: {}",
      first_few(unlike), own,
      result.code == Readiness::failure ? "install the version between on these hosts first"
                                        : "see whether it is the version before");
  return result;
}

int exit_code_of(const std::vector<UpgradeResult>& results) {
  Readiness worst = Readiness::success;
  for (const UpgradeResult& result : results) worst = std::max(worst, result.code);
  return static_cast<int>(worst);
}

std::string upgrade_table(const std::vector<UpgradeResult>& results) {
  std::vector<std::vector<std::string>> cells{{std::string(kTitle)}};
  for (const UpgradeResult& result : results) {
    cells.push_back({"Check: " + result.check, fmt::format("Result: {}", word_of(result.code))});
    for (std::string& line : details_of(result)) cells.back().push_back(std::move(line));
  }
  std::size_t width = 0;
  for (const auto& cell : cells) {
    for (const std::string& line : cell) width = std::max(width, display_width(line));
  }
  const std::string rule = fmt::format("+{:-<{}}+\n", "", width + 2);
  std::string out = rule;
  for (const auto& cell : cells) {
    for (const std::string& line : cell) {
      out += fmt::format("| {}{:{}} |\n", line, "", width - display_width(line));
    }
    out += rule;
  }
  return out;
}

std::string upgrade_json(const std::vector<UpgradeResult>& results) {
  std::string out = fmt::format(R"({{"name": "{}", "checks": [)", kTitle);
  for (const UpgradeResult& result : results) {
    out += &result == results.data() ? R"({"check": )" : R"(, {"check": )";
    json::append_string(result.check, out);
    out += fmt::format(R"(, "result": {}, "details": )", static_cast<int>(result.code));
    if (result.details.empty()) {
      out += "null";
    } else {
      json::append_string(result.details, out);
    }
    out += '}';
  }
  return out + "]}\n";
}

}  // namespace reclaim::cli
