// Finds what a configuration leaves open to others than the operator: passwords and tokens on the
// wire, who may speak to Redis, who may read a key or write what decides over drives. Each is a
// warning of `config check` and `doctor`, never a reason not to run. Thread: any; only
// file_remarks() touches the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace reclaim::config {

struct Remark {
  std::string what;    // which option or file, and what is open
  std::string remedy;  // what to do

  friend bool operator==(const Remark&, const Remark&) = default;
};

// Judges the settings alone.
[[nodiscard]] std::vector<Remark> security_remarks(const Settings& settings);

// Judges the files: those the settings were read from, the keys and the socket that they name. A
// file that is not there is passed over.
[[nodiscard]] std::vector<Remark> file_remarks(const Settings& settings,
                                               const std::vector<std::string>& files);

// True if everybody on the way can read what is sent to this URL: http:// to another host.
[[nodiscard]] bool in_the_clear(std::string_view url);

}  // namespace reclaim::config
