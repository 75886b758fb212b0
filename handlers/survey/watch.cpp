#include "handlers/survey/watch.h"

#include <fmt/core.h>

namespace reclaim {
namespace {

constexpr std::int64_t kIntervalsMissing = 3;

}  // namespace

void SurveyWatch::begin(std::int64_t interval_ms) {
  interval_ms_ = interval_ms;
  last_ = clock_.now().mono;
  look_later();
}

void SurveyWatch::survey_went_through() {
  last_ = clock_.now().mono;
  last_problem_.clear();
  if (told_) log_.info(log_name::kConductor, "surveys go through again");
  told_ = false;
}

void SurveyWatch::stop() {
  if (timer_ != 0) timers_.cancel(timer_);
  timer_ = 0;
}

void SurveyWatch::look_later() {
  timer_ = timers_.after(interval_ms_, [this] {
    const std::int64_t since_ms = clock_.now().mono.ms - last_.ms;
    if (since_ms > kIntervalsMissing * interval_ms_ && !told_) {
      told_ = true;
      log_.error(
          log_name::kConductor,
          fmt::format("no survey has gone through for {} s: no device is reserved, cleaned or "
                      "given back meanwhile; `reclaim doctor` tells what does not answer, "
                      "and if all does, restart the worker",
                      since_ms / 1000),
          {{"why", last_problem_.empty() ? "one has begun and does not end" : last_problem_}});
    }
    look_later();
  });
}

}  // namespace reclaim
