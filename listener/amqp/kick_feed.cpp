#include "listener/amqp/kick_feed.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim::listener {
namespace {

constexpr std::size_t kExcerptBytesMax = 200;

}  // namespace

KickFeed::KickFeed(Store& store, Timers& timers, Logger& log, std::size_t body_bytes_max,
                   std::vector<int> survey_delays_s,
                   std::function<void(std::uint64_t tag, std::uint64_t incarnation)> ack)
    : log_(log),
      ack_(std::move(ack)),
      decider_(body_bytes_max),
      survey_delays_s_(std::move(survey_delays_s)),
      push_(store, timers, log) {}

void KickFeed::take(std::string_view body, std::uint64_t tag, std::uint64_t incarnation,
                    const std::function<void(std::string_view why)>& dead_letter) {
  push_.of_connection(incarnation);
  Decision decision = decider_.decide_fast(body);
  switch (decision.verdict) {
    case Verdict::ignore:
      counters_.ignored += 1;
      return ack_(tag, incarnation);
    case Verdict::reject:
      counters_.rejected += 1;
      log_.warning(log_name::kListener, fmt::format("message rejected: {}", decision.why),
                   {{"excerpt", safe_excerpt(body, kExcerptBytesMax)}});
      return dead_letter(decision.why);
    case Verdict::kick:
      break;
  }
  counters_.kicks += 1;
  if (decision.sent_at && on_sent_) on_sent_(*decision.sent_at);
  Kick kick = kick_of(decision);
  // A mark is looked at when the table says; for the rest the operator's option stands.
  if (!decision.mark_allocated) kick.delays_s = survey_delays_s_;
  KickHosts to = KickHosts::called;
  // A host whose book knows an ARQ need not have a burned device: the ARQ may be what says so.
  if (decision.any_host) to = decision.arq ? KickHosts::all : KickHosts::burned;
  push_.push(std::move(kick), to, std::move(decision.hosts),
             [this, tag, incarnation] { ack_(tag, incarnation); });
}

}  // namespace reclaim::listener
