#include "cli/certificate_selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "cli/commands.h"
#include "cli/complain.h"
#include "state/base/log.h"
#include "state/ledger/tenants.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::size_t kDayChars = 10;  // of "2026-11-25"

// An end of the period, and whether it names a whole day.
struct PeriodEnd {
  WallMs at;
  bool day = false;
};

Result<PeriodEnd> parse_moment(std::string_view option, const std::string& text) {
  const bool day = text.size() == kDayChars;
  const auto at = from_iso8601(day ? text + "T00:00:00Z" : text);
  if (at.ok()) return PeriodEnd{*at, day};
  return Error{Errc::usage,
               fmt::format("{}: '{}' is neither a day like 2026-11-25 nor a time in UTC like "
                           "2026-11-25T21:00:00Z",
                           option, printable_excerpt(text))};
}

Result<WallMs> begin_of(const std::string& text) {
  const auto begin = parse_moment("--from", text);
  return begin.ok() ? Result<WallMs>(begin->at) : Result<WallMs>(begin.error());
}

Result<WallMs> end_of(const std::string& text) {
  const auto end = parse_moment("--to", text);
  if (!end.ok()) return end.error();
  return WallMs{end->at.ms + (end->day ? kDayMs : 0)};
}

bool same_id(std::string_view a, std::string_view b) {
  return plain_id(a) == plain_id(b);
}

// True of a UUID, with dashes or without: what no name looks like.
bool is_id(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  const std::string plain = plain_id(text);
  return plain.size() == kDigits &&
         plain.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The next instance may stand as the migration of the one before it.
bool names_instance(const Certificate& certificate, const std::string& asked) {
  return asked.empty() || same_id(asked, certificate.instance) ||
         same_id(asked, certificate.migration);
}

}  // namespace

Result<Period> parse_period(const std::string& from, const std::string& to) {
  const auto begin = begin_of(from);
  if (!begin.ok()) return begin.error();
  const auto end = end_of(to);
  if (!end.ok()) return end.error();
  if (*begin < *end) return Period{*begin, *end};
  return Error{Errc::usage,
               fmt::format("--from {} is not before --to {}: exchange the two", from, to)};
}

Result<Selection> selection_of(const CertificateOptions& options) {
  Selection selection;
  selection.project = options.project;
  selection.instance = options.instance;
  selection.host = options.host;
  if (!options.from.empty() && !options.to.empty()) {
    const auto period = parse_period(options.from, options.to);
    if (!period.ok()) return period.error();
    selection.period = *period;
  } else if (!options.from.empty()) {
    const auto begin = begin_of(options.from);
    if (!begin.ok()) return begin.error();
    selection.period.from = *begin;
  } else if (!options.to.empty()) {
    const auto end = end_of(options.to);
    if (!end.ok()) return end.error();
    selection.period.to = *end;
  }
  return selection;
}

bool selects(const Selection& selection, const std::string& host, const Certificate& certificate,
             LeftOut& left_out) {
  const bool of_host = selection.host.empty() || selection.host == host;
  const bool of_project = same_id(selection.project, certificate.project);
  const bool names_it = names_instance(certificate, selection.instance);
  const bool of_tenant = names_it && (selection.project.empty() || of_project);
  left_out.has_host |= of_host;
  left_out.has_project |= of_project;
  left_out.has_instance |= names_it;
  if (!selection.period.has(certificate.ended_at())) {
    left_out.other_times += of_host && of_tenant ? 1 : 0;
    return false;
  }
  if (!of_host) return false;
  if (of_tenant) return true;
  const auto& heard = certificate.heard;
  if (!selection.instance.empty() && certificate.instance.empty() &&
      std::any_of(heard.begin(), heard.end(),
                  [&](const std::string& each) { return same_id(each, selection.instance); })) {
    left_out.heard += 1;
  } else if (names_it && certificate.project.empty()) {
    left_out.no_project += 1;
  }
  return false;
}

std::vector<std::string> remarks(const LeftOut& left_out) {
  std::vector<std::string> said;
  if (left_out.no_project > 0) {
    said.push_back(
        fmt::format("{} no project: whose they were is not known, and they are not shown",
                    counted(left_out.no_project, "erasure names", "erasures name")));
  }
  if (left_out.heard > 0) {
    said.push_back(fmt::format(
        "{} of a tenancy that nobody saw, and this instance is among those that were only heard "
        "of: that proves nothing, and they are not shown",
        counted(left_out.heard, "erasure is", "erasures are")));
  }
  if (left_out.unerased > 0) {
    said.push_back(counted(
        left_out.unerased,
        "tenancy without an erasure names no project: it may be the one asked for, and counts",
        "tenancies without an erasure name no project: they may be those asked for, and "
        "count"));
  }
  return said;
}

void say_selected(const CertificateOptions& options, bool found_none, const LeftOut& left_out,
                  std::ostream& err) {
  for (const std::string& said : remarks(left_out)) say(err, said);
  if (!found_none) return;
  if (left_out.other_times > 0) {
    return say(err, fmt::format("no erasure in the period{}{}: {} of another time",
                                options.from.empty() ? "" : " from " + options.from,
                                options.to.empty() ? "" : " to " + options.to,
                                counted(left_out.other_times, "erasure is", "erasures are")));
  }
  std::vector<std::string> lacks;
  const auto lack = [&lacks](std::string_view what, const std::string& asked,
                             std::string_view advice) {
    lacks.push_back(
        fmt::format("no erasure here is of the {} '{}'{}", what, printable_excerpt(asked), advice));
  };
  if (!options.host.empty() && !left_out.has_host) {
    lack("host", options.host, options.all_hosts ? "" : ": --all-hosts reads those of others");
  }
  if (!options.project.empty() && !left_out.has_project) {
    lack("project", options.project,
         is_id(options.project) ? ""
                                : ": certificates have a project's id, which `openstack project "
                                  "show NAME -f value -c id` prints");
  }
  if (!options.instance.empty() && !left_out.has_instance) {
    lack("instance", options.instance,
         is_id(options.instance) ? ""
                                 : ": certificates have its UUID, which `openstack server show "
                                   "NAME -f value -c id` prints");
  }
  if (lacks.empty()) {
    lacks.emplace_back(left_out.has_host ? "no erasure here has all that was asked for"
                                         : "there is no certificate here yet");
  }
  for (const std::string& each : lacks) say(err, each);
}

}  // namespace reclaim::cli
