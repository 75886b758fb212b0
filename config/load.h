// Reads the configuration files and builds the Settings. Does file I/O, so it is called before the
// loop runs (at the start, and by the command line); the policy file, which is one small file, also
// when an operator asks for it. Thread: any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "state/base/result.h"

namespace reclaim::config {

struct LoadRequest {
  // --config-file, in order. If neither files nor directories are given, the defaults below are
  // read.
  std::vector<std::string> config_files;
  // --config-dir, in order, each after the files: its *.conf in the order of their names.
  std::vector<std::string> config_dirs;
  // --service-config: nova.conf or cyborg.conf. Weaker than all of Reclaim's own files, and only
  // the options that are shared are read from them. [DEFAULT] service_config of Reclaim's own files
  // names more, which are weaker than these.
  std::vector<std::string> service_configs;
  Purpose purpose = Purpose::serve;

  std::string default_file = "/etc/reclaim/reclaim.conf";
  std::string default_dir = "/etc/reclaim/reclaim.conf.d";
};

// The request for the device API as a process of its own. It has files of its own, for its user has
// no business with the passwords of the worker.
[[nodiscard]] LoadRequest of_api(LoadRequest request);

inline constexpr std::size_t kConfigFilesMax = 256;

struct Loaded {
  Settings settings;
  std::vector<Problem> warnings;
  std::vector<std::string> files;  // what was read, from the weakest to the strongest
};

// Finds everything that is wrong at once, for `config check`. A file that is named but cannot be
// read is a problem; of the defaults only those that are there count, and if none is, that is a
// warning.
struct CheckReport {
  CheckedSettings checked;
  std::vector<std::string> files;
};
[[nodiscard]] CheckReport check_settings(const LoadRequest& request);

// Reads the settings, for everybody else than `config check`. An error holds all problems, a line
// each.
[[nodiscard]] Result<Loaded> load_settings(const LoadRequest& request);

// The policy file alone, read again while the worker runs.
struct LoadedPolicy {
  std::map<std::string, std::string> rules;  // as Settings::policy_rules
  std::vector<Problem> warnings;
};
[[nodiscard]] Result<LoadedPolicy> load_policy(const Settings& settings);

}  // namespace reclaim::config
