// reclaim config check: everything that is wrong with the files at once.
#include <ostream>

#include "cli/commands.h"

namespace reclaim::cli {

int run_config_check(const config::LoadRequest& request, std::ostream& out, std::ostream& err) {
  const config::CheckReport report = config::check_settings(request);
  for (const std::string& file : report.files) out << "read " << file << '\n';
  for (const config::Problem& warning : report.checked.warnings) {
    out << "warning: " << config::to_text({warning}) << '\n';
  }
  for (const config::Problem& problem : report.checked.problems) {
    err << "error: " << config::to_text({problem}) << '\n';
  }
  if (!report.checked.problems.empty()) return 1;
  out << "ok\n";
  return 0;
}

}  // namespace reclaim::cli
