// reclaim step list|test: the clean steps of an operator's own, and the firmware that is put back.
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/records.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/step_input.h"
#include "nvme/command/file.h"
#include "nvme/command/run_command.h"
#include "nvme/firmware/image.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

// The log of the command, which goes to its standard error.
class Lines final : public Logger {
 public:
  explicit Lines(std::ostream& err) : err_(err) {}
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    err_ << visible(text) << '\n';
  }

 private:
  std::ostream& err_;
};

Result<OperatorStep> find_step(const config::Settings& settings, const std::string& name) {
  std::string known;
  for (const config::StepSection& section : settings.steps) {
    const OperatorStep& step = section.step;
    if (step.name == name || step.interface + "." + step.name == name) return step;
    known += (known.empty() ? "" : ", ") + step.name;
  }
  return Error{Errc::not_found,
               fmt::format("there is no step '{}' in the configuration; there are: {}", name,
                           known.empty() ? "none" : known)};
}

// A step that does not heed `dry_run` would reach the device: it must be nobody's.
Status may_be_tested(const OperatorStep& step, const Record& record) {
  if (step.is_hold()) {
    return Error{Errc::invalid, "a hold runs nothing: there is nothing to test"};
  }
  if (record.stage == Stage::allocated || is_busy(record.stage)) {
    return Error{Errc::refused,
                 fmt::format("{} is {}: test the step on a device that no instance has and that is "
                             "not being cleaned, for a step that does not heed dry_run would "
                             "change it",
                             to_string(record.address), to_string(device_state(record.stage)))};
  }
  return Ok{};
}

// Adds what nvme.restore_firmware writes, one row an image. False: one is not acceptable.
bool add_images(const config::Settings& settings, Table& table) {
  bool good = true;
  for (const nvme::FirmwareImage& image : settings.nvme.firmware.images) {
    const auto read = nvme::read_image(settings.nvme.firmware, image);
    good = good && read.ok();
    const int priority = settings.conductor.step_priorities.at(restore_firmware_step());
    table.rows.push_back({restore_firmware_step(), std::int64_t{priority}, std::string("before"),
                          image.path, kRestoreFirmwareTimeoutMs / 1000, false,
                          read ? image.sha256 : std::string(),
                          read ? std::string() : read.error().what});
  }
  return good;
}

}  // namespace

int run_step_list(Session& session, const StepListOptions& options, std::ostream& out,
                  std::ostream& err) {
  const config::Settings& settings = session.settings();
  Table table{{"Step", "Priority", "Stage", "Command", "Timeout", "Verifies", "SHA-256", "Problem"},
              {},
              {"Timeout", "SHA-256", "Verifies", "Stage"}};
  bool good = true;
  for (const config::StepSection& section : settings.steps) {
    const OperatorStep& step = section.step;
    const auto digest = step.is_hold()
                            ? Result<std::string>(std::string())
                            : nvme::digest_of_command(settings.nvme.command, step.command);
    good = good && digest.ok();
    table.rows.push_back({step.interface + "." + step.name, std::int64_t{step.priority},
                          std::string(step.stage == StepStage::before ? "before" : "after"),
                          step.command, step.timeout_ms / 1000, step.verifies,
                          digest ? *digest : std::string(),
                          digest ? std::string() : digest.error().what});
  }
  good = add_images(settings, table) && good;
  const auto text = format_list(table, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  return good ? 0 : 1;
}

int run_step_test(Session& session, const StepTestOptions& options, std::ostream& out,
                  std::ostream& err) {
  if (!options.dry_run) {
    return complain(err, Error{Errc::usage,
                               "--dry-run is needed: for real a step runs only as a part of a "
                               "cleaning (`reclaim device clean`)"});
  }
  const auto step = find_step(session.settings(), options.step);
  if (!step) return complain(err, step.error());
  const auto record = find_device(session, session.settings().host, options.device);
  if (!record) return complain(err, record.error());
  if (const Status allowed = may_be_tested(*step, *record); !allowed) {
    return complain(err, allowed.error());
  }
  nvme::Command command;
  command.path = step->command;
  command.input = step_input(*record, *step, true);
  command.timeout_ms = step->timeout_ms;
  command.network = step->network;
  err << command.input << '\n';
  Lines lines(err);
  nvme::StopFlag never;
  const auto report = nvme::run_command(
      command, session.settings().nvme.command,
      [&err](const nvme::CommandProgress& now) {
        err << fmt::format("{:3.0f} %  {}\n", now.percent, visible(now.message)) << std::flush;
      },
      never, session.clock(), lines);
  if (!report) {
    if (report.error().code == Errc::busy) err << "the step says: try again later\n";
    return complain(err, report.error());
  }
  Table table{{"What", "Found", "Reset"}, {}, {}};
  for (const nvme::StepFinding& finding : report->findings) {
    table.rows.push_back({finding.surface, finding.found, finding.reset});
  }
  table.rows.push_back({std::string("result"), report->result, false});
  const auto text = format_list(table, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  return 0;
}

}  // namespace reclaim::cli
