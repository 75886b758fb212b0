// reclaim device list|show and the commands that go to a device's worker.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "cli/commands.h"
#include "cli/order.h"
#include "cli/records.h"
#include "handlers/accepted_drive.h"
#include "handlers/survey/cyborg_remarks.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/visible.h"
#include "state/device/tagged_device.h"

namespace reclaim::cli {
namespace {

// A busy host takes its time: its ledger and its Redis are written first.
constexpr std::int64_t kHeardWithinMs = 30'000;
constexpr std::int64_t kPatienceMs = 5'000;  // then it is said what is waited for
constexpr std::int64_t kLookEveryMs = 200;

int complain(std::ostream& err, const Error& error) {
  err << "reclaim: " << visible(error.what) << '\n';
  return 1;
}

int print(const Result<std::string>& text, std::ostream& out, std::ostream& err) {
  if (!text) return complain(err, text.error());
  out << *text;
  return 0;
}

Result<std::vector<std::string>> hosts_of(Session& session, const DeviceListOptions& options) {
  if (!options.all_hosts && options.hosts.empty()) {
    return std::vector<std::string>{session.settings().host};
  }
  auto store = session.store();
  if (!store) return std::move(store).error();
  auto infos =
      session.wait<std::vector<HostInfo>>([&](auto done) { (*store)->hosts(std::move(done)); });
  if (!infos) return std::move(infos).error();
  std::vector<std::string> names;
  for (const HostInfo& info : *infos) names.push_back(info.host);
  if (options.all_hosts) return names;
  for (const std::string& host : options.hosts) {
    if (std::find(names.begin(), names.end(), host) != names.end()) continue;
    return Error{
        Errc::not_found,
        fmt::format("Redis knows no worker of host '{}'; known: {}", printable_excerpt(host),
                    names.empty() ? "none" : fmt::to_string(fmt::join(names, ", ")))};
  }
  return options.hosts;
}

// What an operator should know at a glance: the error, what it waits for, whose hand is on it.
std::string note_of(const Record& record) {
  std::string note;
  if (record.maintenance) note = "maintenance";
  if (record.held) note += note.empty() ? "held by an operator" : ", held by an operator";
  if (record.cyborg_status == "maintaining") {
    note += note.empty() ? "disabled in Cyborg" : ", disabled in Cyborg";
  }
  const std::string& text = record.stage == Stage::error ? record.last_error : record.waiting_for;
  if (!text.empty()) note += note.empty() ? text : ": " + text;
  return note;
}

Cell progress_of(const Record& record) {
  if (record.stage != Stage::erasing && record.stage != Stage::preparing &&
      record.stage != Stage::concluding) {
    return std::string();
  }
  return fmt::format("{:.0f}%", record.progress_percent);
}

// What the worker would ignore is told at once.
std::optional<Error> refusal_of(const DeviceCommandOptions& options, const Record& record) {
  const OrderKind order = options.order;
  const auto state = to_string(device_state(record.stage));
  const bool unsure = record.stage == Stage::available && !record.waiting_for.empty() &&
                      !record.waiting_for.starts_with(kLeakedArq) &&
                      !record.waiting_for.starts_with(kSwitchAstray);
  // Nothing but an ARQ that was heard of says that somebody has it: an operator may know better.
  const bool only_bound =
      record.stage == Stage::allocated && record.consumer().empty() && !record.arq.empty();
  const bool due =
      record.stage == Stage::pending_cleaning &&
      (record.waiting_for.starts_with("ARQ ") || record.clean_start == CleanStart::awaited);
  if (order == OrderKind::clean && !record.cleanable() && !only_bound) {
    return Error{Errc::conflict,
                 fmt::format("{}: {}", to_string(record.address), std::string(kNotListed))};
  }
  const bool rests = record.stage == Stage::available && !options.steps_file.empty();
  if (order == OrderKind::clean && record.stage != Stage::error && !rests && !unsure &&
      !only_bound && !due) {
    return Error{
        Errc::conflict,
        fmt::format(
            "{} is {}; only a device in error is cleaned again{}", to_string(record.address), state,
            record.stage == Stage::available ? ", or one in the pool with --steps FILE" : "")};
  }
  if (order == OrderKind::abort && !is_busy(record.stage) &&
      record.stage != Stage::pending_cleaning) {
    return Error{Errc::conflict,
                 fmt::format("{} is {}; there is no cleaning to abort, and nothing to do",
                             to_string(record.address), state)};
  }
  if (order == OrderKind::unhold && !record.clean_step.starts_with("hold.")) {
    return Error{Errc::conflict,
                 fmt::format("{} is {}{}; only a plan that waits at a hold takes an approval",
                             to_string(record.address), state,
                             record.clean_step.empty() ? "" : ", at " + record.clean_step)};
  }
  if (order == OrderKind::enrol && find_row(record.stage, Trigger::operator_enrol) == nullptr) {
    return Error{Errc::conflict,
                 fmt::format("{} is {}; a drive is enrolled while it is available, waits to be "
                             "cleaned or is in error",
                             to_string(record.address), state)};
  }
  if (order == OrderKind::disown && is_busy(record.stage)) {
    return Error{Errc::conflict, fmt::format("{} is {}; abort the cleaning first, then disown it",
                                             to_string(record.address), state)};
  }
  if (order == OrderKind::enrol && record.held) {
    return Error{Errc::conflict, fmt::format("{} is held by an operator; un-reserve it first",
                                             to_string(record.address))};
  }
  return std::nullopt;
}

// Whether the record shows what the order asks for. That it moved is not enough: a cleaning
// moves it by itself, and who set maintenance must not believe in it before it stands there.
bool has_acted(OrderKind order, const Record& before, const Record& now) {
  if (order == OrderKind::maintenance_on) return now.maintenance;
  if (order == OrderKind::maintenance_off) return !now.maintenance;
  if (now.epoch == before.epoch) return false;
  if (order == OrderKind::abort) return now.stage == Stage::error;
  if (order == OrderKind::disown) return !now.cleanable();
  if (order == OrderKind::enrol) return now.serial != before.serial || now.accepted;
  return true;  // a second try may have failed again by now
}

}  // namespace

int run_device_list(Session& session, const DeviceListOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto hosts = hosts_of(session, options);
  if (!hosts) return complain(err, hosts.error());
  Table table{{"Host", "Address", "Type", "Device State", "Clean Step", "Progress", "Serial",
               "Model", "Flow", "Instance", "ARQ", "Note"},
              {},
              {"ARQ", "Instance", "Model", "Type", "Flow", "Host", "Progress", "Clean Step"}};
  for (const std::string& host : *hosts) {
    auto records = load_records(session, host);
    if (!records) return complain(err, records.error());
    std::sort(records->begin(), records->end(),
              [](const Record& a, const Record& b) { return a.address < b.address; });
    for (const Record& record : *records) {
      table.rows.push_back({record.host, to_string(record.address), record.type,
                            std::string(to_string(device_state(record.stage))), record.clean_step,
                            progress_of(record), record.serial, record.model,
                            std::string(to_string(record.flow)), record.instance, record.arq,
                            note_of(record)});
    }
  }
  return print(format_list(table, options.view), out, err);
}

int run_device_show(Session& session, const DeviceShowOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto record = find_device(session, or_this_host(session, options.host), options.device);
  if (!record) return complain(err, record.error());
  Fields fields;
  for (auto& [name, value] : encode_record(*record)) {
    // Long, and for machines; redis-cli shows them to whoever needs them.
    if (name == "baseline" || name == "enrolment" || name == "certificate_pending") continue;
    if (!value.empty() && (value.front() == '{' || value.front() == '[')) {
      fields.emplace_back(name, RawJson{value});
    } else {
      fields.emplace_back(name, value);
    }
  }
  if (!record->tags.empty()) {
    fields.emplace_back("tagged_device", RawJson{tagged_device(*record)});
  }
  if (const auto method = erase_of(record->plan)) {
    fields.emplace_back("sanitization_class", std::string(nvme::sanitization_class(*method)));
  }
  if (record->host == session.settings().host) {
    const auto id = [](const std::string& hex) {
      return parse_hex<std::uint16_t>(hex).value_or(0);
    };
    const DevicePolicyLookup lookup = record->is_drive()
                                          ? config::device_policy_lookup(session.settings())
                                          : config::function_policy_lookup(session.settings());
    auto policy = lookup(id(record->vendor_id), id(record->product_id), record->address);
    if (policy) policy = raised_by_names(*std::move(policy), record->policies);
    fields.emplace_back("policy", policy ? describe_origin(*policy) : "");
    fields.emplace_back("verify", policy ? std::string(nvme::to_string(policy->rules.verify)) : "");
  }
  return print(format_show(fields, options.view), out, err);
}

int run_device_command(Session& session, const DeviceCommandOptions& options, std::ostream& out,
                       std::ostream& err) {
  const std::string host = or_this_host(session, options.host);
  const auto before = find_device(session, host, options.device);
  if (!before) return complain(err, before.error());
  if (const auto pointless = refusal_of(options, *before)) return complain(err, *pointless);
  auto store = session.store();
  if (!store) return complain(err, store.error());
  OrderSaid said;
  said.reason = options.reason;
  if (options.order == OrderKind::enrol) {
    auto drive = drive_to_accept(*before, options.serial, "--serial");
    if (!drive) return complain(err, drive.error());
    said.accepts = std::move(drive).value();
  }
  if (!options.steps_file.empty()) {
    auto steps = steps_of_file(options.steps_file, *before);
    if (!steps) return complain(err, steps.error());
    said.steps = *std::move(steps);
  }
  const auto order = new_order(session, host, options.order, to_string(before->address), said);
  if (!order) return complain(err, order.error());
  if (options.order == OrderKind::enrol) {
    out << visible(accepting_text(said.accepts, before->address)) << "\n" << std::flush;
  }
  const auto pushed =
      session.wait<Ok>([&](auto done) { (*store)->push_order(host, *order, std::move(done)); });
  if (!pushed) return complain(err, pushed.error());

  std::int64_t waited_ms = 0;
  while (waited_ms < kHeardWithinMs) {
    const auto now = find_device(session, host, options.device);
    if (now && has_acted(options.order, *before, *now)) {
      out << fmt::format("{}: {}{} ({})\n", to_string(now->address),
                         to_string(device_state(now->stage)),
                         now->maintenance ? ", in maintenance" : "", order->request_id);
      return 0;
    }
    const auto answer = session.wait<std::optional<std::string>>(
        [&](auto done) { (*store)->read_order_answer(host, order->request_id, std::move(done)); });
    if (answer && *answer && !(*answer)->empty()) {
      return complain(err, Error{Errc::refused, fmt::format("{} is refused: {}",
                                                            to_string(options.order), **answer)});
    }
    session.run_until([] { return false; }, kLookEveryMs);
    waited_ms += kLookEveryMs;
    if (waited_ms == kPatienceMs) {
      err << fmt::format("waiting for the worker of host {} to take the order\n", host)
          << std::flush;
    }
  }
  err << fmt::format(
      "reclaim: {} is queued for host {} ({}), but its worker has not acted on it: check that it "
      "runs, whether a cleaning has to end first, and its log. The order expires after an hour; "
      "`reclaim device order list` shows it until it is taken, `order withdraw` takes it back\n",
      to_string(options.order), host, order->request_id);
  return 1;
}

}  // namespace reclaim::cli
