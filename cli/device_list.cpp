// reclaim device list|show.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/device_targets.h"
#include "cli/record_cells.h"
#include "cli/records.h"
#include "cli/timeline_show.h"
#include "handlers/drive_wear.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"
#include "state/base/fields.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/visible.h"
#include "state/device/tagged_device.h"

namespace reclaim::cli {
namespace {

int print(const Result<std::string>& text, std::ostream& out, std::ostream& err) {
  if (!text) return complain(err, text.error());
  out << *text;
  return 0;
}

// What an operator should know at a glance: the error, what it waits for, whose hand is on it.
std::string note_of(const Record& record) {
  std::string note;
  if (record.maintenance) {
    const bool on_offer = record.stage == Stage::available && !record.held;
    note = on_offer ? "maintenance, not reserved yet" : "maintenance, reserved";
  } else if (record.held) {
    note = "held by an operator";
  }
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
    return {};
  }
  return std::round(record.progress_percent * 10) / 10;
}

// Of an available device the record still names its last tenant.
std::string tenant_of(const Record& record) {
  return record.stage == Stage::available ? std::string() : record.instance;
}

bool is_shown(const Record& record, const DeviceListOptions& options) {
  const std::string_view state = to_string(device_state(record.stage));
  return options.states.empty() ||
         std::find(options.states.begin(), options.states.end(), state) != options.states.end();
}

std::vector<Cell> row_of(const Record& record, const DeviceListOptions& options, WallMs now) {
  std::vector<Cell> row{
      record.host,
      to_string(record.address),
      record.type,
      std::string(to_string(device_state(record.stage))),
      field::time_text(record.stage_since),
      record.stage_since.ms == 0 ? "-" : age_text((now.ms - record.stage_since.ms) / 1000),
      record.clean_step,
      progress_of(record),
      record.serial,
      record.model,
      std::string(to_string(record.flow)),
      tenant_of(record),
      record.arq};
  if (options.longer) {
    for (Cell cell : {Cell(record.uuid), Cell(record.provider), Cell(record.resource_class),
                      Cell(record.firmware), Cell(static_cast<std::int64_t>(record.capacity_bytes)),
                      Cell(record.instance), Cell(record.certificate_id),
                      Cell(field::time_text(record.certificate_at)),
                      Cell(field::time_text(record.updated_at))}) {
      row.push_back(std::move(cell));
    }
  }
  row.emplace_back(note_of(record));
  return row;
}

// An empty list says why it may be empty.
void say_empty(Session& session, const DeviceListOptions& options,
               const std::vector<std::string>& hosts, std::size_t hidden, std::ostream& err) {
  const std::string whose =
      options.all_hosts ? std::string("any host") : fmt::format("host {}", fmt::join(hosts, ", "));
  if (hidden > 0) {
    err << visible(fmt::format("no device of {} is {}; {} in other states", whose,
                               fmt::join(options.states, " or "), hidden))
        << '\n';
    return;
  }
  std::string known;
  if (const auto infos = known_hosts(session)) {
    for (const HostInfo& info : *infos) known += (known.empty() ? "" : ", ") + info.host;
  }
  err << visible(fmt::format("no devices recorded for {}; workers known: {}", whose,
                             known.empty() ? "none (is the worker running, and [redis] url that of "
                                             "the worker?)"
                                           : known))
      << '\n';
}

}  // namespace

int run_device_list(Session& session, const DeviceListOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto hosts = chosen_hosts(session, options.hosts, options.all_hosts);
  if (!hosts) return complain(err, hosts.error());
  Table table{
      {"Host", "Address", "Type", "Device State", "Since", "Age", "Clean Step", "Progress",
       "Serial", "Model", "Flow", "Instance", "ARQ"},
      {},
      {"Since", "ARQ", "Instance", "Model", "Type", "Flow", "Host", "Progress", "Clean Step"}};
  if (options.longer) {
    for (const char* name : {"UUID", "Provider", "Resource Class", "Firmware", "Capacity",
                             "Last Instance", "Certificate", "Certified At", "Updated At"}) {
      table.columns.emplace_back(name);
    }
  }
  table.columns.emplace_back("Note");
  const WallMs now = session.clock().now().wall;
  std::size_t hidden = 0;
  bool good = true;
  for (const std::string& host : *hosts) {
    auto records = load_records(session, host);
    if (!records) {
      static_cast<void>(complain(err, records.error()));
      if (!is_of_what_is_stored(records.error())) return 1;
      good = false;
      continue;
    }
    std::sort(records->begin(), records->end(),
              [](const Record& a, const Record& b) { return a.address < b.address; });
    for (const Record& record : *records) {
      if (is_shown(record, options)) {
        table.rows.push_back(row_of(record, options, now));
      } else {
        hidden += 1;
      }
    }
  }
  if (table.rows.empty() && good) say_empty(session, options, *hosts, hidden, err);
  const int printed = print(format_list(table, options.view), out, err);
  return good ? printed : 1;
}

int run_device_show(Session& session, const DeviceShowOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto record = find_device(session, or_this_host(session, options.host), options.device);
  if (!record) return complain(err, record.error());
  if (options.timeline) return show_timeline(session, *record, options.view, out, err);
  Fields fields;
  for (auto& [name, value] : record_cells(*record)) {
    // Long, and for machines; redis-cli shows them to whoever needs them.
    if (name == "baseline" || name == "enrolment" || name == "certificate_pending") continue;
    if (name == "instance") {
      fields.emplace_back(name, tenant_of(*record));
      fields.emplace_back("last_instance", std::move(value));
    } else {
      fields.emplace_back(name, std::move(value));
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
  const std::string kept = said_to_be_kept(record->findings);
  if (!kept.empty() && is_busy(record->stage)) fields.emplace_back("not_returned", kept);
  return print(format_show(fields, options.view), out, err);
}

}  // namespace reclaim::cli
