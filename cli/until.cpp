#include "cli/until.h"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kNumberMax = 100'000;

std::tm local(WallMs at) {
  const std::time_t seconds = at.ms / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

// 0: it is none.
std::int64_t length_ms(std::string_view text) {
  if (text.size() < 2) return 0;
  const std::int64_t unit = text.back() == 'm'   ? kMinuteMs
                            : text.back() == 'h' ? 60 * kMinuteMs
                            : text.back() == 'd' ? 1440 * kMinuteMs
                                                 : 0;
  const auto number = parse_number<std::int64_t>(text.substr(0, text.size() - 1));
  return number && *number > 0 && *number <= kNumberMax ? *number * unit : 0;
}

// Makes a moment of local time: the machine says whether summer time is on then. A day that there
// is not (a 31st of April) would be moved to the next, and is refused.
Result<WallMs> at_local(std::tm parts) {
  const std::tm asked = parts;
  parts.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&parts);
  if (seconds == -1 || parts.tm_mday != asked.tm_mday || parts.tm_mon != asked.tm_mon) {
    return Error{Errc::usage, "there is no such day"};
  }
  return WallMs{std::int64_t{seconds} * 1000};
}

bool is_whole(const std::string& text, int consumed) {
  return consumed == static_cast<int>(text.size());
}

}  // namespace

Result<WallMs> parse_until(std::string_view text, WallMs now) {
  if (const std::int64_t ms = length_ms(text); ms > 0) return WallMs{now.ms + ms};
  const std::string copy(text);
  const auto over = [&copy] { return Error{Errc::usage, fmt::format("{} is over", copy)}; };
  if (const auto at = from_iso8601(copy); at && copy.ends_with('Z')) {
    return *at <= now ? Result<WallMs>(over()) : *at;
  }
  std::tm parts = local(now);
  parts.tm_sec = 0;
  int consumed = 0;
  const bool clock =
      std::sscanf(copy.c_str(), "%2d:%2d%n", &parts.tm_hour, &parts.tm_min, &consumed) == 2 &&
      is_whole(copy, consumed);
  bool date = false;
  if (!clock) {
    date = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                       &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &consumed) == 5 &&
           is_whole(copy, consumed);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
  }
  const bool in_range = parts.tm_hour >= 0 && parts.tm_hour < 24 && parts.tm_min >= 0 &&
                        parts.tm_min < 60 && parts.tm_mon >= 0 && parts.tm_mon < 12 &&
                        parts.tm_mday >= 1;
  if ((!clock && !date) || !in_range) {
    return Error{
        Errc::usage,
        fmt::format("'{}' is no time: 06:00, 2026-11-30T06:00 (both of this machine's time "
                    "zone), 2026-11-30T05:00:00Z, or how long: 90m, 8h, 2d",
                    printable_excerpt(copy, 40))};
  }
  auto at = at_local(parts);
  if (at && clock && *at <= now) {
    parts.tm_mday += 1;  // of a month's last day it is the next month's first
    parts.tm_isdst = -1;
    at = WallMs{std::int64_t{std::mktime(&parts)} * 1000};
  }
  if (at && *at <= now) return over();
  return at;
}

std::string local_time_text(WallMs at) {
  const std::tm parts = local(at);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M %Z", &parts)};
}

}  // namespace reclaim::cli
