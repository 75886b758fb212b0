// reclaim doctor: one line a check, with the remedy. An operator's first stop when nothing happens.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/doctor_checks.h"
#include "cli/doctor_unit.h"
#include "nvme/host/sysfs.h"
#include "state/certificate/file_ledger.h"
#include "state/certificate/signing_key.h"
#include "state/certificate/state_folder.h"
#include "version.h"

namespace reclaim::cli {
namespace {

void check_configuration(Session& session, Chart& chart) {
  const config::Settings& settings = session.settings();
  if (settings.device_specs.empty()) {
    chart.warning("configuration", "no [nvme] device_spec: no drive is ever touched",
                  "name the drives, as Nova's [pci] device_spec does");
  } else {
    chart.ok("configuration", fmt::format("host {}, {}", settings.host,
                                          counted(settings.device_specs.size(), "device_spec entry",
                                                  "device_spec entries")));
  }
  if (settings.conductor.observes()) {
    chart.warning("mode", "observe: no drive and nothing in Placement is written",
                  "set [reclaim] mode = serve when the worker is to clean and release");
  }
}

void check_directory(const std::string& check, const std::string& path, Chart& chart) {
  if (access(path.c_str(), W_OK | X_OK) == 0) return chart.ok(check, path + " is writable");
  const int problem = errno;
  chart.error(check, fmt::format("{}: {}", path, std::strerror(problem)),
              problem == EROFS
                  ? fmt::format("`systemctl edit reclaim` and add, below [Service], "
                                "ReadWritePaths={}",
                                path)
                  : "create it for the user the worker runs as (the systemd unit does)");
}

// The folders of the files that the worker makes where the configuration says.
void check_files_to_be_made(const config::Settings& settings, Chart& chart) {
  for (const auto& [check, path] : {std::pair{"metrics textfile", &settings.metrics_textfile},
                                    {"log_file", &settings.log_file}}) {
    if (path->empty()) continue;
    check_directory(check, std::filesystem::absolute(*path).parent_path().string(), chart);
  }
}

// Nothing where it is this machine's.
void check_owner(const config::Settings& settings, const std::string& machine_id, Chart& chart) {
  const Status ours = check_state_folder(settings.state_path, {machine_id, settings.host});
  if (!ours) {
    chart.error("state_path", ours.error().what,
                "see \"A host that is cloned\" in docs/install.md");
  }
}

void check_host(Session& session, Chart& chart) {
  const auto machine = session.machine();
  const std::string& compute_id = session.settings().compute_id_file;
  if (!machine) {
    chart.error("machine", machine.error().what, "correct the file or the option that names it");
  } else {
    chart.ok("machine", fmt::format("machine-id {}", machine->machine_id));
    if (machine->compute_id.empty()) {
      chart.warning("compute_id", compute_id + " is not there",
                    "set [reclaim] compute_id_file to the file in Nova's state_path (in a "
                    "container's volume, perhaps): with it, another machine's books cannot be "
                    "mistaken for this one's");
    } else {
      chart.ok("compute_id", fmt::format("{}: {}", compute_id, machine->compute_id));
    }
  }
  check_directory("state_path", session.settings().state_path, chart);
  if (machine) check_owner(session.settings(), machine->machine_id, chart);
  check_directory("run_path", session.settings().nvme.run_path, chart);
  check_files_to_be_made(session.settings(), chart);
}

void check_signing_key(Session& session, Chart& chart) {
  const config::Settings& settings = session.settings();
  const std::string& given = settings.signing_key;
  const std::string path = given.empty() ? default_signing_key(settings.state_path) : given;
  if (given.empty() && access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    return chart.ok("signing key", path + " is not there yet; the worker makes it when it starts");
  }
  const auto key = SigningKey::load(path);
  if (!key) {
    return chart.error("signing key", key.error().what,
                       "without it the worker does not start: certificates could not be signed");
  }
  chart.ok("signing key", "certificates are signed with key " + key->public_key().id());
}

// Checks the capabilities of this process: right only where doctor runs as the worker does.
void check_capabilities(Chart& chart) {
  struct Needed {
    unsigned bit;
    const char* name;
    const char* what_for;
  };
  constexpr Needed kNeeded[] = {
      {21, "CAP_SYS_ADMIN", "NVMe admin commands and driver binding"},
      {19, "CAP_SYS_PTRACE", "seeing which process holds a vfio group open"},
      {1, "CAP_DAC_OVERRIDE", "reading libvirt's and Nova's files"},
  };
  constexpr std::string_view kField = "CapEff:";
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with(kField)) {
  }
  if (!line.starts_with(kField)) {
    return chart.warning("capabilities", "/proc/self/status tells nothing of them", "is /proc up?");
  }
  const std::uint64_t held = std::strtoull(line.c_str() + kField.size(), nullptr, 16);
  std::string missing;
  for (const Needed& needed : kNeeded) {
    if ((held >> needed.bit & 1U) != 0) continue;
    missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", needed.name, needed.what_for);
  }
  if (missing.empty()) return chart.ok("capabilities", "all that a worker needs are held");
  chart.warning("capabilities", "not held: " + missing,
                "run doctor as the worker runs; compare CapabilityBoundingSet in reclaim.service");
}

void check_vfio(Session& session, Chart& chart) {
  const config::Settings& settings = session.settings();
  const auto& specs = settings.device_specs;
  const bool unmanaged =
      std::any_of(specs.begin(), specs.end(),
                  [](const config::DeviceSpec& spec) { return !spec.managed.value_or(true); });
  if (!unmanaged) return;
  const std::string driver = settings.nvme.sysfs_root + "/bus/pci/drivers/vfio-pci";
  const std::string node = settings.nvme.dev_root + "/vfio/vfio";
  for (const std::string& path : {driver, node}) {
    if (access(path.c_str(), F_OK) != 0) {
      return chart.warning(
          "vfio", fmt::format("{} is not there, but a device_spec says managed = false", path),
          "modprobe vfio-pci, or name the variant driver's module in /etc/modules-load.d");
    }
  }
  chart.ok("vfio", "vfio-pci is loaded, for the drives that are not managed");
}

// One line a directory: as long as one cannot be listed, nothing is cleaned.
void check_libvirt(Session& session, Chart& chart) {
  const auto& folders = session.settings().nvme.libvirt_dirs;
  for (const std::string& folder : folders) {
    const auto files = nvme::list_directory(folder);
    if (!files) {
      chart.error("libvirt", files.error().what,
                  "start libvirt, or set [reclaim] libvirt_dirs to where it keeps its domains (in "
                  "a container's volumes, perhaps), or to none where there is no libvirt");
      continue;
    }
    const auto domains = std::count_if(files->begin(), files->end(), [](const std::string& file) {
      return file.ends_with(".xml");
    });
    chart.ok("libvirt",
             fmt::format("{}: {}", folder, counted(static_cast<std::size_t>(domains), "domain")));
  }
  if (folders.empty()) {
    chart.warning("libvirt", "libvirt_dirs = none: guests of this host are not looked for",
                  "correct where there is no libvirt; otherwise set its directories");
  }
}

// Returns the drives that it found, for the checks that follow.
std::vector<nvme::DriveFacts> check_drives(Session& session, Chart& chart) {
  const auto found = session.wait<std::vector<nvme::DriveFacts>>(
      [&](auto done) { session.drives().discover({}, std::move(done)); });
  if (!found) {
    chart.error("drives", found.error().what, "is sysfs_root right?");
    return {};
  }
  const auto lookup = config::device_policy_lookup(session.settings());
  std::size_t ours = 0;
  for (const nvme::DriveFacts& drive : *found) {
    const auto policy = lookup(drive.vendor_id, drive.device_id, drive.address);
    if (!policy) continue;
    ours += 1;
    const std::string name = "drive " + to_string(drive.address);
    if (!drive.identity) {
      chart.warning(name, drive.problem,
                    "a drive that a guest uses does not answer; else look at "
                    "its driver");
      continue;
    }
    const auto method = config::method_choice()(*policy, drive.identity->capabilities);
    if (!method) {
      chart.error(name, method.error().what, "change clear_action or clear_strategy for it");
    } else {
      chart.ok(name, fmt::format("{} {}, {}", drive.identity->model, drive.identity->serial,
                                 nvme::to_string(*method)));
    }
  }
  if (ours == 0) {
    chart.warning("drives",
                  fmt::format("{} on the host, none matches a device_spec",
                              counted(found->size(), "NVMe function")),
                  "compare `lspci -nn` with [nvme] device_spec");
  } else {
    chart.ok("drives", fmt::format("{} on the host, {} of them ours",
                                   counted(found->size(), "NVMe function"), ours));
  }
  check_claimants(session.settings(), chart);
  check_cleaning_time(session.settings(), *found, chart);
  check_udev_rules(session.settings(), *found, chart);
  return *found;
}

void check_redis(Session& session, Chart& chart) {
  const auto store = session.store();
  const RedisLua lua =
      session.connected_store() ? session.connected_store()->state().lua : RedisLua::functions;
  if (!store && lua == RedisLua::missing) return check_redis_functions(lua, chart);
  if (!store) {
    return chart.error("redis", store.error().what, "is it running, and [redis] url right?");
  }
  const auto report = session.wait<PersistenceReport>(
      [&](auto done) { (*store)->check_persistence(std::move(done)); });
  if (!report) {
    chart.warning("redis", report.error().what, "look at Redis' own log");
  } else if (!report->text.empty()) {
    chart.warning("redis", report->text, "appendonly yes, maxmemory-policy noeviction");
  } else {
    chart.ok("redis", session.settings().redis.cluster.empty()
                          ? "connected; it persists and does not evict"
                          : "connected; every master persists and does not evict");
  }
  if (report && !report->crowded.empty()) {
    chart.warning("redis connections", report->crowded, kRaiseMaxclients);
  }
  check_redis_functions(lua, chart);
  check_redis_tls(session.settings().redis, (*store)->state().tls, session.clock().now().wall,
                  chart);
}

void check_worker(Session& session, Chart& chart) {
  const auto store = session.store();
  if (!store) return;  // told by check_redis()
  const auto hosts =
      session.wait<std::vector<HostInfo>>([&](auto done) { (*store)->hosts(std::move(done)); });
  if (!hosts) return chart.error("worker", hosts.error().what, "look at Redis' own log");
  const std::string many = crowded("hosts", hosts->size(), session.settings().hosts_max);
  if (!many.empty()) {
    chart.warning("hosts", many,
                  "raise [redis] hosts_max; `reclaim host delete` takes out one that is gone");
  }
  for (const HostInfo& info : *hosts) {
    if (info.host != session.settings().host) continue;
    if (info.heartbeat_at.ms == 0) {
      return chart.error("worker", "it announced itself once, and its heartbeat has expired",
                         "systemctl status reclaim");
    }
    const std::int64_t age = session.clock().now().wall.ms - info.heartbeat_at.ms;
    if (info.stopped) {
      return chart.error("worker", fmt::format("it was stopped {} ago", age_text(age / 1000)),
                         "systemctl start reclaim");
    }
    if (age > worker_silence_max_ms(session.settings())) {
      return chart.error("worker", fmt::format("last heartbeat {} s ago", age / 1000),
                         "systemctl status reclaim");
    }
    chart.ok("worker", fmt::format("version {}, last heartbeat {} s ago{}", info.version,
                                   age / 1000, info.observes ? ", mode = observe" : ""));
    return check_bus_is_heard(info, session.clock().now().wall, chart);
  }
  chart.warning("worker", "none has ever run for this host", "systemctl enable --now reclaim");
}

std::string remedy_of_placement(const Error& error) {
  switch (error.code) {
    case Errc::not_found:
      return "[reclaim] provider_name is the compute node's provider: see `openstack resource "
             "provider list`";
    case Errc::refused:
      return "the user of [placement] needs the role service on its project, and admin too where "
             "Placement does not know that one yet";
    default:
      return "is placement-api running, and reached from this host? See its log, the endpoint in "
             "the catalog (`openstack endpoint list --service placement`), and [placement] "
             "endpoint_override, valid_interfaces and cafile";
  }
}

// A login on this host is in the hands of whoever breaks into it. The device API takes an admin
// without the role service for an operator.
void check_roles(const std::vector<std::string>& roles, Chart& chart) {
  const auto has = [&roles](std::string_view role) {
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  };
  if (!has("admin") || has("service")) return chart.ok("keystone", "logged in");
  chart.warning(
      "keystone",
      "the login of [placement] has the role admin, and not service: to the device API it "
      "is an operator, who approves at holds and accepts drives of every host",
      "give its user the role service too: `openstack role add --user USER --project "
      "PROJECT service`");
}

void check_placement(Session& session, const std::vector<nvme::DriveFacts>& drives, Chart& chart) {
  const auto providers = session.providers();
  if (!providers) {
    return chart.error("keystone", providers.error().what,
                       "correct [placement] in the configuration");
  }
  const auto facts = session.wait<placement::LoginFacts>(
      [&](auto done) { (*providers)->log_in(std::move(done)); });
  if (!facts && facts.error().what.starts_with("Placement")) {
    chart.ok("keystone", "it gives a token");
    return chart.error("placement", facts.error().what, remedy_of_placement(facts.error()));
  }
  if (!facts) {
    return chart.error("keystone", facts.error().what,
                       "compare [placement] with nova.conf's; try `openstack token issue` with it");
  }
  check_roles(facts->roles, chart);
  check_endpoint("placement", facts->endpoint, chart);
  const auto tree =
      session.wait<placement::Tree>([&](auto done) { (*providers)->list_tree(std::move(done)); });
  if (!tree) {
    return chart.error("placement", tree.error().what, remedy_of_placement(tree.error()));
  }
  std::size_t one_time_use = 0;
  std::size_t of_cyborg = 0;
  for (const placement::ProviderRow& row : tree->rows) {
    one_time_use += row.one_time_use ? 1U : 0U;
    of_cyborg += row.owner_cyborg ? 1U : 0U;
  }
  const std::string detail =
      fmt::format("{} (microversion {}): provider {} with {}, {} of Cyborg's", facts->endpoint,
                  facts->microversion, tree->root_name,
                  counted(one_time_use, "one-time-use device"), of_cyborg);
  const bool registers = session.settings().conductor.registers();
  if (one_time_use == 0 && of_cyborg == 0 && !registers) {
    chart.warning(
        "placement", detail,
        "nova.conf: [pci] report_in_placement = true, one_time_use = true in device_spec, "
        "and [filter_scheduler] pci_in_placement = true. Cyborg's are reported by its agent, or "
        "registered with [nvme] manage_providers");
  } else {
    chart.ok("placement", detail);
  }
  check_cyborg_is_heard(session.settings(), tree->rows, drives, chart);
  const auto machine = session.machine();
  if (machine && !machine->compute_id.empty() && machine->compute_id != tree->root_uuid) {
    chart.error(
        "placement",
        fmt::format("the root provider is {}, Nova's compute_id here is {}", tree->root_uuid,
                    machine->compute_id),
        "this configuration names another machine: correct [DEFAULT] host or provider_name");
  }
}

}  // namespace

std::int64_t worker_silence_max_ms(const config::Settings& settings) {
  constexpr std::int64_t kLeastMs = 200'000;
  return std::max(kLeastMs, 3 * settings.conductor.survey_interval_ms);
}

namespace {

// All that a worker needs.
void check_host_and_services(Session& session, const DoctorOptions& options, Chart& chart) {
  check_configuration(session, chart);
  check_host(session, chart);
  check_signing_key(session, chart);
  check_mirror(session.settings(), chart);
  check_capabilities(chart);
  check_container(session.settings().nvme, chart);
  check_vfio(session, chart);
  check_libvirt(session, chart);
  const std::vector<nvme::DriveFacts> drives = check_drives(session, chart);
  const auto broker = options.check_broker(session.settings());
  if (broker) {
    chart.ok("rabbitmq", *broker);
  } else {
    chart.error(
        "rabbitmq", broker.error().what,
        "compare transport_url with nova.conf's; Nova also needs [oslo_messaging_notifications] "
        "driver = messagingv2");
  }
  judge_queues(options.look_at_queues(session.settings()),
               listener::notification_keys(session.settings().drain), chart);
  check_redis(session, chart);
  check_sentinels(session, chart);
  check_cluster(session, chart);
  check_worker(session, chart);
  check_placement(session, drives, chart);
  check_cyborg(session, chart);
}

void check_all(Session& session, const DoctorOptions& options, Chart& chart) {
  check_compiled_in(kCompiledIn, chart);
  check_security(session.settings(), options.files, chart);
  if (options.api) {
    check_redis(session, chart);
    check_sentinels(session, chart);
    check_cluster(session, chart);
  } else {
    check_host_and_services(session, options, chart);
  }
  check_api(session, chart);
}

}  // namespace

int run_doctor(Session& session, const DoctorOptions& options, std::ostream& out,
               std::ostream& err) {
  Chart chart(options.inside_unit ? kInUnit : kOutsideUnit);
  // The device API's unit is another one, and its node may have no worker.
  const bool here = options.api || options.inside_unit;
  if (here || !check_in_unit(options.request, chart)) check_all(session, options, chart);
  const auto text = format_list(chart.table(), options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  return chart.failed() ? 1 : 0;
}

}  // namespace reclaim::cli
