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
#include <iterator>
#include <map>
#include <utility>

#include "config/policy_file.h"
#include "handlers/api/policy.h"
#include "state/base/durable_file.h"
#include "state/base/log.h"
#include "state/certificate/order_key.h"

namespace reclaim::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCommentBytes = 60;  // of one that is quoted

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

// A worker starts with its own key of orders, or without one. Who may not read it leaves that to
// the start.
void check_order_key(CheckedSettings& checked) {
  const std::string& path = checked.settings.order_key_file;
  if (path.empty()) return;
  const auto key = OrderKey::load(path);
  if (!key && key.error().raw == EACCES) return;
  const std::string why = key ? why_not_of_host(*key, checked.settings.host) : key.error().what;
  if (why.empty()) return;
  checked.problems.push_back({{}, fmt::format("[security] order_key_file: {}: {}", path, why)});
}

// Reads who may do what with the device API: the defaults, unless a file says otherwise. A file
// that nobody named need not be there.
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
    const bool defaults = request_.config_files.empty() && request_.config_dirs.empty();
    if (defaults) {
      if (is_there(request_.default_file)) add(request_.default_file, false);
      if (is_there(request_.default_dir)) add_directory(request_.default_dir);
      if (own_files_ == 0 && warnings_.empty()) {
        warnings_.push_back({{},
                             fmt::format("no configuration file found ({} and {}/*.conf), the "
                                         "defaults are used",
                                         request_.default_file, request_.default_dir)});
      }
    }
    for (const std::string& path : request_.config_files) add(path, false);
    for (const std::string& path : request_.config_dirs) add_directory(path);

    add_services();

    CheckReport report;
    report.checked = build_settings(std::move(sources_), hostname(), request_.purpose);
    auto& problems = report.checked.problems;
    name_comments(problems);
    auto& warnings = report.checked.warnings;
    problems.insert(problems.begin(), problems_.begin(), problems_.end());
    warnings.insert(warnings.begin(), warnings_.begin(), warnings_.end());
    // The worker does not answer the API, and must not fail to start by a file of the API's.
    if (request_.purpose == Purpose::serve) {
      check_order_key(report.checked);
    } else {
      read_policy(report.checked, files_);
    }
    report.files = std::move(files_);
    return report;
  }

 private:
  // A folder that this user may not enter is no sign that nothing is in it.
  bool is_there(const std::string& path) {
    std::error_code error;
    const bool there = fs::exists(path, error);
    if (error && error != std::errc::no_such_file_or_directory) {
      warnings_.push_back(
          {{},
           fmt::format("{} cannot be looked for: {}: run this as a user who may, or "
                       "let this one pass through the folders above it",
                       path, error.message())});
    }
    return there;
  }

  // Puts the service files before all that was read: those that Reclaim's own files name, and then
  // those of the command line.
  void add_services() {
    std::vector<SourceFile> own = std::exchange(sources_, {});
    std::vector<std::string> own_files = std::exchange(files_, {});
    for (const SourceFile& source : own) {
      for (const IniEntry& entry : source.ini.entries) {
        const bool named = entry.group == "DEFAULT" && entry.key == "service_config";
        if (named && !entry.value.empty()) add_service(entry.value, entry.at);
      }
    }
    for (const std::string& path : request_.service_configs) add_service(path, {});
    std::move(own.begin(), own.end(), std::back_inserter(sources_));
    std::move(own_files.begin(), own_files.end(), std::back_inserter(files_));
  }

  void add_service(const std::string& path, const Location& named_at) {
    if (std::find(files_.begin(), files_.end(), path) == files_.end()) add(path, true, named_at);
  }

  // oslo.config has no comments behind a value; who writes one is told so where it does harm.
  void name_comments(std::vector<Problem>& problems) const {
    for (Problem& problem : problems) {
      const auto comment = comments_.find({problem.at.file, problem.at.line});
      if (comment == comments_.end()) continue;
      problem.text +=
          fmt::format(" (a comment needs a line of its own: '{}' is read as part of the value)",
                      printable_excerpt(comment->second, kCommentBytes));
    }
  }

  // `named_at`: where a file of Reclaim's names this one.
  void add(const std::string& path, bool service, const Location& named_at = {}) {
    if (files_.size() == kConfigFilesMax) {
      problems_.push_back({{path, 0}, fmt::format("more than {} files", kConfigFilesMax)});
      return;
    }
    const auto file = read_file(path, IniLimits{}.file_bytes);
    if (!file.ok()) {
      const Location at = named_at.file.empty() ? Location{path, 0} : named_at;
      const std::string which =
          named_at.file.empty() ? "" : fmt::format("[DEFAULT] service_config: {} ", path);
      problems_.push_back({at, fmt::format("{}cannot be read: {}", which, file.error().what)});
      return;
    }
    files_.push_back(path);
    if (!service) ++own_files_;
    SourceFile source{parse_ini(file->text, path), service};
    if (!service && file->readable_by_all) warn_of_secrets(source.ini);
    for (const IniEntry& entry : source.ini.entries) {
      const std::size_t comment = std::min(entry.value.find(" #"), entry.value.find(" ;"));
      if (comment == std::string::npos) continue;
      comments_.insert_or_assign({entry.at.file, entry.at.line}, entry.value.substr(comment + 1));
    }
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
  std::map<std::pair<std::string, int>, std::string> comments_;  // behind a value, by its line
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
