// The command line of `reclaim certificate` and `reclaim audit`.
#include "listener/command_line.h"

namespace reclaim::listener {
namespace {

using CertificateCommand = int (*)(const config::Settings&, const cli::CertificateOptions&,
                                   std::ostream&, std::ostream&);

// No service is asked, so the settings are all that such a command needs.
int run_with_settings(const CommandLine& line,
                      const std::function<int(const config::Settings&)>& run) {
  config::LoadRequest request = line.files;
  request.purpose = config::Purpose::tool;
  const auto loaded = config::load_settings(request);
  return loaded ? run(loaded->settings) : complain(loaded.error());
}

// Adds a command that reads a chain, with the options that all of these have.
CLI::App* add_certificate_command(CLI::App* parent, CommandLine& line,
                                  const std::shared_ptr<cli::CertificateOptions>& options,
                                  const std::string& name, const std::string& help,
                                  CertificateCommand run) {
  CLI::App* command = parent->add_subcommand(name, help);
  command->add_option("--folder", options->folder,
                      "The folder of the certificates [STATE_PATH/certificates]");
  if (name == "show") {
    add_format(command, line, {"table", "json", "yaml", "csv", "value", "html"});
  } else if (name == "report") {
    command->add_option("-f,--format", line.format, "How to print")
        ->check(one_of({"table", "json", "csv", "html"}))
        ->default_str("table");
  } else if (name != "head") {
    add_list_format(command, line);
  }
  command->callback([&line, options, run] {
    options->html = line.format == "html";
    if (options->html) line.format.clear();
    options->view = view_of(line);
    line.exit_code = run_with_settings(line, [&](const config::Settings& settings) {
      const bool mirror = !options->folder.empty() || !settings.mirror_dir.empty();
      if (options->all_hosts && !mirror && run == &cli::run_certificate_list) {
        return run_in_session(line, *options, cli::run_fleet_certificates);
      }
      return run(settings, *options, std::cout, std::cerr);
    });
  });
  return command;
}

// Adds the options that select erasures: one that is left out means any.
void add_selection(CLI::App* command, cli::CertificateOptions& options, bool must_have_period) {
  command
      ->add_option("--from", options.from,
                   "From this day on, 2026-11-01, or this time, 2026-11-01T06:00:00Z, UTC")
      ->required(must_have_period);
  command
      ->add_option("--to", options.to,
                   "Until this day, with all of it, or until before this time, UTC")
      ->required(must_have_period);
  command->add_option("--project", options.project, "Of this project's instances, by its id");
  command->add_option("--instance", options.instance, "Of this instance, by its UUID");
  command->add_option("--host", options.host, "Of this host");
}

void add_expect(CLI::App* command, cli::CertificateOptions& options) {
  command->add_option("--expect", options.expect,
                      "SEQUENCE:SHA256 of an entry, noted before: the chain has to have it");
}

void add_public_keys(CLI::App* command, cli::CertificateOptions& options) {
  repeatable(command->add_option("--public-key", options.public_keys,
                                 "PEM file; may be repeated [beside the signing key]"));
}

void add_endorse(CLI::App* parent, CommandLine& line) {
  CLI::App* command =
      parent->add_subcommand("endorse", "Endorse the next signing key with the one in use");
  const auto options = std::make_shared<cli::CertificateOptions>();
  command->add_option("PUBLIC_KEY", options->named, "PEM file")->required()->expected(1);
  command->callback([&line, options] {
    line.exit_code = run_with_settings(line, [&](const config::Settings& settings) {
      return cli::run_certificate_endorse(settings, *options, std::cout, std::cerr);
    });
  });
}

void add_revoke(CLI::App* parent, CommandLine& line) {
  CLI::App* command = parent->add_subcommand(
      "revoke", "Revoke a former signing key that leaked, from an entry of the chain on");
  const auto options = std::make_shared<cli::RevokeOptions>();
  command->add_option("KEY", options->key, "Its id, the first 8 digits of that, or a PEM file")
      ->required();
  command->add_option("--from", options->from, "Number of the first entry that it does not prove")
      ->required();
  command->add_option("--reason", options->reason, "Why, for the audit")->required();
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->callback([&line, options] {
    line.exit_code = run_with_settings(line, [&](const config::Settings& settings) {
      return cli::run_certificate_revoke(settings, *options, std::cout, std::cerr);
    });
  });
}

}  // namespace

void add_certificate(CLI::App& app, CommandLine& line) {
  CLI::App* certificate =
      app.add_subcommand("certificate", "The proof of each erasure: list, show, report, verify");
  certificate->require_subcommand(1);
  const auto listed = std::make_shared<cli::CertificateOptions>();
  CLI::App* list =
      add_certificate_command(certificate, line, listed, "list",
                              "List the certificates of this host", &cli::run_certificate_list);
  add_selection(list, *listed, false);
  list->add_flag("--all-hosts", listed->all_hosts,
                 "Of all chains in the mirror: --folder, else [certificates] mirror_dir; without "
                 "one the last of each device of the fleet, as Redis has it");
  const auto shown = std::make_shared<cli::CertificateOptions>();
  add_certificate_command(certificate, line, shown, "show", "Show one certificate",
                          &cli::run_certificate_show)
      ->add_option("ID", shown->named, "Its id, the beginning of it, or its number")
      ->required()
      ->expected(1);
  const auto verified = std::make_shared<cli::CertificateOptions>();
  CLI::App* verify = add_certificate_command(
      certificate, line, verified, "verify",
      "Check signatures, form, order and gaps; exit code 1 when anything was tampered with, 2 when "
      "a tenancy has no erasure",
      &cli::run_certificate_verify);
  verify->add_option("ID|FILE", verified->named, "Check these only [the whole chain]");
  add_expect(verify, *verified);
  verify->add_flag("--all", verified->all, "Check the whole chain too");
  add_public_keys(verify, *verified);
  const auto reported = std::make_shared<cli::CertificateOptions>();
  CLI::App* report =
      add_certificate_command(certificate, line, reported, "report",
                              "A period's summary for an auditor: devices, methods, times, "
                              "incidents, wear; exit code 1 when "
                              "a chain is not verified, else 2 when a tenancy has no erasure",
                              &cli::run_certificate_report);
  add_selection(report, *reported, true);
  report->add_flag("--all-hosts", reported->all_hosts,
                   "Of all chains in the mirror: --folder, else [certificates] mirror_dir");
  add_expect(report, *reported);
  report->get_option("--expect")->excludes(report->get_option("--all-hosts"));
  repeatable(
      report->add_option("--public-key", reported->public_keys,
                         "PEM file; may be repeated [beside the signing key]; with "
                         "--all-hosts a folder with HOST.pub of each host, the PEM block of each "
                         "of its keys, and HOST.head, a noted entry"));
  const auto headed = std::make_shared<cli::CertificateOptions>();
  add_public_keys(add_certificate_command(certificate, line, headed, "head",
                                          "The SHA-256 of the newest, for a time stamp",
                                          &cli::run_certificate_head),
                  *headed);
  add_endorse(certificate, line);
  add_revoke(certificate, line);
  CLI::App* audit = app.add_subcommand("audit", "What happened to the drives of this host");
  audit->require_subcommand(1);
  add_certificate_command(audit, line, std::make_shared<cli::CertificateOptions>(), "list",
                          "List tenancies, quarantines, releases and erasures, in their order",
                          &cli::run_audit_list);
}

}  // namespace reclaim::listener
