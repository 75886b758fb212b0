#include "handlers/api/readiness.h"

#include <utility>

namespace reclaim::api {
namespace {

constexpr std::int64_t kKeystoneFailedMs = 30'000;

}  // namespace

void Readiness::of_all(Told told) {
  ask([state = state_, told = std::move(told)](const std::string& redis_why) {
    if (!redis_why.empty()) return told(redis_why);
    const std::int64_t ago_ms = state->clock.now().mono.ms - state->keystone_at.ms;
    told(ago_ms < kKeystoneFailedMs ? state->keystone_why : "");
  });
}

void Readiness::keystone_failed() {
  state_->keystone_at = state_->clock.now().mono;
  state_->keystone_why = "Keystone is unavailable; the log of this node says why";
}

void Readiness::ask(Told told) {
  State& state = *state_;
  if (state.known && state.clock.now().mono.ms - state.known_at.ms < state.view_ms) {
    return told(state.redis_why);
  }
  state.waiting.push_back(std::move(told));
  if (std::exchange(state.asking, true)) return;
  state.store.hosts([weak = std::weak_ptr(state_)](const Result<std::vector<HostInfo>>& hosts) {
    const auto read = weak.lock();
    if (!read) return;
    read->asking = false;
    read->known = true;
    read->known_at = read->clock.now().mono;
    read->redis_why = hosts ? "" : "Redis is unavailable; the log of this node says why";
    for (const Told& each : std::exchange(read->waiting, {})) each(read->redis_why);
  });
}

}  // namespace reclaim::api
