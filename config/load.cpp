#include "config/load.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "config/policy_file.h"
#include "handlers/api/policy.h"
#include "state/base/durable_file.h"

namespace reclaim::config {
namespace {

namespace fs = std::filesystem;

Error os_error(int number) {
  return Error{Errc::failed, std::strerror(number), number};
}

struct FileText {
  std::string text;
  bool readable_by_all = false;
  bool writable_by_others = false;  // than its owner
};

// At most one byte more than the limit, so that the parser can tell that it is too long.
Result<FileText> read_file(const std::string& path, std::size_t bytes_max) {
  const auto opened = durable_file::File::open(path, O_RDONLY | O_NONBLOCK);
  if (!opened.ok()) return os_error(opened.error().raw);
  const int fd = opened->fd();
  struct stat status {};
  if (::fstat(fd, &status) != 0) return os_error(errno);
  if (S_ISDIR(status.st_mode)) return os_error(EISDIR);
  // A pipe (process substitution) is as good as a file; a device is not.
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    return Error{Errc::invalid, "neither a file nor a pipe"};
  }
  if (S_ISFIFO(status.st_mode)) ::fcntl(fd, F_SETFL, 0);
  FileText file;
  file.writable_by_others = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  file.readable_by_all = (status.st_mode & S_IROTH) != 0;
  std::array<char, 65536> buffer{};
  while (file.text.size() <= bytes_max) {
    const ssize_t bytes = ::read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return os_error(errno);
    if (bytes == 0) break;
    file.text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return file;
}

// A URL without '@' names no password; the other secret options are secrets altogether.
bool holds_secret(const IniEntry& entry) {
  const auto options = schema();
  return std::any_of(options.begin(), options.end(), [&](const Option& option) {
    const bool url = option.name.ends_with("url");
    return option.secret && option.name == entry.key && !entry.value.empty() &&
           (!url || entry.value.find('@') != std::string::npos);
  });
}

std::string hostname() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

// Who may do what with the device API: the defaults, unless a file says otherwise. One that
// nobody named need not be there.
void read_policy(CheckedSettings& checked, std::vector<std::string>& files) {
  Settings& settings = checked.settings;
  const auto file = read_file(settings.policy_file, PolicyLimits{}.file_bytes);
  if (!file.ok()) {
    const bool named = !settings.policy_file_at.file.empty();
    if (named || file.error().raw != ENOENT) {
      checked.problems.push_back(
          {settings.policy_file_at, fmt::format("[oslo_policy] policy_file: {} cannot be read: {}",
                                                settings.policy_file, file.error().what)});
    }
    return;
  }
  files.push_back(settings.policy_file);
  const PolicyFile policy = parse_policy_file(file->text, settings.policy_file);
  checked.problems.insert(checked.problems.end(), policy.problems.begin(), policy.problems.end());
  for (const PolicyRule& rule : policy.rules) settings.policy_rules[rule.name] = rule.text;
  if (!policy.problems.empty()) return;
  const auto made = api::Policy::create(settings.policy_rules);
  const auto place_of = [&](const std::function<bool(const PolicyRule&)>& is) {
    const auto rule = std::find_if(policy.rules.begin(), policy.rules.end(), is);
    return Location{settings.policy_file, rule == policy.rules.end() ? 0 : rule->line};
  };
  if (!made.ok()) {
    // The error names the rule; the file knows its line.
    checked.problems.push_back({place_of([&](const PolicyRule& rule) {
                                  return made.error().what.starts_with(
                                      fmt::format("policy rule '{}':", rule.name));
                                }),
                                made.error().what});
    return;
  }
  constexpr std::string_view kClean = "cyborg:device:clean";
  if (made->allows(kClean, placement::Identity{}, {})) {
    checked.warnings.push_back(
        {place_of([&](const PolicyRule& rule) { return rule.name == kClean; }),
         fmt::format("policy rule '{}': every user with a token may have drives cleaned, whatever "
                     "the roles; the default is role:admin",
                     kClean)});
  }
  if (file->writable_by_others) {
    checked.warnings.push_back({{settings.policy_file, 0},
                                "others than its owner may write the file, and so decide who may "
                                "have drives cleaned: chmod go-w it"});
  }
}

class Loader {
 public:
  explicit Loader(const LoadRequest& request) : request_(request) {}

  CheckReport run() && {
    for (const std::string& path : request_.service_configs) add(path, true);
    const bool defaults = request_.config_files.empty() && request_.config_dirs.empty();
    if (defaults) {
      std::error_code ignored;
      if (fs::exists(request_.default_file, ignored)) add(request_.default_file, false);
      if (fs::exists(request_.default_dir, ignored)) add_directory(request_.default_dir);
      if (own_files_ == 0) {
        warnings_.push_back({{},
                             fmt::format("no configuration file found ({} and {}/*.conf), the "
                                         "defaults are used",
                                         request_.default_file, request_.default_dir)});
      }
    }
    for (const std::string& path : request_.config_files) add(path, false);
    for (const std::string& path : request_.config_dirs) add_directory(path);

    CheckReport report;
    report.checked = build_settings(std::move(sources_), hostname(), request_.purpose);
    auto& problems = report.checked.problems;
    auto& warnings = report.checked.warnings;
    problems.insert(problems.begin(), problems_.begin(), problems_.end());
    warnings.insert(warnings.begin(), warnings_.begin(), warnings_.end());
    // A worker that does not answer the API must not fail to start by a file of the API's.
    if (request_.purpose != Purpose::serve || report.checked.settings.api.of_worker()) {
      read_policy(report.checked, files_);
    }
    report.files = std::move(files_);
    return report;
  }

 private:
  void add(const std::string& path, bool service) {
    if (files_.size() == kConfigFilesMax) {
      problems_.push_back({{path, 0}, fmt::format("more than {} files", kConfigFilesMax)});
      return;
    }
    const auto file = read_file(path, IniLimits{}.file_bytes);
    if (!file.ok()) {
      problems_.push_back({{path, 0}, fmt::format("cannot be read: {}", file.error().what)});
      return;
    }
    files_.push_back(path);
    if (!service) ++own_files_;
    SourceFile source{parse_ini(file->text, path), service};
    if (!service && file->readable_by_all) warn_of_secrets(source.ini);
    sources_.push_back(std::move(source));
  }

  // One warning a file, at the first secret everybody can read.
  void warn_of_secrets(const IniFile& ini) {
    const auto secret = std::find_if(ini.entries.begin(), ini.entries.end(), holds_secret);
    if (secret == ini.entries.end()) return;
    warnings_.push_back({secret->at,
                         "everybody on this host can read the file, and it holds a secret: "
                         "chmod 640 it"});
  }

  void add_directory(const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator entry(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.ends_with(".conf")) names.push_back(entry->path().string());
    }
    if (error) {
      problems_.push_back({{path, 0}, fmt::format("cannot be read: {}", error.message())});
      return;
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) add(name, false);
  }

  const LoadRequest& request_;
  std::vector<SourceFile> sources_;
  std::vector<std::string> files_;
  std::vector<Problem> problems_;
  std::vector<Problem> warnings_;
  int own_files_ = 0;
};

}  // namespace

LoadRequest of_api(LoadRequest request) {
  request.purpose = Purpose::api;
  request.default_file = "/etc/reclaim/api.conf";
  request.default_dir = "/etc/reclaim/api.conf.d";
  return request;
}

CheckReport check_settings(const LoadRequest& request) {
  return Loader(request).run();
}

Result<Loaded> load_settings(const LoadRequest& request) {
  CheckReport report = check_settings(request);
  if (!report.checked.problems.empty()) {
    return Error{Errc::invalid, to_text(report.checked.problems)};
  }
  return Loaded{std::move(report.checked.settings), std::move(report.checked.warnings),
                std::move(report.files)};
}

Result<LoadedPolicy> load_policy(const Settings& settings) {
  CheckedSettings checked;
  checked.settings.policy_file = settings.policy_file;
  checked.settings.policy_file_at = settings.policy_file_at;
  std::vector<std::string> files;
  read_policy(checked, files);
  if (!checked.problems.empty()) return Error{Errc::invalid, to_text(checked.problems)};
  if (files.empty()) {
    checked.warnings.push_back({{settings.policy_file, 0}, "it is not there: the defaults count"});
  }
  return LoadedPolicy{std::move(checked.settings.policy_rules), std::move(checked.warnings)};
}

}  // namespace reclaim::config
