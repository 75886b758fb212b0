// reclaim host pause|resume.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/confirm.h"
#include "cli/device_targets.h"
#include "cli/order.h"
#include "cli/records.h"
#include "cli/until.h"
#include "handlers/survey/host_pause.h"
#include "state/base/log.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kHeardWithinMs = 30'000;
constexpr std::int64_t kLookEveryMs = 200;

// The orders to one host: one to each of its devices, for any of their lines in the ledger may be
// lost.
struct Asked {
  std::string host;
  std::vector<Order> open;  // not answered yet
  std::size_t taken = 0;
  std::string refusal;  // of one of them
};

Result<Asked> ask(Session& session, const std::string& host, OrderKind kind,
                  const OrderSaid& said) {
  const auto records = load_records(session, host);
  if (!records) return records.error();
  const auto store = session.store();
  if (!store) return store.error();
  Asked asked{host, {}, 0, {}};
  for (const Record& record : *records) {
    if (!record.cleanable() || !record.damage.empty()) continue;
    auto order = new_order(session, host, kind, to_string(record.address), said);
    if (!order) return std::move(order).error();
    const auto pushed =
        session.wait<Ok>([&](auto done) { (*store)->push_order(host, *order, std::move(done)); });
    if (!pushed) return with_login_remedy(pushed.error());
    asked.open.push_back(*std::move(order));
  }
  if (asked.open.empty()) {
    return Error{Errc::not_found, "it has no device that is cleaned: there is nothing to pause"};
  }
  return asked;
}

void read_answers(Session& session, RedisStore& store, Asked& asked) {
  std::erase_if(asked.open, [&](const Order& order) {
    const auto answer = session.wait<std::optional<std::string>>(
        [&](auto done) { store.read_order_answer(asked.host, order.request_id, std::move(done)); });
    if (!answer || !*answer) return false;
    if ((*answer)->empty()) {
      asked.taken += 1;
    } else {
      asked.refusal = **answer;
    }
    return true;
  });
}

// One that was taken is enough: it is kept for the host. All of them are waited for nevertheless,
// so that none changes later what is ordered next.
Status follow(Session& session, Asked& asked) {
  const auto store = session.store();
  if (!store) return store.error();
  for (std::int64_t waited_ms = 0; waited_ms < kHeardWithinMs; waited_ms += kLookEveryMs) {
    read_answers(session, **store, asked);
    if (asked.open.empty()) break;
    session.run_until([] { return false; }, kLookEveryMs);
  }
  if (asked.taken > 0) return Ok{};
  if (!asked.refusal.empty()) return Error{Errc::refused, "it is refused: " + asked.refusal};
  return Error{Errc::unknown,
               "its worker has not taken the order: check that it runs. The order expires after an "
               "hour; `reclaim device order list` shows it until it is taken"};
}

// The hosts that are not paused, as their workers said last.
Result<std::set<std::string>> not_paused(Session& session) {
  const auto infos = known_hosts(session);
  if (!infos) return infos.error();
  std::set<std::string> hosts;
  for (const HostInfo& info : *infos) {
    const bool heard = info.heartbeat_at.ms != 0;
    if (heard && info.paused_until <= session.clock().now().wall) hosts.insert(info.host);
  }
  return hosts;
}

std::string done_text(const HostPauseOptions& options, const std::string& host, WallMs until,
                      const std::set<std::string>& unpaused) {
  if (options.resume) {
    return fmt::format("host {}: {}", host,
                       unpaused.contains(host)
                           ? "by its last heartbeat it was not paused; cleanings begin as before"
                           : "cleanings begin again");
  }
  return fmt::format(
      "host {}: no cleaning begins until {} ({}); `reclaim status` shows it after the "
      "worker's next survey",
      host, local_time_text(until), to_iso8601_seconds(until));
}

}  // namespace

int run_host_pause(Session& session, const HostPauseOptions& options, std::ostream& out,
                   std::ostream& err) {
  if (options.hosts.empty() && !options.all_hosts && options.labels.empty()) {
    return complain(err,
                    Error{Errc::usage, "no host is named: give HOST…, --label or --all-hosts"});
  }
  const auto hosts = chosen_hosts(session, options.hosts, options.all_hosts, options.labels);
  if (!hosts) return complain(err, hosts.error());
  OrderSaid said;
  said.reason = options.reason;
  if (!options.resume) {
    const auto until = parse_until(options.until, session.clock().now().wall);
    if (!until) return complain(err, until.error().wrap("--until"));
    said.until = *until;
    Order probe;
    probe.reason = said.reason;
    probe.until = said.until;
    const std::string why = why_no_pause(probe, session.clock().now().wall);
    if (!why.empty()) return complain(err, Error{Errc::usage, why});
  }
  const bool many = hosts->size() != 1 || options.hosts.empty();
  if (many || options.dry_run) {
    out << fmt::format("{}: {}: {}\n", options.resume ? "resume" : "pause",
                       counted(hosts->size(), "host"), fmt::join(*hosts, ", "));
    if (options.dry_run) return 0;
    if (const Status meant = confirm("Go on?", options.yes, out); !meant) {
      return complain(err, meant.error());
    }
  }
  const auto unpaused = options.resume ? not_paused(session) : std::set<std::string>();
  if (!unpaused) return complain(err, unpaused.error());
  int code = 0;
  std::vector<Asked> asked;
  for (const std::string& host : *hosts) {
    auto one = ask(session, host, options.resume ? OrderKind::resume : OrderKind::pause, said);
    if (one) {
      asked.push_back(*std::move(one));
    } else {
      code = complain(err, one.error().wrap("host " + host));
    }
  }
  for (Asked& one : asked) {
    if (const Status heard = follow(session, one); !heard) {
      code = complain(err, heard.error().wrap("host " + one.host));
      continue;
    }
    say(out, done_text(options, one.host, said.until, *unpaused));
  }
  return code;
}

}  // namespace reclaim::cli
