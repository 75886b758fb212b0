#include "listener/mirror_command.h"

#include "nvme/command/run_command.h"

namespace reclaim::listener {
namespace {

constexpr std::int64_t kTimeoutMs = 300'000;

}  // namespace

Status ConfinedMirrorCommand::run(const std::string& path) {
  nvme::Command command;
  command.path = path_;
  command.argument = path;
  command.silent = true;
  command.network = true;
  command.timeout_ms = kTimeoutMs;
  const auto report = nvme::run_command(
      command, options_, [](const nvme::CommandProgress& /*said*/) {}, stop_, clock_, log_);
  if (!report.ok()) return report.error().wrap("[certificates] mirror_command " + path_);
  return Ok{};
}

}  // namespace reclaim::listener
