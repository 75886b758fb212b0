#include "nvme/erase/sanitize_pace.h"

#include <algorithm>
#include <cstdlib>

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kLeastPauseMs = 20;  // crypto erases end within moments
constexpr std::int64_t kPartOfTime = 4;
constexpr std::int64_t kWhole = 65'536;  // SPROG counts in parts of it

}  // namespace

std::int64_t pause_ms(const SanitizeSeen& seen, std::int64_t most_ms) {
  const std::int64_t time = seen.left_ms ? std::abs(*seen.left_ms) : seen.elapsed_ms;
  return std::min(std::max(time / kPartOfTime, kLeastPauseMs), most_ms);
}

void SanitizePace::saw(std::uint16_t sprog, MonoMs now) {
  const Reading reading{sprog, now};
  // Progress that goes back is another run, or a drive that counts its passes: its rate is a new
  // one.
  if (!first_ || sprog < moved_->sprog) {
    first_ = moved_ = reading;
  } else if (sprog > moved_->sprog) {
    moved_ = reading;
  }
}

std::int64_t SanitizePace::next_ms(MonoMs now) {
  if (!begun_) begun_ = now;
  SanitizeSeen seen;
  seen.elapsed_ms = now.ms - begun_->ms;
  if (first_ && moved_->sprog > first_->sprog) {
    const std::int64_t done = moved_->sprog - first_->sprog;
    const std::int64_t took = moved_->at.ms - first_->at.ms;
    seen.left_ms = took * (kWhole - moved_->sprog) / done - (now.ms - moved_->at.ms);
  }
  return pause_ms(seen, most_ms_);
}

}  // namespace reclaim::nvme
