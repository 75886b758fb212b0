#include "placement/keystone/token_cache.h"

#include <algorithm>

namespace reclaim::placement {

std::optional<Result<Identity>> TokenCache::find(const std::string& key, bool allow_expired,
                                                 Now now) {
  if (const Good* good = good_.find(key)) {
    // Two clocks: the wall's, by which Keystone wrote the expiry, and one that nobody sets back.
    const bool expired = !allow_expired && now.wall >= good->token.expires_at;
    if (!expired && now.mono < good->until) return Result<Identity>(good->token.identity);
    good_.erase(key);
  }
  if (const Refused* refused = refused_.find(key)) {
    if (now.mono < refused->until) return Result<Identity>(refused->why);
    refused_.erase(key);
  }
  return std::nullopt;
}

void TokenCache::put_good(const std::string& key, const SubjectToken& token, bool allow_expired,
                          Now now) {
  std::int64_t life_ms = limits_.good_ms;
  if (!allow_expired) life_ms = std::min(life_ms, token.expires_at.ms - now.wall.ms);
  if (life_ms <= 0) return;
  good_.put(key, {token, MonoMs{now.mono.ms + life_ms}});
}

void TokenCache::put_refused(const std::string& key, const Error& why, Now now) {
  if (limits_.refused_ms <= 0) return;
  refused_.put(key, {why, MonoMs{now.mono.ms + limits_.refused_ms}});
}

}  // namespace reclaim::placement
