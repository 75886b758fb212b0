#include "cli/certificate_report_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "cli/chart.h"
#include "cli/fleet_status.h"
#include "cli/html.h"

namespace reclaim::cli {
namespace {

constexpr std::string_view kGreen = "#17693a";
constexpr std::string_view kBlue = "#5a9bd8";
constexpr std::string_view kGrey = "#9a9a9a";
constexpr std::string_view kRed = "#b3261e";
constexpr std::size_t kProblemsShown = 20;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::size_t kDayChars = 10;     // of "2026-11-25"
constexpr std::size_t kMinuteChars = 16;  // of "2026-11-25T21:00"
constexpr std::size_t kWearBuckets = 11;  // of ten per cent each; the last: 100 and more

std::string section(std::string_view name, const std::string& body, bool breaks = false) {
  if (body.empty()) return {};
  return fmt::format("<section{}><h2>{}</h2>\n{}</section>\n", breaks ? " class=\"long\"" : "",
                     html_text(name), body);
}

// "2026-11-25 21:00", UTC.
std::string minute_text(WallMs at) {
  std::string text = to_iso8601(at).substr(0, kMinuteChars);
  text[kDayChars] = ' ';
  return text;
}

// Whole days are named by the first and the last of them.
std::string period_text(const Period& period) {
  if (period.from.ms % kDayMs != 0 || period.to.ms % kDayMs != 0) {
    return fmt::format("{} to {} (UTC)", minute_text(period.from), minute_text(period.to));
  }
  const std::string first = to_iso8601(period.from).substr(0, kDayChars);
  const std::string last = to_iso8601(WallMs{period.to.ms - 1}).substr(0, kDayChars);
  return first == last ? first + " (UTC)" : fmt::format("{} to {} (UTC)", first, last);
}

// Rows of cells; the first one is its head.
std::string list(const std::vector<std::vector<std::string>>& rows) {
  if (rows.size() < 2) return {};
  std::string out = "<table class=\"list\">\n<thead><tr>";
  for (const std::string& cell : rows.front()) out += fmt::format("<th>{}</th>", html_text(cell));
  out += "</tr></thead>\n<tbody>\n";
  for (auto row = rows.begin() + 1; row != rows.end(); ++row) {
    out += "<tr>";
    for (const std::string& cell : *row) out += fmt::format("<td>{}</td>", html_text(cell));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string verdict(const ChainState& chain) {
  std::string_view look = " doubt";
  std::string_view words = "the chain was not verified";
  if (chain.verdict == ChainState::Verdict::verified) {
    look = "";
    words = "the chain is whole and signed";
  } else if (chain.verdict == ChainState::Verdict::broken) {
    look = " bad";
    words = "the chain is NOT whole: this report proves nothing";
  }
  return fmt::format("<p class=\"verdict{}\">{}</p>\n", look, words);
}

std::string head(const PeriodReport& report) {
  std::string hosts;
  for (const std::string& host : report.hosts) hosts += (hosts.empty() ? "" : ", ") + host;
  const Selection& asked = report.selection;
  const auto erased = std::count_if(report.devices.begin(), report.devices.end(),
                                    [](const ReportedDevice& it) { return it.erasures > 0; });
  std::string out =
      fmt::format("<h1>Report of sanitization</h1>\n<p class=\"lead\">{}, host {}</p>\n",
                  html_text(period_text(report.selection.period)),
                  html_text(hosts.empty() ? "unknown: no entry of the period is of it" : hosts));
  if (!asked.project.empty()) {
    out += fmt::format("<p class=\"lead\">Project <code>{}</code></p>\n", html_text(asked.project));
  }
  if (!asked.instance.empty()) {
    out +=
        fmt::format("<p class=\"lead\">Instance <code>{}</code></p>\n", html_text(asked.instance));
  }
  out += verdict(report.chain);
  out += fmt::format(
      "<p><b>{}</b> of {}, {} in all. {}. {}.</p>\n", counted(report.erasures, "erasure"),
      counted(static_cast<std::size_t>(erased), "device"), html_text(size_text(report.bytes)),
      report.quarantines == 0 ? "No quarantine" : counted(report.quarantines, "quarantine"),
      report.unerased == 0 ? std::string("No tenancy that another one followed without an erasure")
                           : fmt::format("<b>{} that another one followed without an erasure</b>",
                                         counted(report.unerased, "tenancy", "tenancies")));
  for (const std::string& said : remarks(report.left_out)) {
    out += fmt::format("<p>{}.</p>\n", html_text(said));
  }
  return out;
}

// "11-25" of each stretch.
std::vector<std::string> labels_of(const PeriodReport& report) {
  std::vector<std::string> labels;
  labels.reserve(report.stretches.size());
  for (const Stretch& each : report.stretches) {
    labels.push_back(to_iso8601(each.from).substr(5, kDayChars - 5));
  }
  return labels;
}

std::string erasures_over_time(const PeriodReport& report) {
  struct Layer {
    std::string_view name;
    std::string_view sanitization_class;
    std::string_view color;
  };
  constexpr std::array kLayers = {Layer{"purge", "purge", kGreen}, Layer{"clear", "clear", kBlue},
                                  Layer{"no class claimed", "", kGrey}};
  const std::vector<std::string> labels = labels_of(report);
  std::vector<Series> series;
  for (const Layer& layer : kLayers) {
    Series one{std::string(layer.name), std::string(layer.color), {}};
    for (const Stretch& each : report.stretches) {
      const auto it = each.erasures.find(std::string(layer.sanitization_class));
      one.values.push_back(it == each.erasures.end() ? 0 : it->second);
    }
    const bool any = std::any_of(one.values.begin(), one.values.end(),
                                 [](std::size_t value) { return value > 0; });
    if (any) series.push_back(std::move(one));
  }
  return series.empty() ? std::string()
                        : column_chart("Erasures by class over the period", labels, series);
}

std::string quarantines_over_time(const PeriodReport& report) {
  if (report.quarantines == 0) return {};
  Series failed{"quarantine", std::string(kRed), {}};
  for (const Stretch& each : report.stretches) failed.values.push_back(each.quarantines);
  return column_chart("Quarantines over the period", labels_of(report), {failed});
}

std::string by_method(const PeriodReport& report) {
  std::vector<Bar> bars;
  for (const MethodUse& it : report.methods) {
    bars.push_back({it.method, static_cast<double>(it.count), std::to_string(it.count)});
  }
  return bars.empty() ? std::string() : bar_chart("Erasures by method", bars, kGreen);
}

std::string durations(const PeriodReport& report) {
  std::vector<Bar> bars;
  for (const MethodUse& it : report.methods) {
    bars.push_back({it.method, static_cast<double>(it.median_ms),
                    fmt::format("{} ({} to {}, p95 {})", duration_text(it.median_ms),
                                duration_text(it.shortest_ms), duration_text(it.longest_ms),
                                duration_text(it.p95_ms))});
  }
  return bars.empty() ? std::string() : bar_chart("Median time of a cleaning", bars, kBlue);
}

// Charts the drives by the endurance used, as the last health step of each found it.
std::string wear(const PeriodReport& report) {
  Series drives{"drives", std::string(kBlue), std::vector<std::size_t>(kWearBuckets, 0)};
  bool any = false;
  for (const ReportedDevice& it : report.devices) {
    if (!it.used_at_last) continue;
    any = true;
    drives.values[std::min(static_cast<std::size_t>(*it.used_at_last) / 10, kWearBuckets - 1)] += 1;
  }
  if (!any) return {};
  std::vector<std::string> labels;
  for (std::size_t i = 0; i + 1 < kWearBuckets; ++i) {
    labels.push_back(fmt::format("{} to {} %", i * 10, i * 10 + 9));
  }
  labels.emplace_back("100 % +");
  return column_chart("Drives by endurance used", labels, {drives});
}

// The rows have the host first, which goes where the page's head names the only one.
std::string list_of_hosts(const PeriodReport& report, std::vector<std::vector<std::string>> rows) {
  std::set<std::string> hosts(report.hosts.begin(), report.hosts.end());
  for (const Incident& it : report.incidents) hosts.insert(it.host);
  if (hosts.size() < 2 && report.hosts.size() == hosts.size()) {
    for (auto& row : rows) row.erase(row.begin());
  }
  return list(rows);
}

std::string devices(const PeriodReport& report) {
  std::vector<std::vector<std::string>> rows = {{"Host", "Address", "Model", "Serial number",
                                                 "Erasures", "Quarantines", "Last method", "Class",
                                                 "Bytes erased", "Endurance used"}};
  for (const ReportedDevice& it : report.devices) {
    std::string used;
    if (it.used_at_last) {
      used = *it.used_at_first == *it.used_at_last
                 ? fmt::format("{} %", *it.used_at_last)
                 : fmt::format("{} to {} %", *it.used_at_first, *it.used_at_last);
    }
    rows.push_back({it.host, it.address, it.model, it.serial, std::to_string(it.erasures),
                    std::to_string(it.quarantines), it.method,
                    it.erasures > 0 ? class_text(it.class_of_last) : std::string(),
                    it.bytes > 0 ? size_text(it.bytes) : std::string(), used});
  }
  return list_of_hosts(report, std::move(rows));
}

std::string incidents(const PeriodReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"Host", "Entry", "At (UTC)", "What", "Address", "Serial number", "Detail"}};
  for (const Incident& it : report.incidents) {
    rows.push_back({it.host, std::to_string(it.sequence), minute_text(it.at), it.event, it.address,
                    it.serial, it.detail});
  }
  return rows.size() < 2 ? std::string("<p>None in the journal.</p>\n")
                         : list_of_hosts(report, std::move(rows));
}

// Lists each erasure of a tenant, if the report is of one.
std::string erasures(const PeriodReport& report) {
  if (!report.selection.names_a_tenant()) return {};
  constexpr std::array<std::string_view, 9> kShown = {
      "Host", "Sequence", "Released At", "Serial", "Method", "Class", "Instance", "ID", "Chain"};
  const Table& table = report.erasures_shown;
  std::vector<std::vector<std::string>> rows = {{"Host", "Number", "Released (UTC)",
                                                 "Serial number", "Method", "Class", "Instance",
                                                 "Certificate", "Chain"}};
  for (const auto& cells : table.rows) {
    std::vector<std::string> row;
    for (const std::string_view name : kShown) {
      const auto at = std::find(table.columns.begin(), table.columns.end(), name);
      const Cell& cell = cells.at(static_cast<std::size_t>(at - table.columns.begin()));
      const auto* number = std::get_if<std::int64_t>(&cell);
      row.push_back(number != nullptr ? std::to_string(*number) : std::get<std::string>(cell));
    }
    constexpr std::size_t kReleased = 2;
    const auto released = from_iso8601(row[kReleased]);
    row[kReleased] = released.ok() ? minute_text(*released) : "not returned";
    rows.push_back(std::move(row));
  }
  return list(rows);
}

std::string chain(const PeriodReport& report, const std::string& folder) {
  std::string out = fmt::format("<p>{}</p>\n", html_text(report.chain.text));
  if (report.first_sequence > 0) {
    out += fmt::format("<p>The period has entries {} to {} of it.</p>\n", report.first_sequence,
                       report.last_sequence);
  }
  const std::vector<std::string>& problems = report.chain.problems;
  const std::size_t shown = std::min(problems.size(), kProblemsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    out += fmt::format("<p>{}</p>\n", html_text(problems[i]));
  }
  if (shown < problems.size()) out += fmt::format("<p>and {} more</p>\n", problems.size() - shown);
  return out + fmt::format("<p>Folder: <code>{}</code></p>\n", html_text(folder));
}

}  // namespace

std::string certificate_report_page(const PeriodReport& report, const std::string& folder,
                                    const PageIssuer& issuer) {
  std::string body = head(report);
  const std::string by =
      report.stretch_days == 1
          ? std::string("by day")
          : fmt::format("by {} days, each named by its first", report.stretch_days);
  body += section("Erasures " + by, erasures_over_time(report));
  body += section("Quarantines " + by, quarantines_over_time(report));
  body += section("Erasures by method", by_method(report));
  body += section("Time of a cleaning, from its start to the release: median (shortest to longest)",
                  durations(report));
  body += section("Drives by endurance used, at their last cleaning", wear(report));
  body += section("Erasures", erasures(report), true);
  body += section("Incidents", incidents(report), true);
  body += section("Devices", devices(report), true);
  body += section("Chain", chain(report, folder));
  body += signature_lines(issuer);
  body +=
      "<footer><p>The proof is the chain of sealed files, not this page. To check it: "
      "<code>reclaim "
      "certificate verify</code> on the host, or with openssl alone as "
      "docs/certificate-format.md says.</p></footer>\n";
  return html_page("Report of sanitization " + period_text(report.selection.period), body);
}

}  // namespace reclaim::cli
