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

// Of each host what its journal has of the last day, so that a watch reads only what is new.
using Journals = std::map<std::string, JournalPage>;

// Of one host, of whose journal `known` is what was read before and `page` what follows.
Status read_on(Session& session, const std::string& host, Result<JournalPage> page,
               JournalPage& known) {
  if (!page) return std::move(page).error();
  const std::int64_t since_ms = session.clock().now().wall.ms - kDayMs;
  std::erase_if(known.entries,
                [since_ms](const JournalEntry& entry) { return entry.at.ms < since_ms; });
  const auto keep = [&known](JournalPage& more) {
    std::move(more.entries.begin(), more.entries.end(), std::back_inserter(known.entries));
    known.last_id = std::move(more.last_id);
  };
  const bool last = page->entries.size() < kJournalEntriesAtOnce;
  keep(*page);
  if (last) return Ok{};
  auto behind = journal_behind(session, host, known.last_id);
  if (!behind) return std::move(behind).error();
  keep(*behind);
  return Ok{};
}

Status read_journals(Session& session, RedisStore& store, std::vector<HostState>& hosts,
                     Journals& journals) {
  const WallMs since{session.clock().now().wall.ms - kDayMs};
  for (const HostState& host : hosts) {
    JournalPage& journal = journals[host.info.host];
    if (journal.last_id.empty()) journal.last_id = journal_id(since);
  }
  auto pages = session.wait_each<JournalPage>(hosts.size(), [&](std::size_t i, auto done) {
    const std::string& host = hosts[i].info.host;
    store.read_journal(host, journals[host].last_id, kJournalEntriesAtOnce, std::move(done));
  });
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    JournalPage& journal = journals[hosts[i].info.host];
    if (auto read = read_on(session, hosts[i].info.host, std::move(pages[i]), journal); !read) {
      if (!is_of_what_is_stored(read.error())) return std::move(read).error();
      hosts[i].unreadable = read.error().what;
    }
    hosts[i].journal = journal.entries;
  }
  return Ok{};
}

// Without the journals where `journals` is null.
Result<std::vector<HostState>> read_fleet(Session& session, Journals* journals) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  auto infos = known_hosts(session);
  if (!infos) return std::move(infos).error();
  auto records = session.wait_each<std::vector<Record>>(
      infos->size(),
      [&](std::size_t i, auto done) { (*store)->load((*infos)[i].host, std::move(done)); });
  std::vector<HostState> hosts;
  hosts.reserve(infos->size());
  for (std::size_t i = 0; i < infos->size(); ++i) {
    HostState host{std::move((*infos)[i]), {}, {}};
    if (records[i]) {
      host.records = *std::move(records[i]);
    } else if (is_of_what_is_stored(records[i].error())) {
      host.unreadable = records[i].error().what;
    } else {
      return std::move(records[i]).error();
    }
    hosts.push_back(std::move(host));
  }
  if (journals != nullptr) {
    if (Status read = read_journals(session, **store, hosts, *journals); !read) return read.error();
  }
  return hosts;
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
  const FleetStatus status =
      fleet_status(*fleet, session.clock().now().wall, worker_silence_max_ms(session.settings()),
                   static_cast<std::size_t>(session.settings().hosts_max));
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

// What the fleet does meanwhile: each worker writes its records before it acts on them.
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
  return good ? 0 : 1;
}

}  // namespace reclaim::cli
