// reclaim host drain|delete.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/confirm.h"
#include "cli/device_targets.h"
#include "cli/records.h"

namespace reclaim::cli {
namespace {

// The devices to drain, or to bring back. A device that an earlier drain has put into
// maintenance counts as long as it is cleaned.
std::vector<std::string> addresses_of(const std::vector<Record>& records, bool end) {
  std::vector<std::string> addresses;
  for (const Record& record : records) {
    const bool meant = end ? record.maintenance : !record.maintenance || is_busy(record.stage);
    if (record.cleanable() && meant) addresses.push_back(to_string(record.address));
  }
  return addresses;
}

// A worker that observes takes the order, and reserves nothing.
Status check_not_observing(Session& session, const std::string& host) {
  const auto hosts = known_hosts(session);
  if (!hosts) return hosts.error();
  const auto info = std::find_if(hosts->begin(), hosts->end(),
                                 [&host](const HostInfo& each) { return each.host == host; });
  if (info == hosts->end() || !info->observes) return Ok{};
  return Error{
      Errc::conflict,
      fmt::format("the worker of host {} observes ([reclaim] mode = observe) and reserves "
                  "nothing: set mode = serve there, or disable the compute service in Nova",
                  host)};
}

// The devices that are on offer nevertheless.
std::vector<std::string> on_offer(const std::vector<Record>& records) {
  std::vector<std::string> addresses;
  for (const Record& record : records) {
    const bool kept = record.held || record.handed_over || record.provider.empty();
    if (record.cleanable() && record.stage == Stage::available && !kept) {
      addresses.push_back(to_string(record.address));
    }
  }
  return addresses;
}

}  // namespace

int run_host_drain(Session& session, const HostDrainOptions& options, std::ostream& out,
                   std::ostream& err) {
  const auto host = chosen_hosts(session, {options.host}, false);
  if (!host) return complain(err, host.error());
  if (const Status serves = check_not_observing(session, options.host); !options.end && !serves) {
    return complain(err, serves.error());
  }
  const auto records = load_records(session, options.host);
  if (!records) return complain(err, records.error());
  DeviceCommandOptions orders;
  orders.order = options.end ? OrderKind::maintenance_off : OrderKind::maintenance_on;
  orders.choice = {addresses_of(*records, options.end), {options.host}, false, {}};
  orders.yes = options.yes;
  orders.dry_run = options.dry_run;
  orders.ask = true;
  orders.wait = !options.end;
  if (orders.choice.devices.empty()) {
    say(out, fmt::format("host {}: no device is {}: nothing to do", options.host,
                         options.end ? "in maintenance" : "left to take out of the pool"));
    return 0;
  }
  const int code = run_device_command(session, orders, out, err);
  if (code != 0 || options.dry_run || options.end) return code;
  const auto after = load_records(session, options.host);
  if (!after) return complain(err, after.error());
  if (const auto offered = on_offer(*after); !offered.empty()) {
    return complain(err, Error{Errc::failed,
                               fmt::format("host {} is not drained: {} on offer; run it again, and "
                                           "look at `reclaim device list`",
                                           options.host, fmt::join(offered, ", "))});
  }
  const auto taken = std::count_if(records->begin(), records->end(), [](const Record& record) {
    return record.stage == Stage::allocated;
  });
  say(out, fmt::format("host {} is drained: no device is on offer, and nothing is cleaned{}",
                       options.host,
                       taken == 0 ? ""
                                  : "; " + counted(static_cast<std::size_t>(taken),
                                                   "device is still allocated: move or delete its "
                                                   "instance",
                                                   "devices are still allocated: move or delete "
                                                   "their instances")));
  return 0;
}

int run_host_delete(Session& session, const HostDeleteOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto host = chosen_hosts(session, {options.host}, false);
  if (!host) return complain(err, host.error());
  const auto records = load_records(session, options.host);
  if (!records) return complain(err, records.error());
  const auto dirty = std::count_if(records->begin(), records->end(), [](const Record& record) {
    return record.cleanable() && record.stage != Stage::available;
  });
  say(out,
      fmt::format("host {}: {} out of Redis; what is reserved in Placement stays so, and so do "
                  "ledger and certificates on the host",
                  options.host, counted(records->size(), "record goes", "records go")));
  if (dirty > 0) {
    out << fmt::format("{} not clean\n", counted(static_cast<std::size_t>(dirty), "device of it is",
                                                 "devices of it are"));
  }
  if (const Status meant = confirm("Delete?", options.yes, out); !meant) {
    return complain(err, meant.error());
  }
  const auto store = session.store();
  if (!store) return complain(err, store.error());
  const auto forgotten =
      session.wait<Ok>([&](auto done) { (*store)->forget_host(options.host, std::move(done)); });
  if (!forgotten && forgotten.error().code == Errc::busy) {
    return complain(
        err, Error{Errc::busy, fmt::format("the worker of host {} lives, or was heard of a moment "
                                           "ago: stop it there (systemctl disable --now reclaim), "
                                           "or wait until `reclaim host list` shows it silent",
                                           options.host)});
  }
  if (!forgotten) return complain(err, with_login_remedy(forgotten.error()));
  out << fmt::format("host {} is deleted\n", options.host);
  return 0;
}

}  // namespace reclaim::cli
