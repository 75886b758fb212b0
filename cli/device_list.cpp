#include "cli/device_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/complain.h"
#include "cli/device_summary.h"
#include "cli/device_targets.h"
#include "cli/records.h"
#include "handlers/drive_wear.h"
#include "state/base/fields.h"

namespace reclaim::cli {
namespace {

constexpr const char* kUsed = "Used %";
constexpr const char* kSpare = "Spare %";

int print(const Result<std::string>& text, std::ostream& out, std::ostream& err) {
  if (!text) return complain(err, text.error());
  out << *text;
  return 0;
}

Cell progress_of(const Record& record) {
  if (record.stage != Stage::erasing && record.stage != Stage::preparing &&
      record.stage != Stage::concluding) {
    return {};
  }
  return std::round(record.progress_percent * 10) / 10;
}

bool is_in_state(const Record& record, const DeviceListOptions& options) {
  const std::string_view state = to_string(device_state(record.stage));
  return options.states.empty() ||
         std::find(options.states.begin(), options.states.end(), state) != options.states.end();
}

bool is_worn_enough(const Record& record, const DeviceListOptions& options) {
  return options.worn < 0 || is_worn(wear_of(record.findings), options.worn);
}

bool has_told_wear(const Record& record) {
  const DriveWear wear = wear_of(record.findings);
  return !record.is_drive() || wear.used_percent || wear.spare_percent;
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
      arq_of(record)};
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
  const DriveWear wear = wear_of(record.findings);
  row.push_back(wear.used_percent ? Cell(std::int64_t{*wear.used_percent}) : Cell());
  row.push_back(wear.spare_percent ? Cell(std::int64_t{*wear.spare_percent}) : Cell());
  return row;
}

void worst_first(std::vector<Record>& records) {
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return worn_percent(wear_of(a.findings)) > worn_percent(wear_of(b.findings));
  });
}

// An empty list says why it may be empty.
void say_empty(Session& session, const DeviceListOptions& options,
               const std::vector<std::string>& hosts, std::size_t hidden, std::ostream& err) {
  const std::string whose = options.all_hosts && options.labels.empty()
                                ? std::string("any host")
                                : fmt::format("host {}", fmt::join(hosts, ", "));
  if (hidden > 0 && options.worn >= 0) {
    say(err, fmt::format("no drive of {} is known to be worn by {} %", whose, options.worn));
    return;
  }
  if (hidden > 0) {
    say(err, fmt::format("no device of {} is {}; {} in other states", whose,
                         fmt::join(options.states, " or "), hidden));
    return;
  }
  std::string known;
  if (const auto infos = known_hosts(session)) {
    for (const HostInfo& info : *infos) known += (known.empty() ? "" : ", ") + info.host;
  }
  say(err, fmt::format("no devices recorded for {}; workers known: {}", whose,
                       known.empty()
                           ? "none (is the worker running, and [redis] url that of the worker?)"
                           : known));
}

}  // namespace

Table device_list_columns(const DeviceListOptions& options) {
  Table table{{"Host", "Address", "Type", "Device State", "Since", "Age", "Clean Step", "Progress",
               "Serial", "Model", "Flow", "Instance", "ARQ"},
              {},
              {"Since", "ARQ", "Instance", "Model", "Type", "Flow", "Host", "Progress",
               "Clean Step", "Age", "Serial"}};
  if (options.longer) {
    for (const char* name : {"UUID", "Provider", "Resource Class", "Firmware", "Capacity",
                             "Last Instance", "Certificate", "Certified At", "Updated At"}) {
      table.columns.emplace_back(name);
    }
  }
  for (const char* name : {"Note", kUsed, kSpare}) table.columns.emplace_back(name);
  if (options.worn < 0) {
    table.spare.insert(table.spare.begin() + 1, {kUsed, kSpare});
  } else {
    table.spare = {"Note",       "Since",    "ARQ", "Instance", "Type", "Flow",
                   "Clean Step", "Progress", "Age", "Model",    "Host", "Serial"};
  }
  return table;
}

int run_device_list(Session& session, const DeviceListOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto hosts = chosen_hosts(session, options.hosts, options.all_hosts, options.labels);
  if (!hosts) return complain(err, hosts.error());
  Table table = device_list_columns(options);
  const WallMs now = session.clock().now().wall;
  std::vector<Record> shown;
  std::size_t hidden = 0;
  std::size_t untold = 0;
  bool good = true;
  auto loaded = load_each(session, *hosts);
  if (!loaded) return complain(err, loaded.error());
  for (auto& records : *loaded) {
    if (!records) {
      static_cast<void>(complain(err, records.error()));
      if (!is_of_what_is_stored(records.error())) return 1;
      good = false;
      continue;
    }
    std::sort(records->begin(), records->end(),
              [](const Record& a, const Record& b) { return a.address < b.address; });
    for (Record& record : *records) {
      if (is_in_state(record, options) && is_worn_enough(record, options)) {
        shown.push_back(std::move(record));
      } else {
        hidden += 1;
        untold += is_in_state(record, options) && !has_told_wear(record) ? 1 : 0;
      }
    }
  }
  if (options.worn >= 0) worst_first(shown);
  for (const Record& record : shown) table.rows.push_back(row_of(record, options, now));
  if (table.rows.empty() && good) say_empty(session, options, *hosts, hidden, err);
  const int printed = print(format_list(table, options.view), out, err);
  if (untold > 0) {
    say(err, fmt::format("of {} no wear is known: each tells of it when it is cleaned",
                         counted(untold, "drive")));
  }
  return good ? printed : 1;
}

}  // namespace reclaim::cli
