#include "listener/kick_push.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "state/base/host_names.h"

namespace reclaim::listener {
namespace {

constexpr std::string_view kLog = "reclaim.listener";
constexpr std::int64_t kRetryMs = 1'000;

// The hosts whose workers go by one of these names, all of them: one that was renamed is still
// known by its old name, and a kick too many is a survey. A name that none goes by stays.
std::vector<std::string> known_as(const std::vector<std::string>& names,
                                  const std::vector<HostInfo>& hosts) {
  std::set<std::string> out;
  for (const std::string& name : names) {
    bool known = false;
    for (const HostInfo& info : hosts) {
      if (!HostNames{info.host, info.nodes}.has(name)) continue;
      known = true;
      out.insert(info.host);
    }
    if (!known) out.insert(name);
  }
  return {out.begin(), out.end()};
}

}  // namespace

void KickPush::push(Kick kick, KickHosts to, std::vector<std::string> hosts,
                    std::function<void()> done) {
  const std::uint64_t id = ++last_id_;
  pending_.emplace(id, Pending{std::move(kick), to, std::move(hosts), std::move(done)});
  dispatch(id);
}

void KickPush::dispatch(std::uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  if (it->second.to == KickHosts::named) return push_next(id);
  store_.hosts([this, id](Result<std::vector<HostInfo>> hosts) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    if (!hosts) return retry(id, hosts.error());
    const KickHosts to = std::exchange(found->second.to, KickHosts::named);
    if (to == KickHosts::called) {
      found->second.hosts = known_as(found->second.hosts, *hosts);
      return push_next(id);
    }
    for (const HostInfo& info : *hosts) {
      if (to == KickHosts::all || info.burned > 0) found->second.hosts.push_back(info.host);
    }
    push_next(id);
  });
}

void KickPush::push_next(std::uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  if (it->second.hosts.empty()) {
    const std::function<void()> done = std::move(it->second.done);
    pending_.erase(it);
    return done();
  }
  store_.push_kick(it->second.hosts.back(), it->second.kick, [this, id](Result<Ok> pushed) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    if (!pushed && pushed.error().code == Errc::invalid) {
      // No name of a host: somebody edited reclaim:hosts. It would never be taken, and messages
      // that wait for it would stop the queue.
      log_.warning(kLog, "a host is not told", {{"why", pushed.error().what}});
      found->second.hosts.pop_back();
      return push_next(id);
    }
    if (!pushed) return retry(id, pushed.error());
    const Pending& now = found->second;
    log_.info(kLog, fmt::format("heard {} for {}", now.kick.reason, now.hosts.back()),
              {{"request_id", now.kick.request_id}, {"instance", now.kick.instance}});
    found->second.hosts.pop_back();
    push_next(id);
  });
}

// A kick pushed twice is one survey more; a kick lost is one that waits for the periodic survey.
void KickPush::retry(std::uint64_t id, const Error& error) {
  log_.warning(kLog, "kick not stored yet, the message waits", {{"why", error.what}});
  timers_.after(kRetryMs, [this, id] { dispatch(id); });
}

}  // namespace reclaim::listener
