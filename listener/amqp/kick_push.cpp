#include "listener/amqp/kick_push.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim::listener {
namespace {

constexpr std::int64_t kRetryMs = 1'000;
constexpr std::int64_t kUnknownQuietMs = 60'000;

}  // namespace

void KickPush::push(Kick kick, KickHosts to, std::vector<std::string> hosts, Once<> done) {
  const std::uint64_t id = ++last_id_;
  pending_.emplace(id, Pending{std::move(kick), to, std::move(hosts), {}, std::move(done)});
  dispatch(id);
}

void KickPush::of_connection(std::uint64_t incarnation) {
  if (incarnation == std::exchange(incarnation_, incarnation)) return;
  for (const auto& [id, pending] : pending_) pending.done.drop();
  pending_.clear();
  waiting_.clear();
}

void KickPush::dispatch(std::uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  switch (it->second.to) {
    case KickHosts::named:
      return push_next(id);
    case KickHosts::called:
      return find_next(id);
    case KickHosts::burned:
    case KickHosts::all:
      break;
  }
  if (unreadable_) return use_hosts(id);
  ask_for_hosts(id);
}

// Many may wait for one answer.
void KickPush::ask_for_hosts(std::uint64_t id) {
  waiting_.push_back(id);
  if (asking_) return;
  asking_ = true;
  store_.hosts([this](Result<std::vector<HostInfo>> hosts) {
    asking_ = false;
    if (hosts) hosts_ = *hosts;
    const bool too_long = !hosts && hosts.error().code == Errc::limit;
    if (too_long) do_without(hosts.error());
    for (const std::uint64_t waits : std::exchange(waiting_, {})) {
      if (hosts || too_long) {
        use_hosts(waits);
      } else if (pending_.contains(waits)) {
        retry(waits, hosts.error());
      }
    }
  });
}

// Somebody invented names, more than are read. Messages that wait for the list would stop the queue
// of the whole fleet: those that are known from before are told, and the others' surveys go on.
void KickPush::do_without(const Error& error) {
  unreadable_ = true;
  timers_.after(kUnknownQuietMs, [this] { unreadable_ = false; });
  log_.error(log_name::kListener,
             "who is to be told cannot be read: only the hosts known from before are",
             {{"why", error.what}, {"known", fmt::format("{}", hosts_.size())}});
}

void KickPush::use_hosts(std::uint64_t id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const KickHosts to = std::exchange(found->second.to, KickHosts::named);
  for (const HostInfo& info : hosts_) {
    if (to == KickHosts::all || info.burned > 0) found->second.hosts.push_back(info.host);
  }
  push_next(id);
}

// All who go by a name are told: one that was renamed is still known by its old name, and a kick
// too many is a survey. A host that has only just announced itself surveys by itself.
void KickPush::find_next(std::uint64_t id) {
  Pending& pending = pending_.at(id);
  if (pending.hosts.empty()) {
    pending.to = KickHosts::named;
    pending.hosts.assign(pending.found.begin(), pending.found.end());
    return push_next(id);
  }
  store_.hosts_called(pending.hosts.back(), [this, id](Result<std::vector<std::string>> known) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    if (!known) return retry(id, known.error());
    Pending& now = found->second;
    if (known->empty()) say_unknown(now.hosts.back());
    now.found.insert(known->begin(), known->end());
    now.hosts.pop_back();
    find_next(id);
  });
}

void KickPush::say_unknown(const std::string& name) {
  unknown_hosts_ += 1;
  if (unknown_said_) return;
  unknown_said_ = true;
  timers_.after(kUnknownQuietMs, [this] { unknown_said_ = false; });
  log_.warning(log_name::kListener,
               "no kick for a host that never announced itself; if it should have a worker, "
               "start `reclaim serve` there with this [DEFAULT] host",
               {{"host", name}, {"unknown_so_far", fmt::format("{}", unknown_hosts_)}});
}

void KickPush::push_next(std::uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  if (it->second.hosts.empty()) {
    const Once<> done = std::move(it->second.done);
    pending_.erase(it);
    return done();
  }
  store_.push_kick(it->second.hosts.back(), it->second.kick, [this, id](Result<Ok> pushed) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    if (!pushed && pushed.error().code == Errc::invalid) {
      // No name of a host: somebody edited reclaim:hosts. It would never be taken, and messages
      // that wait for it would stop the queue.
      log_.warning(log_name::kListener, "a host is not told", {{"why", pushed.error().what}});
      found->second.hosts.pop_back();
      return push_next(id);
    }
    if (!pushed) return retry(id, pushed.error());
    const Pending& now = found->second;
    log_.info(log_name::kListener,
              fmt::format("heard {} for {}", now.kick.reason, now.hosts.back()),
              {{"request_id", now.kick.request_id}, {"instance", now.kick.instance}});
    found->second.hosts.pop_back();
    push_next(id);
  });
}

// A kick pushed twice is one survey more; a kick lost is one that waits for the periodic survey.
void KickPush::retry(std::uint64_t id, const Error& error) {
  log_.warning(log_name::kListener, "kick not stored yet, the message waits",
               {{"why", error.what}});
  timers_.after(kRetryMs, [this, id] { dispatch(id); });
}

}  // namespace reclaim::listener
