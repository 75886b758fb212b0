#include "cli/qualify_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/fleet_status.h"
#include "cli/html.h"
#include "nvme/qualify/judgement.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

using nvme::Trial;
using Rows = std::vector<std::pair<std::string, std::string>>;

std::string seconds_text(std::int64_t ms) {
  return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
}

std::string rate_text(const nvme::Pass& pass) {
  return pass.bytes == 0 ? std::string() : size_text(pass.bytes_per_s()) + "/s";
}

std::string estimate_text(std::int64_t seconds) {
  return seconds < 0 ? std::string("none") : fmt::format("{} s", seconds);
}

// The rows of what the drive says of itself.
Rows drive_rows(const nvme::Qualification& whole) {
  const nvme::DriveSays& drive = whole.drive;
  const nvme::Capabilities& can = drive.capabilities;
  std::string methods;
  for (const nvme::EraseMethod method : nvme::methods_of(can)) {
    methods += fmt::format("{}{}", methods.empty() ? "" : ", ", nvme::to_string(method));
  }
  return {{"Model", drive.model},
          {"PCI ids", drive.vendor_id + ":" + drive.product_id},
          {"Firmware", drive.firmware},
          {"Serial number", drive.serial},
          {"Capacity", fmt::format("{} ({} bytes, namespaces: {}, blocks of {})",
                                   size_text(drive.capacity_bytes), drive.capacity_bytes,
                                   drive.namespaces, drive.block_bytes)},
          {"Supports", methods},
          {"SANICAP, ONCS, OACS, FNA",
           fmt::format("{:#x}, {:#x}, {:#x}, {:#x}", can.sanicap, can.oncs, can.oacs, can.fna)},
          {"DLFEAT, CMIC", fmt::format("{}, {}", drive.dlfeat, drive.cmic)},
          {"Estimates",
           fmt::format("crypto erase {}, block erase {}", estimate_text(drive.crypto_estimate_s),
                       estimate_text(drive.block_estimate_s))},
          {"Endurance used, media errors",
           fmt::format("{} %, {}", drive.percentage_used, drive.media_errors)},
          {"Kernel", whole.kernel},
          {"Tried", fmt::format("{} to {}, with Reclaim {}", to_iso8601(whole.began_at),
                                to_iso8601(whole.ended_at), whole.tool_version)}};
}

std::string left_text(const nvme::MediaCounts& counts) {
  std::string out;
  const auto add = [&](std::uint64_t bytes, std::string_view what) {
    if (bytes == 0) return;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", size_text(bytes), what);
  };
  add(counts.zeroes, "zeroes");
  add(counts.ones, "ones");
  add(counts.other, "changed");
  add(counts.unreadable, "unreadable");
  add(counts.intact + counts.traces, "OLD CONTENT");
  return out;
}

std::string_view result_of(const Trial& trial, const nvme::DriveSays& drive) {
  const nvme::TrialJudgement judgement = nvme::judge_trial(trial, drive);
  switch (judgement.outcome) {
    case nvme::TrialJudgement::Outcome::good:
      return judgement.relaxed.any() ? "good, relaxed" : "good";
    case nvme::TrialJudgement::Outcome::failed:
      return "failed";
    case nvme::TrialJudgement::Outcome::lied:
      break;
  }
  return "LIED";
}

Table trial_table(const nvme::Qualification& whole) {
  Table table{{"Method", "Class", "Result", "Took", "Erase Rate", "Write Rate", "Read Rate", "Left",
               "GDE", "In Between"},
              {},
              {"In Between", "Write Rate", "Class"}};
  for (const Trial& trial : whole.trials) {
    const bool ended = trial.claims_erased;
    table.rows.push_back({std::string(nvme::to_string(trial.method)),
                          std::string(nvme::sanitization_class(trial.method)),
                          std::string(result_of(trial, whole.drive)),
                          ended ? seconds_text(trial.erased.duration_ms) : std::string(),
                          ended ? rate_text(trial.erased) : std::string(), rate_text(trial.written),
                          rate_text(trial.read_back), left_text(trial.after),
                          std::string(!nvme::is_sanitize(trial.method) ? ""
                                      : trial.global_data_erased       ? "yes"
                                                                       : "no"),
                          trial.reset.empty() ? trial.power : trial.power + "; " + trial.reset});
  }
  return table;
}

std::string last_erase_text(const nvme::LastErase& last) {
  if (last.verified) {
    return fmt::format("Erased at the end by {} in {}: {}", last.method,
                       seconds_text(last.duration_ms), last.text);
  }
  return "NOT ERASED at the end: " + last.text;
}

std::string html_rows(const Rows& rows) {
  std::string out;
  for (const auto& [label, value] : rows) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_text(label), html_text(value));
  }
  return out;
}

std::string html_list(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += fmt::format("<li>{}</li>\n", html_text(line));
  return lines.empty() ? out : fmt::format("<ul>\n{}</ul>\n", out);
}

std::string cell_text(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

// Only what is long may be wrapped.
std::string html_cell(std::string_view element, const std::string& column,
                      const std::string& text) {
  const bool wraps = column == "Left" || column == "In Between";
  return fmt::format("<{0} style=\"width:auto;{1}\">{2}</{0}>", element,
                     wraps ? "overflow-wrap:normal" : "white-space:nowrap", html_text(text));
}

std::string html_trials(const nvme::Qualification& whole) {
  const Table table = trial_table(whole);
  std::string out = "<table>\n<tr>";
  for (const std::string& column : table.columns) out += html_cell("th", column, column);
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += html_cell("td", table.columns[i], cell_text(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

// Green is for what may be used.
std::string_view verdict_style(nvme::Verdict verdict) {
  return verdict == nvme::Verdict::recommended || verdict == nvme::Verdict::with_relaxations
             ? ""
             : " style=\"color:#a1161b;border-color:#a1161b\"";
}

// The entry as reclaim.conf takes it; empty: there is none.
std::string option_text(const nvme::Conclusion& conclusion) {
  return conclusion.device_spec.empty() ? std::string() : "device_spec = " + conclusion.device_spec;
}

}  // namespace

std::string verdict_words(nvme::Verdict verdict) {
  std::string words(nvme::to_string(verdict));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string qualification_text(const nvme::Qualification& whole, std::size_t width) {
  const nvme::Conclusion& conclusion = whole.conclusion;
  std::string out = fmt::format("{}, firmware {}: {}\n", visible(whole.drive.model),
                                visible(whole.drive.firmware), verdict_words(conclusion.verdict));
  for (const std::string& reason : conclusion.reasons) out += "  " + visible(reason) + '\n';
  if (const std::string option = option_text(conclusion); !option.empty()) {
    out += fmt::format("\n{}\n", visible(option));
  }
  out += '\n';
  for (const auto& [label, value] : drive_rows(whole)) {
    out += fmt::format("{:<29} {}\n", label + ':', visible(value));
  }
  View view;
  view.width = width;
  if (const auto table = format_list(trial_table(whole), view)) out += '\n' + *table;
  if (!conclusion.notes.empty()) out += '\n';
  for (const std::string& note : conclusion.notes) out += "note: " + visible(note) + '\n';
  return out + '\n' + visible(last_erase_text(whole.last_erase)) + '\n';
}

std::string qualification_page(const nvme::Qualification& whole) {
  const nvme::Conclusion& conclusion = whole.conclusion;
  const std::string title = fmt::format("{}, firmware {}", whole.drive.model, whole.drive.firmware);
  std::string body = fmt::format(
      "<h1>Drive qualification</h1>\n<p class=\"lead\">{}</p>\n<p class=\"verdict\"{}>{}</p>\n{}",
      html_text(title), verdict_style(conclusion.verdict),
      html_text(verdict_words(conclusion.verdict)), html_list(conclusion.reasons));
  if (const std::string option = option_text(conclusion); !option.empty()) {
    body +=
        fmt::format("<section><h2>Entry for reclaim.conf</h2>\n<p><code>{}</code></p></section>\n",
                    html_text(option));
  }
  body += fmt::format("<section><h2>The drive</h2>\n<table>\n{}</table></section>\n",
                      html_rows(drive_rows(whole)));
  body += fmt::format("<section><h2>What was tried</h2>\n{}</section>\n", html_trials(whole));
  if (!conclusion.notes.empty()) {
    body += fmt::format("<section><h2>Notes</h2>\n{}</section>\n", html_list(conclusion.notes));
  }
  body += fmt::format("<section><h2>At the end</h2>\n<p>{}</p></section>\n",
                      html_text(last_erase_text(whole.last_erase)));
  body +=
      "<footer><p>GDE: Global Data Erased after the last look. docs/models/README.md says how a "
      "drive is tried.</p></footer>\n";
  return html_page("Drive qualification: " + title, body);
}

}  // namespace reclaim::cli
