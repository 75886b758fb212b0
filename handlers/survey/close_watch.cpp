#include "handlers/survey/close_watch.h"

#include <algorithm>
#include <utility>

namespace reclaim {

CloseWatch::CloseWatch(placement::Providers& providers, Timers& timers, const Clock& clock,
                       Times times, std::function<std::vector<Watched>()> targets, Told told)
    : providers_(providers),
      timers_(timers),
      clock_(clock),
      times_(times),
      targets_(std::move(targets)),
      told_(std::move(told)) {}

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
  if (round_.empty()) return begin_round();
  const Watched at = std::move(round_.front());
  round_.pop_front();
  asking_ = true;
  look(at, at.provider);
}

void CloseWatch::begin_round() {
  std::vector<Watched> targets = targets_();
  listed_.clear();
  if (targets.empty()) return steady_.clear();
  const bool lists = std::any_of(targets.begin(), targets.end(),
                                 [](const Watched& each) { return each.generation_tells; });
  if (!lists) {
    go_round(std::move(targets));
    return turn();
  }
  asking_ = true;
  providers_.list_rows([this, targets = std::move(targets)](
                           const Result<std::vector<placement::ProviderRow>>& rows) mutable {
    if (stopped_) return;
    const bool knows = rows || rows.error().code == Errc::not_found;
    if (knows) {
      if (rows) leave_out_the_steady(targets, *rows);
      go_round(std::move(targets));
    }
    answered(knows ? nullptr : &rows.error());
  });
}

// Leaves out the providers that have not moved. One that moves meanwhile is listed with a later
// generation in the next round.
void CloseWatch::leave_out_the_steady(std::vector<Watched>& targets,
                                      const std::vector<placement::ProviderRow>& rows) {
  for (const placement::ProviderRow& row : rows) listed_[row.uuid] = row.generation;
  std::erase_if(steady_, [this](const auto& each) { return !listed_.contains(each.first); });
  std::erase_if(targets, [this](const Watched& each) {
    const auto known = steady_.find(each.provider);
    return each.generation_tells && known != steady_.end() &&
           known->second == listed_.at(each.provider);
  });
}

void CloseWatch::go_round(std::vector<Watched> targets) {
  const bool lists = !listed_.empty();
  const auto requests = static_cast<std::int64_t>(targets.size() + (lists ? 1 : 0));
  step_ms_ = times_.interval_ms / std::max<std::int64_t>(requests, 1);
  round_.assign(std::make_move_iterator(targets.begin()), std::make_move_iterator(targets.end()));
}

// Who has the device is of interest only where somebody wrote to the provider since the last look.
void CloseWatch::look(const Watched& at, const std::string& provider) {
  const auto known = steady_.find(provider);
  const auto row = listed_.find(provider);
  const bool moved = known != steady_.end() && row != listed_.end() && known->second != row->second;
  if (!moved) {
    return providers_.read_inventories(
        provider, [this, at, provider](const Result<std::vector<placement::Inventory>>& read) {
          if (!stopped_) is_reserved(at, provider, read);
        });
  }
  providers_.read(provider, [this, at, provider](const Result<placement::ProviderView>& view) {
    if (stopped_) return;
    const auto read = view ? Result<std::vector<placement::Inventory>>(view->inventories)
                           : Result<std::vector<placement::Inventory>>(view.error());
    if (is_reserved(at, provider, read)) told_.moved(at.address, *view);
  });
}

// Takes in what was read of a provider; what is not reserved, or could not be read, is read again.
bool CloseWatch::is_reserved(const Watched& at, const std::string& provider,
                             const Result<std::vector<placement::Inventory>>& read) {
  if (!read) {
    const bool gone = read.error().code == Errc::not_found && provider == at.provider;
    if (gone && !at.provider_name.empty()) {
      look_for(at);
    } else {
      answered(&read.error());
    }
    return false;
  }
  answered(nullptr);
  const bool offered = std::any_of(
      read->begin(), read->end(),
      [](const placement::Inventory& inventory) { return inventory.reserved < inventory.total; });
  if (offered) {
    told_.on_offer(at.address, provider);
    return false;
  }
  const auto row = listed_.find(provider);
  if (row != listed_.end()) steady_.insert_or_assign(row->first, row->second);
  return true;
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
