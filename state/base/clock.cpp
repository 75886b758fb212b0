#include "state/base/clock.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace reclaim {

Now SystemClock::now() const {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  return Now{
      WallMs{
          duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count()},
      MonoMs{duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
                 .count()}};
}

std::string to_iso8601(WallMs at) {
  const std::int64_t ms = ((at.ms % 1000) + 1000) % 1000;
  const std::time_t seconds = (at.ms - ms) / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     ms);
}

std::string to_iso8601_seconds(WallMs at) {
  constexpr std::size_t kUpToSeconds = std::string_view("2026-11-20T21:22:44").size();
  return to_iso8601(at).substr(0, kUpToSeconds) + "Z";
}

Result<WallMs> from_iso8601(std::string_view text) {
  const std::string copy(text);
  std::tm parts{};
  int consumed = 0;
  char separator = 0;
  const int fields = std::sscanf(copy.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year,
                                 &parts.tm_mon, &parts.tm_mday, &separator, &parts.tm_hour,
                                 &parts.tm_min, &parts.tm_sec, &consumed);
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const std::int64_t seconds = timegm(&parts);
  std::string whole = copy.substr(0, static_cast<std::size_t>(consumed));
  if (separator == ' ') std::replace(whole.begin(), whole.end(), ' ', 'T');
  // A day that the calendar does not have comes out as another one.
  if (fields != 7 || to_iso8601_seconds(WallMs{seconds * 1000}) != whole + "Z") {
    return Error{Errc::invalid, fmt::format("'{}' is not a time like 2026-11-20T21:22:44Z", text)};
  }
  std::string_view rest = std::string_view(copy).substr(static_cast<std::size_t>(consumed));
  std::int64_t ms = 0;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    int digits = 0;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      if (digits < 3) ms = ms * 10 + (rest.front() - '0');
      ++digits;
      rest.remove_prefix(1);
    }
    for (; digits < 3; ++digits) ms *= 10;
  }
  if (!rest.empty() && rest != "Z" && rest != "+00:00") {
    return Error{Errc::invalid, fmt::format("'{}' is not a time in UTC", text)};
  }
  return WallMs{seconds * 1000 + ms};
}

}  // namespace reclaim
