// The commands that go to devices' workers: reclaim device clean|abort|unhold|disown|retire|set,
// for one device or many.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/confirm.h"
#include "cli/device_order.h"
#include "cli/device_targets.h"
#include "cli/doctor_checks.h"
#include "cli/order.h"
#include "cli/progress_line.h"
#include "cli/records.h"
#include "handlers/accepted_drive.h"
#include "state/base/log.h"
#include "state/device/hold.h"

namespace reclaim::cli {
namespace {

// A busy host takes its time: its ledger and its Redis are written first.
constexpr std::int64_t kHeardWithinMs = 30'000;
constexpr std::int64_t kPatienceMs = 5'000;  // then it is said what is waited for
constexpr std::int64_t kLookEveryMs = 200;
constexpr std::int64_t kWorkersEveryMs = 10'000;
constexpr std::size_t kShownMax = 50;  // of what is asked about

std::string name_of(const Record& record) {
  return fmt::format("{} {}", record.host, to_string(record.address));
}

// An order on its way.
struct Sent {
  Record before;
  Order order;
  bool taken = false;  // by the worker
  bool acted = false;
  bool over = false;
  std::string waiting_for = {};  // as it was said last
};

// Issues orders and follows them.
class DeviceOrderRun final {
 public:
  DeviceOrderRun(Session& session, RedisStore& store, const DeviceCommandOptions& options,
                 std::ostream& out, std::ostream& err)
      : session_(session), store_(store), options_(options), out_(out), err_(err), progress_(out) {}

  // Nothing is sent yet.
  Status add(const Record& record) {
    OrderSaid said;
    said.reason = options_.reason;
    said.purpose = options_.purpose;
    if (options_.order == OrderKind::unhold) said.hold = hold_id(record);
    if (options_.order == OrderKind::enrol) {
      auto drive = drive_to_accept(record, options_.serial, "--serial");
      if (!drive) return std::move(drive).error();
      said.accepts = std::move(drive).value();
    }
    if (!options_.steps_file.empty()) {
      auto steps = steps_of_file(options_.steps_file, record);
      if (!steps) return std::move(steps).error();
      said.steps = *std::move(steps);
    }
    auto order = new_order(session_, record.host, options_.order, to_string(record.address), said);
    if (!order) return std::move(order).error();
    if (options_.order == OrderKind::unhold) {
      say(out_,
          fmt::format("An approval of {} at {}.", record.clean_step, to_string(record.address)));
    }
    if (options_.order == OrderKind::enrol) {
      say(out_, accepting_text(said.accepts, record.address));
    }
    if (options_.order == OrderKind::maintenance_on && order->mac.empty()) {
      say(err_,
          fmt::format("note: the order is not authenticated, so its maintenance ends after a day, "
                      "or when the worker is started again: run it as root on host {}, or with the "
                      "key of orders",
                      record.host));
    }
    sent_[record.host].push_back({record, *std::move(order)});
    return Ok{};
  }

  // One that cannot be sent keeps none of the others.
  void send() {
    for (auto& [host, orders] : sent_) {
      for (Sent& one : orders) {
        const auto pushed = session_.wait<Ok>(
            [&, &to = host](auto done) { store_.push_order(to, one.order, std::move(done)); });
        if (!pushed) fail(one, "not sent: " + with_login_remedy(pushed.error()).what);
      }
    }
  }

  // Follows the orders until each was heard and, with --wait, has come to rest; false: one was
  // refused, not heard, or ended in error.
  bool follow() {
    std::int64_t waited_ms = 0;
    for (;;) {
      for (auto& [host, orders] : sent_) {
        if (!is_over(orders)) look(host, orders, waited_ms);
      }
      if (std::all_of(sent_.begin(), sent_.end(),
                      [](const auto& host) { return is_over(host.second); })) {
        return well_;
      }
      session_.run_until([] { return false; }, kLookEveryMs);
      waited_ms += kLookEveryMs;
      if (waited_ms == kPatienceMs) say_who_is_waited_for();
      if (waited_ms == kHeardWithinMs) give_up_unheard();
      if (waited_ms % kWorkersEveryMs == 0) look_at_workers();
    }
  }

 private:
  static bool is_over(const std::vector<Sent>& orders) {
    return std::all_of(orders.begin(), orders.end(), [](const Sent& one) { return one.over; });
  }

  void look(const std::string& host, std::vector<Sent>& orders, std::int64_t waited_ms) {
    const auto records = load_records(session_, host);
    if (!records) {
      const std::int64_t since = unread_since_.emplace(host, waited_ms).first->second;
      if (waited_ms - since >= kHeardWithinMs) fail_all(orders, records.error().what);
      return;
    }
    unread_since_.erase(host);
    std::vector<Record> busy;
    for (Sent& one : orders) {
      if (one.over) continue;
      const auto now = std::find_if(records->begin(), records->end(), [&](const Record& record) {
        return record.address == one.before.address;
      });
      if (now == records->end()) {
        fail(one, "its record is gone");
        continue;
      }
      if (!one.taken) read_answer(host, one);
      if (!one.over) look(one, *now, waited_ms >= kHeardWithinMs);
      if (!one.over && one.acted) busy.push_back(*now);
    }
    progress_.show(sent_.size() > 1 ? host : "", busy);
  }

  // Looks at one order. What became of it counts more than a record that moved: a record moves by
  // itself. `late`: the answer may have been lost.
  void look(Sent& one, const Record& now, bool late) {
    const bool heard = one.taken || late;
    one.acted = one.acted || (heard && has_acted(options_.order, one.before, now));
    if (!one.acted && one.taken && comes_later(options_.order, now)) {
      if (!options_.wait) return end(one, now, ", taken: it takes effect when that is over");
      one.acted = true;  // heard: followed by what it does until then
    }
    if (!one.acted) return;
    if (!options_.wait) return end(one, now, "");
    say_what_is_waited_for(one, now);
    const Rest rest = rest_of(options_.order, one.before, now);
    if (rest == Rest::not_yet || !has_acted(options_.order, one.before, now)) return;
    well_ = well_ && rest == Rest::well;
    end(one, now,
        rest == Rest::error        ? ": " + now.last_error
        : !now.waiting_for.empty() ? ": " + now.waiting_for
        : now.clean_step.starts_with("hold.")
            ? fmt::format(", waits at {}: reclaim device unhold", now.clean_step)
            : "");
  }

  void end(Sent& one, const Record& now, const std::string& more) {
    one.over = true;
    progress_.clear();
    say(out_,
        fmt::format("{}: {}{} ({}){}", sent_.size() > 1 ? name_of(now) : to_string(now.address),
                    to_string(device_state(now.stage)), now.maintenance ? ", in maintenance" : "",
                    one.order.request_id, more));
  }

  void fail(Sent& one, const std::string& why) {
    one.over = true;
    well_ = false;
    progress_.clear();
    const bool many = sent_.size() > 1 || sent_.begin()->second.size() > 1;
    complain(err_,
             Error{Errc::failed, fmt::format("{}{} {}", many ? name_of(one.before) + ": " : "",
                                             to_string(options_.order), why)});
  }
  void fail_all(std::vector<Sent>& orders, const std::string& why) {
    for (Sent& one : orders) {
      if (!one.over) fail(one, why);
    }
  }

  void read_answer(const std::string& host, Sent& one) {
    const auto answer = session_.wait<std::optional<std::string>>(
        [&](auto done) { store_.read_order_answer(host, one.order.request_id, std::move(done)); });
    if (!answer || !*answer) return;
    if (!(*answer)->empty()) return fail(one, "is refused: " + **answer);
    one.taken = true;
  }

  // Says why a device has to wait; each reason once.
  void say_what_is_waited_for(Sent& one, const Record& now) {
    if (std::exchange(one.waiting_for, now.waiting_for) == now.waiting_for) return;
    if (now.waiting_for.empty()) return;
    progress_.clear();
    say(err_, fmt::format("{} waits: {}", name_of(now), now.waiting_for));
  }

  void say_who_is_waited_for() {
    for (const auto& [host, orders] : sent_) {
      if (std::any_of(orders.begin(), orders.end(),
                      [](const Sent& one) { return !one.taken && !one.over; })) {
        progress_.clear();
        say(err_, fmt::format("waiting for the worker of host {} to take the order", host));
      }
    }
  }

  void give_up_unheard() {
    for (auto& [host, orders] : sent_) {
      for (Sent& one : orders) {
        if (one.acted || one.over) continue;
        fail(one, fmt::format(
                      "is queued for host {} ({}), but its worker has not acted on it: check "
                      "that it runs, whether a cleaning has to end first, and its log. The order "
                      "expires after an hour; `reclaim device order list` shows it until it is "
                      "taken, `order withdraw` takes it back",
                      host, one.order.request_id));
      }
    }
  }

  // Gives up orders whose worker took them and is gone: nothing more is to be waited for.
  void look_at_workers() {
    const auto hosts = known_hosts(session_);
    if (!hosts) return;
    const std::int64_t silence_max_ms = worker_silence_max_ms(session_.settings());
    for (const HostInfo& info : *hosts) {
      const auto orders = sent_.find(info.host);
      if (orders == sent_.end()) continue;
      const std::int64_t silent_ms = session_.clock().now().wall.ms - info.heartbeat_at.ms;
      if (!info.stopped && silent_ms <= silence_max_ms) continue;
      for (Sent& one : orders->second) {
        if (!one.taken || one.over) continue;
        fail(one, fmt::format("cannot be followed: the worker of host {} {}", info.host,
                              info.stopped ? "was stopped" : "is silent"));
      }
    }
  }

  Session& session_;
  RedisStore& store_;
  const DeviceCommandOptions& options_;
  std::ostream& out_;
  std::ostream& err_;
  ProgressLine progress_;
  std::map<std::string, std::vector<Sent>> sent_;     // by host
  std::map<std::string, std::int64_t> unread_since_;  // Redis did not tell of the host
  bool well_ = true;
};

// Shows what is about to be done, a line a device, and what is left out, with its reason.
void show(const std::vector<Record>& records, const DeviceCommandOptions& options,
          std::ostream& out) {
  std::size_t shown = 0;
  for (const Record& record : records) {
    if (++shown > kShownMax) {
      out << fmt::format("  and {} more\n", records.size() - kShownMax);
      break;
    }
    const auto pointless = refusal_of(options.order, !options.steps_file.empty(), record);
    say(out, fmt::format("  {} {} {}{}", name_of(record), record.serial,
                         to_string(device_state(record.stage)),
                         pointless ? ": left out: " + pointless->what : ""));
  }
}

// Keeps the devices that are still as they were shown; the others are told.
std::vector<Record> unchanged(const std::vector<Record>& shown, const std::vector<Record>& now,
                              std::ostream& err) {
  std::vector<Record> same;
  for (const Record& record : shown) {
    const auto found = std::find_if(now.begin(), now.end(), [&](const Record& one) {
      return one.host == record.host && one.address == record.address;
    });
    if (found != now.end() && found->serial == record.serial &&
        device_state(found->stage) == device_state(record.stage)) {
      same.push_back(*found);
    } else {
      complain(err, Error{Errc::conflict, name_of(record) + ": changed meanwhile, left out"});
    }
  }
  return same;
}

}  // namespace

int run_device_command(Session& session, const DeviceCommandOptions& options, std::ostream& out,
                       std::ostream& err) {
  const bool by_name = !options.choice.devices.empty();
  const auto chosen = chosen_devices(session, options.choice);
  if (!chosen) return complain(err, chosen.error());
  if (chosen->empty()) {
    out << "no device is chosen: nothing to do\n";
    return 0;
  }
  std::vector<Record> records;
  for (const Record& record : *chosen) {
    const auto pointless = refusal_of(options.order, !options.steps_file.empty(), record);
    if (pointless && by_name && chosen->size() == 1) return complain(err, *pointless);
    if (!pointless) records.push_back(record);
  }
  // A named device that is left out is a failure; one that a state chose is not.
  bool well = !by_name || records.size() == chosen->size();
  if (options.choice.devices.size() != 1 || options.ask || options.dry_run) {
    out << fmt::format("{}: {} of {}\n", to_string(options.order), records.size(),
                       counted(chosen->size(), "device"));
    show(*chosen, options, out);
    if (options.dry_run || records.empty()) return well ? 0 : 1;
    if (const Status meant = confirm("Go on?", options.yes, out); !meant) {
      return complain(err, meant.error());
    }
    const auto now = chosen_devices(session, options.choice);
    if (!now) return complain(err, now.error());
    const std::size_t shown = records.size();
    records = unchanged(records, *now, err);
    well = well && records.size() == shown;
  }
  const auto store = session.store();
  if (!store) return complain(err, store.error());
  DeviceOrderRun run(session, **store, options, out, err);
  for (const Record& record : records) {
    if (Status added = run.add(record); !added) {
      return complain(err, added.error().wrap(name_of(record)));
    }
  }
  run.send();
  return run.follow() && well ? 0 : 1;
}

}  // namespace reclaim::cli
