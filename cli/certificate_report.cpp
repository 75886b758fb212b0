#include "cli/certificate_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "cli/certificate_list.h"
#include "handlers/drive_wear.h"
#include "state/ledger/tenants.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kStretchesMax = 31;
constexpr std::size_t kPercent = 100;
constexpr std::size_t kTail = 95;

// A certificate may claim any capacity.
void add_bytes(std::uint64_t& sum, std::uint64_t bytes) {
  sum += std::min(bytes, std::numeric_limits<std::uint64_t>::max() - sum);
}

bool is_incident(AuditEvent event) {
  switch (event) {
    case AuditEvent::quarantined:
    case AuditEvent::released_elsewhere:
    case AuditEvent::reserved_again:
    case AuditEvent::enrol_refused:
    case AuditEvent::disowned:
    case AuditEvent::key_revoked:
    case AuditEvent::retired:
    case AuditEvent::opal_reverted:
      return true;
    case AuditEvent::tenancy_seen:
    case AuditEvent::tenancy_ended:
    case AuditEvent::enrolled:
    case AuditEvent::maintenance:
    case AuditEvent::key_endorsed:
      return false;
  }
  return false;
}

Cell number(std::uint64_t value) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, kMax));
}

Cell percent(const std::optional<int>& used) {
  return used ? Cell(static_cast<std::int64_t>(*used)) : Cell();
}

// `proven`: of what known keys signed alone.
Tenants tenants_of(const ReportSource& chain, bool proven) {
  Tenants tenants;
  for (const Erasure& each : chain.erasures) {
    if (each.is_disputed || (proven && each.is_unproven)) continue;
    const Certificate& it = each.certificate;
    tenants.add(it.instance, it.migration, it.project);
  }
  for (const AuditLine& each : chain.audit) {
    if (each.is_void || (proven && each.is_unproven)) continue;
    tenants.add(each.entry.instance, each.entry.migration, each.entry.project);
  }
  return tenants;
}

// A chain, and what is looked up in it.
struct Lookup {
  Lookup(const ReportSource& chain, bool proven)
      : source(&chain), tenants(tenants_of(chain, proven)) {
    for (const AuditLine& each : chain.audit) {
      if (each.is_unproven) unproven.insert(each.file);
      if (!proven || !each.is_unproven) entries[each.file] = &each.entry;
    }
  }
  [[nodiscard]] const AuditEntry& entry(const DriveEvent& event) const {
    static const AuditEntry kNone;  // one that is not in the chain names nobody
    const auto it = entries.find(event.file);
    return it != entries.end() ? *it->second : kNone;
  }
  [[nodiscard]] bool is_unproven(const DriveEvent& event) const {
    return unproven.contains(event.file);
  }
  [[nodiscard]] const std::string& host(const DriveEvent& event) const {
    return source->host.empty() ? entry(event).host : source->host;
  }
  const ReportSource* source;
  Tenants tenants;
  std::map<std::string, const AuditEntry*> entries;  // by file
  std::set<std::string> unproven;                    // files
};

class Summing final {
 public:
  Summing(ChainState chain, const Selection& selection, std::size_t chains)
      : one_chain_(chains == 1) {
    report_.selection = selection;
    report_.chain = std::move(chain);
    report_.erasures_shown = certificate_table(true);
    report_.erasures_shown.columns.emplace_back("Chain");
    auto& spare = report_.erasures_shown.spare;
    spare.insert(spare.end() - 1, "Chain");  // before the address
    make_stretches();
  }

  void add(const Lookup& chain) {
    const Selection& asked = report_.selection;
    const ReportSource& source = *chain.source;
    for (const Erasure& each : source.erasures) {
      const std::string& host = source.host.empty() ? each.certificate.host : source.host;
      if (selects(asked, host, each.certificate, report_.left_out)) {
        take(each, host, source.verdict);
      }
    }
    for (const AuditLine& each : source.audit) {
      const AuditEntry& it = each.entry;
      const std::string& host = source.host.empty() ? it.host : source.host;
      const bool his = it.address.empty() || whose(chain, it) == Whose::asked_for;
      if (his && within(it.at) && is_of(host)) take(each, host);
    }
  }

  // Adds a tenancy of chain `from` that the next one followed without an erasure; the next one is
  // of chain `to`, the same or another.
  void add(const MissingErasure& missing, const Lookup& from, const Lookup& to) {
    const std::string& host = to.host(missing.next);
    if (!may_be_invented(to, missing.next) && (!within(missing.next.at) || !is_of(host))) return;
    // Either of the two may be his.
    const Whose known = std::min(may_be(from, missing.tenancy), may_be(to, missing.next));
    if (known == Whose::anothers) return;
    take(missing, host, to.entry(missing.next).address,
         from.source == to.source ? "" : from.host(missing.tenancy), known == Whose::asked_for);
  }

  PeriodReport report() && {
    report_.hosts.assign(hosts_.begin(), hosts_.end());
    for (auto& [name, device] : devices_) report_.devices.push_back(std::move(device));
    std::sort(report_.devices.begin(), report_.devices.end(), [](const auto& a, const auto& b) {
      return std::tie(a.host, a.address, a.serial) < std::tie(b.host, b.address, b.serial);
    });
    for (auto& [method, times_ms] : times_ms_) report_.methods.push_back(use_of(method, times_ms));
    std::stable_sort(report_.methods.begin(), report_.methods.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    std::stable_sort(report_.incidents.begin(), report_.incidents.end(),
                     [](const auto& a, const auto& b) {
                       return std::tie(a.host, a.sequence) < std::tie(b.host, b.sequence);
                     });
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool within(WallMs at) const { return report_.selection.period.has(at); }
  [[nodiscard]] Whose whose(const Lookup& chain, const AuditEntry& entry) const {
    return chain.tenants.whose(entry, report_.selection.project, report_.selection.instance);
  }
  // Such an entry does not say that a tenancy is another's, nor when it was. Of a chain of which
  // nothing is proven, all may be: it counts as it stands.
  [[nodiscard]] static bool may_be_invented(const Lookup& chain, const DriveEvent& tenancy) {
    const bool some_proven = !chain.source->events.proven.empty();
    return tenancy.is_void || (some_proven && chain.is_unproven(tenancy));
  }
  [[nodiscard]] Whose may_be(const Lookup& chain, const DriveEvent& tenancy) const {
    const Whose known = whose(chain, chain.entry(tenancy));
    return may_be_invented(chain, tenancy) ? std::min(known, Whose::not_known) : known;
  }
  [[nodiscard]] bool is_of(const std::string& host) const {
    return report_.selection.host.empty() || report_.selection.host == host;
  }

  void make_stretches() {
    const std::int64_t length_ms =
        report_.selection.period.to.ms - report_.selection.period.from.ms;
    const std::int64_t days = std::max<std::int64_t>(1, (length_ms + kDayMs - 1) / kDayMs);
    report_.stretch_days = (days + kStretchesMax - 1) / kStretchesMax;
    for (std::int64_t day = 0; day < days; day += report_.stretch_days) {
      report_.stretches.push_back({WallMs{report_.selection.period.from.ms + day * kDayMs}, {}, 0});
    }
  }
  Stretch& stretch_of(WallMs at) {
    const std::int64_t ms = report_.stretch_days * kDayMs;
    return report_.stretches.at(
        static_cast<std::size_t>((at.ms - report_.selection.period.from.ms) / ms));
  }

  void saw(std::uint64_t sequence, const std::string& host) {
    if (!host.empty()) hosts_.insert(host);
    if (!one_chain_) return;
    if (report_.first_sequence == 0) report_.first_sequence = sequence;
    report_.first_sequence = std::min(report_.first_sequence, sequence);
    report_.last_sequence = std::max(report_.last_sequence, sequence);
  }

  ReportedDevice& device_of(const std::string& host, const std::string& serial,
                            const std::string& address) {
    ReportedDevice& device = devices_[{host, serial.empty() ? address : serial}];
    device.host = host;
    device.serial = serial;
    if (!address.empty()) device.address = address;
    return device;
  }

  void take(const Erasure& erasure, const std::string& host, ChainState::Verdict verdict) {
    const Certificate& it = erasure.certificate;
    saw(erasure.sequence, host);
    auto row = certificate_row(true, host, erasure.sequence, it);
    row.emplace_back(erasure.is_disputed ? "disputed" : std::string(to_string(verdict)));
    report_.erasures_shown.rows.push_back(std::move(row));
    ReportedDevice& device = device_of(host, it.serial, it.address);
    device.model = it.model;
    device.erasures += 1;
    add_bytes(device.bytes, it.capacity_bytes);
    device.method = it.method;
    device.class_of_last = it.sanitization_class;
    if (const auto used = wear_of(it.findings).used_percent) {
      if (!device.used_at_first) device.used_at_first = used;
      device.used_at_last = used;
    }
    report_.erasures += 1;
    report_.not_returned += it.returned() ? 0 : 1;
    add_bytes(report_.bytes, it.capacity_bytes);
    report_.classes[it.sanitization_class] += 1;
    stretch_of(it.ended_at()).erasures[it.sanitization_class] += 1;
    times_ms_[it.method].push_back(std::max<std::int64_t>(0, it.ended_at().ms - it.started_at.ms));
  }

  void take(const AuditLine& line, const std::string& host) {
    const AuditEntry& it = line.entry;
    saw(line.sequence, host);
    if (!is_incident(it.event)) return;
    report_.incidents.push_back({line.sequence, it.at, std::string(to_string(it.event)), it.address,
                                 it.serial, detail_of(it), host});
    if (it.event != AuditEvent::quarantined) return;
    report_.quarantines += 1;
    device_of(host, it.serial, it.address).quarantines += 1;
    stretch_of(it.at).quarantines += 1;
  }

  // `moved_from`: the host that the drive may have come from; empty: it was not moved.
  void take(const MissingErasure& missing, const std::string& host, const std::string& address,
            const std::string& moved_from, bool is_his) {
    report_.unerased += 1;
    report_.left_out.unerased += is_his ? 0 : 1;
    report_.incidents.push_back(
        {missing.next.sequence, missing.next.at, "unerased", address, missing.tenancy.drive,
         fmt::format("{}no erasure between the tenancy of entry {}{} ({}) and this one{}",
                     moved_from.empty() ? "" : "may be, of a drive with the same serial: ",
                     missing.tenancy.sequence, moved_from.empty() ? "" : " of host " + moved_from,
                     to_iso8601(missing.tenancy.at), is_his ? "" : "; no entry tells whose it was"),
         host});
  }

  static MethodUse use_of(const std::string& method, std::vector<std::int64_t>& times_ms) {
    std::sort(times_ms.begin(), times_ms.end());
    const std::size_t last = times_ms.size() - 1;
    return {method,
            times_ms.size(),
            times_ms.front(),
            times_ms[last / 2],
            times_ms[last * kTail / kPercent],
            times_ms.back()};
  }

  bool one_chain_;
  PeriodReport report_;
  std::set<std::string> hosts_;
  std::map<std::pair<std::string, std::string>, ReportedDevice> devices_;
  std::map<std::string, std::vector<std::int64_t>> times_ms_;  // by method
};

}  // namespace

PeriodReport report_of(const std::vector<ReportSource>& sources, ChainState chain,
                       const Selection& selection) {
  Summing summing(std::move(chain), selection, sources.size());
  // A proven tenancy is looked up among the proven entries.
  std::vector<Lookup> proven;
  std::vector<Lookup> all;
  std::vector<DriveEvents> events;
  for (const ReportSource& source : sources) {
    proven.emplace_back(source, true);
    summing.add(all.emplace_back(source, false));
    for (const MissingErasure& each : find_missing_erasures(source.events)) {
      const Lookup& chain = each.is_proven ? proven.back() : all.back();
      summing.add(each, chain, chain);
    }
    events.push_back(source.events);
  }
  for (const UnerasedMove& each : find_unerased_moves(events)) {
    const std::vector<Lookup>& chains = each.missing.is_proven ? proven : all;
    summing.add(each.missing, chains.at(each.from), chains.at(each.to));
  }
  return std::move(summing).report();
}

std::string_view to_string(ChainState::Verdict verdict) {
  switch (verdict) {
    case ChainState::Verdict::verified:
      return "verified";
    case ChainState::Verdict::broken:
      return "broken";
    case ChainState::Verdict::not_checked:
      break;
  }
  return "not_checked";
}

std::string class_text(std::string_view sanitization_class) {
  return sanitization_class.empty() ? "none claimed" : std::string(sanitization_class);
}

std::string duration_text(std::int64_t ms) {
  constexpr std::int64_t kMinuteMs = 60'000;
  if (ms < kMinuteMs) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
  return age_text(ms / 1000);
}

Fields summary_of(const PeriodReport& report) {
  std::string hosts;
  for (const std::string& host : report.hosts) hosts += (hosts.empty() ? "" : ", ") + host;
  const auto count = [&report](std::string_view name) {
    const auto it = report.classes.find(std::string(name));
    return number(it == report.classes.end() ? 0 : it->second);
  };
  std::size_t erased = 0;
  for (const ReportedDevice& device : report.devices) erased += device.erasures > 0 ? 1 : 0;
  return {{"from", to_iso8601(report.selection.period.from)},
          {"to", to_iso8601(report.selection.period.to)},
          {"hosts", hosts},
          {"erasures", number(report.erasures)},
          {"not_returned", number(report.not_returned)},
          {"devices_erased", number(erased)},
          {"bytes_erased", number(report.bytes)},
          {"purge", count("purge")},
          {"clear", count("clear")},
          {"no_class", count("")},
          {"quarantines", number(report.quarantines)},
          {"unerased_tenancies", number(report.unerased)},
          {"first_sequence", number(report.first_sequence)},
          {"last_sequence", number(report.last_sequence)},
          {"chain", std::string(to_string(report.chain.verdict))},
          {"chain_detail", report.chain.text},
          {"project", report.selection.project},
          {"instance", report.selection.instance},
          {"names_no_project", number(report.left_out.no_project + report.left_out.unerased)},
          {"only_heard_of", number(report.left_out.heard)}};
}

Table device_table(const PeriodReport& report) {
  Table table{{"Host", "Address", "Model", "Serial", "Erasures", "Quarantines", "Method", "Class",
               "Bytes Erased", "Used First %", "Used Last %"},
              {},
              {"Used First %", "Model", "Method", "Host", "Quarantines", "Class"}};
  for (const ReportedDevice& it : report.devices) {
    table.rows.push_back({it.host, it.address, it.model, it.serial, number(it.erasures),
                          number(it.quarantines), it.method, it.class_of_last, number(it.bytes),
                          percent(it.used_at_first), percent(it.used_at_last)});
  }
  return table;
}

Table method_table(const PeriodReport& report) {
  Table table{{"Method", "Erasures", "Shortest s", "Median s", "P95 s", "Longest s"}, {}, {}};
  const auto seconds = [](std::int64_t ms) { return Cell(static_cast<double>(ms) / 1000); };
  for (const MethodUse& it : report.methods) {
    table.rows.push_back({it.method, number(it.count), seconds(it.shortest_ms),
                          seconds(it.median_ms), seconds(it.p95_ms), seconds(it.longest_ms)});
  }
  return table;
}

Table incident_table(const PeriodReport& report, bool for_people) {
  Table table{{"Sequence", "At", "Event", "Address", "Serial", "Detail", "Host"},
              {},
              {"Sequence", "Host", "Serial"}};
  constexpr std::size_t kMinuteChars = 16;
  for (const Incident& it : report.incidents) {
    const std::string at = to_iso8601(it.at);
    table.rows.push_back({number(it.sequence), for_people ? at.substr(0, kMinuteChars) + 'Z' : at,
                          it.event, it.address, it.serial, it.detail, it.host});
  }
  return table;
}

}  // namespace reclaim::cli
