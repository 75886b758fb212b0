// The operator's subcommands. Each returns the exit code: 0 when all is well, 1 when something is
// not, 2 when its options cannot be meant; with a line on `err` that says what and what to do.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/device_targets.h"
#include "cli/format.h"
#include "cli/session.h"
#include "config/load.h"
#include "state/base/bus_queue.h"

namespace reclaim::cli {

struct DeviceListOptions {
  View view;
  std::vector<std::string> hosts;  // empty: this host
  bool all_hosts = false;
  std::vector<std::string> labels;  // of all hosts, those that have each of them
  std::vector<std::string> states;  // empty: all
  bool longer = false;              // more columns
  int worn = -1;  // only drives that are so far worn, in per cent, the worst first; -1: all
};
[[nodiscard]] int run_device_list(Session& session, const DeviceListOptions& options,
                                  std::ostream& out, std::ostream& err);

struct DeviceShowOptions {
  View view;
  std::string host;       // empty: this host
  std::string device;     // as is_named() takes it
  bool timeline = false;  // its last cleaning, a row a transition, instead of the record
  bool all = false;       // every field; programs and -c get them anyway
};
[[nodiscard]] int run_device_show(Session& session, const DeviceShowOptions& options,
                                  std::ostream& out, std::ostream& err);

// Issues an order to each device's worker and waits until its record shows that it was heard, or
// says why it was refused, so that a slip is seen at once. Several devices, and those that a state
// chooses, are shown first, and the operator is asked.
struct DeviceCommandOptions {
  OrderKind order = OrderKind::clean;
  DeviceChoice choice;
  bool dry_run = false;    // only show them
  bool ask = false;        // also of one that is named
  bool yes = false;        // nobody is asked
  bool wait = false;       // until what was begun has come to rest
  std::string serial;      // of the drive that `enrol` accepts; empty: the one the worker saw last
  std::string reason;      // of `disown` and `retire`
  std::string purpose;     // of `retire`: what becomes of the drive
  std::string steps_file;  // of `clean`: the steps that are to be run first; empty: none
};
[[nodiscard]] int run_device_command(Session& session, const DeviceCommandOptions& options,
                                     std::ostream& out, std::ostream& err);

// The fleet on one screen. 3: something needs attention.
struct StatusOptions {
  View view;
  bool watch = false;  // again every two seconds, until interrupted
};
[[nodiscard]] int run_status(Session& session, const StatusOptions& options, std::ostream& out,
                             std::ostream& err);

// Every host that ever announced itself.
struct HostListOptions {
  View view;
};
[[nodiscard]] int run_host_list(Session& session, const HostListOptions& options, std::ostream& out,
                                std::ostream& err);

// Takes every device of a host out of the pool, and waits until nothing runs on it: maintenance on
// for each.
struct HostDrainOptions {
  std::string host;
  bool yes = false;
  bool dry_run = false;
  bool end = false;  // gives them back instead
};
[[nodiscard]] int run_host_drain(Session& session, const HostDrainOptions& options,
                                 std::ostream& out, std::ostream& err);

// No cleaning begins on the hosts until a time, or does again: an order to each of a host's
// devices, of which any worker's ledger line keeps it.
struct HostPauseOptions {
  std::vector<std::string> hosts;
  bool all_hosts = false;
  std::vector<std::string> labels;
  std::string until;   // parse_until()
  std::string reason;  // for who waits
  bool resume = false;
  bool yes = false;
  bool dry_run = false;
};
[[nodiscard]] int run_host_pause(Session& session, const HostPauseOptions& options,
                                 std::ostream& out, std::ostream& err);

// Removes from Redis what is stored of a host that is gone for good.
struct HostDeleteOptions {
  std::string host;
  bool yes = false;
};
[[nodiscard]] int run_host_delete(Session& session, const HostDeleteOptions& options,
                                  std::ostream& out, std::ostream& err);

// Loads our functions into Redis, and writes reclaim:schema.
struct RedisInstallOptions {};
[[nodiscard]] int run_redis_install(Session& session, const RedisInstallOptions& options,
                                    std::ostream& out, std::ostream& err);

// The orders that no worker has taken yet, and taking one back.
struct OrderOptions {
  View view;
  std::string host;  // empty: this host
  std::string id;
};
[[nodiscard]] int run_order_list(Session& session, const OrderOptions& options, std::ostream& out,
                                 std::ostream& err);
[[nodiscard]] int run_order_withdraw(Session& session, const OrderOptions& options,
                                     std::ostream& out, std::ostream& err);

// The clean steps of an operator's own; 1 when a command is not acceptable.
struct StepListOptions {
  View view;
};
[[nodiscard]] int run_step_list(Session& session, const StepListOptions& options, std::ostream& out,
                                std::ostream& err);

// Runs one as a cleaning would, on this host, told that it is only to say what it would do.
struct StepTestOptions {
  View view;
  std::string step;
  std::string device;
  bool dry_run = false;
};
[[nodiscard]] int run_step_test(Session& session, const StepTestOptions& options, std::ostream& out,
                                std::ostream& err);

// Writes over a spare drive and erases it by each method that it has, and says whether its model is
// to be used. 3: it is not, or that cannot be said.
struct QualifyOptions {
  std::string format;     // text, json, html; empty: text
  std::size_t width = 0;  // of the terminal
  std::string address;
  std::string serial;                // empty: it is typed on the terminal
  std::vector<std::string> methods;  // empty: all that the drive has
  std::string report;                // prefix of the files of all three forms; empty: none
};
[[nodiscard]] int run_qualify(Session& session, const QualifyOptions& options, std::ostream& out,
                              std::ostream& err);

// Prints what would be cleaned, how, and why not. Reads everything, does nothing.
struct PlanOptions {
  View view;
  bool guards = false;  // one row a guard instead of one row a device
};
[[nodiscard]] int run_plan(Session& session, const PlanOptions& options, std::ostream& out,
                           std::ostream& err);

// Checks configuration, bus, Redis, Keystone, Placement, sysfs and permissions, a line each.
struct DoctorOptions {
  View view;
  std::vector<std::string> files;  // that the settings were read from
  bool api = false;                // what `reclaim api` needs, and nothing of a worker's
  bool inside_unit = false;        // it runs with the restrictions of reclaim.service already
  config::LoadRequest request;     // that names the files, for a doctor that runs there
  // Logs in at the broker and looks whether the exchanges are there; the bus is listener/'s, so it
  // comes from above. The text says what was found.
  std::function<Result<std::string>(const config::Settings&)> check_broker;
  // Looks at the queues of Nova's notifier: those that exist.
  std::function<Result<std::vector<BusQueue>>(const config::Settings&)> look_at_queues;
};
[[nodiscard]] int run_doctor(Session& session, const DoctorOptions& options, std::ostream& out,
                             std::ostream& err);

// Follows the host's journal and the progress of what runs, until interrupted or `until_idle`.
struct WatchOptions {
  std::string host;                 // empty: this host
  bool all_hosts = false;           // every host that Redis knows when it begins
  std::vector<std::string> labels;  // or those of them that have each of these
  bool from_start = false;          // the whole journal first
  bool until_idle = false;  // ends when nothing is pending or being cleaned and something was
  int timeout_s = 0;        // 0: none
};
[[nodiscard]] int run_watch(Session& session, const WatchOptions& options, std::ostream& out,
                            std::ostream& err);

// The chain of sealed certificates (docs/certificate.md), without Redis and without the worker.
struct CertificateOptions {
  View view;
  std::string folder;                    // empty: under state_path
  std::vector<std::string> public_keys;  // empty: beside the signing key
  std::vector<std::string> named;        // show: one ID; verify: IDs or files, none means all
  std::string expect;  // verify, report: SEQUENCE:SHA256 that was noted; empty: none
  bool all = false;
  bool html = false;       // show, report: as a page for people
  bool all_hosts = false;  // list, report: those of a mirror; list without one: what Redis has
  std::string from;        // list, report: a day or a time, UTC
  std::string to;
  std::string project;  // list, report: ids; empty: any
  std::string instance;
  std::string host;
};
[[nodiscard]] int run_certificate_list(const config::Settings& settings,
                                       const CertificateOptions& options, std::ostream& out,
                                       std::ostream& err);
[[nodiscard]] int run_certificate_show(const config::Settings& settings,
                                       const CertificateOptions& options, std::ostream& out,
                                       std::ostream& err);
// Signatures, form, schema, order, gaps; 1 when anything is wrong, with a row that says what; 2
// when the chain is whole and tells of a tenancy that another followed without an erasure between
// them.
[[nodiscard]] int run_certificate_verify(const config::Settings& settings,
                                         const CertificateOptions& options, std::ostream& out,
                                         std::ostream& err);

// The last certificate of each device of the fleet, from Redis.
[[nodiscard]] int run_fleet_certificates(Session& session, const CertificateOptions& options,
                                         std::ostream& out, std::ostream& err);

// Prints what the chain says of a period, with its own state: 1 when it was not verified, 2 when a
// tenancy of the period followed another one without an erasure.
[[nodiscard]] int run_certificate_report(const config::Settings& settings,
                                         const CertificateOptions& options, std::ostream& out,
                                         std::ostream& err);

// The newest file's SHA-256 and name, as sha256sum writes it: what a time stamp is taken of. 1: it
// is not as it was sealed, or `head` does not name it.
[[nodiscard]] int run_certificate_head(const config::Settings& settings,
                                       const CertificateOptions& options, std::ostream& out,
                                       std::ostream& err);
// Seals with the key in use that `named`, a file with a public key, is the next one.
[[nodiscard]] int run_certificate_endorse(const config::Settings& settings,
                                          const CertificateOptions& options, std::ostream& out,
                                          std::ostream& err);
// Seals that a former key proves nothing from an entry on.
struct RevokeOptions {
  std::string key;   // a file with the public key, its id, or the beginning of it
  std::string from;  // sequence of the first entry that it does not prove; as the files have it
  std::string reason;
  bool yes = false;
};
[[nodiscard]] int run_certificate_revoke(const config::Settings& settings,
                                         const RevokeOptions& options, std::ostream& out,
                                         std::ostream& err);
// All that the chain tells, certificates and audit entries, in its order.
[[nodiscard]] int run_audit_list(const config::Settings& settings,
                                 const CertificateOptions& options, std::ostream& out,
                                 std::ostream& err);

// udev's rules for the drives of device_spec, to be installed as 59-reclaim.rules.
struct ConfigUdevOptions {};
[[nodiscard]] int run_config_udev(Session& session, const ConfigUdevOptions& options,
                                  std::ostream& out, std::ostream& err);

// The line that a host's [security] order_key_file holds, out of the master that this machine's
// names. It is a secret.
struct OrderKeyOptions {
  std::string host;
};
[[nodiscard]] int run_order_key(Session& session, const OrderKeyOptions& options, std::ostream& out,
                                std::ostream& err);

// Checks the files as the process of that purpose would read them.
[[nodiscard]] int run_config_check(const config::LoadRequest& request, std::ostream& out,
                                   std::ostream& err);

// Says whether a worker of this version can take over what is there, as oslo.upgradecheck says it:
// 0 yes, 1 with warnings, 2 no, 255 the check itself failed. Reads only.
[[nodiscard]] int run_upgrade_check(const config::LoadRequest& request, bool as_json,
                                    std::ostream& out, std::ostream& err);

}  // namespace reclaim::cli
