// The operator's subcommands. Each returns the exit code: 0 when all is well, 1 when something is
// not, with a line on `err` that says what and what to do.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/format.h"
#include "cli/session.h"
#include "config/load.h"

namespace reclaim::cli {

struct DeviceListOptions {
  View view;
  std::vector<std::string> hosts;  // empty: this host
  bool all_hosts = false;
};
[[nodiscard]] int run_device_list(Session& session, const DeviceListOptions& options,
                                  std::ostream& out, std::ostream& err);

struct DeviceShowOptions {
  View view;
  std::string host;    // empty: this host
  std::string device;  // address or UUID
};
[[nodiscard]] int run_device_show(Session& session, const DeviceShowOptions& options,
                                  std::ostream& out, std::ostream& err);

// Issues an order to the device's worker and waits until its record shows that it was heard, or
// says why it was refused, so that a slip is seen at once.
struct DeviceCommandOptions {
  OrderKind order = OrderKind::clean;
  std::string host;
  std::string device;
  std::string serial;      // of the drive that `enrol` accepts; empty: the one the worker saw last
  std::string reason;      // of `disown`
  std::string steps_file;  // of `clean`: the steps that are to be run first; empty: none
};
[[nodiscard]] int run_device_command(Session& session, const DeviceCommandOptions& options,
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

// What would be cleaned, how, and why not. Reads everything, does nothing.
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
  // Logs in at the broker and looks whether the exchanges are there; the bus is listener/'s, so it
  // comes from above. The text says what was found.
  std::function<Result<std::string>(const config::Settings&)> check_broker;
};
[[nodiscard]] int run_doctor(Session& session, const DoctorOptions& options, std::ostream& out,
                             std::ostream& err);

// Follows the host's journal and the progress of what runs, until interrupted or `until_idle`.
struct WatchOptions {
  std::string host;
  bool from_start = false;  // the whole journal first
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
  bool all = false;
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

// The newest file's SHA-256 and name, as sha256sum writes it: what a time stamp is taken of.
[[nodiscard]] int run_certificate_head(const config::Settings& settings,
                                       const CertificateOptions& options, std::ostream& out,
                                       std::ostream& err);
// Seals with the key in use that `named`, a file with a public key, is the next one.
[[nodiscard]] int run_certificate_endorse(const config::Settings& settings,
                                          const CertificateOptions& options, std::ostream& out,
                                          std::ostream& err);
// All that the chain tells, certificates and audit entries, in its order.
[[nodiscard]] int run_audit_list(const config::Settings& settings,
                                 const CertificateOptions& options, std::ostream& out,
                                 std::ostream& err);

// As the process of that purpose would read the files.
[[nodiscard]] int run_config_check(const config::LoadRequest& request, std::ostream& out,
                                   std::ostream& err);

}  // namespace reclaim::cli
