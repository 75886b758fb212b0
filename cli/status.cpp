// reclaim status and reclaim host list: the fleet on one screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/doctor_checks.h"
#include "cli/fleet_status.h"
#include "cli/journal.h"
#include "cli/records.h"
#include "state/base/fields.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kWatchEveryMs = 2'000;
constexpr int kAttentionExit = 3;

// The journal of each host for the last day, kept so that a watch reads only what is new.
using Journals = std::map<std::string, JournalPage>;

Status read_journals(Session& session, std::vector<HostState>& hosts, Journals& journals) {
  const std::int64_t since_ms = session.clock().now().wall.ms - kDayMs;
  std::vector<JournalPlace> places;
  for (const HostState& host : hosts) {
    const std::string& last_id = journals[host.info.host].last_id;
    places.push_back({host.info.host, last_id.empty() ? journal_id(WallMs{since_ms}) : last_id});
  }
  auto behind = journals_behind(session, places);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    JournalPage& known = journals[hosts[i].info.host];
    if (behind[i]) {
      std::erase_if(known.entries,
                    [since_ms](const JournalEntry& entry) { return entry.at.ms < since_ms; });
      std::move(behind[i]->entries.begin(), behind[i]->entries.end(),
                std::back_inserter(known.entries));
      known.last_id = std::move(behind[i]->last_id);
    } else if (is_of_what_is_stored(behind[i].error())) {
      hosts[i].unreadable = behind[i].error().what;
    } else {
      return behind[i].error();
    }
    hosts[i].journal = known.entries;
  }
  return Ok{};
}

// Reads hosts and records, and the journals too unless `journals` is null.
Result<std::vector<HostState>> read_fleet(Session& session, Journals* journals) {
  auto infos = known_hosts(session);
  if (!infos) return std::move(infos).error();
  std::vector<std::string> names;
  for (const HostInfo& info : *infos) names.push_back(info.host);
  auto records = load_each(session, names);
  if (!records) return std::move(records).error();
  std::vector<HostState> hosts;
  hosts.reserve(infos->size());
  for (std::size_t i = 0; i < infos->size(); ++i) {
    HostState host{std::move((*infos)[i]), {}, {}};
    Result<std::vector<Record>>& loaded = (*records)[i];
    if (loaded) {
      host.records = *std::move(loaded);
    } else if (is_of_what_is_stored(loaded.error())) {
      host.unreadable = loaded.error().what;
    } else {
      return loaded.error();
    }
    hosts.push_back(std::move(host));
  }
  if (journals != nullptr) {
    if (Status read = read_journals(session, hosts, *journals); !read) return read.error();
  }
  return hosts;
}

// Says nothing where a login may not read INFO: `reclaim doctor` says that.
void tell_of_connections(Session& session, FleetStatus& status) {
  const auto store = session.store();
  if (!store) return;
  const auto report = session.wait<PersistenceReport>(
      [&](auto done) { (*store)->check_persistence(std::move(done)); });
  if (!report || report->crowded.empty()) return;
  status.crowded.push_back(fmt::format("{}: {}", report->crowded, kRaiseMaxclients));
}

Result<int> show(Session& session, const StatusOptions& options, Journals& journals,
                 std::ostream& out) {
  const auto fleet = read_fleet(session, &journals);
  if (!fleet) return fleet.error();
  if (fleet->empty()) {
    return Error{Errc::not_found,
                 "no worker has ever announced itself in this Redis: is [redis] url that of the "
                 "workers, and does one run? (systemctl enable --now reclaim)"};
  }
  FleetStatus status =
      fleet_status(*fleet, session.clock().now().wall, worker_silence_max_ms(session.settings()),
                   session.settings().hosts_max);
  tell_of_connections(session, status);
  if (options.view.format == Format::table && options.view.columns.empty()) {
    if (options.watch) out << "\x1b[H\x1b[2J";
    out << render(status, options.view.width) << std::flush;
  } else {
    const auto text = format_show(status_fields(status), options.view);
    if (!text) return text.error();
    out << *text << std::flush;
  }
  return status.healthy() ? 0 : kAttentionExit;
}

// Adds what the fleet does meanwhile: each worker writes its records before it acts on them.
Error with_consequence(Error error) {
  if (error.code == Errc::unavailable) {
    error.what +=
        "; a worker that does not reach it either begins no cleaning and releases nothing until it "
        "answers (`reclaim doctor` on its host tells)";
  }
  return error;
}

}  // namespace

int run_status(Session& session, const StatusOptions& options, std::ostream& out,
               std::ostream& err) {
  Journals journals;
  for (;;) {
    const auto code = show(session, options, journals, out);
    if (!code) static_cast<void>(complain(err, with_consequence(code.error())));
    if (!options.watch) return code ? *code : 1;
    session.run_until([] { return false; }, kWatchEveryMs);
  }
}

int run_host_list(Session& session, const HostListOptions& options, std::ostream& out,
                  std::ostream& err) {
  const auto fleet = read_fleet(session, nullptr);
  if (!fleet) return complain(err, fleet.error());
  Table table{{"Host", "Worker", "Heartbeat", "Version", "Mode", "Devices", "Not Available",
               "Paused Until", "Labels"},
              {},
              {"Labels", "Version", "Mode", "Heartbeat", "Paused Until"}};
  const WallMs now = session.clock().now().wall;
  const std::int64_t silence_max_ms = worker_silence_max_ms(session.settings());
  bool good = true;
  for (const HostState& host : *fleet) {
    const HostInfo& info = host.info;
    if (!host.unreadable.empty()) {
      static_cast<void>(complain(err, Error{Errc::failed, host.unreadable}));
      good = false;
    }
    const bool known = info.heartbeat_at.ms != 0;
    const bool silent = !known || now.ms - info.heartbeat_at.ms > silence_max_ms;
    const auto away = std::count_if(
        host.records.begin(), host.records.end(),
        [](const Record& record) { return record.stage != Stage::available || record.held; });
    table.rows.push_back({info.host,
                          std::string(silent         ? "silent"
                                      : info.stopped ? "stopped"
                                                     : "up"),
                          field::time_text(info.heartbeat_at), info.version,
                          std::string(!known          ? ""
                                      : info.observes ? "observe"
                                                      : "serve"),
                          static_cast<std::int64_t>(host.records.size()),
                          static_cast<std::int64_t>(away),
                          info.paused_until > now ? to_iso8601_seconds(info.paused_until) : "",
                          fmt::format("{}", fmt::join(info.labels, ", "))});
  }
  const auto text = format_list(table, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  if (fleet->empty()) err << "no worker has announced itself here\n";
  return good ? 0 : 1;
}

}  // namespace reclaim::cli
