#include "listener/kick_feed.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim::listener {
namespace {

constexpr std::string_view kLog = "reclaim.listener";
constexpr std::int64_t kRetryMs = 1'000;
constexpr std::size_t kExcerptBytesMax = 200;

}  // namespace

KickFeed::KickFeed(Store& store, Timers& timers, Logger& log, std::size_t body_bytes_max,
                   std::vector<int> survey_delays_s,
                   std::function<void(std::uint64_t tag, std::uint64_t incarnation)> ack)
    : store_(store),
      timers_(timers),
      log_(log),
      ack_(std::move(ack)),
      decider_(body_bytes_max),
      survey_delays_s_(std::move(survey_delays_s)) {}

void KickFeed::take(std::string_view body, std::uint64_t tag, std::uint64_t incarnation,
                    const std::function<void(std::string_view why)>& dead_letter) {
  if (incarnation != incarnation_) {
    // A new connection: what waited for the old one is delivered again.
    pending_.clear();
    incarnation_ = incarnation;
  }
  Decision decision = decider_.decide_fast(body);
  switch (decision.verdict) {
    case Verdict::ignore:
      counters_.ignored += 1;
      return ack_(tag, incarnation);
    case Verdict::reject:
      counters_.rejected += 1;
      log_.warning(kLog, fmt::format("message rejected: {}", decision.why),
                   {{"excerpt", safe_excerpt(body, kExcerptBytesMax)}});
      return dead_letter(decision.why);
    case Verdict::kick:
      break;
  }
  counters_.kicks += 1;
  Pending pending;
  pending.tag = tag;
  pending.incarnation = incarnation;
  pending.kick.reason = decision.event_type;
  pending.kick.instance = decision.instance_uuid;
  pending.kick.request_id = decision.request_id;
  pending.kick.mark_allocated = decision.mark_allocated;
  // A mark is looked at once, now; for the rest the operator's option stands.
  pending.kick.delays_s = decision.mark_allocated ? decision.delays_s : survey_delays_s_;
  pending.hosts = std::move(decision.hosts);
  pending.any_host = decision.any_host;
  const std::uint64_t id = ++last_id_;
  pending_.emplace(id, std::move(pending));
  dispatch(id);
}

void KickFeed::dispatch(std::uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  if (!it->second.any_host) return push_next(id);
  store_.hosts([this, id](Result<std::vector<HostInfo>> hosts) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    if (!hosts) return retry(id, hosts.error());
    found->second.any_host = false;
    for (const HostInfo& info : *hosts) {
      if (info.burned > 0) found->second.hosts.push_back(info.host);
    }
    push_next(id);
  });
}

void KickFeed::push_next(std::uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  Pending& pending = it->second;
  if (pending.hosts.empty()) {
    ack_(pending.tag, pending.incarnation);
    pending_.erase(it);
    return;
  }
  store_.push_kick(pending.hosts.back(), pending.kick, [this, id](Result<Ok> pushed) {
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
void KickFeed::retry(std::uint64_t id, const Error& error) {
  counters_.retries += 1;
  log_.warning(kLog, "kick not stored yet, the message waits", {{"why", error.what}});
  timers_.after(kRetryMs, [this, id] { dispatch(id); });
}

}  // namespace reclaim::listener
