// reclaim doctor: by what the connection to Redis is protected.
#include <fmt/core.h>

#include "cli/doctor_checks.h"

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "redis tls";
constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;
constexpr std::int64_t kDaysLeftMin = 14;

}  // namespace

void check_redis_tls(const RedisOptions& redis, const RedisTlsFacts& tls, WallMs now,
                     Chart& chart) {
  if (!redis.tls.enabled) return;   // what that leaves open, check_security() tells
  if (tls.version.empty()) return;  // not connected, which check_redis() tells
  std::string text = fmt::format(
      "{}, verified by the authorities of {}; the server's certificate expires at {}", tls.version,
      redis.tls.ca_file.empty() ? "this system" : redis.tls.ca_file, to_iso8601(tls.ends_at));
  const auto ends_soon = [now](WallMs at) { return at.ms - now.ms < kDaysLeftMin * kDayMs; };
  const bool own = tls.own_ends_at != WallMs{};
  if (own) text += fmt::format(", this host's at {}", to_iso8601(tls.own_ends_at));
  if (ends_soon(tls.ends_at)) {
    return chart.warning(kCheck, text, "renew the server's, and let the server read it again");
  }
  if (own && ends_soon(tls.own_ends_at)) {
    return chart.warning(kCheck, text, "renew [redis] tls_cert_file and tls_key_file");
  }
  chart.ok(kCheck, text);
}

}  // namespace reclaim::cli
