#include "cli/doctor_unit.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "state/base/json.h"
#include "state/base/text.h"
#include "state/base/unique_fd.h"
#include "state/base/visible.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "unit";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kOutputBytesMax = 4U << 20U;
constexpr int kDoctorSecondsMax = 600;

// Names of assignments that restrict or grant; the others say when and how the worker runs.
constexpr std::array<std::string_view, 9> kFamilies = {
    "Protect", "Private", "Restrict",  "SystemCall",      "Device",
    "Limit",   "Bind",    "IPAddress", "RuntimeDirectory"};
constexpr std::array<std::string_view, 31> kNames = {"AmbientCapabilities",
                                                     "AppArmorProfile",
                                                     "CacheDirectory",
                                                     "CacheDirectoryMode",
                                                     "CapabilityBoundingSet",
                                                     "Environment",
                                                     "EnvironmentFile",
                                                     "ExecPaths",
                                                     "Group",
                                                     "InaccessiblePaths",
                                                     "KeyringMode",
                                                     "LockPersonality",
                                                     "LogsDirectory",
                                                     "LogsDirectoryMode",
                                                     "MemoryDenyWriteExecute",
                                                     "MountFlags",
                                                     "NoExecPaths",
                                                     "NoNewPrivileges",
                                                     "ProcSubset",
                                                     "ReadOnlyPaths",
                                                     "ReadWritePaths",
                                                     "RemoveIPC",
                                                     "RootDirectory",
                                                     "SELinuxContext",
                                                     "SecureBits",
                                                     "StateDirectory",
                                                     "StateDirectoryMode",
                                                     "SupplementaryGroups",
                                                     "TemporaryFileSystem",
                                                     "UMask",
                                                     "User"};

bool restricts(std::string_view name) {
  return std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](std::string_view family) { return name.starts_with(family); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_comment(std::string_view line) {
  return line.starts_with('#') || line.starts_with(';');
}

// Lines without comments; one that ends with a backslash goes on in the next (systemd.syntax(7)).
std::vector<std::string> joined_lines(std::string_view text) {
  std::vector<std::string> lines;
  bool goes_on = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = strip(text.substr(0, end), kBlanks);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_comment(line)) continue;
    const bool more = line.ends_with('\\');
    if (more) line = strip(line.substr(0, line.size() - 1), kBlanks);
    if (goes_on) {
      lines.back() += fmt::format(" {}", line);
    } else {
      lines.emplace_back(line);
    }
    goes_on = more;
  }
  return lines;
}

struct Ended {
  int exit_code = 0;
  std::string output;
  std::string errors;
};

std::string text_of(const UniqueFd& file) {
  std::string text;
  std::array<char, 4'096> buffer{};
  ssize_t count = 0;
  while (text.size() < kOutputBytesMax && (count = pread(file.get(), buffer.data(), buffer.size(),
                                                         static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// Its two streams go into memory, so that neither can fill up while the other one is read.
Result<Ended> run(std::vector<std::string> words) {
  const UniqueFd output(memfd_create("output", MFD_CLOEXEC));
  const UniqueFd errors(memfd_create("errors", MFD_CLOEXEC));
  if (!output.valid() || !errors.valid()) return Error{Errc::failed, "memfd_create", errno};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return Error{Errc::failed,
                 fmt::format("{} cannot be started: {}", words.front(), std::strerror(failed)),
                 failed};
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return Error{Errc::failed, "waitpid", errno};
  }
  return Ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(output), text_of(errors)};
}

// The first line of what a program complains of.
std::string complaint(const Ended& ended) {
  const std::string_view text = strip(ended.errors, kBlanks);
  if (text.empty()) return fmt::format("exit code {}", ended.exit_code);
  return visible(text.substr(0, text.find('\n')));
}

// The rows of doctor, run there.
Status run_in_unit(const config::LoadRequest& request, Chart& chart) {
  const auto unit = run({"systemctl", "cat", "--no-pager", kWorkerUnit});
  if (!unit) return unit.error();
  if (unit->exit_code != 0) return Error{Errc::not_found, complaint(*unit)};
  const auto options = sandbox_options(unit->output);
  if (!options) return options.error();
  std::error_code problem;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem) return Error{Errc::failed, "/proc/self/exe: " + problem.message()};
  const auto doctor = run(doctor_in_unit(*options, program, request));
  if (!doctor) return doctor.error();
  if (!take_rows(doctor->output, chart)) return Error{Errc::failed, complaint(*doctor)};
  return Ok{};
}

}  // namespace

Result<std::vector<std::string>> sandbox_options(std::string_view text) {
  std::vector<std::string> options;
  bool in_service = false;
  bool has_run_directory = false;
  for (const std::string& line : joined_lines(text)) {
    if (line.starts_with('[')) in_service = line == "[Service]";
    const std::size_t equals = line.find('=');
    if (!in_service || equals == std::string::npos) continue;
    const std::string name(strip(std::string_view(line).substr(0, equals), kBlanks));
    if (!restricts(name)) continue;
    const std::string value(strip(std::string_view(line).substr(equals + 1), kBlanks));
    if (value.find('%') != std::string::npos) {
      return Error{Errc::invalid, fmt::format("{}={}: specifiers are not understood", name, value)};
    }
    has_run_directory = has_run_directory || name == "RuntimeDirectory";
    options.push_back(fmt::format("--property={}={}", name, value));
  }
  // The worker's lock files are in it, and must outlive doctor.
  if (has_run_directory) options.emplace_back("--property=RuntimeDirectoryPreserve=yes");
  return options;
}

std::vector<std::string> doctor_in_unit(const std::vector<std::string>& options,
                                        const std::string& program,
                                        const config::LoadRequest& request) {
  std::vector<std::string> words = {
      "systemd-run",
      "--quiet",
      "--wait",
      "--pipe",
      "--collect",
      "--service-type=exec",
      fmt::format("--description=reclaim doctor with the restrictions of {}", kWorkerUnit),
      fmt::format("--property=RuntimeMaxSec={}", kDoctorSecondsMax)};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", program});
  const auto add = [&](const char* option, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      words.emplace_back(option);
      words.push_back(std::filesystem::absolute(path).string());
    }
  };
  add("--config-file", request.config_files);
  add("--config-dir", request.config_dirs);
  add("--service-config", request.service_configs);
  words.insert(words.end(), {"doctor", "--inside-unit", "-f", "json"});
  return words;
}

Status take_rows(std::string_view printed, Chart& chart) {
  const auto document = json::parse(printed, kOutputBytesMax);
  if (!document) return document.error();
  if (!document->IsArray()) return Error{Errc::invalid, "no list of rows"};
  std::vector<DoctorRow> rows;
  for (const auto& each : document->GetArray()) {
    DoctorRow row;
    for (const auto& [column, text] : {std::pair{"Check", &row.check},
                                       {"Result", &row.result},
                                       {"Detail", &row.detail},
                                       {"Remedy", &row.remedy},
                                       {"Where", &row.where}}) {
      auto value = json::get_string(each, column);
      if (!value) return value.error();
      *text = std::move(*value);
    }
    rows.push_back(std::move(row));
  }
  for (DoctorRow& row : rows) chart.add(std::move(row));
  return Ok{};
}

bool check_in_unit(const config::LoadRequest& request, Chart& chart) {
  const std::string here =
      fmt::format("checked outside of {}, whose restrictions allow less: ", kWorkerUnit);
  std::error_code ignored;
  // A container may have the host's /run, and no systemctl.
  const auto exists = [&](const char* path) { return std::filesystem::exists(path, ignored); };
  const bool has_systemd =
      exists("/run/systemd/system") && (exists("/usr/bin/systemctl") || exists("/bin/systemctl"));
  if (!has_systemd) {
    chart.warning(kCheck, here + "systemd does not run here",
                  "run doctor where and as the worker runs, in its container perhaps");
    return false;
  }
  if (geteuid() != 0) {
    chart.warning(kCheck, here + "only root can ask systemd for its restrictions",
                  "sudo reclaim doctor");
    return false;
  }
  const Status done = run_in_unit(request, chart);
  if (done) return true;
  chart.warning(kCheck, here + done.error().what,
                fmt::format("`systemctl cat {}` has to show the worker's unit, and `systemd-run "
                            "--wait --pipe true` has to work; the configuration and the program "
                            "have to be where the unit may read them, so not below /home, /root or "
                            "/tmp",
                            kWorkerUnit));
  return false;
}

}  // namespace reclaim::cli
