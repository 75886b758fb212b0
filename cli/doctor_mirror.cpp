// reclaim doctor: whether every entry of the chain has left the host, where it is to.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/doctor_checks.h"
#include "nvme/command/file.h"
#include "state/certificate/mirror.h"

namespace reclaim::cli {
namespace {

constexpr std::string_view kCheck = "certificate mirror";

void tell(const std::vector<std::string>& owed, const std::string& where, Chart& chart) {
  if (owed.empty()) return chart.ok(std::string(kCheck), where + " has every entry of the chain");
  chart.warning(
      std::string(kCheck),
      fmt::format("{} not there yet: {}; the oldest is {}",
                  counted(owed.size(), "entry is", "entries are"), where, owed.front()),
      "the worker's log says why (\"entries of the chain are not mirrored\"); it tries again by "
      "itself, and at its start at once");
}

}  // namespace

void check_mirror(const config::Settings& settings, Chart& chart) {
  const bool to_folder = !settings.mirror_dir.empty();
  const bool to_command = !settings.mirror_command.empty();
  if (!to_folder && !to_command) return;
  if (to_folder && access(settings.mirror_dir.c_str(), W_OK | X_OK) != 0) {
    chart.error(std::string(kCheck),
                fmt::format("{}: {}", settings.mirror_dir, std::strerror(errno)),
                "mount or create it for the user the worker runs as, or correct [certificates] "
                "mirror_dir");
  }
  if (to_command) {
    const auto file = nvme::digest_of_command(settings.nvme.command, settings.mirror_command);
    if (!file.ok()) {
      chart.error(std::string(kCheck), file.error().what,
                  "correct the file, or [certificates] mirror_command");
    }
  }
  const auto owed =
      mirror_owed({settings.state_path, settings.host, settings.mirror_dir, to_command});
  if (!owed.ok()) {
    return chart.error(std::string(kCheck), owed.error().what,
                       owed.error().code == Errc::conflict
                           ? "stop the worker first: docs/certificate-keeping.md, Mirror"
                           : "run doctor as the worker runs");
  }
  if (to_folder) tell(owed->to_folder, settings.mirror_dir, chart);
  if (to_command) tell(owed->to_command, settings.mirror_command, chart);
}

}  // namespace reclaim::cli
