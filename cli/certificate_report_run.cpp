// reclaim certificate report: a period of the chain, for an auditor.
#include <fmt/core.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "cli/certificate_folder.h"
#include "cli/certificate_report.h"
#include "cli/certificate_report_page.h"
#include "cli/certificate_selection.h"
#include "cli/commands.h"
#include "state/base/text.h"
#include "state/certificate/chain.h"

namespace reclaim::cli {
namespace {

constexpr int kUnerasedExit = 2;  // as `certificate verify`

// A chain by itself, and which of its entries prove nothing: without a key, none does.
ChainState state_of(const ChainPlace& place, const CertificateOptions& options,
                    const Result<std::vector<PublicKey>>& keys, DoubtedEntries& doubted) {
  ChainState state;
  const auto checked = check_chain(place.folder, keys.ok() ? *keys : std::vector<PublicKey>());
  if (checked.ok()) doubted = checked->doubted;
  if (!keys.ok()) {
    state.text = keys.error().what;
    return state;
  }
  if (!checked.ok()) {
    state.text = checked.error().what;
    return state;
  }
  std::vector<ChainProblem> problems;
  if (!options.public_keys.empty()) problems = unused_keys(*checked, *keys);
  problems.insert(problems.begin(), checked->problems.begin(), checked->problems.end());
  if (const auto lost = lost_entry(options, place)) problems.push_back(*lost);
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

// Joins the states of several chains: one that is not verified is enough for all.
class Fleet final {
 public:
  void add(const std::string& host, const ChainState& chain) {
    count_ += 1;
    if (chain.verdict == ChainState::Verdict::verified) verified_ += 1;
    broken_ = broken_ || chain.verdict == ChainState::Verdict::broken;
    auto& lines = chain.verdict == ChainState::Verdict::verified ? good_ : others_;
    lines.push_back(fmt::format("host {}: {}", host, chain.text));
  }
  // One that has a key and is not in the mirror.
  void miss(const std::string& host) {
    count_ += 1;
    missing_ += (missing_.empty() ? "; no chain: " : ", ") + host;
    others_.push_back(
        fmt::format("host {}: no chain: KEYS has its key or its noted entry, and the "
                    "mirror no folder {}: it was taken away, or never copied there",
                    host, host));
  }
  [[nodiscard]] ChainState state() && {
    ChainState all;
    if (verified_ == count_) {
      all.verdict = ChainState::Verdict::verified;
    } else if (broken_) {
      all.verdict = ChainState::Verdict::broken;
    }
    all.text = fmt::format("{} of {} whole and signed, each by its own host{}", verified_,
                           counted(count_, "chain is", "chains are"), missing_);
    // The chains that are not verified come first: a page shows some lines only.
    all.problems = std::move(others_);
    all.problems.insert(all.problems.end(), good_.begin(), good_.end());
    return all;
  }

 private:
  std::size_t count_ = 0;
  std::size_t verified_ = 0;
  bool broken_ = false;
  std::string missing_;
  std::vector<std::string> good_;
  std::vector<std::string> others_;
};

// A title and what is below it, where there is something.
Status append(std::string& out, std::string_view title, Table table, const View& view) {
  if (table.rows.empty()) return Ok{};
  table.hidden_are = "-f json has them";
  const auto text = format_list(table, view);
  if (!text.ok()) return text.error();
  out += fmt::format("\n{}\n{}", title, *text);
  return Ok{};
}

// Each erasure is listed where they are a tenant's.
std::vector<std::pair<std::string, Table>> tables_of(const PeriodReport& report, const View& view) {
  const bool for_people = view.format == Format::table;
  std::vector<std::pair<std::string, Table>> tables = {
      {"Devices", device_table(report)},
      {"Methods", method_table(report)},
      {"Incidents", incident_table(report, for_people)}};
  if (report.selection.names_a_tenant()) {
    tables.emplace_back("Certificates", report.erasures_shown);
  }
  return tables;
}

Result<std::string> as_tables(const PeriodReport& report, const View& view) {
  auto summary = format_show(summary_of(report), view);
  if (!summary.ok()) return summary;
  std::string out = *std::move(summary);
  for (const auto& [title, table] : tables_of(report, view)) {
    if (Status added = append(out, title, table, view); !added.ok()) return added.error();
  }
  return out;
}

Result<std::string> as_json(const PeriodReport& report, const View& view) {
  Fields fields = summary_of(report);
  for (const auto& [title, table] : tables_of(report, view)) {
    auto rows = format_list(table, view);
    if (!rows.ok()) return rows;
    fields.emplace_back(lower(title), RawJson{*std::move(rows)});
  }
  return format_show(fields, view);
}

// All chains that are meant, read and verified.
struct Sources {
  std::vector<ReportSource> chains;
  ChainState state;
  std::vector<std::string> unreadable;
  [[nodiscard]] bool empty() const {
    return unreadable.empty() &&
           std::all_of(chains.begin(), chains.end(), [](const ReportSource& each) {
             return each.erasures.empty() && each.audit.empty();
           });
  }
};

Result<Sources> read_sources(const config::Settings& settings, const CertificateOptions& options,
                             const std::vector<ChainPlace>& places) {
  Sources all;
  Fleet fleet;
  const auto missing = without_chain(options, places);
  if (!missing.ok()) return missing.error();
  for (const ChainPlace& place : places) {
    DoubtedEntries doubted;
    ChainState state = state_of(place, options, keys_of(settings, options, place), doubted);
    auto source = read_chain(place, doubted, all.unreadable);
    if (!source.ok()) return source.error();
    source->verdict = state.verdict;
    all.chains.push_back(*std::move(source));
    fleet.add(place.host, state);
    all.state = std::move(state);
  }
  for (const std::string& host : *missing) fleet.miss(host);
  if (options.all_hosts) all.state = std::move(fleet).state();
  return all;
}

Result<std::string> printed(const PeriodReport& report, const CertificateOptions& options,
                            const std::string& folder, const PageIssuer& issuer) {
  if (options.html) return certificate_report_page(report, folder, issuer);
  if (options.view.format == Format::csv) return format_list(report.erasures_shown, options.view);
  return options.view.format == Format::json ? as_json(report, options.view)
                                             : as_tables(report, options.view);
}

}  // namespace

int run_certificate_report(const config::Settings& settings, const CertificateOptions& options,
                           std::ostream& out, std::ostream& err) {
  if (Status meant = check_expected(options); !meant.ok()) return complain(err, meant.error());
  const auto selection = selection_of(options);
  if (!selection.ok()) return complain(err, selection.error());
  const auto places = chains_of(settings, options);
  if (!places.ok()) return complain(err, places.error());
  const auto sources = read_sources(settings, options, *places);
  if (!sources.ok()) return complain(err, sources.error());
  const PeriodReport report = report_of(sources->chains, sources->state, *selection);
  const std::string& first = places->front().folder;
  const std::string folder = options.all_hosts ? first.substr(0, first.rfind('/')) : first;
  const auto text = printed(report, options, folder, {settings.organization, settings.signatory});
  if (!text.ok()) return complain(err, text.error());
  out << *text;
  say_selected(options, report.erasures == 0, report.left_out, err);
  if (options.view.format == Format::csv && report.unerased > 0) {
    say(err, counted(report.unerased, "tenancy has no erasure: `-f json` shows it",
                     "tenancies have no erasure: `-f json` shows them") +
                 ", CSV does not");
  }
  if (options.all_hosts) say(err, hosts_of(*places));
  for (const std::string& each : sources->unreadable) say(err, "reclaim: " + each);
  if (sources->empty() && must_have_entry(options)) {
    return complain(err, Error{Errc::not_found, fmt::format("{}: {}", folder, kNoEntry)});
  }
  if (report.chain.verdict != ChainState::Verdict::verified && !sources->empty()) {
    const bool broken = report.chain.verdict == ChainState::Verdict::broken;
    say(err, fmt::format("reclaim: the chain is {}: {}", broken ? "not whole" : "not checked",
                         report.chain.text));
    if (options.all_hosts) {
      for (const std::string& each : report.chain.problems) say(err, each);
    }
    return 1;
  }
  if (!sources->unreadable.empty()) return 1;
  return report.unerased > 0 ? kUnerasedExit : 0;
}

}  // namespace reclaim::cli
