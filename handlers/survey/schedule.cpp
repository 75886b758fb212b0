#include "handlers/survey/schedule.h"

#include <algorithm>

namespace reclaim {

SurveySchedule::SurveySchedule(Timers& timers, const Clock& clock, Times times, std::uint64_t seed,
                               std::function<void(bool periodic)> run)
    : timers_(timers), clock_(clock), times_(times), jitter_state_(seed), run_(std::move(run)) {}

void SurveySchedule::want(std::int64_t delay_ms, const std::string& for_instance) {
  if (stopped_) return;
  const std::int64_t due = clock_.now().mono.ms + std::min(delay_ms, kDelayMaxMs);
  // Surveys are apart anyway, and no sender may make this list grow: where many are wanted already,
  // one of any instance's serves whoever wants one shortly before it.
  const bool crowded = due_.size() >= kCrowd;
  const std::string wanted_for = crowded ? std::string() : for_instance;
  const std::int64_t latest =
      due + (crowded ? std::max(times_.spacing_ms, kCoalesceMs) : kCoalesceMs);
  bool served = false;
  for (auto at = due_.lower_bound({due - kCoalesceMs, ""}); at != due_.end() && !served; ++at) {
    if (at->first > latest) break;
    served = at->second.empty() || at->second == wanted_for;
  }
  if (!served) due_.emplace(due, wanted_for);
  arm();
}

void SurveySchedule::settle(const std::string& instance) {
  if (instance.empty()) return;
  std::erase_if(due_, [&](const auto& due) { return due.second == instance; });
}

void SurveySchedule::ended() {
  running_ = false;
  not_before_ = clock_.now().mono.ms + times_.spacing_ms;
  arm();
}

void SurveySchedule::failed(std::int64_t retry_ms) {
  const std::int64_t again = clock_.now().mono.ms + retry_ms;
  if (periodic_) {
    periodic_due_ = std::min(periodic_due_, again);
  } else {
    due_.emplace(again, "");
  }
  ended();
}

void SurveySchedule::stop() {
  stopped_ = true;
  if (timer_ != 0) timers_.cancel(timer_);
}

void SurveySchedule::arm() {
  if (running_ || stopped_) return;
  std::int64_t next = periodic_due_;
  if (!due_.empty()) next = std::min(next, due_.begin()->first);
  next = std::max(next, not_before_);
  if (timer_ != 0) timers_.cancel(timer_);
  timer_ =
      timers_.after(std::max<std::int64_t>(next - clock_.now().mono.ms, 0), [this] { fire(); });
}

void SurveySchedule::fire() {
  timer_ = 0;
  const std::int64_t now_ms = clock_.now().mono.ms;
  periodic_ = periodic_due_ <= now_ms;
  if (periodic_) periodic_due_ = next_periodic(now_ms);
  std::erase_if(due_, [now_ms](const auto& due) { return due.first <= now_ms; });
  running_ = true;
  run_(periodic_);
}

std::int64_t SurveySchedule::next_periodic(std::int64_t now_ms) {
  // A plain linear congruential step: it only has to keep the hosts of a fleet apart.
  jitter_state_ = jitter_state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(times_.jitter_ms, 1));
  return now_ms + times_.interval_ms + static_cast<std::int64_t>((jitter_state_ >> 33U) % span);
}

}  // namespace reclaim
