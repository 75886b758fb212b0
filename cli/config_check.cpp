// reclaim config check: everything that is wrong with the files at once, and what else would keep
// the worker from starting on this host.
#include <cerrno>
#include <ostream>

#include "cli/claims_here.h"
#include "cli/commands.h"
#include "config/door_files.h"
#include "config/security.h"
#include "nvme/command/file.h"
#include "nvme/controller/psids.h"
#include "nvme/firmware/image.h"
#include "state/certificate/order_key.h"

namespace reclaim::cli {
namespace {

// A worker's is checked where its files are read. Who may not read it leaves that to the start.
bool check_apis_order_key(const std::string& path, std::ostream& out, std::ostream& err) {
  if (path.empty()) return true;
  const auto key = OrderKey::load(path);
  if (key) return true;
  const bool not_ours = key.error().raw == EACCES;
  (not_ours ? out << "warning" : err << "error")
      << ": [security] order_key_file: " << key.error().what << '\n';
  return not_ours;
}

// Checks the files that the steps of drives read.
bool check_files_of_drives(const nvme::Options& nvme,
                           const std::vector<config::Location>& images_at, std::ostream& err) {
  bool good = true;
  for (std::size_t i = 0; i < nvme.firmware.images.size(); ++i) {
    const auto image = nvme::read_image(nvme.firmware, nvme.firmware.images[i]);
    if (image) continue;
    err << "error: "
        << config::to_text({{images_at[i], "[nvme] firmware_images: " + image.error().what}})
        << '\n';
    good = false;
  }
  if (!nvme.psid_file.empty()) {
    const auto psids = nvme::read_psids(nvme.psid_file, nvme.psid_owner);
    if (!psids) {
      err << "error: [nvme] psid_file: " << psids.error().what << '\n';
      good = false;
    }
  }
  return good;
}

}  // namespace

int run_config_check(const config::LoadRequest& request, std::ostream& out, std::ostream& err) {
  const config::CheckReport report = config::check_settings(request);
  for (const std::string& file : report.files) out << "read " << file << '\n';
  for (const config::Problem& warning : report.checked.warnings) {
    out << "warning: " << config::to_text({warning}) << '\n';
  }
  const config::Settings& settings = report.checked.settings;
  std::vector<config::Remark> remarks = config::security_remarks(settings);
  for (config::Remark& remark : config::file_remarks(settings, report.files)) {
    remarks.push_back(std::move(remark));
  }
  for (config::Remark& remark : config::door_remarks(settings)) {
    remarks.push_back(std::move(remark));
  }
  for (const config::Remark& remark : remarks) {
    out << "warning: " << remark.what << ": " << remark.remedy << '\n';
  }
  for (const config::Problem& problem : report.checked.problems) {
    err << "error: " << config::to_text({problem}) << '\n';
  }
  if (settings.conductor.observes() && request.purpose == config::Purpose::serve) {
    out << "MODE: observe: no drive and nothing in Placement is written, and nothing is cleaned or "
           "released ([reclaim] mode)\n";
  }
  bool good = report.checked.problems.empty();
  if (const auto group = config::door_group(settings); !group) {
    err << "error: " << group.error().what << '\n';
    good = false;
  }
  if (request.purpose == config::Purpose::api &&
      !check_apis_order_key(settings.order_key_file, out, err)) {
    good = false;
  }
  for (const config::StepSection& section : settings.steps) {
    if (section.step.command.empty()) continue;
    const auto digest = nvme::digest_of_command(settings.nvme.command, section.step.command);
    if (digest) continue;
    err << "error: " << config::to_text({{section.at, digest.error().what}}) << '\n';
    good = false;
  }
  good = check_files_of_drives(settings.nvme, settings.firmware_images_at, err) && good;
  // The claims are not known with a file that is wrong; and the API has no drives.
  const Status claims = good && request.purpose == config::Purpose::serve
                            ? check_claims_here(settings)
                            : Status(Ok{});
  if (!claims && claims.error().code == Errc::invalid) {
    err << "error: " << claims.error().what << '\n';
    good = false;
  } else if (!claims) {
    out << "warning: whether a drive is claimed twice is not known: " << claims.error().what
        << '\n';
  }
  if (!good) return 1;
  out << "ok\n";
  return 0;
}

}  // namespace reclaim::cli
