#include "handlers/survey/close_watch.h"

#include <algorithm>

namespace reclaim {

CloseWatch::CloseWatch(placement::Providers& providers, Timers& timers, const Clock& clock,
                       Times times, std::function<std::vector<Watched>()> targets,
                       std::function<void(const PciAddress&, const std::string& provider)> on_offer)
    : providers_(providers),
      timers_(timers),
      clock_(clock),
      times_(times),
      targets_(std::move(targets)),
      on_offer_(std::move(on_offer)) {}

void CloseWatch::attend() {
  if (timer_ != 0 || asking_ || stopped_ || targets_().empty()) return;
  step_ms_ = times_.interval_ms;
  due_ms_ = clock_.now().mono.ms;
  arm();
}

void CloseWatch::stop() {
  stopped_ = true;
  if (timer_ != 0) timers_.cancel(timer_);
}

void CloseWatch::arm() {
  const std::int64_t now_ms = clock_.now().mono.ms;
  due_ms_ = std::max(due_ms_ + step_ms_, now_ms + pause_ms_);
  timer_ = timers_.after(due_ms_ - now_ms, [this] {
    timer_ = 0;
    turn();
  });
}

void CloseWatch::turn() {
  if (round_.empty()) {
    for (Watched& each : targets_()) round_.push_back(std::move(each));
    if (round_.empty()) return;
    step_ms_ = times_.interval_ms / static_cast<std::int64_t>(round_.size());
  }
  const Watched at = std::move(round_.front());
  round_.pop_front();
  asking_ = true;
  look(at, at.provider);
}

void CloseWatch::look(const Watched& at, const std::string& provider) {
  providers_.read_inventories(
      provider, [this, at, provider](const Result<std::vector<placement::Inventory>>& read) {
        if (stopped_) return;
        if (!read) {
          const bool gone = read.error().code == Errc::not_found && provider == at.provider;
          if (gone && !at.provider_name.empty()) return look_for(at);
          return answered(&read.error());
        }
        answered(nullptr);
        const bool offered =
            std::any_of(read->begin(), read->end(), [](const placement::Inventory& inventory) {
              return inventory.reserved < inventory.total;
            });
        if (offered) on_offer_(at.address, provider);
      });
}

// Whoever makes a device's provider again gives it the same name and another UUID.
void CloseWatch::look_for(const Watched& at) {
  providers_.find(at.provider_name, [this, at](const Result<std::string>& found) {
    if (stopped_) return;
    if (!found) return answered(&found.error());
    look(at, *found);
  });
}

void CloseWatch::answered(const Error* error) {
  asking_ = false;
  const bool silent = error != nullptr && error->code != Errc::not_found;
  pause_ms_ = silent ? std::clamp(pause_ms_ * 2, times_.interval_ms, times_.retry_max_ms) : 0;
  arm();
}

}  // namespace reclaim
