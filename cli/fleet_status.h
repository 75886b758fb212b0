// Sums up the fleet for `reclaim status`, from what is in Redis. Pure; thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/format.h"
#include "state/device/record.h"
#include "state/device/store.h"

namespace reclaim::cli {

// One host: its worker's word, its records, and its journal of the last day.
struct HostState {
  HostInfo info;
  std::vector<Record> records;
  std::vector<JournalEntry> journal;
  std::string unreadable = {};  // why some of it is missing, with the remedy; empty: none is
};

inline constexpr std::int64_t kUnknownAge = -1;  // longer than anybody remembers

struct FleetStatus {
  struct Line {
    std::string host;
    std::string address;     // empty: of the host itself
    std::int64_t age_s = 0;  // or kUnknownAge
    std::string text;        // what is wrong, and the remedy
  };

  std::size_t hosts = 0;
  std::vector<std::string> crowded = {};  // what is nearly as much as may be, with the remedy
  std::size_t up = 0;
  std::size_t observing = 0;
  std::map<std::string, std::size_t> versions;  // of workers that are up
  std::map<DeviceState, std::size_t> devices;
  std::size_t held = 0;
  std::size_t maintenance = 0;
  std::vector<Line> attention;  // the oldest first
  std::vector<Record> cleaning;
  std::vector<HostInfo> paused;  // hosts on which no cleaning begins for a while
  // Devices that somebody offered within the last day though they were not known to be clean, the
  // newest first; `age_s` of the last time.
  std::vector<Line> offered_dirty;
  std::vector<Line> allocated_dirty;  // the same of those that an instance got
  std::vector<Record> worn;  // drives near their end (handlers/drive_wear.h), the worst first
  // The numbers of the last day.
  std::size_t cleaned = 0;
  std::size_t failed = 0;
  std::uint64_t bytes_given_back = 0;
  std::vector<std::int64_t> clean_ms;  // each from pending_cleaning to its release, ascending

  [[nodiscard]] bool healthy() const { return attention.empty(); }
};

// A worker whose heartbeat is older than `silence_max_ms` is down. `hosts_max`: of [redis].
[[nodiscard]] FleetStatus fleet_status(const std::vector<HostState>& hosts, WallMs now,
                                       std::int64_t silence_max_ms, std::size_t hosts_max);

// Prints the status on one screen, in lines of at most `width` columns; 0: as long as they get.
[[nodiscard]] std::string render(const FleetStatus& status, std::size_t width);
[[nodiscard]] Fields status_fields(const FleetStatus& status);

// "1.9 TB"; decimal, as drives are sold.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace reclaim::cli
