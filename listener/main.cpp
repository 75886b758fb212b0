// reclaim: one binary, the worker and the operator's commands. Parses the command line, loads what
// the subcommand needs, and runs it.
#include <fmt/core.h>
#include <malloc.h>

#include <iostream>
#include <string>

#include "cli/explain.h"
#include "cli/upgrade_check.h"
#include "config/oslo/sample.h"
#include "listener/broker_check.h"
#include "listener/command_line.h"
#include "listener/completion.h"
#include "listener/mistake.h"
#include "listener/process.h"
#include "state/base/spdlog_logger.h"
#include "state/device/machine.h"
#include "state/device/machine_dot.h"
#include "version.h"

namespace reclaim::listener {
namespace {

using Process = Result<int> (*)(const config::Settings&, const config::LoadRequest&, Logger&);

// A process that goes on until it is stopped: with the settings of its purpose, and a log. The
// drives' threads come and go, and an arena of its own for each would keep what it had at its most.
int serve(const CommandLine& line, const config::LoadRequest& files, Process process) {
  mallopt(M_ARENA_MAX, 1);
  const auto fail = [](const Error& error) {
    complain(error);
    return listener::exit_code_of(error);
  };
  const auto loaded = config::load_settings(files);
  if (!loaded) return fail(loaded.error());
  const config::Settings& settings = loaded->settings;
  auto log = make_spdlog_logger(
      LogOptions{settings.debug || line.debug, settings.use_json, settings.log_file});
  if (!log) return complain(log.error());
  for (const config::Problem& warning : loaded->warnings) {
    (*log)->warning(log_name::kConfig, config::to_text({warning}));
  }
  const auto ended = process(settings, files, **log);
  return ended ? *ended : fail(ended.error());
}

void add_serve(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("serve", "Run the worker of this host");
  command->callback([&line] {
    line.process = [&line] { return serve(line, line.files, listener::run_worker); };
  });
}

void add_api(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("api", "Answer the device API, for the whole fleet");
  command->callback([&line] {
    line.process = [&line] { return serve(line, config::of_api(line.files), listener::run_api); };
  });
}

void add_status(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::StatusOptions>();
  CLI::App* status = app.add_subcommand("status", "Show the fleet on one screen");
  status->add_flag("--watch", options->watch, "Show it again every two seconds");
  add_format(status, line);
  runs(status, line, options, cli::run_status);
}

void add_plan(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::PlanOptions>();
  CLI::App* plan =
      app.add_subcommand("plan", "Show what would be cleaned, how, and why not; changes nothing");
  plan->add_flag("--guards", options->guards, "Show each guard of the host with what it found");
  add_list_format(plan, line);
  runs(plan, line, options, cli::run_plan);
}

void add_step(CLI::App& app, CommandLine& line) {
  CLI::App* step = app.add_subcommand("step", "Clean steps of your own: list them, try one");
  step->require_subcommand(1);
  auto listing = std::make_shared<cli::StepListOptions>();
  CLI::App* list = step->add_subcommand(
      "list", "List the [step:NAME] sections, and whether their commands are acceptable");
  add_list_format(list, line);
  runs(list, line, listing, cli::run_step_list);
  auto options = std::make_shared<cli::StepTestOptions>();
  CLI::App* test = step->add_subcommand(
      "test", "Run a step's command for a device of this host, told to change nothing");
  test->add_option("NAME", options->step, "As `step list` shows it")->required();
  test->add_option("DEVICE", options->device, "PCI address, UUID or serial number")->required();
  test->add_flag("--dry-run", options->dry_run,
                 "Needed: the command gets dry_run = true and says what it would do");
  add_format(test, line);
  runs(test, line, options, cli::run_step_test);
}

void add_qualify(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::QualifyOptions>();
  CLI::App* qualify = app.add_subcommand(
      "qualify",
      "Erase a spare drive by each method that it has, and say whether to use its model");
  qualify->add_option("ADDRESS", options->address, "PCI address of a drive of this host")
      ->required();
  qualify->add_option("--serial", options->serial,
                      "Serial number of the drive that is going to be erased [asked for]");
  repeatable(qualify->add_option("--method", options->methods,
                                 "Try this method only; may be repeated [all of the drive's]"));
  CLI::Option* report = qualify->add_option(
      "--report", options->report, "Write the report to this file name with .txt, .json and .html");
  qualify->add_option("-f,--format", options->format, "How to print the report")
      ->check(one_of({"text", "json", "html"}))
      ->default_str("text")
      ->excludes(report);
  qualify->callback([&line, options] {
    options->width = terminal_width();
    line.exit_code = run_in_session(line, *options, cli::run_qualify);
  });
}

void add_doctor(CLI::App& app, CommandLine& line) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Check configuration, bus, Redis, Keystone, Placement, Cyborg, the device API and host, with "
      "remedies");
  add_list_format(doctor, line);
  const auto api = std::make_shared<bool>(false);
  doctor->add_flag("--api", *api,
                   "Check this node's `reclaim api` instead, with its configuration");
  // Hidden: for the doctor that doctor starts with the restrictions of the worker's unit.
  const auto inside_unit = std::make_shared<bool>(false);
  doctor->add_flag("--inside-unit", *inside_unit)->group("");
  doctor->callback([&line, api, inside_unit] {
    config::LoadRequest request = *api ? config::of_api(line.files) : line.files;
    if (!*api) request.purpose = config::Purpose::tool;
    line.exit_code = with_session(line, request, [&](cli::Session& session, const auto& files) {
      return cli::run_doctor(session,
                             {view_of(line), files, *api, *inside_unit, line.files,
                              listener::check_broker, listener::look_at_queues},
                             std::cout, std::cerr);
    });
  });
}

void add_watch(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::WatchOptions>();
  CLI::App* watch = app.add_subcommand("watch", "Follow what the worker does, as it does it");
  CLI::Option* host =
      watch->add_option("--host", options->host, "The host whose worker is followed [this host]");
  watch->add_flag("--all-hosts", options->all_hosts, "Follow every host that Redis knows")
      ->excludes(host);
  add_labels(watch, options->labels);
  watch->add_flag("--from-start", options->from_start, "Begin with the whole journal");
  watch->add_flag("--until-idle", options->until_idle,
                  "End once something was cleaned and nothing is left to clean");
  watch->add_option("--timeout", options->timeout_s, "End after so many seconds, with exit code 1")
      ->check(CLI::NonNegativeNumber);
  runs(watch, line, options, cli::run_watch);
}

void add_explain(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::ExplainOptions>();
  CLI::App* explain = app.add_subcommand(
      "explain", "Say what Reclaim would do with RabbitMQ messages, one JSON text a line, and why");
  explain->add_option("FILE", options->files,
                      "Files of message bodies; '-' or none: standard input");
  explain->add_option("-f,--format", line.format, "How to print")
      ->check(one_of({"json", "table"}))
      ->default_str("json");
  explain->callback([&line, options] {
    options->table = line.format == "table";
    line.exit_code = cli::run_explain(*options, std::cin, std::cout, std::cerr);
  });
}

void add_config(CLI::App& app, CommandLine& line) {
  CLI::App* config = app.add_subcommand(
      "config", "The configuration: a sample of it, a check of it, udev rules for it");
  config->require_subcommand(1);
  config->add_subcommand("sample", "Print reclaim.conf with every option, its meaning and default")
      ->callback([] { std::cout << config::sample(); });
  runs(config->add_subcommand("udev",
                              "Print udev rules that keep the host off the drives of "
                              "device_spec"),
       line, std::make_shared<cli::ConfigUdevOptions>(), cli::run_config_udev);
  CLI::App* check = config->add_subcommand(
      "check", "Read the files as serve would and say all that is wrong with them");
  const auto api = std::make_shared<bool>(false);
  check->add_flag("--api", *api, "Read the files as `reclaim api` would");
  check->callback([&line, api] {
    line.exit_code =
        cli::run_config_check(*api ? config::of_api(line.files) : line.files, std::cout, std::cerr);
  });
}

void add_security(CLI::App& app, CommandLine& line) {
  CLI::App* security = app.add_subcommand("security", "The key of orders");
  security->require_subcommand(1);
  CLI::App* order_key = security->add_subcommand(
      "order-key", "Print the line for a host's order_key_file, derived from the master key");
  const auto options = std::make_shared<cli::OrderKeyOptions>();
  order_key->add_option("--host", options->host, "The host, as `reclaim host list` shows it")
      ->required();
  runs(order_key, line, options, cli::run_order_key);
}

void add_redis(CLI::App& app, CommandLine& line) {
  CLI::App* redis = app.add_subcommand("redis", "What an operator prepares in Redis");
  redis->require_subcommand(1);
  CLI::App* install = redis->add_subcommand(
      "install", "Load this version's functions and write reclaim:schema, as an operator");
  runs(install, line, std::make_shared<cli::RedisInstallOptions>(), cli::run_redis_install);
}

// Adds the check as OpenStack's own programs have it: `reclaim-status upgrade check` is a name of
// this one.
void add_upgrade(CLI::App& app, CommandLine& line) {
  CLI::App* upgrade = app.add_subcommand("upgrade", "Before the worker is upgraded: check");
  upgrade->require_subcommand(1);
  CLI::App* check = upgrade->add_subcommand(
      "check", "Say whether a worker of this version can take over what is there");
  const auto as_json = std::make_shared<bool>(false);
  check->add_flag("--json", *as_json, "Print JSON instead of a table");
  check->callback([&line, as_json] {
    line.exit_code = cli::run_upgrade_check(line.files, *as_json, std::cout, std::cerr);
  });
}

void add_machine(CLI::App& app, CommandLine& line) {
  CLI::App* machine = app.add_subcommand("machine", "Print the life of a device: the state table");
  machine->add_option("-f,--format", line.format, "How to print")
      ->check(one_of({"text", "markdown", "dot"}))
      ->default_str("text");
  const auto view = std::make_shared<std::string>("all");
  machine
      ->add_option("--view", *view,
                   "With -f dot: main (the way of a device, where it waits, error), or all")
      ->check(one_of({"main", "all"}))
      ->default_str("all");
  machine->callback([&line, view] {
    if (*view == "main") {
      if (line.format != "dot") {
        line.exit_code = complain(Error{Errc::usage, "machine --view main is for -f dot"});
        return;
      }
      std::cout << render_machine_dot(MachineView::main);
      return;
    }
    const auto text = render_machine(line.format.empty() ? "text" : line.format);
    std::cout << *text;
  });
}

std::string version_text() {
  std::string text = std::string("reclaim ") + kVersion;
  if (*kCompiledIn != '\0') text += std::string("\ncompiled in: ") + kCompiledIn;
  return text;
}

// Runs a command; of serve and api, says in `line` what to run.
int parse(int argc, char** argv, CommandLine& line) {
  CLI::App app{
      "Reclaim gives passthrough devices back to an OpenStack cloud: it erases a tenant's NVMe "
      "drive, verifies the erasure, and only then un-reserves it in Placement.",
      "reclaim"};
  app.formatter(help_format());
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.fallthrough();
  repeatable(app.add_option("--config-file", line.files.config_files,
                            "Configuration file; may be repeated [/etc/reclaim/reclaim.conf]"));
  repeatable(
      app.add_option("--config-dir", line.files.config_dirs,
                     "Directory of *.conf files; may be repeated [/etc/reclaim/reclaim.conf.d]"));
  repeatable(app.add_option(
      "--service-config", line.files.service_configs,
      "nova.conf or cyborg.conf: only what is shared is read from it; may be repeated"));
  app.add_flag("--debug", line.debug, "Log at level DEBUG to standard error");
  add_serve(app, line);
  add_api(app, line);
  add_device(app, line);
  add_status(app, line);
  add_host(app, line);
  add_plan(app, line);
  add_step(app, line);
  add_qualify(app, line);
  add_doctor(app, line);
  add_certificate(app, line);
  add_watch(app, line);
  add_explain(app, line);
  add_config(app, line);
  add_machine(app, line);
  add_security(app, line);
  add_redis(app, line);
  add_upgrade(app, line);
  listener::refuse_empty(&app);
  listener::add_completion(app, std::cout);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    line.process = nullptr;
    // There, 2 is a finding (oslo.upgradecheck).
    const int code = explain_mistake(app, error);
    const bool of_upgrade = argc > 1 && std::string_view(argv[1]) == "upgrade";
    return code == 2 && of_upgrade ? cli::kUpgradeUnexpected : code;
  }
  return line.exit_code;
}

int run(int argc, char** argv) {
  CommandLine line;
  const int exit_code = parse(argc, argv, line);
  return line.process ? line.process() : exit_code;
}

}  // namespace
}  // namespace reclaim::listener

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  reclaim::listener::look_at_terminals();
  try {
    return reclaim::listener::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "reclaim: " << e.what() << '\n';
    return 1;
  }
}
