// reclaim doctor: what others than the operator could read, write or pretend to be.
#include <fmt/core.h>

#include "cli/doctor_checks.h"
#include "config/security.h"

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "security";

}  // namespace

void check_security(const config::Settings& settings, const std::vector<std::string>& files,
                    Chart& chart) {
  for (const config::Remark& remark : config::security_remarks(settings)) {
    chart.warning(kCheck, remark.what, remark.remedy);
  }
  for (const config::Remark& remark : config::file_remarks(settings, files)) {
    chart.warning(kCheck, remark.what, remark.remedy);
  }
}

void check_compiled_in(const std::string& what, Chart& chart) {
  if (what.empty()) return;
  chart.ok("compiled in", what + ": apt does not update it, a newer package of Reclaim does");
}

void check_endpoint(const std::string& service, const std::string& url, Chart& chart) {
  if (!config::in_the_clear(url)) return;
  chart.warning(kCheck, fmt::format("{}: tokens go to {} in the clear", service, url),
                "give the catalog the https:// URL of it");
}

}  // namespace reclaim::cli
