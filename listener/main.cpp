// reclaim: one binary, the worker and the operator's commands. Parses the command line, loads what
// the subcommand needs, and runs it. The only translation unit that sees CLI11.
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "cli/commands.h"
#include "cli/explain.h"
#include "config/load.h"
#include "config/oslo/sample.h"
#include "listener/broker_check.h"
#include "listener/process.h"
#include "state/base/spdlog_logger.h"
#include "state/base/visible.h"
#include "state/device/machine.h"
#include "version.h"

namespace reclaim {
namespace {

struct CommandLine {
  config::LoadRequest files;
  bool debug = false;
  std::string format;
  std::vector<std::string> columns;
  int exit_code = 0;
};

int complain(const Error& error) {
  std::cerr << "reclaim: " << visible(error.what) << '\n';
  return 1;
}

using Process = Result<int> (*)(const config::Settings&, const config::LoadRequest&, Logger&);

// A process that goes on until it is stopped: with the settings of its purpose, and a log.
int serve(const CommandLine& line, const config::LoadRequest& files, Process process) {
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

// The settings, a quiet logger and a session for one subcommand.
int with_session(
    const CommandLine& line, const config::LoadRequest& request,
    const std::function<int(cli::Session&, const std::vector<std::string>& files)>& run) {
  auto loaded = config::load_settings(request);
  if (!loaded) return complain(loaded.error());
  NullLogger quiet;
  std::unique_ptr<Logger> loud;
  if (line.debug) {
    auto made = make_spdlog_logger(LogOptions{true, false, ""});
    if (!made) return complain(made.error());
    loud = std::move(made).value();
  }
  cli::Session session(loaded->settings, loud ? *loud : static_cast<Logger&>(quiet));
  return run(session, loaded->files);
}

// It takes one value each time that it is given.
void repeatable(CLI::Option* option) {
  option->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
}

void add_format(CLI::App* command, CommandLine& line, const std::string& fallback = "table") {
  command->add_option("-f,--format", line.format, "How to print")
      ->check(CLI::IsMember({"table", "json", "csv", "value"}))
      ->default_str(fallback);
  repeatable(
      command->add_option("-c,--column", line.columns, "Print this column only; may be repeated"));
}

// 0 where nobody looks at it, but a program reads it or a file takes it.
std::size_t terminal_width() {
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

cli::View view_of(const CommandLine& line) {
  return cli::View{*cli::parse_format(line.format.empty() ? "table" : line.format), line.columns,
                   terminal_width()};
}

template <typename Options>
using SessionCommand = int (*)(cli::Session&, const Options&, std::ostream&, std::ostream&);

template <typename Options>
int run_in_session(const CommandLine& line, Options& options, SessionCommand<Options> run) {
  if constexpr (requires { options.view; }) options.view = view_of(line);
  config::LoadRequest request = line.files;
  request.purpose = config::Purpose::tool;
  return with_session(line, request, [&](cli::Session& session, const auto&) {
    return run(session, options, std::cout, std::cerr);
  });
}

template <typename Options>
void runs(CLI::App* command, CommandLine& line, const std::shared_ptr<Options>& options,
          SessionCommand<Options> run) {
  command->callback(
      [&line, options, run] { line.exit_code = run_in_session(line, *options, run); });
}

void add_serve(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("serve", "Run the worker of this host");
  command->callback([&line] { line.exit_code = serve(line, line.files, listener::run_worker); });
}

void add_api(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("api", "Answer the device API, for the whole fleet");
  command->callback(
      [&line] { line.exit_code = serve(line, config::of_api(line.files), listener::run_api); });
}

void add_device_list(CLI::App* device, CommandLine& line) {
  auto options = std::make_shared<cli::DeviceListOptions>();
  CLI::App* list = device->add_subcommand("list", "List the devices of this host");
  list->add_option("--host", options->hosts, "List this host's devices instead; may be repeated");
  list->add_flag("--all-hosts", options->all_hosts,
                 "List the devices of every host that Redis knows");
  add_format(list, line);
  runs(list, line, options, cli::run_device_list);
}

void add_device_show(CLI::App* device, CommandLine& line) {
  auto options = std::make_shared<cli::DeviceShowOptions>();
  CLI::App* show = device->add_subcommand("show", "Show all that is recorded of a device");
  show->add_option("DEVICE", options->device, "PCI address or UUID")->required();
  show->add_option("--host", options->host, "The host of the device [this host]");
  add_format(show, line);
  runs(show, line, options, cli::run_device_show);
}

void add_device_command(CLI::App* device, CommandLine& line, OrderKind order,
                        const std::string& help) {
  auto options = std::make_shared<cli::DeviceCommandOptions>();
  options->order = order;
  CLI::App* command = device->add_subcommand(std::string(to_string(order)), help);
  command->add_option("DEVICE", options->device, "PCI address or UUID")->required();
  command->add_option("--host", options->host, "The host of the device [this host]");
  if (order == OrderKind::clean) {
    command->add_option(
        "--steps", options->steps_file,
        "Clean steps to run first, in the order of this JSON file; also of a device "
        "in the pool");
  }
  if (order == OrderKind::disown) {
    command->add_option("--reason", options->reason, "Why, for the journal and the audit")
        ->required();
  }
  runs(command, line, options, cli::run_device_command);
}

void add_device_set(CLI::App* device, CommandLine& line) {
  auto options = std::make_shared<cli::DeviceCommandOptions>();
  auto maintenance = std::make_shared<std::string>();
  auto enrol = std::make_shared<bool>(false);
  CLI::App* set = device->add_subcommand("set", "Change what an operator decides of a device");
  set->add_option("DEVICE", options->device, "PCI address or UUID")->required();
  set->add_option("--host", options->host, "The host of the device [this host]");
  CLI::Option* on_off = set->add_option("--maintenance", *maintenance,
                                        "on: the device is not cleaned until it is off again")
                            ->check(CLI::IsMember({"on", "off"}));
  set->add_flag("--enrol", *enrol, "Accept the drive that is there now, though its serial changed")
      ->excludes(on_off);
  set->add_option("--serial", options->serial,
                  "With --enrol: accept the drive of this serial [the one the worker saw last]")
      ->excludes(on_off);
  set->callback([&line, options, maintenance, enrol] {
    if (maintenance->empty() && !*enrol) {
      line.exit_code =
          complain(Error{Errc::invalid, "device set: --maintenance on|off or --enrol is needed"});
      return;
    }
    options->order = *enrol                 ? OrderKind::enrol
                     : *maintenance == "on" ? OrderKind::maintenance_on
                                            : OrderKind::maintenance_off;
    line.exit_code = run_in_session(line, *options, cli::run_device_command);
  });
}

void add_device_order(CLI::App* device, CommandLine& line) {
  CLI::App* order =
      device->add_subcommand("order", "Orders that no worker has taken yet: list, withdraw");
  order->require_subcommand(1);
  auto options = std::make_shared<cli::OrderOptions>();
  CLI::App* list = order->add_subcommand("list", "List the orders that wait for a worker");
  list->add_option("--host", options->host, "The host that the orders are for [this host]");
  add_format(list, line);
  runs(list, line, options, cli::run_order_list);
  CLI::App* withdraw = order->add_subcommand("withdraw", "Take one back before a worker takes it");
  withdraw->add_option("ID", options->id, "As `order list` shows it")->required();
  withdraw->add_option("--host", options->host, "The host that the order is for [this host]");
  runs(withdraw, line, options, cli::run_order_withdraw);
}

void add_device(CLI::App& app, CommandLine& line) {
  CLI::App* device = app.add_subcommand("device", "Look at devices, clean them again, set them");
  device->require_subcommand(1);
  add_device_list(device, line);
  add_device_show(device, line);
  add_device_command(device, line, OrderKind::clean,
                     "Clean a device that is in error, or that waits for an operator's word");
  add_device_command(device, line, OrderKind::abort,
                     "Stop a cleaning; the device stays reserved, in error");
  add_device_command(device, line, OrderKind::unhold,
                     "Approve that a cleaning goes on behind the hold at which it waits");
  add_device_command(device, line, OrderKind::disown,
                     "Let a device go that no device_spec entry matches any more, as it is");
  add_device_set(device, line);
  add_device_order(device, line);
}

void add_plan(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::PlanOptions>();
  CLI::App* plan =
      app.add_subcommand("plan", "Show what would be cleaned, how, and why not; changes nothing");
  plan->add_flag("--guards", options->guards, "Show each guard of the host with what it found");
  add_format(plan, line);
  runs(plan, line, options, cli::run_plan);
}

void add_step(CLI::App& app, CommandLine& line) {
  CLI::App* step = app.add_subcommand("step", "Clean steps of your own: list them, try one");
  step->require_subcommand(1);
  auto listing = std::make_shared<cli::StepListOptions>();
  CLI::App* list = step->add_subcommand(
      "list", "List the [step:NAME] sections, and whether their commands are acceptable");
  add_format(list, line);
  runs(list, line, listing, cli::run_step_list);
  auto options = std::make_shared<cli::StepTestOptions>();
  CLI::App* test = step->add_subcommand(
      "test", "Run a step's command for a device of this host, told to change nothing");
  test->add_option("NAME", options->step, "As `step list` shows it")->required();
  test->add_option("DEVICE", options->device, "PCI address or UUID")->required();
  test->add_flag("--dry-run", options->dry_run,
                 "Needed: the command gets dry_run = true and says what it would do");
  add_format(test, line);
  runs(test, line, options, cli::run_step_test);
}

void add_doctor(CLI::App& app, CommandLine& line) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Check configuration, bus, Redis, Keystone, Placement, Cyborg, the device API and host, with "
      "remedies");
  add_format(doctor, line);
  const auto api = std::make_shared<bool>(false);
  doctor->add_flag("--api", *api,
                   "Check this node's `reclaim api` instead, with its configuration");
  doctor->callback([&line, api] {
    config::LoadRequest request = *api ? config::of_api(line.files) : line.files;
    if (!*api) request.purpose = config::Purpose::tool;
    line.exit_code = with_session(line, request, [&](cli::Session& session, const auto& files) {
      return cli::run_doctor(session, {view_of(line), files, *api, listener::check_broker},
                             std::cout, std::cerr);
    });
  });
}

using CertificateCommand = int (*)(const config::Settings&, const cli::CertificateOptions&,
                                   std::ostream&, std::ostream&);

// What certificate list, show and verify have in common. No service is asked, so the settings are
// all they need.
CLI::App* add_certificate_command(CLI::App* parent, CommandLine& line,
                                  const std::shared_ptr<cli::CertificateOptions>& options,
                                  const std::string& name, const std::string& help,
                                  CertificateCommand run) {
  CLI::App* command = parent->add_subcommand(name, help);
  command->add_option("--folder", options->folder,
                      "The folder of the certificates [STATE_PATH/certificates]");
  add_format(command, line);
  command->callback([&line, options, run] {
    config::LoadRequest request = line.files;
    request.purpose = config::Purpose::tool;
    const auto loaded = config::load_settings(request);
    if (!loaded) {
      line.exit_code = complain(loaded.error());
      return;
    }
    options->view = view_of(line);
    line.exit_code = run(loaded->settings, *options, std::cout, std::cerr);
  });
  return command;
}

void add_certificate(CLI::App& app, CommandLine& line) {
  CLI::App* certificate =
      app.add_subcommand("certificate", "The proof of each erasure: list, show, verify, head");
  certificate->require_subcommand(1);
  add_certificate_command(certificate, line, std::make_shared<cli::CertificateOptions>(), "list",
                          "List the certificates of this host", &cli::run_certificate_list);
  const auto shown = std::make_shared<cli::CertificateOptions>();
  add_certificate_command(certificate, line, shown, "show", "Show one certificate",
                          &cli::run_certificate_show)
      ->add_option("ID", shown->named, "The certificate's id")
      ->required()
      ->expected(1);
  const auto verified = std::make_shared<cli::CertificateOptions>();
  CLI::App* verify = add_certificate_command(
      certificate, line, verified, "verify",
      "Check signatures, form, order and gaps; exit code 1 when anything was tampered with, 2 when "
      "a tenancy has no erasure",
      &cli::run_certificate_verify);
  verify->add_option("ID|FILE", verified->named, "Check these only [the whole chain]");
  verify->add_flag("--all", verified->all, "Check the whole chain too");
  repeatable(verify->add_option("--public-key", verified->public_keys,
                                "PEM file; may be repeated [beside the signing key]"));
  add_certificate_command(certificate, line, std::make_shared<cli::CertificateOptions>(), "head",
                          "The SHA-256 of the newest, for a time stamp",
                          &cli::run_certificate_head);
  const auto endorsed = std::make_shared<cli::CertificateOptions>();
  add_certificate_command(certificate, line, endorsed, "endorse",
                          "Endorse the next signing key with the one in use",
                          &cli::run_certificate_endorse)
      ->add_option("PUBLIC_KEY", endorsed->named, "PEM file")
      ->required()
      ->expected(1);
  CLI::App* audit = app.add_subcommand("audit", "What happened to the drives of this host");
  audit->require_subcommand(1);
  add_certificate_command(audit, line, std::make_shared<cli::CertificateOptions>(), "list",
                          "List tenancies, quarantines, releases and erasures, in their order",
                          &cli::run_audit_list);
}

void add_watch(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<cli::WatchOptions>();
  CLI::App* watch = app.add_subcommand("watch", "Follow what the worker does, as it does it");
  watch->add_option("--host", options->host, "The host whose worker is followed [this host]");
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
      ->check(CLI::IsMember({"json", "table"}))
      ->default_str("json");
  explain->callback([&line, options] {
    options->table = line.format == "table";
    line.exit_code = cli::run_explain(*options, std::cin, std::cout, std::cerr);
  });
}

void add_config(CLI::App& app, CommandLine& line) {
  CLI::App* config =
      app.add_subcommand("config", "The configuration: a sample of it, a check of it");
  config->require_subcommand(1);
  config->add_subcommand("sample", "Print reclaim.conf with every option, its meaning and default")
      ->callback([] { std::cout << config::sample(); });
  CLI::App* check = config->add_subcommand(
      "check", "Read the files as serve would and say all that is wrong with them");
  const auto api = std::make_shared<bool>(false);
  check->add_flag("--api", *api, "Read the files as `reclaim api` would");
  check->callback([&line, api] {
    line.exit_code =
        cli::run_config_check(*api ? config::of_api(line.files) : line.files, std::cout, std::cerr);
  });
}

void add_machine(CLI::App& app, CommandLine& line) {
  CLI::App* machine = app.add_subcommand("machine", "Print the life of a device: the state table");
  machine->add_option("-f,--format", line.format, "How to print")
      ->check(CLI::IsMember({"text", "markdown", "dot"}))
      ->default_str("text");
  machine->callback([&line] {
    const auto text = render_machine(line.format.empty() ? "text" : line.format);
    std::cout << *text;
  });
}

// CLI11's own words, but for what it does not understand: it would only say what it misses. Every
// mistake of the caller's ends with 2.
int explain_mistake(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked_for_help = error.get_exit_code() == 0;
  const std::vector<std::string> not_understood = app.remaining(true);
  if (asked_for_help || not_understood.empty()) return app.exit(error) == 0 ? 0 : 2;
  const std::string& word = not_understood.front();
  std::cerr << "reclaim: unknown " << (word.starts_with('-') ? "option" : "argument") << " '"
            << word << "'; see --help\n";
  return 2;
}

int run(int argc, char** argv) {
  CommandLine line;
  CLI::App app{
      "Reclaim gives passthrough devices back to an OpenStack cloud: it erases a tenant's NVMe "
      "drive, verifies the erasure, and only then un-reserves it in Placement.",
      "reclaim"};
  app.set_version_flag("--version", std::string("reclaim ") + kVersion);
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
  add_plan(app, line);
  add_step(app, line);
  add_doctor(app, line);
  add_certificate(app, line);
  add_watch(app, line);
  add_explain(app, line);
  add_config(app, line);
  add_machine(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain_mistake(app, error);
  }
  return line.exit_code;
}

}  // namespace
}  // namespace reclaim

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  try {
    return reclaim::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "reclaim: " << e.what() << '\n';
    return 1;
  }
}
