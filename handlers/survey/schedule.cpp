#include "handlers/survey/schedule.h"

#include <algorithm>
#include <utility>

namespace reclaim {

SurveySchedule::SurveySchedule(Timers& timers, const Clock& clock, Times times, std::uint64_t seed,
                               std::function<void(bool periodic)> run)
    : timers_(timers), clock_(clock), times_(times), jitter_state_(seed), run_(std::move(run)) {}

void SurveySchedule::begin(std::int64_t within_ms) {
  if (stopped_ || spread_ || running_) return;
  periodic_due_ = clock_.now().mono.ms + at_random(std::min(within_ms, times_.interval_ms));
  arm();
}

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

void SurveySchedule::want_at_once() {
  hurried_ = true;
  want(0);
}

void SurveySchedule::settle(const std::string& instance) {
  if (instance.empty()) return;
  std::erase_if(due_, [&](const auto& due) { return due.second == instance; });
}

void SurveySchedule::ended() {
  running_ = false;
  const std::int64_t now_ms = clock_.now().mono.ms;
  const std::int64_t took_ms = now_ms - began_ms_;
  slow_ = is_slow(took_ms);
  not_before_ = now_ms + pause_after(took_ms);
  paid_until_ = std::max(paid_until_, began_ms_) + took_ms + times_.spacing_ms;
  arm();
}

void SurveySchedule::failed(std::int64_t retry_ms) {
  const std::int64_t again = clock_.now().mono.ms + up_to_half_more(retry_ms);
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
  if (std::exchange(hurried_, false) && !slow_) go_into_pause(clock_.now().mono.ms);
  next = std::max(next, not_before_);
  if (timer_ != 0) timers_.cancel(std::exchange(timer_, 0));
  if (next == kNever) return;
  timer_ =
      timers_.after(std::max<std::int64_t>(next - clock_.now().mono.ms, 0), [this] { fire(); });
}

// Lets a hurried survey begin in the pause, as long as no more than one pause is owed.
void SurveySchedule::go_into_pause(std::int64_t now_ms) {
  not_before_ = std::min(not_before_, std::max(now_ms, paid_until_ - times_.spacing_ms));
}

void SurveySchedule::fire() {
  timer_ = 0;
  const std::int64_t now_ms = clock_.now().mono.ms;
  periodic_ = periodic_due_ <= now_ms || !spread_;
  if (periodic_) periodic_due_ = now_ms + next_interval();
  std::erase_if(due_, [now_ms](const auto& due) { return due.first <= now_ms; });
  running_ = true;
  began_ms_ = now_ms;
  run_(periodic_);
}

std::int64_t SurveySchedule::pause_after(std::int64_t took_ms) {
  if (!is_slow(took_ms)) return times_.spacing_ms;
  return up_to_half_more(std::min(took_ms, times_.interval_ms / 2));
}

std::int64_t SurveySchedule::up_to_half_more(std::int64_t ms) {
  return ms + at_random(ms / 2);
}

// The second survey comes at any time within the interval, so that hosts which start at once do not
// go on together; the later ones keep apart.
std::int64_t SurveySchedule::next_interval() {
  if (!std::exchange(spread_, true)) return at_random(times_.interval_ms);
  return times_.interval_ms + at_random(times_.jitter_ms);
}

// A plain linear congruential step: it only has to keep the hosts of a fleet apart.
std::int64_t SurveySchedule::at_random(std::int64_t below_ms) {
  jitter_state_ = jitter_state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(below_ms, 1));
  return static_cast<std::int64_t>((jitter_state_ >> 33U) % span);
}

}  // namespace reclaim
