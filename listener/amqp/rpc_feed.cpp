#include "listener/amqp/rpc_feed.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/bus/notification.h"
#include "state/base/uuid.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kExcerptBytesMax = 200;
constexpr std::string_view kReason = "cyborg-agent.cleanup_device";
constexpr std::string_view kCommand = "cleanup_device";

// oslo.messaging's ids are UUIDs without dashes.
std::string unique_id() {
  std::string id = random_uuid();
  id.erase(std::remove(id.begin(), id.end(), '-'), id.end());
  return id;
}

}  // namespace

RpcFeed::RpcFeed(Store& store, Timers& timers, Logger& log, RpcFeedOptions options,
                 RpcSettle settle)
    : log_(log),
      options_(std::move(options)),
      settle_(std::move(settle)),
      push_(store, timers, log) {}

void RpcFeed::take(std::string_view body, std::uint64_t tag, std::uint64_t incarnation,
                   const std::function<void(std::string_view why)>& dead_letter) {
  push_.of_connection(incarnation);
  RpcDecision decision = decide_rpc(body, options_.host);
  switch (decision.verdict) {
    case Verdict::reject:
      counters_.rejected += 1;
      log_.warning(log_name::kRpc, fmt::format("request rejected: {}", decision.why),
                   {{"excerpt", safe_excerpt(body, kExcerptBytesMax)}});
      return dead_letter(decision.why);
    case Verdict::ignore:
      counters_.ignored += 1;
      log_.warning(log_name::kRpc,
                   fmt::format("request for {} not served: {}", printable_excerpt(decision.method),
                               decision.why),
                   {{"request_id", decision.request_id}});
      return settle(decision, tag, incarnation);
    case Verdict::kick:
      break;
  }
  counters_.kicks += 1;
  Kick kick;
  kick.reason = kReason;
  kick.request_id = decision.request_id;
  kick.delays_s = options_.survey_delays_s;
  if (decision.device.address) {
    kick.command = kCommand;
    kick.address = to_string(*decision.device.address);
  } else {
    // A look at the host finds what there is to clean; which device was meant nobody can say.
    log_.warning(log_name::kRpc, decision.why, {{"request_id", decision.request_id}});
  }
  push_.push(std::move(kick), KickHosts::named, {options_.host},
             [this, tag, incarnation, decision = std::move(decision)] {
               settle(decision, tag, incarnation);
             });
}

void RpcFeed::settle(const RpcDecision& decision, std::uint64_t tag, std::uint64_t incarnation) {
  if (!decision.is_call() || !options_.serve) return settle_.ack(tag, incarnation);
  counters_.answers += 1;
  settle_.answer(tag, incarnation, decision.reply_queue,
                 rpc_reply(decision.msg_id, unique_id(), decision.failure));
}

}  // namespace reclaim::listener
