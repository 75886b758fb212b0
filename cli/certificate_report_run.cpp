// reclaim certificate report: a period of the chain, for an auditor.
#include <fmt/core.h>

#include <ostream>

#include "cli/certificate_folder.h"
#include "cli/certificate_report.h"
#include "cli/certificate_report_page.h"
#include "cli/commands.h"
#include "state/base/visible.h"
#include "state/certificate/chain.h"

namespace reclaim::cli {
namespace {

constexpr int kUnerasedExit = 2;  // as `certificate verify`

ChainState state_of(const std::string& folder, const CertificateOptions& options,
                    const Result<std::vector<PublicKey>>& keys) {
  ChainState state;
  if (!keys.ok()) {
    state.text = keys.error().what;
    return state;
  }
  const auto checked = check_chain(folder, *keys);
  if (!checked.ok()) {
    state.text = checked.error().what;
    return state;
  }
  std::vector<ChainProblem> problems = unused_keys(*checked, options, *keys);
  problems.insert(problems.begin(), checked->problems.begin(), checked->problems.end());
  const auto lost = options.expect.empty() ? std::nullopt : lost_entry(folder, options.expect);
  if (lost) problems.push_back(*lost);
  for (const ChainProblem& problem : problems) {
    state.problems.push_back(problem.file + ": " + problem.what);
  }
  if (!state.problems.empty()) {
    state.verdict = ChainState::Verdict::broken;
    state.text = fmt::format("{} wrong, first: {}", state.problems.size(), state.problems.front());
    return state;
  }
  if (checked->count > 0) state.verdict = ChainState::Verdict::verified;
  state.text = extent_of(*checked);
  return state;
}

// A title and what is below it, where there is something.
Status append(std::string& out, std::string_view title, const Table& table, const View& view) {
  if (table.rows.empty()) return Ok{};
  const auto text = format_list(table, view);
  if (!text.ok()) return text.error();
  out += fmt::format("\n{}\n{}", title, *text);
  return Ok{};
}

Result<std::string> as_tables(const PeriodReport& report, const View& view) {
  auto summary = format_show(summary_of(report), view);
  if (!summary.ok()) return summary;
  std::string out = *std::move(summary);
  for (const auto& [title, table] :
       {std::pair{"Devices", device_table(report)}, std::pair{"Methods", method_table(report)},
        std::pair{"Incidents", incident_table(report)}}) {
    if (Status added = append(out, title, table, view); !added.ok()) return added.error();
  }
  return out;
}

Result<std::string> as_json(const PeriodReport& report, const View& view) {
  Fields fields = summary_of(report);
  for (const auto& [name, table] :
       {std::pair{"devices", device_table(report)}, std::pair{"methods", method_table(report)},
        std::pair{"incidents", incident_table(report)}}) {
    auto rows = format_list(table, view);
    if (!rows.ok()) return rows;
    fields.emplace_back(name, RawJson{*std::move(rows)});
  }
  return format_show(fields, view);
}

}  // namespace

int run_certificate_report(const config::Settings& settings, const CertificateOptions& options,
                           std::ostream& out, std::ostream& err) {
  const auto period = parse_period(options.from, options.to);
  if (!period.ok()) return complain(err, period.error());
  const std::string folder = folder_of(settings, options);
  std::vector<std::string> unreadable;
  auto source = read_chain(folder, unreadable);
  if (!source.ok()) return complain(err, source.error());
  source->chain = state_of(folder, options, keys_of(settings, options));
  const PeriodReport report = report_of(*source, *period);
  if (options.html) {
    out << certificate_report_page(report, folder);
  } else {
    const auto text = options.view.format == Format::json ? as_json(report, options.view)
                                                          : as_tables(report, options.view);
    if (!text.ok()) return complain(err, text.error());
    out << *text;
  }
  for (const std::string& each : unreadable) err << "reclaim: " << visible(each) << '\n';
  const bool empty = source->erasures.empty() && source->audit.empty() && unreadable.empty();
  if (empty && must_have_entry(options)) {
    return complain(err, Error{Errc::not_found, fmt::format("{}: {}", folder, kNoEntry)});
  }
  if (report.chain.verdict != ChainState::Verdict::verified && !empty) {
    err << "reclaim: the chain is " << (report.chain.problems.empty() ? "not checked" : "not whole")
        << ": " << visible(report.chain.text) << '\n';
    return 1;
  }
  if (!unreadable.empty()) return 1;
  return report.unerased > 0 ? kUnerasedExit : 0;
}

}  // namespace reclaim::cli
