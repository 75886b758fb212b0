#include "cli/fleet_status.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "cli/fit.h"
#include "cli/progress_bar.h"
#include "handlers/bus/unread_queues.h"
#include "handlers/drive_wear.h"
#include "handlers/survey/host_pause.h"
#include "handlers/survey/taken.h"
#include "state/base/rapidjson.h"
#include "state/base/visible.h"
#include "state/device/machine.h"
#include "state/redis/store.h"

namespace reclaim::cli {
namespace {

// A device that waits longer than this is stuck: what may pass by itself passes in minutes.
constexpr std::int64_t kStuckMs = 600'000;
constexpr std::int64_t kAlarmShownMs = 86'400'000;
constexpr std::size_t kAttentionLinesMax = 20;
constexpr std::size_t kWornLinesMax = 5;
constexpr std::size_t kOfferedLinesMax = 5;
constexpr std::size_t kIndent = 2;
constexpr std::string_view kListsAll = ": reclaim status -f json lists all";

std::int64_t age_s(WallMs now, WallMs since) {
  return std::max<std::int64_t>(0, (now.ms - since.ms) / 1000);
}

// Empty: its worker is up.
std::string why_down(const HostInfo& info, WallMs now, std::int64_t silence_max_ms) {
  if (info.heartbeat_at.ms == 0) {
    return "its worker's heartbeat has expired: systemctl status reclaim on the host";
  }
  if (info.stopped) return "its worker was stopped: systemctl start reclaim on the host";
  if (now.ms - info.heartbeat_at.ms > silence_max_ms) {
    return "its worker is silent: systemctl status reclaim on the host";
  }
  return {};
}

// Each queue once: all hosts see the same.
void tell_of_queues(FleetStatus& out, const HostInfo& info, WallMs now,
                    std::set<std::string>& told) {
  if (info.unread_queues.empty() || now.ms - info.unread_since.ms < kUnreadForMs) return;
  for (const std::string& queue : info.unread_queues) {
    if (!told.insert(queue).second) continue;
    out.attention.push_back({info.host, "", age_s(now, info.unread_since),
                             fmt::format("RabbitMQ's queue {} holds messages that nobody reads: {}",
                                         queue, kUnreadRemedy)});
  }
}

void count_device(FleetStatus& out, const Record& record, WallMs now) {
  const DeviceState state = device_state(record.stage);
  out.devices[state] += 1;
  if (record.maintenance) out.maintenance += 1;
  if (record.held && !record.maintenance) out.held += 1;
  if (state == DeviceState::cleaning) out.cleaning.push_back(record);
  if (is_worn(wear_of(record.findings))) out.worn.push_back(record);
  const FleetStatus::Line line{
      record.host, to_string(record.address),
      record.stage_since.ms == 0 ? kUnknownAge : age_s(now, record.stage_since), ""};
  if (state == DeviceState::error) {
    out.attention.push_back(line);
    out.attention.back().text = "error: " + record.last_error;
  } else if (has_anothers_dirt(record) && now.ms - record.tenancy_seen_at.ms < kAlarmShownMs) {
    out.attention.push_back(line);
    out.attention.back().age_s = age_s(now, record.tenancy_seen_at);
    out.attention.back().text = record.last_error;
  } else if (state == DeviceState::pending_cleaning && !record.maintenance &&
             !record.waiting_for.starts_with(kPaused) &&
             now.ms - record.stage_since.ms > kStuckMs) {
    out.attention.push_back(line);
    out.attention.back().text = "waits: " + record.waiting_for;
  }
}

std::string times_text(std::size_t times) {
  return times == 1 ? "" : fmt::format(" {} times, the last time", times);
}

// Counts what came of each cleaning that the journal tells of, and notes what was offered dirty,
// and what an instance got so.
void read_journal(FleetStatus& out, const HostState& host, WallMs now) {
  std::map<std::string, WallMs> begun;
  std::map<std::string, std::uint64_t> capacity;
  struct Offered {
    std::size_t times = 0;
    const JournalEntry* last = nullptr;
  };
  std::map<std::string, Offered> offered;
  // By address and by what was said: a later alarm of a drive does not replace the one before.
  std::map<std::pair<std::string, std::string>, const JournalEntry*> given;
  for (const Record& record : host.records) {
    capacity[to_string(record.address)] = record.capacity_bytes;
  }
  for (const JournalEntry& entry : host.journal) {
    if (entry.to == "pending_cleaning" && entry.from != "pending_cleaning") {
      begun.try_emplace(entry.address, entry.at);
    }
    if (ends_well(entry.trigger)) {
      out.cleaned += 1;
      out.bytes_given_back += capacity[entry.address];
      if (const auto from = begun.find(entry.address); from != begun.end()) {
        out.clean_ms.push_back(entry.at.ms - from->second.ms);
      }
    }
    if (entry.to == "error" && entry.from != "error") out.failed += 1;
    if (is_offered_dirty(entry.from, entry.trigger)) {
      Offered& seen = offered[entry.address];
      seen = {seen.times + 1, &entry};
    }
    if (is_given_dirty(entry.trigger, entry.detail)) given[{entry.address, entry.detail}] = &entry;
    if (ends_well(entry.trigger) || entry.to == "error" || entry.to == "allocated")
      begun.erase(entry.address);
  }
  for (const auto& [address, seen] : offered) {
    out.offered_dirty.push_back({host.info.host, address, age_s(now, seen.last->at),
                                 fmt::format("seen on offer{} while its state was {}",
                                             times_text(seen.times), seen.last->from)});
  }
  for (const auto& [alarm, entry] : given) {
    out.allocated_dirty.push_back(
        {host.info.host, entry->address, age_s(now, entry->at), entry->detail});
  }
}

std::int64_t mean_ms(const std::vector<std::int64_t>& sorted) {
  if (sorted.empty()) return 0;
  return std::accumulate(sorted.begin(), sorted.end(), std::int64_t{0}) /
         static_cast<std::int64_t>(sorted.size());
}

// The smallest that 95 of 100 do not exceed.
std::int64_t p95_ms(const std::vector<std::int64_t>& sorted) {
  if (sorted.empty()) return 0;
  return sorted[(sorted.size() * 95 + 99) / 100 - 1];
}

std::string seconds_text(std::int64_t ms) {
  return ms < 60'000 ? fmt::format("{:.1f} s", static_cast<double>(ms) / 1000)
                     : age_text(ms / 1000);
}

class Screen final {
 public:
  explicit Screen(std::size_t width) : width_(width) {}

  void heading(const std::string& name) { text_ += "\n" + name + "\n"; }
  // A line that may be long, with what follows indented.
  void line(const std::string& text, std::size_t indent) {
    const std::string pad(indent, ' ');
    const bool fits = width_ == 0 || width_ < indent + kColumnMin;
    const auto parts =
        fits ? std::vector<std::string>{text} : wrap(text, width_ - indent - kIndent);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      text_ += pad + (i == 0 ? "" : std::string(kIndent, ' ')) + parts[i] + "\n";
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  std::string text_;
};

std::string devices_text(const FleetStatus& status) {
  std::size_t all = 0;
  std::vector<std::string> parts;
  for (const auto& [state, count] : status.devices) {
    all += count;
    parts.push_back(fmt::format("{} {}", count, to_string(state)));
  }
  std::string text = counted(all, "device");
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  if (status.maintenance > 0) text += fmt::format("; {} in maintenance", status.maintenance);
  if (status.held > 0) text += fmt::format("; {} held by operators", status.held);
  return text;
}

std::string hosts_text(const FleetStatus& status) {
  std::string text = fmt::format("{}, {} up", counted(status.hosts, "host"), status.up);
  std::vector<std::string> versions;
  for (const auto& [version, count] : status.versions) {
    versions.push_back(fmt::format("{} x {}", count, version));
  }
  if (!versions.empty()) text += fmt::format(" (version {})", fmt::join(versions, ", "));
  if (status.observing > 0) text += fmt::format("; {} only observe", status.observing);
  return text;
}

// The places of those that are shown, at most `lines_max`. Each host has one of them before any has
// its second, so that no host's lines hide another's.
template <typename Each>
std::vector<std::size_t> shown_of(const std::vector<Each>& all, std::size_t lines_max) {
  std::map<std::string, std::size_t> of_host;
  std::vector<std::size_t> rank;
  rank.reserve(all.size());
  for (const Each& each : all) rank.push_back(of_host[each.host]++);
  std::vector<std::size_t> shown(all.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  std::stable_sort(shown.begin(), shown.end(),
                   [&rank](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
  shown.resize(std::min(all.size(), lines_max));
  std::sort(shown.begin(), shown.end());
  return shown;
}

// Shows the first of them under a heading, and how many more there are; `rest`: how to list those.
template <typename Each, typename Show>
void put_first(Screen& screen, const std::string& heading, const std::vector<Each>& all,
               std::size_t lines_max, std::string_view rest, Show show) {
  if (all.empty()) return;
  screen.heading(heading);
  for (const std::size_t at : shown_of(all, lines_max))
    screen.line(visible(show(all[at])), kIndent);
  if (all.size() > lines_max) {
    screen.line(fmt::format("and {} more{}", all.size() - lines_max, rest), kIndent);
  }
}

std::string attention_text(const FleetStatus::Line& line) {
  return fmt::format("{}{}{} for {}: {}", line.host, line.address.empty() ? "" : " ", line.address,
                     line.age_s == kUnknownAge ? "an unknown time" : age_text(line.age_s),
                     line.text);
}

std::string offered_text(const FleetStatus::Line& line) {
  return fmt::format("{} {} {} ago: {}", line.host, line.address, age_text(line.age_s), line.text);
}

std::string worn_text(const Record& record) {
  return fmt::format("{} {}{}{}: {}", record.host, to_string(record.address),
                     record.serial.empty() ? "" : " ", record.serial,
                     wear_text(wear_of(record.findings)));
}

RawJson lines_json(const std::vector<FleetStatus::Line>& lines) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto put = [&writer](const char* name, const std::string& value) {
    const std::string shown = visible(value);
    writer.Key(name);
    writer.String(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
  };
  writer.StartArray();
  for (const FleetStatus::Line& line : lines) {
    writer.StartObject();
    put("host", line.host);
    put("address", line.address);
    writer.Key("age_s");
    if (line.age_s == kUnknownAge) {
      writer.Null();
    } else {
      writer.Int64(line.age_s);
    }
    put("text", line.text);
    writer.EndObject();
  }
  writer.EndArray();
  return RawJson{{buffer.GetString(), buffer.GetSize()}};
}

RawJson paused_json(const FleetStatus& status) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartArray();
  for (const HostInfo& info : status.paused) {
    writer.StartObject();
    for (const auto& [name, text] :
         {std::pair{"host", info.host}, std::pair{"until", to_iso8601_seconds(info.paused_until)},
          std::pair{"by", info.paused_by}}) {
      writer.Key(name);
      writer.String(visible(text));
    }
    writer.EndObject();
  }
  writer.EndArray();
  return RawJson{{buffer.GetString(), buffer.GetSize()}};
}

RawJson worn_json(const FleetStatus& status) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto put = [&writer](const char* name, const auto& value) {
    writer.Key(name);
    if (value) {
      writer.Int64(static_cast<std::int64_t>(*value));
    } else {
      writer.Null();
    }
  };
  writer.StartArray();
  for (const Record& record : status.worn) {
    const DriveWear wear = wear_of(record.findings);
    writer.StartObject();
    for (const auto& [name, text] :
         {std::pair{"host", record.host}, std::pair{"address", to_string(record.address)},
          std::pair{"serial", record.serial}}) {
      writer.Key(name);
      writer.String(visible(text));
    }
    put("used_percent", wear.used_percent);
    put("spare_percent", wear.spare_percent);
    put("media_errors", wear.media_errors);
    writer.EndObject();
  }
  writer.EndArray();
  return RawJson{{buffer.GetString(), buffer.GetSize()}};
}

RawJson counts_json(const FleetStatus& status) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  for (const DeviceState state :
       {DeviceState::available, DeviceState::allocated, DeviceState::pending_cleaning,
        DeviceState::cleaning, DeviceState::error}) {
    const auto count = status.devices.find(state);
    writer.Key(std::string(to_string(state)).c_str());
    writer.Uint64(count == status.devices.end() ? 0 : count->second);
  }
  writer.EndObject();
  return RawJson{{buffer.GetString(), buffer.GetSize()}};
}

}  // namespace

FleetStatus fleet_status(const std::vector<HostState>& hosts, WallMs now,
                         std::int64_t silence_max_ms, std::size_t hosts_max) {
  FleetStatus out;
  out.hosts = hosts.size();
  if (const std::string many = crowded("hosts", hosts.size(), hosts_max); !many.empty()) {
    out.crowded.push_back(many +
                          ": raise [redis] hosts_max, and maxclients of Redis above twice that");
  }
  std::set<std::string> told;
  for (const HostState& host : hosts) {
    const std::string down = why_down(host.info, now, silence_max_ms);
    if (down.empty()) {
      out.up += 1;
      out.versions[host.info.version] += 1;
      out.observing += host.info.observes ? 1U : 0U;
      tell_of_queues(out, host.info, now, told);
    } else {
      const std::int64_t age =
          host.info.heartbeat_at.ms == 0 ? kUnknownAge : age_s(now, host.info.heartbeat_at);
      out.attention.push_back({host.info.host, "", age, down});
    }
    if (!host.unreadable.empty()) {
      out.attention.push_back({host.info.host, "", kUnknownAge, host.unreadable});
    }
    if (host.info.paused_until > now) out.paused.push_back(host.info);
    for (const Record& record : host.records) count_device(out, record, now);
    read_journal(out, host, now);
  }
  std::stable_sort(out.attention.begin(), out.attention.end(), [](const auto& a, const auto& b) {
    const bool oldest = a.age_s == kUnknownAge && b.age_s != kUnknownAge;
    return oldest || (b.age_s != kUnknownAge && a.age_s > b.age_s);
  });
  for (auto* lines : {&out.offered_dirty, &out.allocated_dirty}) {
    std::stable_sort(lines->begin(), lines->end(),
                     [](const auto& a, const auto& b) { return a.age_s < b.age_s; });
  }
  std::stable_sort(out.worn.begin(), out.worn.end(), [](const Record& a, const Record& b) {
    return worn_percent(wear_of(a.findings)) > worn_percent(wear_of(b.findings));
  });
  std::sort(out.clean_ms.begin(), out.clean_ms.end());
  return out;
}

std::string render(const FleetStatus& status, std::size_t width) {
  Screen screen(width);
  screen.line(hosts_text(status), kIndent);
  for (const std::string& line : status.crowded) screen.line(line, kIndent);
  screen.line(devices_text(status), kIndent);
  put_first(screen, "Needs attention, the oldest first", status.attention, kAttentionLinesMax,
            kListsAll, attention_text);
  put_first(screen, "Given to an instance though not clean, in the last 24 hours",
            status.allocated_dirty, kOfferedLinesMax, kListsAll, offered_text);
  put_first(screen, "Offered though not clean, in the last 24 hours", status.offered_dirty,
            kOfferedLinesMax, kListsAll, offered_text);
  if (!status.offered_dirty.empty()) {
    screen.line(
        "Reclaim reserves them again; find out who writes their inventories (docs/metrics.md, "
        "ReclaimDirtyOffered)",
        kIndent);
  }
  if (!status.cleaning.empty()) {
    screen.heading("Being cleaned");
    for (const Record& record : status.cleaning) {
      screen.line(progress_bar(record.host, record), kIndent);
    }
  }
  if (!status.paused.empty()) {
    screen.heading("Paused: no cleaning begins");
    for (const HostInfo& info : status.paused) {
      screen.line(visible(fmt::format("{} until {} by {}", info.host,
                                      to_iso8601_seconds(info.paused_until), info.paused_by)),
                  kIndent);
    }
  }
  put_first(screen, "Near their end, the worst first", status.worn, kWornLinesMax,
            ": reclaim device list --all-hosts --worn", worn_text);
  screen.heading("Last 24 hours");
  std::string text = fmt::format("{} cleaned ({} given back), {} ended in error", status.cleaned,
                                 size_text(status.bytes_given_back), status.failed);
  if (!status.clean_ms.empty()) {
    text += fmt::format("; time to clean: mean {}, p95 {}", seconds_text(mean_ms(status.clean_ms)),
                        seconds_text(p95_ms(status.clean_ms)));
  }
  screen.line(text, kIndent);
  return screen.take();
}

Fields status_fields(const FleetStatus& status) {
  const auto number = [](std::size_t value) { return Cell(static_cast<std::int64_t>(value)); };
  const auto time = [&status](std::int64_t ms) {
    return status.clean_ms.empty() ? Cell() : Cell(static_cast<double>(ms) / 1000);
  };
  return {{"healthy", status.healthy()},
          {"hosts", number(status.hosts)},
          {"hosts_up", number(status.up)},
          {"hosts_observing", number(status.observing)},
          {"devices", counts_json(status)},
          {"held", number(status.held)},
          {"maintenance", number(status.maintenance)},
          {"attention", lines_json(status.attention)},
          {"allocated_dirty_24h", lines_json(status.allocated_dirty)},
          {"offered_dirty_24h", lines_json(status.offered_dirty)},
          {"cleaned_24h", number(status.cleaned)},
          {"failed_24h", number(status.failed)},
          {"bytes_given_back_24h", static_cast<std::int64_t>(status.bytes_given_back)},
          {"clean_seconds_mean", time(mean_ms(status.clean_ms))},
          {"clean_seconds_p95", time(p95_ms(status.clean_ms))},
          {"worn", worn_json(status)},
          {"paused", paused_json(status)}};
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    unit += 1;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes)
                   : fmt::format("{:.1f} {}", value, kUnits.at(unit));
}

}  // namespace reclaim::cli
