// The command line of `reclaim device` and `reclaim host`.
#include "listener/command_line.h"

#include "handlers/drive_wear.h"

namespace reclaim::listener {
namespace {

constexpr const char* kDeviceHelp = "PCI address, nvmeN, nvmeNnM, UUID or serial number";

CLI::Validator a_state() {
  return one_of({"available", "allocated", "pending_cleaning", "cleaning", "error"});
}

void add_device_list(CLI::App* device, CommandLine& line) {
  auto options = std::make_shared<cli::DeviceListOptions>();
  CLI::App* list = device->add_subcommand("list", "List the devices of this host");
  list->add_option("--host", options->hosts, "List this host's devices instead; may be repeated");
  list->add_flag("--all-hosts", options->all_hosts,
                 "List the devices of every host that Redis knows");
  add_labels(list, options->labels);
  repeatable(
      list->add_option("--state", options->states, "Only devices in this state; may be repeated")
          ->check(a_state()));
  list->add_flag("--long", options->longer, "More columns");
  list->add_option("--worn", options->worn,
                   "Only drives near their end, the worst first: so many per cent of their life "
                   "used, or of their spare gone [80]")
      ->expected(0, 1)
      ->default_str(std::to_string(kWornPercent))
      ->check(CLI::Range(0, 255));
  add_list_format(list, line);
  runs(list, line, options, cli::run_device_list);
}

void add_device_show(CLI::App* device, CommandLine& line) {
  auto options = std::make_shared<cli::DeviceShowOptions>();
  CLI::App* show =
      device->add_subcommand("show", "Show what a device is, since when, why, and what to do");
  show->add_option("DEVICE", options->device, kDeviceHelp)->required();
  show->add_option("--host", options->host, "The host of the device [this host]");
  show->add_flag("--all", options->all,
                 "Show all that is recorded; so do -c and the other formats");
  show->add_flag("--timeline", options->timeline,
                 "When each transition of its last cleaning was, and what it took");
  add_format(show, line);
  runs(show, line, options, cli::run_device_show);
}

// Adds the choice of the devices that an order is for; `many`: several may be.
void add_choice(CLI::App* command, cli::DeviceCommandOptions& options, bool many) {
  CLI::Option* named = command->add_option("DEVICE", options.choice.devices, kDeviceHelp);
  CLI::Option* host =
      command->add_option("--host", options.choice.hosts, "The host of the device [this host]");
  if (!many) {
    named->required()->expected(1);
    host->expected(1);
    return;
  }
  repeatable(host);
  command->add_flag("--all-hosts", options.choice.all_hosts, "With --state: of every host")
      ->excludes(host);
  add_labels(command, options.choice.labels);
  repeatable(command
                 ->add_option("--state", options.choice.states,
                              "All devices in this state instead; may be repeated")
                 ->check(a_state()));
  command->add_flag("--dry-run", options.dry_run, "Show which devices would be meant, and end");
  command->add_flag("-y,--yes", options.yes, "Go on without asking (several devices, or --state)");
  command->add_flag("--wait", options.wait, "Wait until nothing goes on that it began");
}

void add_device_command(CLI::App* device, CommandLine& line, OrderKind order,
                        const std::string& help) {
  auto options = std::make_shared<cli::DeviceCommandOptions>();
  options->order = order;
  CLI::App* command = device->add_subcommand(std::string(to_string(order)), help);
  add_choice(command, *options, order != OrderKind::disown);
  if (order == OrderKind::clean) {
    command->add_option(
        "--steps", options->steps_file,
        "Clean steps to run first, in the order of this JSON file; also of a device "
        "in the pool");
  }
  if (order == OrderKind::retire) {
    command->add_option("--as", options->purpose, "What becomes of the drive")
        ->required()
        ->check(one_of(std::vector<std::string>(kRetirePurposes.begin(), kRetirePurposes.end())));
  }
  if (order == OrderKind::disown || order == OrderKind::retire) {
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
  add_choice(set, *options, true);
  CLI::Option* on_off =
      set->add_option("--maintenance", *maintenance,
                      "on: out of the pool and left alone; off: given back, or cleaned first")
          ->check(one_of({"on", "off"}));
  set->add_flag("--enrol", *enrol, "Accept the drive that is there now, though its serial changed")
      ->excludes(on_off);
  set->add_option("--serial", options->serial,
                  "With --enrol: accept the drive of this serial [the one the worker saw last]")
      ->excludes(on_off);
  set->callback([&line, options, maintenance, enrol] {
    if (*enrol && options->choice.devices.size() != 1) {
      line.exit_code = complain(
          Error{Errc::usage, "device set --enrol: name one device; each drive is judged alone"});
      return;
    }
    if (maintenance->empty() && !*enrol) {
      line.exit_code =
          complain(Error{Errc::usage, "device set: --maintenance on|off or --enrol is needed"});
      return;
    }
    options->order = *enrol                 ? OrderKind::enrol
                     : *maintenance == "on" ? OrderKind::maintenance_on
                                            : OrderKind::maintenance_off;
    line.exit_code = run_in_session(line, *options, cli::run_device_command);
  });
}

void add_host_pause(CLI::App* host, CommandLine& line, bool resume) {
  auto options = std::make_shared<cli::HostPauseOptions>();
  options->resume = resume;
  CLI::App* command =
      resume ? host->add_subcommand("resume", "Let cleanings begin again on hosts that are paused")
             : host->add_subcommand("pause", "Let no cleaning begin on hosts until a time");
  command->add_option("HOST", options->hosts, "As `host list` shows them");
  command->add_flag("--all-hosts", options->all_hosts, "Every host that Redis knows");
  add_labels(command, options->labels);
  if (!resume) {
    command
        ->add_option("--until", options->until,
                     "06:00, 2026-11-30T06:00 (of this machine's time zone), 2026-11-30T05:00:00Z, "
                     "or how long: 90m, 8h, 2d; a week at most")
        ->required();
    command->add_option("--reason", options->reason, "Why, for who waits meanwhile")->required();
  }
  command->add_flag("--dry-run", options->dry_run, "Show which hosts would be meant, and end");
  command->add_flag("-y,--yes", options->yes,
                    "Go on without asking (several hosts, --label or --all-hosts)");
  runs(command, line, options, cli::run_host_pause);
}

void add_device_order(CLI::App* device, CommandLine& line) {
  CLI::App* order =
      device->add_subcommand("order", "Orders that no worker has taken yet: list, withdraw");
  order->require_subcommand(1);
  auto options = std::make_shared<cli::OrderOptions>();
  CLI::App* list = order->add_subcommand("list", "List the orders that wait for a worker");
  list->add_option("--host", options->host, "The host that the orders are for [this host]");
  add_list_format(list, line);
  runs(list, line, options, cli::run_order_list);
  CLI::App* withdraw = order->add_subcommand("withdraw", "Take one back before a worker takes it");
  withdraw->add_option("ID", options->id, "As `order list` shows it")->required();
  withdraw->add_option("--host", options->host, "The host that the order is for [this host]");
  runs(withdraw, line, options, cli::run_order_withdraw);
}

}  // namespace

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
  add_device_command(device, line, OrderKind::retire,
                     "Erase a drive that leaves for good: certified, and never given back");
  add_device_set(device, line);
  add_device_order(device, line);
}

void add_host(CLI::App& app, CommandLine& line) {
  CLI::App* host = app.add_subcommand("host", "The hosts of the fleet: list, pause, drain, delete");
  host->require_subcommand(1);
  CLI::App* list = host->add_subcommand("list", "List every host that ever announced itself");
  add_list_format(list, line);
  runs(list, line, std::make_shared<cli::HostListOptions>(), cli::run_host_list);
  auto drained = std::make_shared<cli::HostDrainOptions>();
  CLI::App* drain = host->add_subcommand(
      "drain", "Take all devices of a host out of the pool, and wait until nothing is cleaned");
  drain->add_option("HOST", drained->host, "As `host list` shows it")->required();
  drain->add_flag("--end", drained->end, "Give them back instead");
  drain->add_flag("--dry-run", drained->dry_run, "Show which devices would be meant, and end");
  drain->add_flag("-y,--yes", drained->yes, "Do not ask");
  runs(drain, line, drained, cli::run_host_drain);
  add_host_pause(host, line, false);
  add_host_pause(host, line, true);
  auto deleted = std::make_shared<cli::HostDeleteOptions>();
  CLI::App* gone = host->add_subcommand(
      "delete", "Remove what Redis has of a host that is gone for good; its worker is stopped");
  gone->add_option("HOST", deleted->host, "As `host list` shows it")->required();
  gone->add_flag("-y,--yes", deleted->yes, "Do not ask");
  runs(gone, line, deleted, cli::run_host_delete);
}

}  // namespace reclaim::listener
