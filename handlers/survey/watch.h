// Says it once when no survey has gone through for long, whatever keeps it: one that hangs ends in
// no failure that would be told. Thread: the loop's.
#pragma once

#include <cstdint>
#include <string>

#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/timers.h"

namespace reclaim {

class SurveyWatch final {
 public:
  // All outlive the object.
  SurveyWatch(Timers& timers, const Clock& clock, Logger& log)
      : timers_(timers), clock_(clock), log_(log) {}

  // From now on surveys are expected, one an interval; three may be missing.
  void begin(std::int64_t interval_ms);
  void survey_went_through();
  void survey_failed(const std::string& why) { last_problem_ = why; }
  void stop();

 private:
  void look_later();

  Timers& timers_;
  const Clock& clock_;
  Logger& log_;
  std::int64_t interval_ms_ = 0;
  std::uint64_t timer_ = 0;
  MonoMs last_;  // survey that went through, or the begin
  bool told_ = false;
  std::string last_problem_;
};

}  // namespace reclaim
